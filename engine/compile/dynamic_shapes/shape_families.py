"""Captures for many sizes: traced once, bound to memory for each set of sizes that comes."""

from __future__ import annotations

import copy
from typing import Any

from ...aval import aval, contiguous_strides
from ...bounded_cache import Bounded
from ...symbolic_sizes import NOTES, PLAIN, Sizes, open_sizes
from ...tensor import Tensor, fields_of
from ..capture.capture import Capture
from ..capture.tracer import ours, user_line
from ..runtime.compiled_call import Backward, Compiled, Part
from ..runtime.partition import Segment
from .specialize import At, Blueprint

# so many calls are kept bound for sizes of one function
MOST_BOUND = 64
# so many captures for many sizes of one kind of arguments, and so many of them that fit no others
MOST_TEMPLATES, MOST_MISSES = 8, 2
# so many kinds of arguments are known, and so many sets of sizes of one kind
MOST_FAMILIES, MOST_MET = 64, 16


def sized_part(part: Part, sizes: Sizes, at: At) -> Part:
    """The gradients of a capture for many sizes, for those of ``at``."""
    if part.blueprint is None:
        part.blueprint = Blueprint(sizes, *part.given)
    blueprint = part.blueprint
    made = copy.copy(part)
    values = at.values
    made.renew(lambda: blueprint.at(At(sizes, values)))
    return made


def sized_backward(x: Backward | None, sizes: Sizes, at: At) -> Backward | None:
    """A backward pass for the sizes of ``at``."""
    if x is None:
        return None
    made = Backward([at.aval(a) for a in x.roots], x.targets, x.error)
    made.order, made.holds = x.order, x.holds
    made.whole = None if x.whole is None else sized_part(x.whole, sizes, at)
    made.parts = [sized_part(part, sizes, at) for part in x.parts]
    return made


class Template:
    """A capture for many sizes.

    Args:
        axes: for each argument its shape, with an :class:`Axis` where it may be another one.
        results, backward: as :class:`..runtime.compiled_call.Compiled` has them.

    Attributes:
        first: the call for the sizes that were captured.
        used: how often it was bound.
    """

    first: Compiled

    def __init__(
        self, capture: Capture, axes: Any, results: list[Any], backward: Backward | None
    ) -> None:
        self.sizes: Any = capture.sizes
        self.axes = axes
        self.results = results
        self.backward = backward
        self.used = 0
        blueprints = iter(capture.blueprints)
        self.steps = [next(blueprints) if type(s) is Segment else s for s in capture.steps]
        capture.forgo()

    def own(self) -> tuple[list[Any], Backward | None]:
        """The results and the backward pass for the sizes that were captured."""
        at = At(self.sizes)
        return [at.thing(r) for r in self.results], sized_backward(self.backward, self.sizes, at)

    def bound(self, shapes: Any) -> Compiled | None:
        """The call for arguments of these shapes; None where it is another one for them."""
        found: list[Any] = [None] * len(self.sizes.sizes)
        for shape, axes in zip(shapes, self.axes, strict=True):
            for n, axis in zip(shape, axes, strict=True):
                if type(axis) is Axis:
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
        at = At(self.sizes, values)
        made = copy.copy(self.first)
        made.steps = [s.at(at) if type(s) is Blueprint else at.step(s) for s in self.steps]
        made.set_results([at.thing(r) for r in self.results])
        made.backward = sized_backward(self.backward, self.sizes, at)
        made.runs = made.at = 0
        return made


class Axis:
    """An axis whose length is one of a capture's sizes."""

    __slots__ = ("place",)

    def __init__(self, place: int) -> None:
        self.place = place


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


class Family:
    """Calls whose arguments differ in lengths of axes, and in ints, alone.

    Attributes:
        met: the shapes, and the ints, with which they were captured.
        templates: the captures for many sizes.
    """

    def __init__(self) -> None:
        self.met: list[Any] = []
        self.templates: list[Template] = []

    @property
    def hopeful(self) -> bool:
        """Whether a further capture for many sizes is likely to fit others."""
        missed = sum(not template.used for template in self.templates)
        return missed < MOST_MISSES and len(self.templates) < MOST_TEMPLATES


class Families:
    """What a compiled function knows of sizes.

    Attributes:
        dynamic: True lets all sizes be other ones when the first of them changes, False none ever;
            None those that were seen to change.
    """

    def __init__(self, dynamic: bool | None) -> None:
        self.dynamic = dynamic
        self.families = Bounded(MOST_FAMILIES)
        self.bound: dict[Any, tuple[Compiled, int]] = {}

    def clear(self) -> None:
        self.families.clear()
        self.bound.clear()

    def family(self, key: Any, leaves: list[Tensor], new: bool = False) -> Family | None:
        """The calls that differ from this one in lengths of axes, and in ints, alone."""
        natural = iter([_is_plain(x) for x in leaves])
        direct, named = _direct(key)
        loose = (
            tuple([_is_number(d) or loosened(d, natural) for d in direct]),
            tuple([(k, _is_number(d) or loosened(d, natural)) for k, d in named]),
            key[1],
        )
        found: Family | None = self.families.get(loose)
        return self.families.keep(loose, Family()) if found is None and new else found

    def fitting(self, key: Any, leaves: list[Tensor]) -> Compiled | None:
        """A capture for many sizes, bound for these arguments."""
        if self.dynamic is False or not leaves or not self.families:
            return None
        family = self.family(key, leaves)
        shapes = [*[x.aval.shape for x in leaves], numbers_of(key)]
        for template in () if family is None else family.templates:
            found = template.bound(shapes)
            if found is not None and not found.broken(leaves):
                return found
        return None

    def hopeful(self, key: Any, leaves: list[Tensor]) -> bool:
        """Whether a capture for many sizes is likely to fit others."""
        family = None if self.dynamic is False else self.family(key, leaves)
        return family is not None and family.hopeful

    def begin(self, key: Any, leaves: list[Tensor]) -> Any:
        """(sizes, axes, descriptions, ints) of a capture for many sizes; None for one of these
        alone."""
        if not leaves or self.dynamic is False:
            return None
        family: Any = self.family(key, leaves, new=True)
        shapes = (*[x.aval.shape for x in leaves], numbers_of(key))
        family.met = [*[s for s in family.met if s != shapes], shapes][-MOST_MET:]
        if len(family.met) < 2 or not family.hopeful:  # the first call tells what it does
            return None
        places: dict[Any, int] = {}
        axes = [
            [self._axis(family, i, j, x, places) for j in range(len(shapes[i]))]
            for i, x in enumerate((*leaves, None))
        ]
        if not places:
            return None
        numbers = [0] * len(places)
        names = [""] * len(places)
        for i, (shape, found) in enumerate(zip(shapes, axes, strict=True)):
            for j, (n, axis) in enumerate(zip(shape, found, strict=True)):
                if type(axis) is Axis:
                    numbers[axis.place] = n
                    name = f"axis {j} of tensor {i}" if i < len(leaves) else f"int {j}"
                    names[axis.place] = names[axis.place] or name
        sizes = Sizes(numbers, names, user_line, ours)
        sizes.mode = NOTES
        open_sizes.append(sizes)
        try:
            avals = [_described(x, found, sizes) for x, found in zip(leaves, axes, strict=False)]
        finally:
            open_sizes.remove(sizes)
            sizes.mode = PLAIN
        numbers = [sizes.sizes[a.place] if type(a) is Axis else a for a in axes[-1]]
        return sizes, axes, avals, numbers

    def _axis(
        self, family: Family, i: int, j: int, x: Tensor | None, places: dict[Any, int]
    ) -> Any:
        """The length of an axis (or an int), or what says that it may be another one."""
        seen = tuple([shapes[i][j] for shapes in family.met])
        n = seen[-1]
        mark = None if x is None else fields_of(x).get("_dynamic_axes", {}).get(j)
        if n < 2 or mark is False or not (x is None or _is_plain(x)):
            return n
        if not (mark or (self.dynamic and x is not None) or len(set(seen)) > 1):
            return n
        return Axis(places.setdefault(seen, len(places)))

    def note(self, key: Any, leaves: list[Tensor], template: Template) -> None:
        """Keep a capture for many sizes."""
        family: Any = self.family(key, leaves, new=True)
        family.templates.append(template)

    def keep(self, key: Any, made: Compiled, table: dict[Any, list[Compiled]]) -> None:
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
        for family in self.families.values():
            for template in family.templates:
                sizes = template.sizes
                found += [f"{name} may be of any size" for name in sizes.names]
                found += sizes.reasons
        return found


def _described(x: Tensor, axes: list[Any], sizes: Sizes) -> Any:
    if not any(type(axis) is Axis for axis in axes):
        return x.aval
    shape = tuple([sizes.sizes[axis.place] if type(axis) is Axis else axis for axis in axes])
    return aval(shape, x.aval.dtype, None, x.aval.device)
