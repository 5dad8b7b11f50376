"""Rules of vmap: how one application of an op serves all examples.

A rule is called as ``rule(op, batched, inputs, params, size)``: an input has the batch as axis 0
where ``batched`` says so. Its results all have it; NotImplemented asks for the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.inplace import copy_
from ..aval import aval, contiguous_strides
from ..op import Op
from ..ops import (
    complex,
    copies,
    elementwise,
    factorizations,
    fft,
    indexing,
    linear_algebra,
    movement,
    pooling,
    reduction,
    resizing,
    scan,
    softmax,
    sorting,
)
from ..ops.base import Elementwise, Reduction
from ..ops.comparison import less, where
from ..ops.elementwise import add, multiply
from ..ops.indexing import gather, index_put, scatter, scatter_add
from ..ops.indexing import index as index_at
from ..ops.linear_algebra import matmul, swapped
from ..tensor import Tensor, constant, from_array, full_flat

Rule = Callable[..., Any]
_RULES: dict[Op, Rule] = {}


def apply(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """The results for all examples by a rule; NotImplemented without one."""
    rule = _RULES.get(op)
    if rule is not None:
        return rule(op, batched, inputs, params, size)
    if isinstance(op, Elementwise):
        return _elementwise(op, batched, inputs, params)
    if isinstance(op, Reduction):
        return _reduction(op, batched, inputs, params, size)
    return NotImplemented


def loop(
    op: Op, batched: Any, inputs: Any, params: dict[str, Any], plan: Any, size: int
) -> tuple[Tensor, ...]:
    """One example after another, stacked."""
    if not size:
        return tuple(full_flat((0, *a.shape), a.dtype, 0) for a in plan.avals)
    rows = []
    for i in range(size):
        row = op(*[
            movement.select(x, axis=0, index=i) if b else x
            for x, b in zip(inputs, batched, strict=True)
        ], **params)
        rows.append(row if isinstance(row, tuple) else (row,))
    return tuple(
        movement.cat(*[movement.unsqueeze(x, axis=0) for x in column], axis=0)
        for column in zip(*rows, strict=True)
    )


def rule_for(*ops: Op) -> Callable[[Rule], Rule]:
    """Make the function below the rule of these ops."""

    def register(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(ops, rule))
        return rule

    return register


def with_rank(x: Tensor, rank: int) -> Tensor:
    """Examples with axes of length 1 put in front until they have ``rank`` axes."""
    while x.aval.ndim - 1 < rank:
        x = movement.unsqueeze(x, axis=1)
    return x


def everywhere(x: Tensor, batched: bool, size: int) -> Tensor:
    """``x`` with the batch as axis 0 whether or not it had it."""
    return x if batched else movement.expand(x, shape=(size, *x.aval.shape))


def _rank(x: Any, batched: bool) -> int:
    return int(x.aval.ndim) - int(batched)


def _elementwise(op: Elementwise, batched: Any, inputs: Any, params: dict[str, Any]) -> Any:
    """Examples are aligned behind the batch and have the type of a single example."""
    examples = tuple(
        aval(x.aval.shape[1:], x.aval.dtype) if b else x.aval
        for x, b in zip(inputs, batched, strict=True)
    )
    rank = max(a.ndim for a in examples)
    aligned = [with_rank(x, rank) if b else x for x, b in zip(inputs, batched, strict=True)]
    compute, _ = op.types(examples)
    if op.types(tuple(x.aval for x in aligned))[0] is not compute:
        aligned = [x if x.aval.weak else movement.cast(x, dtype=compute) for x in aligned]
    return op(*aligned, **params)


# --- params that name axes or shapes -------------------------------------------------------------


def _shift(value: Any) -> Any:
    return value + 1 if isinstance(value, int) else tuple(a + 1 for a in value)


@rule_for(
    movement.unsqueeze, movement.squeeze, movement.slice_, movement.select, movement.diagonal,
    indexing.diag_embed, movement.flip, fft.complex_to_complex, fft.real_to_complex,
    fft.complex_to_real,
)  # fmt: skip
def _axes_shifted(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """Axes count from the batch on."""
    names = ("axis", "axes", "first", "second")
    moved = {k: _shift(v) if k in names else v for k, v in params.items()}
    return op(*inputs, **moved)


@rule_for(
    movement.alias_view, copies.cast, indexing.tril, indexing.triu, complex.view_dtype,
    complex.view_as_real_copy, complex.view_as_complex_copy, linear_algebra.inverse_info,
    linear_algebra.cofactors, linear_algebra.det, linear_algebra.slogdet,
    linear_algebra.cholesky_info, factorizations.qr, factorizations.eigh, factorizations.svd,
    factorizations.eig, factorizations.lu_factor, factorizations.permutation,
    factorizations.ldl_factor, factorizations.geqrf,
)  # fmt: skip
def _unchanged(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """Axes count from the end, or do not matter."""
    return op(*inputs, **params)


@rule_for(movement.permute)
def _permute(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    return op(*inputs, axes=(0, *_shift(params["axes"])))


@rule_for(movement.expand)
def _expand(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    shape = params["shape"]
    return op(with_rank(inputs[0], len(shape)), shape=(size, *shape))


@rule_for(movement.view)
def _view(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    return movement.reshape(inputs[0], (size, *params["shape"]))


@rule_for(movement.unfold)
def _unfold(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    if inputs[0].aval.ndim == 1:
        return NotImplemented
    return op(*inputs, **{**params, "axis": params["axis"] + 1})


@rule_for(movement.as_strided)
def _as_strided(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    strides = (inputs[0].aval.strides[0], *params["strides"])
    return op(
        *inputs, shape=(size, *params["shape"]), strides=strides, offset=params["offset"]
    )


@rule_for(copies.clone)
def _clone(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    strides = params.get("strides")
    if strides is not None:
        shape = inputs[0].aval.shape
        strides = (contiguous_strides(shape)[0], *strides)
    return op(*inputs, strides=strides)


@rule_for(movement.slice_gradient)
def _slice_gradient(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    moved = {**params, "shape": (size, *params["shape"]), "axis": params["axis"] + 1}
    return op(*inputs, **moved)


@rule_for(movement.roll)
def _roll(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    if not params["axes"]:
        return NotImplemented
    return op(*inputs, shifts=params["shifts"], axes=_shift(params["axes"]))


@rule_for(movement.pad)
def _pad(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    if batched[1]:
        return NotImplemented
    return op(*inputs, padding=((0, 0), *params["padding"]))


@rule_for(movement.cat, movement.stack)
def _cat(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    wholes = [everywhere(x, b, size) for x, b in zip(inputs, batched, strict=True)]
    return op(*wholes, axis=params["axis"] + 1)


@rule_for(movement.view_update)
def _view_update(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """The chain of views is taken of all examples at once, as rules of its ops say."""
    base = movement.clone(everywhere(inputs[0], batched[0], size), strides=None)
    place = base
    for link, link_params in params["chain"]:
        place = apply(link, (True,), (place,), dict(link_params), size)
        if place is NotImplemented:
            return NotImplemented
    copy_(place, with_rank(inputs[1], place.aval.ndim - 1) if batched[1] else inputs[1])
    return base


# --- along axes ---------------------------------------------------------------------------------


@rule_for(
    reduction.var, reduction.std, reduction.vector_norm, reduction.logsumexp, reduction.xor_sum,
)  # fmt: skip
def _reduction(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """The axes count from the batch on; a number gets an axis to fold."""
    x = inputs[0]
    if x.aval.ndim == 1:
        whole = movement.unsqueeze(x, axis=1)
        return op(whole, **{**params, "axis": (1,), "keepdims": False})
    return op(x, **{**params, "axis": tuple(a + 1 for a in params["axis"])})


@rule_for(reduction.argmax, reduction.argmin)
def _place_of_extreme(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    if params["axis"] is not None and inputs[0].aval.ndim > 1:
        return op(*inputs, **{**params, "axis": params["axis"] + 1})
    x = inputs[0]
    rank = x.aval.ndim - 1
    count = 1
    for n in x.aval.shape[1:]:
        count *= n
    found = op(movement.reshape(x, (size, count)), axis=1, keepdims=False)
    return with_rank(found, rank) if params["keepdims"] else found


@rule_for(
    reduction.max_with_index, reduction.min_with_index, reduction.median_with_index,
    reduction.nanmedian_with_index, reduction.mode_with_index, sorting.kthvalue, sorting.sort,
    sorting.topk, scan.cumsum, scan.cumprod, scan.cumprod_gradient, scan.logcumsumexp, scan.cummax,
    scan.cummin, softmax.softmax, softmax.softmax_gradient, softmax.log_softmax,
    softmax.log_softmax_gradient, indexing.gather, indexing.scatter, indexing.scatter_add,
    indexing.scatter_reduce,
)  # fmt: skip
def _along(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """One axis, the same of all inputs; numbers stay numbers."""
    ranks = [_rank(x, b) for x, b in zip(inputs, batched, strict=True)]
    if not max(ranks):
        return NotImplemented if len(inputs) > 1 else _along_nothing(op, inputs[0], params)
    wholes = []
    for x, b, rank in zip(inputs, batched, ranks, strict=True):
        if not b and not rank:
            wholes.append(x)
        elif rank != max(ranks):
            return NotImplemented
        else:
            wholes.append(everywhere(x, b, size))
    return op(*wholes, **{**params, "axis": params["axis"] + 1})


def _along_nothing(op: Op, x: Tensor, params: dict[str, Any]) -> Any:
    """Each example is a number: one axis of length 1 is put in, and taken away again."""
    found = op(movement.unsqueeze(x, axis=1), **{**params, "axis": 1})
    several = isinstance(found, tuple)
    flat = tuple(
        movement.reshape(r, x.aval.shape) for r in (found if several else (found,))
    )
    return flat if several else flat[0]


@rule_for(indexing.masked_fill, elementwise.make_complex)
def _pointwise(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """Examples are aligned behind the batch."""
    rank = max(_rank(x, b) for x, b in zip(inputs, batched, strict=True))
    aligned = [with_rank(x, rank) if b else x for x, b in zip(inputs, batched, strict=True)]
    if op is indexing.masked_fill and batched[2]:
        value = movement.cast(aligned[2], dtype=inputs[0].aval.dtype)
        return where(aligned[1], value, aligned[0])
    return op(*aligned)


# --- indexing with tensors ----------------------------------------------------------------------


def counted(size: int, rank: int) -> Tensor:
    """0 .. size - 1 along axis 0 of ``rank`` further axes of length 1."""
    return from_array(np.arange(size).reshape((size,) + (1,) * rank))


def _batched_indices(batched: Any, indices: Any, size: int) -> tuple[list[Any], int, int]:
    """Indices with the batch's own in front; the rank of their common shape; where it stands."""
    given = [i for i, x in enumerate(indices) if x is not None]
    common = max(_rank(indices[i], batched[i]) for i in given)
    aligned = [
        with_rank(x, common) if x is not None and b else x
        for x, b in zip(indices, batched, strict=True)
    ]
    adjacent = given == list(range(given[0], given[0] + len(given)))
    return [counted(size, common), *aligned], common, given[0] if adjacent else 0


@rule_for(indexing.index)
def _index(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    indices, common, before = _batched_indices(batched[1:], inputs[1:], size)
    found = index_at(everywhere(inputs[0], batched[0], size), *indices)
    if not before:
        return found
    # the common shape came first, after the batch; it stands behind ``before`` axes of x
    rest = range(1 + common, 1 + common + before)
    tail = range(1 + common + before, found.aval.ndim)
    return movement.permute(found, axes=(0, *rest, *range(1, 1 + common), *tail))


@rule_for(indexing.index_put)
def _index_put(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    indices, common, before = _batched_indices(batched[2:], inputs[2:], size)
    x = everywhere(inputs[0], batched[0], size)
    value = inputs[1]
    given = sum(i is not None for i in indices) - 1
    rank = common + x.aval.ndim - 1 - given
    if before:
        if _rank(value, batched[1]) != rank:
            return NotImplemented
        at = int(batched[1])
        moved = (*range(at + before, at + before + common), *range(at, at + before),
                 *range(at + before + common, at + rank))  # fmt: skip
        value = movement.permute(value, axes=(*range(at), *moved))
    value = with_rank(value, rank) if batched[1] else value
    return index_put(x, value, *indices, **params)


def _spread(index: Tensor, batched: bool, like: Tensor, axis: int, size: int) -> Tensor:
    """A vector of places along ``axis`` of examples, as the index that gather takes for them."""
    places = everywhere(index, batched, size)
    shape = list(like.aval.shape)
    count = places.aval.size // max(size, 1)
    ones = [size, *[1] * (like.aval.ndim - 1)]
    ones[axis] = shape[axis] = count
    return movement.expand(movement.reshape(places, tuple(ones)), shape=tuple(shape))


@rule_for(indexing.index_select)
def _index_select(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    axis = params["axis"] + 1
    x = everywhere(inputs[0], batched[0], size)
    if x.aval.ndim == 1:
        return NotImplemented
    if not batched[1]:
        return op(x, inputs[1], axis=axis)
    return gather(x, _spread(inputs[1], True, x, axis, size), axis=axis)


@rule_for(indexing.index_add, indexing.index_copy, indexing.index_fill)
def _index_write(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    axis = params["axis"] + 1
    x = everywhere(inputs[0], batched[0], size)
    source = inputs[2]
    filled = op is indexing.index_fill
    if x.aval.ndim == 1 or not (filled or _rank(source, batched[2]) == x.aval.ndim - 1):
        return NotImplemented
    if not filled:
        source = everywhere(source, batched[2], size)
    if not (batched[1] or (filled and batched[2])):
        return op(x, inputs[1], source, axis=axis)
    places = _spread(inputs[1], batched[1], x if filled else source, axis, size)
    if filled:
        source = movement.cast(source, dtype=x.aval.dtype)
        source = with_rank(source, x.aval.ndim - 1) if batched[2] else source
        source = movement.expand(source, shape=places.aval.shape)
    return (scatter_add if op is indexing.index_add else scatter)(x, places, source, axis=axis)


def _of_all(index: Tensor, count: int, size: int) -> Tensor:
    """Places within examples of ``count`` elements as places within all of them."""
    forward = where(less(index, constant(0)), add(index, constant(count)), index)
    return add(forward, multiply(counted(size, index.aval.ndim - 1), constant(count)))


@rule_for(indexing.take, indexing.put)
def _take(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    if op is indexing.take and not batched[0]:
        return op(*inputs)
    x, index, *source = (
        everywhere(each, b, size) for each, b in zip(inputs, batched, strict=True)
    )
    places = _of_all(index, x.aval.size // max(size, 1), size)
    return op(movement.contiguous(x), places, *source, **params)


# --- products and networks ----------------------------------------------------------------------


@rule_for(
    linear_algebra.matmul, linear_algebra.solve_triangular, linear_algebra.cholesky_solve,
    linear_algebra.euclidean_distance,
)  # fmt: skip
def _matrices(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """Axes before the last two are broadcast: they are aligned behind the batch."""
    ranks = [_rank(x, b) for x, b in zip(inputs, batched, strict=True)]
    return op(*[
        with_rank(x, max(ranks)) if b else x for x, b in zip(inputs, batched, strict=True)
    ], **params)


@rule_for(
    linear_algebra.solve_info, factorizations.ldl_solve, factorizations.householder_product,
    linear_algebra.lstsq,
)  # fmt: skip
def _same_batch(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """Both inputs get the batch, so that all results have it."""
    inputs = [everywhere(x, b, size) for x, b in zip(inputs, batched, strict=True)]
    if op in (linear_algebra.solve_info, factorizations.ldl_solve):
        rank = max(x.aval.ndim - 1 for x in inputs)
        # pivots, which are integers, have one axis less than matrices
        inputs = [with_rank(x, rank - (x.aval.dtype.category < 2)) for x in inputs]
    return op(*inputs, **params)


@rule_for(linear_algebra.pinv)
def _pinv(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """The limits belong to matrices: theirs are the axes before the last two."""
    x = everywhere(inputs[0], batched[0], size)
    limits = [with_rank(each, x.aval.ndim - 3) if b else each
              for each, b in zip(inputs[1:], batched[1:], strict=True)]  # fmt: skip
    return op(x, *limits, **params)


@rule_for(linear_algebra.linear)
def _linear(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    x, weight, bias = inputs
    if not any(batched[1:]):
        return op(x, weight, bias)
    vector = _rank(x, batched[0]) == 1
    if vector:
        x = movement.unsqueeze(x, axis=int(batched[0]))
    rank = _rank(x, batched[0])
    turned = swapped(weight)
    x = with_rank(x, rank) if batched[0] else x
    turned = with_rank(turned, rank) if batched[1] else turned
    result = matmul(x, turned)
    if bias is not None:
        result = add(result, with_rank(bias, rank) if batched[2] else bias)
    return movement.squeeze(result, axes=(result.aval.ndim - 2,)) if vector else result


@rule_for(
    pooling.max_pool, pooling.max_pool_gradient, pooling.avg_pool, pooling.avg_pool_gradient,
    pooling.adaptive_avg_pool, pooling.adaptive_avg_pool_gradient, pooling.adaptive_max_pool,
    resizing.resize, resizing.resize_gradient,
)  # fmt: skip
def _images(op: Op, batched: Any, inputs: Any, params: dict[str, Any], size: int) -> Any:
    """Examples of a batch of images are images of a longer batch."""
    images = 2 if op is pooling.max_pool_gradient else 1
    if any(batched[images:]):
        return NotImplemented
    wholes = [
        everywhere(x, b, size) for x, b in zip(inputs[:images], batched[:images], strict=True)
    ]
    count = wholes[0].aval.shape[1]
    folded = [movement.reshape(x, (size * count, *x.aval.shape[2:])) for x in wholes]
    if "shape" in params:
        params = {**params, "shape": (size * count, *params["shape"][1:])}
    found = op(*folded, *inputs[images:], **params)
    several = isinstance(found, tuple)
    results = tuple(
        movement.reshape(r, (size, count, *r.aval.shape[1:]))
        for r in (found if several else (found,))
    )
    return results if several else results[0]
