"""Looking for the op that made a NaN."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import tape


class set_detect_anomaly:  # noqa: N801
    """Check every gradient for NaN and name the op whose rule made it."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._previous = tape.anomaly.enabled, tape.anomaly.check_nan
        tape.anomaly.enabled, tape.anomaly.check_nan = mode, check_nan

    def __enter__(self) -> None:
        """The mode was set when the object was made."""

    def __exit__(self, *exception: object) -> None:
        tape.anomaly.enabled, tape.anomaly.check_nan = self._previous


class detect_anomaly(set_detect_anomaly):  # noqa: N801
    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(True, check_nan)


def is_anomaly_enabled() -> Any:
    return tape.anomaly.enabled


def is_anomaly_check_nan_enabled() -> Any:
    return tape.anomaly.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch :class:`set_detect_anomaly` on or off for good."""
    tape.anomaly.enabled, tape.anomaly.check_nan = bool(enabled), bool(check_nan)
