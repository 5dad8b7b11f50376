"""Sharding rules: how the inputs of an op may lie along an axis of the mesh, and its results then.

A rule is called as ``rule(call, axis)`` and gives :class:`Way` s; that everything is in every
process is always one. Families of ops have theirs here, ops by subject in the modules
``rules_*``; what there is no rule for is gathered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..aval import Aval, contiguous_strides, dense_strides
from ..op import Op
from ..ops import copies
from ..ops import elementwise as pointwise
from ..ops.base import Elementwise, Reduction
from ..ops.movement import expand
from ..tensor import Tensor
from .placements import Partial, Placement, Replicate, Shard, StridedShard
from .sharded import Mesh, Sharding

__all__ = ["Call", "Way", "elementwise", "everywhere", "local_params_of", "rule_for", "ways"]

WHOLE = Replicate()
Run = Callable[..., Any]


class Way(NamedTuple):
    """How inputs and results lie along an axis of the mesh.

    Attributes:
        run: ``run(shardings of the inputs, local inputs, local params)`` in place of the op.
    """

    ins: tuple[Placement, ...]
    outs: tuple[Placement, ...]
    run: Run | None = None


class Call(NamedTuple):
    """A call of an op on tensors over several processes.

    Attributes:
        ins, outs: avals of the whole inputs, None for an absent one, and of the whole results.
        shardings: of the inputs; None for a plain one, which every process has.
    """

    op: Op
    ins: tuple[Any, ...]
    outs: tuple[Aval, ...]
    params: dict[str, Any]
    shardings: list[Sharding | None]

    @property
    def mesh(self) -> Mesh:
        return next(s.mesh for s in self.shardings if s is not None)

    def now(self, axis: int) -> tuple[Placement, ...]:
        """How the inputs lie along an axis of the mesh."""
        return tuple([WHOLE if s is None else s.placements[axis] for s in self.shardings])

    def pieces(self, place: int, dim: int) -> int:
        """Into how many pieces an axis of an input is cut, along all axes of the mesh."""
        sharding = self.shardings[place]
        return 1 if sharding is None else sharding.pieces(dim)

    def even(self, place: int, dim: int) -> bool:
        """Whether all pieces of an axis of an input are of one length."""
        return not self.ins[place].shape[dim] % self.pieces(place, dim)

    def way(self, ins: Sequence[Placement | None], *outs: Placement, run: Run | None = None) -> Way:
        """A way in which inputs that are None, or not named, are everywhere."""
        filled = [WHOLE if p is None else p for p in ins]
        filled += [WHOLE] * (len(self.ins) - len(filled))
        return Way(tuple(filled), outs or (WHOLE,) * len(self.outs), run)


Rule = Callable[[Call, int], Iterable[Way]]
LocalParams = Callable[[Call, Sequence[Any], Sequence[Sharding]], dict[str, Any]]
_RULES: dict[Op, Rule] = {}
_LOCAL: dict[Op, LocalParams] = {}


def rule_for(*ops: Op) -> Callable[[Rule], Rule]:
    """Make the function below the rule of these ops."""

    def register(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(ops, rule))
        return rule

    return register


def local_params_of(*ops: Op) -> Callable[[LocalParams], LocalParams]:
    """Make the function below give the params of the call on local parts, for these ops.

    It is called with the call and how its inputs and results are going to lie.
    """

    def register(function: LocalParams) -> LocalParams:
        _LOCAL.update(dict.fromkeys(ops, function))
        return function

    return register


def everywhere(call: Call) -> Way:
    """Everything in every process."""
    return call.way(())


def ways(call: Call, axis: int) -> Iterable[Way] | None:
    """The ways of the op's rule; None where it has no rule."""
    rule = _RULES.get(call.op)
    if rule is not None:
        return rule(call, axis)
    if isinstance(call.op, Elementwise):
        return elementwise(call, axis)
    if isinstance(call.op, Reduction):
        return _reduction(call, axis)
    return None


def local_params(call: Call, ins: Sequence[Any], outs: Sequence[Sharding]) -> dict[str, Any]:
    """The params of the call on local parts."""
    function = _LOCAL.get(call.op)
    return call.params if function is None else function(call, ins, outs)


def expanded(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """``x`` with this shape, by broadcasting."""
    found: Tensor = expand(x, shape=shape)
    return found


def moved(placement: Shard, dim: int) -> Shard:
    """The same cut along another axis."""
    if isinstance(placement, StridedShard):
        return StridedShard(dim, placement.split_factor)
    return Shard(dim)


def cuts(call: Call, axis: int) -> list[tuple[int, Shard]]:
    """The inputs that are cut along an axis of the mesh: their places and how."""
    return [(i, p) for i, p in enumerate(call.now(axis)) if isinstance(p, Shard)]


# --- elementwise ----------------------------------------------------------------------------------


def elementwise(call: Call, axis: int) -> Iterable[Way]:
    """Cut as one of the inputs is; what is broadcast along the cut is everywhere."""
    shape = call.outs[0].shape
    for place, cut in cuts(call, axis):
        dim = cut.dim + len(shape) - call.ins[place].ndim
        if call.ins[place].shape[cut.dim] != shape[dim]:
            continue
        ins = []
        for x in call.ins:
            own = -1 if x is None else dim - len(shape) + x.ndim
            ins.append(WHOLE if own < 0 or x.shape[own] != shape[dim] else moved(cut, own))
        yield Way(tuple(ins), (moved(cut, dim),) * len(call.outs))


def _terms(call: Call, axis: int) -> list[Placement]:
    """How those inputs lie that are terms of sums, where the result can be one, too."""
    if any(not a.dtype.is_floating_point for a in call.outs):
        return []
    sums = (Partial("sum"), Partial("avg"))
    return [p for p in call.now(axis) if p in sums]


@rule_for(
    pointwise.negative, pointwise.deg2rad, pointwise.rad2deg, copies.cast, copies.clone,
    copies.to_device,
)  # fmt: skip
def linear(call: Call, axis: int) -> Iterable[Way]:
    """f(a + b) = f(a) + f(b): terms stay terms."""
    yield from elementwise(call, axis)
    for term in _terms(call, axis):
        yield call.way((term,), term)


@rule_for(
    pointwise.add, pointwise.subtract, pointwise.add_scaled, pointwise.subtract_scaled
)
def _sum(call: Call, axis: int) -> Iterable[Way]:
    """Terms of both are terms of the sum; a further input is a factor."""
    yield from elementwise(call, axis)
    terms = _terms(call, axis)
    if len(terms) == 2 and terms[0] == terms[1]:
        yield call.way(terms, terms[0])


@rule_for(pointwise.multiply)
def _product(call: Call, axis: int) -> Iterable[Way]:
    yield from elementwise(call, axis)
    for term in _terms(call, axis):
        yield call.way((term, WHOLE), term)
        yield call.way((WHOLE, term), term)


@rule_for(pointwise.divide)
def _quotient(call: Call, axis: int) -> Iterable[Way]:
    yield from elementwise(call, axis)
    for term in _terms(call, axis):
        yield call.way((term, WHOLE), term)


def local_strides(call: Call, ins: Sequence[Any], outs: Sequence[Sharding]) -> dict[str, Any]:
    """A layout that is asked for, of the local part."""
    strides = call.params.get("strides")
    if strides is None:
        return call.params
    whole = call.outs[0].shape
    shape = outs[0].local_shape(whole)
    if strides == contiguous_strides(whole):
        return {**call.params, "strides": contiguous_strides(shape)}
    order = sorted(range(len(whole)), key=lambda i: strides[i])
    return {**call.params, "strides": dense_strides(shape, order)}


def own_shape(call: Call, ins: Sequence[Any], outs: Sequence[Sharding]) -> dict[str, Any]:
    """A shape that is that of the result."""
    return {**call.params, "shape": outs[0].local_shape(call.outs[0].shape)}


# --- reductions -----------------------------------------------------------------------------------

def kept_axis(dim: int, folded: Sequence[int], keepdims: bool) -> int:
    """The axis of the result that an axis becomes which is not folded."""
    return dim if keepdims else dim - sum(a < dim for a in folded)


def along_others(call: Call, axis: int, folded: Sequence[int], keepdims: bool) -> Iterable[Way]:
    """Cut along axes of the first input that are not folded; all results alike."""
    for place, cut in cuts(call, axis):
        if place == 0 and cut.dim not in folded:
            out = moved(cut, kept_axis(cut.dim, folded, keepdims))
            yield call.way((cut,), *[out] * len(call.outs))


def _reduction(call: Call, axis: int) -> Iterable[Way]:
    folded, keepdims = call.params["axis"], call.params["keepdims"]
    yield from along_others(call, axis, folded, keepdims)
    now, combined = call.now(axis)[0], getattr(call.op, "combined", None)
    if combined is None:
        return
    whole, adds = Partial(combined), combined in ("sum", "avg")
    if isinstance(now, Shard) and now.dim in folded:
        # each part has elements, and a mean has the same weight as the others
        if call.even(0, now.dim) or combined in ("sum", "product"):
            yield call.way((now,), whole)
    elif now in _terms(call, axis):
        if adds:
            yield call.way((now,), now)
    elif now == whole and combined in ("max", "min"):
        yield call.way((now,), now)


def run_local(chosen: Sequence[Way]) -> Run | None:
    """What makes the local results in place of the op; None: the op does."""
    own = [way.run for way in chosen if way.run is not None]
    return own[0] if own else None
