"""Watchpoints: a condition, its parameters, and which tensors it looks at."""

from __future__ import annotations

import fnmatch
import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..watchpoints.conditions import Place
from ..watchpoints.observer import MOVERS
from ..watchpoints.tensor_statistics import (
    Limits,
    Statistics,
    beyond,
    changed_statistics,
    is_close,
    share_within,
    statistics,
)
from .conditions import CONDITIONS, KINDS, ConditionError, Met, checked, limits, met

__all__ = ["Chosen", "Hit", "Watchpoint", "Watchpoints", "is_same_kind", "looked_at"]

_ACTIVATIONS = frozenset("""
    celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh leakyrelu logsigmoid logsoftmax mish
    prelu relu relu6 rrelu selu sigmoid silu softmax softmax2d softmin softplus softshrink softsign
    tanh tanhshrink threshold leaky_relu log_softmax log_sigmoid
""".split())


class Hit:
    """A watchpoint that was met.

    Attributes:
        watchpoint: its number.
        condition: its name.
        step: counted from 1.
        kind, node: of the tensor.
        place: where it was made.
        met: the thresholds.
    """

    def __init__(
        self, watchpoint: Watchpoint, step: int, kind: str, node: str, place: Place,
        found: list[Met],
    ) -> None:  # fmt: skip
        self.watchpoint = watchpoint.number
        self.condition = watchpoint.condition
        self.step = step
        self.kind = kind
        self.node = node
        self.place = place
        self.met = found

    def __str__(self) -> str:
        said = ", ".join(
            f"{each.value:.0f} NaN or infinite elements"
            if each.parameter == "overflow"
            else f"{each.parameter} {each.limit:g}: {each.value:.6g}"
            for each in self.met
        )
        return f"{self.condition} of {self.kind}:{self.node}: {said or 'the same as before'}"


class Watchpoint:
    """One condition on some tensors.

    Args:
        number: its own.
        condition: a name of `conditions.CONDITIONS`.
        given: parameters of the condition.
        nodes: a pattern (`*`, `?`) of the paths of modules, ops and parameters.
        kinds: of tensors; the condition's own where there are none.

    Raises:
        ConditionError: see :func:`conditions.checked`.
    """

    def __init__(
        self, number: int, condition: str, given: Mapping[str, Any], nodes: str = "*",
        kinds: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self.parameters = checked(condition, given)
        chosen = tuple(kinds) or CONDITIONS[condition].kinds
        unknown = [kind for kind in chosen if kind not in KINDS]
        if unknown:
            raise ConditionError(f"no kind {unknown[0]!r}; there are {', '.join(KINDS)}")
        self.number = number
        self.condition = condition
        self.nodes = nodes
        self.kinds = chosen
        self.enabled = True
        self.count = 0
        self.at_start = CONDITIONS[condition].start
        self.of_change = "_change_too" in condition
        self.of_equality = condition.endswith(("not_changed", "unchanged"))
        self.limits = limits(condition, self.parameters)
        self.has_range = any(x.startswith("range_percentage") for x in self.parameters)

    def wants(self, kind: str, node: str, made_by: str) -> bool:
        """Whether it looks at such tensors; `made_by` is the class of a module, or an op."""
        if not self.enabled or kind not in self.kinds or not fnmatch.fnmatch(node, self.nodes):
            return False
        if self.condition.endswith("_overflow") and made_by.removesuffix("_") in MOVERS:
            return False
        return self.condition != "activation_range" or made_by.lower() in _ACTIVATIONS

    def described(self) -> dict[str, Any]:
        """What it is, for programs."""
        return {
            "number": self.number, "condition": self.condition, "parameters": self.parameters,
            "nodes": self.nodes, "kinds": list(self.kinds), "enabled": self.enabled,
            "count": self.count,
        }  # fmt: skip


def looked_at(
    watchpoint: Watchpoint, array: np.ndarray, found: Statistics | None, before: Any
) -> list[Met] | None:
    """What a watchpoint finds in an array; None: nothing.

    Args:
        array: flat.
        found: its statistics, with the change from `before` where that is known; None where they
            are within limits, so that only conditions of equality ask.
        before: what it was a step ago.
    """
    own = watchpoint.parameters
    if watchpoint.of_equality:
        known = before is not None and array.size > 0
        close = known and is_close(array, before, own["rtol"], own["atol"], own["equal_nan"])
        return [] if close else None
    if found is None or (watchpoint.of_change and before is None):
        return None
    within = math.nan
    if watchpoint.has_range:
        low, high = own["range_start_inclusive"], own["range_end_inclusive"]
        all_within = found.finite == found.size and low <= found.least and found.greatest <= high
        within = 100.0 if all_within else share_within(array, low, high)
    return met(watchpoint.condition, own, found, within) or None


def is_same_kind(array: np.ndarray, before: np.ndarray) -> bool:
    """Whether two flat arrays can be compared, element by element."""
    return array.size == before.size and array.dtype == before.dtype


class Chosen:
    """The watchpoints that look at one tensor.

    Attributes:
        all: they themselves.
        compares: whether some compare with what it was before.
        of_equality: those that compare every element with what it was.
        limits: what is within all others' limits (:func:`conditions.limits`); None where one of
            them has none.
    """

    def __init__(self, chosen: Iterable[Watchpoint]) -> None:
        self.all = tuple(chosen)
        self.of_change = any(x.of_change for x in self.all)
        self.compares = self.of_change or any(x.of_equality for x in self.all)
        self.of_equality = tuple(x for x in self.all if x.of_equality)
        own = [x.limits for x in self.all if not x.of_equality]
        known = [x for x in own if x is not None]
        together = functools.reduce(Limits.both, known, Limits({}))
        self.limits = together if len(known) == len(own) else None

    def __bool__(self) -> bool:
        return bool(self.all)


def _figures(
    chosen: Chosen, array: np.ndarray, before: np.ndarray | None, keep: bool
) -> Statistics | None:
    """The statistics of an array beside what it was; None where it is within the limits."""
    if chosen.limits is None:
        found = statistics(array) if before is None else changed_statistics(array, before)
        if keep and before is not None:
            np.copyto(before, array)
        return found
    sums = beyond(array, chosen.limits, before, keep)
    if sums is None:
        return None
    found = statistics(array)
    return found if before is None else found._replace(change=sums[0], before=sums[1])


class Watchpoints:
    """All watchpoints of a session."""

    def __init__(self) -> None:
        self.all: dict[int, Watchpoint] = {}
        self._chosen: dict[tuple[str, str, str, bool], Chosen] = {}
        self._last = 0

    def add(
        self, condition: str, given: Mapping[str, Any], nodes: str = "*", kinds: Iterable[str] = ()
    ) -> Watchpoint:
        """A new watchpoint.

        Raises:
            ConditionError: see :class:`Watchpoint`.
        """
        made = Watchpoint(self._last + 1, condition, given, nodes, kinds)
        self._last = made.number
        self.all[made.number] = made
        self._chosen.clear()
        return made

    def get(self, number: int) -> Watchpoint:
        """The watchpoint of a number.

        Raises:
            ConditionError: there is none.
        """
        if number not in self.all:
            raise ConditionError(f"no watchpoint {number}")
        return self.all[number]

    def remove(self, number: int) -> None:
        self.get(number)
        del self.all[number]
        self._chosen.clear()

    def enable(self, number: int, on: bool) -> None:
        self.get(number).enabled = on
        self._chosen.clear()

    def kinds(self) -> set[str]:
        """The kinds of tensors that some watchpoint looks at."""
        return {kind for each in self.all.values() if each.enabled for kind in each.kinds}

    def chosen(self, kind: str, node: str, made_by: str, at_start: bool = False) -> Chosen:
        """Those that look at a tensor, before the first step or later."""
        key = kind, node, made_by, at_start
        found = self._chosen.get(key)
        if found is None:
            of_time = (x for x in self.all.values() if x.at_start == at_start)
            wanted = (x for x in of_time if x.wants(kind, node, made_by))
            found = self._chosen[key] = Chosen(wanted)
        return found

    def hits(
        self, chosen: Chosen, array: np.ndarray, before: Any,
        sound_inputs: Callable[[], bool] | None = None, keep: bool = False,
    ) -> list[tuple[Watchpoint, list[Met]]]:  # fmt: skip
        """Which of `chosen` an array meets, by one pass over it where it meets none.

        Args:
            before: what it was a step ago; None: not known.
            sound_inputs: whether what it was made from has finite elements alone.
            keep: whether `before` becomes what it is now; where a change alone is asked for.
        """
        if before is not None and not is_same_kind(array, before):
            before = None
        found = _figures(chosen, array, before if chosen.of_change else None, keep)
        looking = chosen.all if found is not None else chosen.of_equality
        hits = []
        for each in looking:
            result = looked_at(each, array, found, before)
            if result is None:
                continue
            if each.condition == "operator_overflow" and sound_inputs and not sound_inputs():
                continue
            each.count += 1
            hits.append((each, result))
        return hits
