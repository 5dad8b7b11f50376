"""Captures for many sizes: traced once, bound to memory for each set of sizes that comes."""

from __future__ import annotations

import copy
from typing import Any

from ...aval import aval, contiguous_strides
from ...bounded_cache import Bounded
from ...symbolic_sizes import KINDS, NOTES, PLAIN, Sizes, open_sizes
from ...tensor import Tensor, fields_of
from ..capture.capture import Capture
from ..capture.tracer import ours, user_line
from ..runtime.compiled_backward import CompiledBackward
from ..runtime.compiled_call import CompiledCall
from ..runtime.partition import Partition, UnboundPartition
from .specialize import Specialization

# so many calls are kept bound for sizes of one function
MOST_BOUND = 64
# so many captures for many sizes of one kind of arguments, and so many of them that fit no others
MOST_FAMILIES, MOST_MISSES = 8, 2
# so many kinds of arguments are known, and so many sets of sizes of one kind
MOST_HISTORIES, MOST_MET = 64, 16


class ShapeFamily:
    """A capture for many sizes.

    Args:
        sizes: what stands for them.
        axes: for each argument its shape, and at last the ints, with a symbolic size where it may
            be another one.
        avals: descriptions of the arguments with these in them.

    Attributes:
        numbers: the ints among the arguments.
        results, backward: as :class:`..runtime.compiled_call.CompiledCall` has them.
        first: the call for the sizes that were captured.
        used: how often it was bound.
    """

    first: CompiledCall

    def __init__(self, sizes: Sizes, axes: list[list[Any]], avals: list[Any]) -> None:
        self.sizes = sizes
        self.axes = axes
        self.avals = avals
        self.numbers = axes[-1]
        self.results: list[Any] = []
        self.backward: CompiledBackward | None = None
        self.steps: list[Any] = []
        self.used = 0

    def close(
        self, capture: Capture, results: list[Any], backward: CompiledBackward | None
    ) -> tuple[list[Any], CompiledBackward | None]:
        """End the capture: its results and backward pass for the sizes that were captured."""
        self.results, self.backward = results, backward
        unspecialized = iter(capture.unspecialized)
        self.steps = [next(unspecialized) if type(s) is Partition else s for s in capture.steps]
        capture.make_concrete()
        return self._specialized(Specialization(self.sizes))

    def _specialized(self, specialization: Specialization) -> Any:
        """Results and backward pass."""
        backward = self.backward
        results = [specialization.thing(r) for r in self.results]
        return results, None if backward is None else backward.specialized(specialization)

    def bound(self, shapes: Any) -> CompiledCall | None:
        """The call for arguments of these shapes; None where it is another one for them."""
        found: list[Any] = [None] * len(self.sizes.sizes)
        for shape, axes in zip(shapes, self.axes, strict=True):
            for n, axis in zip(shape, axes, strict=True):
                if type(axis) in KINDS:
                    if found[axis.place] is None:
                        found[axis.place] = n
                    elif found[axis.place] != n:
                        return None
                elif n != axis:
                    return None
        values = self.sizes.derived(found)
        if values is None:
            return None
        self.used += 1
        specialization = Specialization(self.sizes, values)
        made = copy.copy(self.first)
        made.steps = [
            specialization.partition(s) if type(s) is UnboundPartition else specialization.step(s)
            for s in self.steps
        ]
        results, made.backward = self._specialized(specialization)
        made.set_results(results)
        made.runs = made.at = 0
        return made


def _is_plain(tensor: Tensor) -> bool:
    """Whether the strides follow from the shape."""
    described = tensor.aval
    return described.strides == contiguous_strides(described.shape) and not described.weak


def loosened(described: Any, plain: Any) -> Any:
    """A description of arguments without the lengths of axes.

    ``plain``: tells for one tensor after the other whether its strides follow from its shape."""
    kind = described[0]
    if kind == "tensor":
        a = described[1]
        return ("tensor", (a.dtype, a.ndim, a.device) if next(plain) else a, *described[2:])
    if kind in ("again", "value", "object", "exact"):
        return described
    if kind is dict:
        return (kind, tuple([(k, loosened(v, plain)) for k, v in described[1]]))
    if kind == "dataclass":
        fields = tuple([(k, loosened(v, plain)) for k, v in described[2]])
        return (kind, described[1], fields)
    return (kind, tuple([loosened(v, plain) for v in described[1]]))


def _direct(key: Any) -> tuple[Any, Any]:
    """The descriptions of a call's arguments: those without and those with a name."""
    (_, (named_not, named)), _ = key
    return named_not[1], named[1]


def _is_number(described: Any) -> bool:
    return described[0] == "value" and described[1] is int


def numbers_of(key: Any) -> tuple[int, ...]:
    """The ints among the arguments of a call."""
    plain, named = _direct(key)
    given = (*plain, *[d for _, d in named])
    return tuple([d[2] for d in given if _is_number(d)])


def with_numbers(args: Any, kwargs: Any, numbers: list[Any]) -> tuple[Any, Any]:
    """The arguments with these in place of their ints."""
    following = iter(numbers)
    args = tuple([next(following) if type(x) is int else x for x in args])
    return args, {k: next(following) if type(x) is int else x for k, x in kwargs.items()}


class ShapeHistory:
    """Calls whose arguments differ in lengths of axes, and in ints, alone.

    Attributes:
        met: the shapes, and the ints, with which they were captured.
        families: the captures for many sizes.
    """

    def __init__(self) -> None:
        self.met: list[Any] = []
        self.families: list[ShapeFamily] = []

    @property
    def may_generalize(self) -> bool:
        """Whether a further capture for many sizes is likely to fit others."""
        missed = sum(not family.used for family in self.families)
        return missed < MOST_MISSES and len(self.families) < MOST_FAMILIES


class DynamicShapes:
    """What a compiled function knows of sizes.

    Attributes:
        dynamic: True lets all sizes be other ones when the first of them changes, False none ever;
            None those that were seen to change.
    """

    def __init__(self, dynamic: bool | None) -> None:
        self.dynamic = dynamic
        self.histories = Bounded(MOST_HISTORIES)
        self.bound: dict[Any, tuple[CompiledCall, int]] = {}

    def clear(self) -> None:
        self.histories.clear()
        self.bound.clear()

    def history(self, key: Any, leaves: list[Tensor], new: bool = False) -> ShapeHistory | None:
        """The calls that differ from this one in lengths of axes, and in ints, alone."""
        natural = iter([_is_plain(x) for x in leaves])
        direct, named = _direct(key)
        loose = (
            tuple([_is_number(d) or loosened(d, natural) for d in direct]),
            tuple([(k, _is_number(d) or loosened(d, natural)) for k, d in named]),
            key[1],
        )
        found: ShapeHistory | None = self.histories.get(loose)
        return self.histories.keep(loose, ShapeHistory()) if found is None and new else found

    def fitting(self, key: Any, leaves: list[Tensor]) -> CompiledCall | None:
        """A capture for many sizes, bound for these arguments."""
        if self.dynamic is False or not leaves or not self.histories:
            return None
        history = self.history(key, leaves)
        shapes = [*[x.aval.shape for x in leaves], numbers_of(key)]
        for family in () if history is None else history.families:
            found = family.bound(shapes)
            if found is not None and not found.broken(leaves):
                return found
        return None

    def may_generalize(self, key: Any, leaves: list[Tensor]) -> bool:
        """Whether a capture for many sizes is likely to fit others."""
        history = None if self.dynamic is False else self.history(key, leaves)
        return history is not None and history.may_generalize

    def begin(self, key: Any, leaves: list[Tensor]) -> ShapeFamily | None:
        """A capture for many sizes that is about to begin; None for one of these alone."""
        if not leaves or self.dynamic is False:
            return None
        history: Any = self.history(key, leaves, new=True)
        shapes = (*[x.aval.shape for x in leaves], numbers_of(key))
        history.met = [*[s for s in history.met if s != shapes], shapes][-MOST_MET:]
        if len(history.met) < 2 or not history.may_generalize:  # the first call tells what it does
            return None
        met = [
            [self._lengths(history, i, j, x) for j in range(len(shapes[i]))]
            for i, x in enumerate((*leaves, None))
        ]
        names: dict[Any, str] = {}  # axes that had the same lengths in all calls are one size
        for i, axes in enumerate(met):
            for j, lengths in enumerate(axes):
                if lengths is not None:
                    name = f"axis {j} of tensor {i}" if i < len(leaves) else f"int {j}"
                    names.setdefault(lengths, name)
        if not names:
            return None
        sizes = Sizes([lengths[-1] for lengths in names], list(names.values()), user_line, ours)
        symbols = dict(zip(names, sizes.sizes, strict=True))
        found = [
            [n if lengths is None else symbols[lengths] for n, lengths in zip(*each, strict=True)]
            for each in zip(shapes, met, strict=True)
        ]
        sizes.mode = NOTES
        open_sizes.append(sizes)
        try:
            avals = [_described(x, axes) for x, axes in zip(leaves, found, strict=False)]
        finally:
            open_sizes.remove(sizes)
            sizes.mode = PLAIN
        return ShapeFamily(sizes, found, avals)

    def _lengths(self, history: ShapeHistory, i: int, j: int, x: Tensor | None) -> Any:
        """The lengths that an axis (or an int) had, where it may have others; else None."""
        seen = tuple([shapes[i][j] for shapes in history.met])
        mark = None if x is None else fields_of(x).get("_dynamic_axes", {}).get(j)
        if seen[-1] < 2 or mark is False or not (x is None or _is_plain(x)):
            return None
        varies = mark or (self.dynamic and x is not None) or len(set(seen)) > 1
        return seen if varies else None

    def note(self, key: Any, leaves: list[Tensor], family: ShapeFamily) -> None:
        """Keep a capture for many sizes."""
        history: Any = self.history(key, leaves, new=True)
        history.families.append(family)

    def keep(self, key: Any, made: CompiledCall, table: dict[Any, list[CompiledCall]]) -> None:
        """Keep what was bound; what was not used lately goes."""
        table.setdefault(key, []).insert(0, made)
        self.bound[key, id(made)] = (made, -1)
        if len(self.bound) <= MOST_BOUND:  # their memory is shared
            return
        for old in list(self.bound):
            each, runs = self.bound.pop(old)
            if each is made or each.runs != runs:  # used since it was looked at last
                self.bound[old] = (each, each.runs)
                continue
            found = [c for c in table.get(old[0], ()) if c is not each]
            if found:
                table[old[0]] = found
            else:
                table.pop(old[0], None)
            return

    def notes(self) -> list[str]:
        """What is known of sizes, in words."""
        found = []
        for history in self.histories.values():
            for family in history.families:
                sizes = family.sizes
                found += [f"{name} may be of any size" for name in sizes.names]
                found += sizes.reasons
        return found


def _described(x: Tensor, axes: list[Any]) -> Any:
    if not any(type(axis) in KINDS for axis in axes):
        return x.aval
    return aval(tuple(axes), x.aval.dtype, None, x.aval.device)
