"""Checks of what rectifiers leave of each unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mindtorch.engine.op import Op
from mindtorch.engine.ops import activations, elementwise

from ..debugger.records import whole_array
from ..watchpoints.conditions import Place
from ..watchpoints.observer import is_watched
from .findings import Finding

if TYPE_CHECKING:
    from .checker import Checker

__all__ = ["UnitChecks"]

_FEW_CALLS = 4
_DEAD = 0.9  # the share of units that are dead in every step
_RECTIFIERS = (activations.relu, activations.hardtanh, activations.threshold)
# Within a model they are rectifiers; elsewhere margins and masks are made by them.
_BOUNDS = (elementwise.clamp_min, elementwise.maximum)


class _Units:
    """The units of a rectifier that were zero for all examples so far."""

    def __init__(self, place: Place, dead: np.ndarray) -> None:
        self.place = place
        self.dead = dead
        self.calls = 1
        self.shares = [float(dead.mean())]

    def add(self, dead: np.ndarray) -> None:
        if dead.shape == self.dead.shape:
            self.dead = self.dead & dead
            self.calls += 1
            self.shares.append(float(dead.mean()))


class UnitChecks:
    """Looks at results of rectifiers on behalf of a checker."""

    def __init__(self, checker: Checker) -> None:
        self.checker = checker
        self.units: dict[tuple[str, int, str], _Units] = {}

    def applied(self, op: Op, result: Any) -> None:
        """An op of a forward pass gave `result`."""
        if op in _RECTIFIERS or (op in _BOUNDS and self.checker.in_model()):
            self._look(op.name, result)

    def _look(self, name: str, result: Any) -> None:
        """Units are along dimension 1: channels, or columns."""
        shape: tuple[int, ...] = result.aval.shape if is_watched(result) else ()
        if len(shape) < 2 or shape[0] < 2 or shape[1] < 4 or not result.aval.size:
            return
        with self.checker.away():
            array = whole_array(result)
        dead = ~np.any(array, axis=(0, *range(2, len(shape))))
        place = self.checker.place(name)
        key = place.file, place.line, place.layer
        known = self.units.get(key)
        if known is None:
            self.units[key] = _Units(place, dead)
        else:
            known.add(dead)

    def findings(self) -> list[Finding]:
        """What all calls together show."""
        findings = []
        for units in self.units.values():
            share = float(units.dead.mean())
            if units.calls < _FEW_CALLS or share < _DEAD:
                continue
            evidence = (
                f"{int(units.dead.sum())} of {units.dead.size} units are zero for all examples "
                f"of {units.calls} calls"
            )
            findings.append(Finding(
                "dead_relu", evidence, units.place,
                "lower the learning rate, look at biases and initial weights, or use leaky_relu",
                "share of units that are zero for all examples, by call", units.shares,
            ))  # fmt: skip
        return findings
