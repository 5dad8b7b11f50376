"""Looking for the op that made a NaN, and for the line that called it."""

from __future__ import annotations

import os
import traceback
import warnings
from typing import Any

from mindtorch.engine.autograd import tape
from mindtorch.engine.compile.guards.trace_rules import LIBRARY


def _note_callers(node: tape.Node) -> None:
    """Nodes made while the mode is on know who called their op."""
    frames = [f for f in traceback.extract_stack() if not f.filename.startswith(LIBRARY + os.sep)]
    node.metadata = {"traceback_": traceback.format_list(frames)}


def _switch(enabled: bool, check_nan: bool) -> None:
    tape.anomaly.enabled, tape.anomaly.check_nan = enabled, check_nan
    tape.anomaly.note_node = _note_callers


class set_detect_anomaly:  # noqa: N801
    """Check every gradient for NaN and name the op whose rule made it.

    Args:
        mode: whether to check.
        check_nan: look for nan.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = tape.anomaly.enabled, tape.anomaly.check_nan
        _switch(mode, check_nan)

    def __enter__(self) -> None:
        """The mode was set when the object was made."""

    def __exit__(self, *exception: object) -> None:
        _switch(*self._previous)


class detect_anomaly(set_detect_anomaly):  # noqa: N801
    """:class:`set_detect_anomaly`, on, with a warning that it costs time.

    Args:
        check_nan: look for nan.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._previous = tape.anomaly.enabled, tape.anomaly.check_nan
        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should "
            "only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        _switch(True, self._check_nan)


def is_anomaly_enabled() -> Any:
    """Whether errors in backward passes name the forward call."""
    return tape.anomaly.enabled


def is_anomaly_check_nan_enabled() -> Any:
    """Whether a nan in a backward pass is an error while they do."""
    return tape.anomaly.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch :class:`set_detect_anomaly` on or off for good.

    Args:
        enabled: whether to check.
        check_nan: look for nan.
    """
    _switch(bool(enabled), bool(check_nan))
