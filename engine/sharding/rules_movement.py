"""Sharding rules of views, copies, and what looks elements up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..ops import copies, indexing, movement, reduction, scan, sorting
from .placements import NormPartial, Partial, Shard
from .rules import (
    WHOLE,
    Call,
    Way,
    along_others,
    cuts,
    elementwise,
    local_params_of,
    local_strides,
    moved,
    own_shape,
    rule_for,
)
from .sharded import Sharding

local_params_of(copies.clone)(local_strides)
local_params_of(movement.expand, movement.view, movement.slice_gradient)(own_shape)


def _terms_stay(call: Call, axis: int) -> Iterable[Way]:
    """Terms of what is moved are terms of the result."""
    now = call.now(axis)
    if isinstance(now[0], Partial) and all(p == now[0] for p in now):
        yield Way(now, (now[0],) * len(call.outs))


def _by_axis(call: Call, axis: int, becomes: Any) -> Iterable[Way]:
    """``becomes(dim)``: the axis of the results that an axis of the first input is; None: it may
    not be cut."""
    for place, cut in cuts(call, axis):
        dim = becomes(cut.dim) if place == 0 else None
        if dim is not None:
            yield call.way((cut,), *[moved(cut, dim)] * len(call.outs))
    yield from _terms_stay(call, axis)


rule_for(indexing.masked_fill)(elementwise)


@rule_for(movement.alias_view)
def _alias(call: Call, axis: int) -> Iterable[Way]:
    return _by_axis(call, axis, lambda dim: dim)


@rule_for(movement.permute)
def _permute(call: Call, axis: int) -> Iterable[Way]:
    return _by_axis(call, axis, call.params["axes"].index)


@rule_for(movement.expand)
def _expand(call: Call, axis: int) -> Iterable[Way]:
    (x,), shape = call.ins, call.outs[0].shape
    extra = len(shape) - x.ndim
    return _by_axis(
        call, axis, lambda dim: dim + extra if shape[dim + extra] == x.shape[dim] else None
    )


@rule_for(movement.unsqueeze)
def _unsqueeze(call: Call, axis: int) -> Iterable[Way]:
    new = call.params["axis"]
    return _by_axis(call, axis, lambda dim: dim + (new <= dim))


def _squeezed(call: Call) -> list[int]:
    return [i for i in call.params["axes"] if call.ins[0].shape[i] == 1]


@rule_for(movement.squeeze)
def _squeeze(call: Call, axis: int) -> Iterable[Way]:
    gone = _squeezed(call)
    return _by_axis(
        call, axis, lambda dim: None if dim in gone else dim - sum(a < dim for a in gone)
    )


@local_params_of(movement.squeeze)
def _axes_of_whole(call: Call, ins: Sequence[Any], outs: Sequence[Sharding]) -> dict[str, Any]:
    """A part may have length 1 where the whole has more."""
    return {"axes": tuple(_squeezed(call))}


@rule_for(movement.slice_)
def _slice(call: Call, axis: int) -> Iterable[Way]:
    cut, length = call.params["axis"], call.params["length"]
    all_of_it = length == call.ins[0].shape[cut]
    return _by_axis(call, axis, lambda dim: dim if dim != cut or all_of_it else None)


@local_params_of(movement.slice_)
def _length_of_part(call: Call, ins: Sequence[Any], outs: Sequence[Sharding]) -> dict[str, Any]:
    axis = call.params["axis"]
    return {**call.params, "length": outs[0].local_shape(call.outs[0].shape)[axis]}


@rule_for(movement.select)
def _select(call: Call, axis: int) -> Iterable[Way]:
    cut = call.params["axis"]
    return _by_axis(call, axis, lambda dim: None if dim == cut else dim - (dim > cut))


@rule_for(movement.diagonal)
def _diagonal(call: Call, axis: int) -> Iterable[Way]:
    both = (call.params["first"], call.params["second"])
    return _by_axis(
        call, axis, lambda dim: None if dim in both else dim - sum(a < dim for a in both)
    )


@rule_for(movement.unfold, movement.slice_gradient)
def _unfold(call: Call, axis: int) -> Iterable[Way]:
    return _by_axis(call, axis, lambda dim: None if dim == call.params["axis"] else dim)


@rule_for(movement.split, movement.split_with_sizes)
def _split(call: Call, axis: int) -> Iterable[Way]:
    return _by_axis(call, axis, lambda dim: None if dim == call.params["axis"] else dim)


@rule_for(movement.unbind)
def _unbind(call: Call, axis: int) -> Iterable[Way]:
    return _select(call, axis)


@rule_for(movement.flip, movement.roll)
def _flip(call: Call, axis: int) -> Iterable[Way]:
    axes = call.params["axes"]
    if not axes and call.op is movement.roll:
        return ()
    return _by_axis(call, axis, lambda dim: None if dim in axes else dim)


@rule_for(movement.pad)
def _pad(call: Call, axis: int) -> Iterable[Way]:
    padding = call.params["padding"]
    for place, cut in cuts(call, axis):
        if place == 0 and tuple(padding[cut.dim]) == (0, 0):
            yield call.way((cut,), cut)


@rule_for(movement.cat, movement.stack)
def _cat(call: Call, axis: int) -> Iterable[Way]:
    for _, cut in cuts(call, axis):
        if cut.dim != call.params["axis"]:
            yield Way((cut,) * len(call.ins), (cut,))
    yield from _terms_stay(call, axis)


def _groups(before: Sequence[int], after: Sequence[int]) -> Iterable[tuple[list[int], list[int]]]:
    """The axes of two shapes of as many elements that become one another, in least groups."""
    i = j = 0
    while i < len(before) or j < len(after):
        first, second = [], []
        one = other = 1
        if i < len(before):
            first.append(i)
            one, i = before[i], i + 1
        if j < len(after):
            second.append(j)
            other, j = after[j], j + 1
        while one != other:
            if one < other and i < len(before):
                first.append(i)
                one, i = one * before[i], i + 1
            elif j < len(after):
                second.append(j)
                other, j = other * after[j], j + 1
            else:
                first.append(i)
                one, i = one * before[i], i + 1
        yield first, second


@rule_for(movement.view)
def _view(call: Call, axis: int) -> Iterable[Way]:
    """A cut along the first axis of a group is one along the first that it becomes."""
    before, after = call.ins[0].shape, call.params["shape"]
    if 0 in before:
        return ()

    def becomes(dim: int) -> int | None:
        pieces = call.pieces(0, dim)
        for first, second in _groups(before, after):
            outer = [i for i in first if before[i] != 1]
            if dim not in first or not outer or dim != outer[0]:
                continue
            target = next(j for j in second if after[j] != 1)
            if before[dim] == after[target] or not (
                before[dim] % pieces or after[target] % pieces
            ):
                return target
        return None

    return _by_axis(call, axis, becomes)


# --- along an axis ------------------------------------------------------------------------------


@rule_for(
    scan.cumsum, scan.cumprod, scan.logcumsumexp,
    scan.cummax, scan.cummin, sorting.sort, sorting.topk,
)  # fmt: skip
def _along_one(call: Call, axis: int) -> Iterable[Way]:
    return along_others(call, axis, (call.params["axis"],), True)


@rule_for(
    reduction.argmax, reduction.argmin, reduction.max_with_index, reduction.min_with_index,
    reduction.median_with_index, reduction.nanmedian_with_index, reduction.mode_with_index,
    sorting.kthvalue,
)  # fmt: skip
def _fold_one(call: Call, axis: int) -> Iterable[Way]:
    folded = call.params["axis"]
    if folded is None:
        return ()
    return along_others(call, axis, (folded,), call.params["keepdims"])


@rule_for(reduction.var, reduction.std, reduction.logsumexp, reduction.xor_sum)
def _fold_some(call: Call, axis: int) -> Iterable[Way]:
    return along_others(call, axis, call.params["axis"], call.params["keepdims"])


@rule_for(reduction.vector_norm)
def _norm(call: Call, axis: int) -> Iterable[Way]:
    folded = call.params["axis"]
    yield from along_others(call, axis, folded, call.params["keepdims"])
    for _, cut in cuts(call, axis):
        if cut.dim in folded and call.even(0, cut.dim):
            order = float(call.params["order"])
            term = NormPartial("sum", order)
            yield call.way((cut,), term)


# --- looking up ---------------------------------------------------------------------------------


@rule_for(indexing.index_select)
def _index_select(call: Call, axis: int) -> Iterable[Way]:
    return along_others(call, axis, (call.params["axis"],), True)


@rule_for(indexing.gather)
def _gather(call: Call, axis: int) -> Iterable[Way]:
    x, index = call.ins
    for _, cut in cuts(call, axis):
        if cut.dim != call.params["axis"] and x.shape[cut.dim] == index.shape[cut.dim]:
            yield Way((cut, cut), (cut,))


@rule_for(indexing.scatter, indexing.scatter_add)
def _scatter(call: Call, axis: int) -> Iterable[Way]:
    x, index, source = call.ins
    for _, cut in cuts(call, axis):
        lengths = {a.shape[cut.dim] for a in (x, index, source) if a.ndim}
        if cut.dim != call.params["axis"] and len(lengths) == 1:
            yield Way((cut, cut, cut if source.ndim else WHOLE), (cut,))


@rule_for(indexing.tril, indexing.triu)
def _triangle(call: Call, axis: int) -> Iterable[Way]:
    last = call.ins[0].ndim - 2
    return _by_axis(call, axis, lambda dim: dim if dim < last else None)


@rule_for(movement.view_update, movement.overwrite)
def _written(call: Call, axis: int) -> Iterable[Way]:
    """The result lies as the base does: it is the base, written to."""
    now = call.now(axis)[0]
    yield call.way((now,), now if isinstance(now, Shard) else WHOLE)
