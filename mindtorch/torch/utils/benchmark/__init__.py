"""Timing statements: ``Timer`` runs one many times and gives a ``Measurement``."""

from __future__ import annotations

from mindtorch.torch._api.public_names import own_names as _own_names

from ._measurement import Compare, Measurement, TaskSpec, select_unit, trim_sigfig, unit_to_english
from ._timer import Language, Timer, timer

__all__ = [
    "Compare", "Language", "Measurement", "TaskSpec", "Timer", "select_unit", "timer",
    "trim_sigfig", "unit_to_english",
]  # fmt: skip

_own_names(globals())
