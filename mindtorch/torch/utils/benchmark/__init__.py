"""Timing statements: ``Timer`` runs one many times and gives a ``Measurement``."""

from __future__ import annotations

from ._measurement import Compare, Measurement, TaskSpec, select_unit, trim_sigfig, unit_to_english
from ._timer import Language, Timer, timer

__all__ = [
    "Compare", "Language", "Measurement", "TaskSpec", "Timer", "select_unit", "timer",
    "trim_sigfig", "unit_to_english",
]  # fmt: skip
