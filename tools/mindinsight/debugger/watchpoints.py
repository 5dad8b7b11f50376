"""Watchpoints on tensors of a dump."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...debugger.conditions import Met, met
from ...watchpoints.tensor_statistics import (
    Statistics,
    changed_statistics,
    is_close,
    share_within,
    statistics,
)
from .conditions import ConditionBase
from .nodes import DebuggerTensor

__all__ = ["ERRORS", "Watchpoint", "WatchpointHit", "check"]

ERRORS = (
    "Tensor contains NaN.",
    "A tensor contains +/-INF.",
    "The previous step value cannot be found.",
    "The tensor size exceeds the memory limit.",
    "Graph history file is not available.",
    "Tensor has no value.",
)
_NAN, _INFINITE, _NOTHING_BEFORE, _TOO_LARGE, _NO_GRAPH, _NO_VALUE = (1 << x for x in range(6))


class Watchpoint:
    """A condition on tensors.

    Args:
        tensors: those of `DumpAnalyzer.select_tensors`, or of nodes.
        condition: what is looked for.

    Raises:
        TypeError: something else is given.
    """

    def __init__(self, tensors: Iterable[DebuggerTensor], condition: ConditionBase) -> None:
        self.tensors = list(tensors)
        self.condition = condition
        for each in self.tensors:
            if not isinstance(each, DebuggerTensor):
                raise TypeError(f"tensors must be a list of DebuggerTensor, but has {type(each)}")
        if not isinstance(condition, ConditionBase):
            raise TypeError(f"condition must be a ConditionBase, not {type(condition)}")


class HitDetail:
    """The figures of a tensor beside a condition's thresholds."""

    def __init__(self, condition: ConditionBase, found: list[Met]) -> None:
        self.condition = condition
        self.param_dict = {each.parameter: each.value for each in found}
        self._found = found

    @property
    def name(self) -> str:
        return self.condition.name

    def __str__(self) -> str:
        return " ".join(
            f"The setting for watchpoint is {each.parameter} = {each.limit}. "
            f"The actual value of the tensor is {each.parameter} = {each.value}."
            for each in self._found
            if each.parameter != "overflow"
        )


class WatchpointHit:
    """A tensor that met a watchpoint, or could not be looked at.

    Attributes:
        tensor: which.
        error_code: a sum of powers of two, one for each of `ERRORS`; 0: it was met.
    """

    def __init__(
        self, tensor: DebuggerTensor, condition: ConditionBase, found: list[Met], code: int = 0
    ) -> None:
        self.tensor = tensor
        self.error_code = code
        self._condition = condition
        self._found = found

    @property
    def error_msg(self) -> list[str]:
        """What the code says."""
        return [text for at, text in enumerate(ERRORS) if self.error_code >> at & 1]

    def get_threshold(self) -> ConditionBase:
        """The condition as it was set."""
        return self._condition

    def get_hit_detail(self) -> HitDetail | None:
        """The tensor's figures; None where it could not be looked at."""
        return None if self.error_code else HitDetail(self._condition, self._found)

    def __str__(self) -> str:
        name = self._condition.name
        if self.error_code:
            head, tail = f"{name} check failed", f"Error detail: {self.error_msg}"
        else:
            head, tail = f"{name} triggered", f"Hit detail: {self.get_hit_detail()}"
        threshold = f"Threshold: {self.get_threshold()}"
        return f"Watchpoint {head} on tensor:\n{self.tensor}\n{threshold}\n{tail}"


def _before(tensor: DebuggerTensor) -> np.ndarray | None:
    """The same tensor an iteration before."""
    return DebuggerTensor(tensor.node, tensor.slot, tensor.iteration - 1).value()


def check(
    tensor: DebuggerTensor, condition: ConditionBase, limit: float | None, say_missing: bool
) -> WatchpointHit | None:
    """What a condition finds in a tensor.

    Args:
        limit: bytes that an array may have.
        say_missing: whether a tensor that was not dumped is told.
    """
    path = tensor.path
    if path is None:
        return WatchpointHit(tensor, condition, [], _NO_VALUE) if say_missing else None
    if limit is not None and path.stat().st_size > limit:
        return WatchpointHit(tensor, condition, [], _TOO_LARGE)
    array = tensor.value()
    assert array is not None
    flat = _flat(array)
    own, name = condition.parameters, condition.online
    of_change = "_change_too" in name
    before = _before(tensor) if of_change or name.endswith("unchanged") else None
    if of_change or name.endswith("unchanged"):
        if before is None or before.shape != array.shape:
            return WatchpointHit(tensor, condition, [], _NOTHING_BEFORE)
    found = changed_statistics(flat, _flat(before)) if before is not None else statistics(flat)
    odd = (_NAN if found.nan else 0) | (_INFINITE if found.finite + found.nan < found.size else 0)
    if odd and not name.endswith("_overflow"):
        return WatchpointHit(tensor, condition, [], odd)
    hits = _meets(tensor, name, own, flat, found, before)
    return None if hits is None else WatchpointHit(tensor, condition, hits)


def _meets(
    tensor: DebuggerTensor, name: str, own: dict[str, Any], flat: np.ndarray, found: Statistics,
    before: np.ndarray | None,
) -> list[Met] | None:  # fmt: skip
    """The thresholds that were met; None: the condition was not."""
    if name == "tensor_unchanged":
        assert before is not None
        close = is_close(flat, _flat(before), own["rtol"], own["atol"])
        return [Met("rtol", own["rtol"], own["rtol"])] if close and flat.size else None
    within = float("nan")
    if any(x.startswith("range_percentage") for x in own):
        within = share_within(flat, own["range_start_inclusive"], own["range_end_inclusive"])
    hits = met(name, own, found, within)
    if hits and name == "operator_overflow":
        given = (x.value() for x in tensor.node.get_input_tensors([tensor.iteration]))
        if any(x is not None and not np.isfinite(_flat(x)).all() for x in given):
            return None
    return hits or None


def _flat(array: np.ndarray) -> np.ndarray:
    return np.ravel(array.astype(np.uint8) if array.dtype == np.bool_ else array)
