"""Ops that read and write at places named by index tensors or masks."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..aval import Aval, Shape, aval, broadcast_shapes
from ..op import Op
from ..result_strides import follow_indexed, preserved_strides
from ..stored_types import computes, only_moves
from ..tensor import Tensor, constant, full_flat
from .base import Update
from .comparison import equal, logical_and, where
from .elementwise import add, divide, multiply
from .index_bounds import along_axis, each_axis, of_all_elements
from .movement import cast, clone, diagonal, expand, pad, permute, reshape, zeros_like_aval
from .reduction import sum_to

# --- advanced indexing -----------------------------------------------------------------------


def _indexed_shape(x: Aval, indices: tuple[Aval | None, ...]) -> Shape:
    """The index tensors' common shape stands where they stand, or first if they are apart."""
    given = [i for i, index in enumerate(indices) if index is not None]
    try:
        common = broadcast_shapes(*[indices[i].shape for i in given])  # type: ignore[union-attr]
    except RuntimeError:
        shapes = ", ".join(str(list(indices[i].shape)) for i in given)  # type: ignore[union-attr]
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    if 0 not in common and any(x.shape[i] == 0 for i in given):
        raise IndexError("index is out of bounds for dimension with size 0")
    rest = [n for i, n in enumerate(x.shape) if i not in given]
    adjacent = given == list(range(given[0], given[0] + len(given)))
    before = given[0] if adjacent else 0
    return (*rest[:before], *common, *rest[before:])


def _index_aval(x: Aval, *indices: Aval | None) -> Aval:
    return aval(_indexed_shape(x, indices), x.dtype, None, x.device)


def _index_vjp(g: Any, inputs: Any, avals: Any, needs: Any) -> Any:
    zeros = zeros_like_aval(avals[0])
    indices = [inputs[i] for i in range(1, len(avals))]
    if g.aval.dtype is not zeros.aval.dtype:
        zeros = zeros_like_aval(g.aval)
    return (index_put(zeros, g, *indices, accumulate=True), *[None] * len(indices))


index = Op(
    "index",
    _index_aval,
    "indexing.index",
    vjp=_index_vjp,
    keeps_from=1,
    layout=follow_indexed,
    index_bounds=each_axis(1),
    leading=0,
)


def _index_put_aval(x: Aval, value: Aval, *indices: Aval | None, accumulate: bool) -> Aval:
    shape = _indexed_shape(x, indices)
    fits = len(value.shape) <= len(shape) and all(
        n in (1, m) for n, m in zip(value.shape[::-1], shape[::-1], strict=False)
    )
    extra = value.shape[: max(len(value.shape) - len(shape), 0)]
    if not fits and not (
        all(n == 1 for n in extra)
        and all(n in (1, m) for n, m in zip(value.shape[::-1], shape[::-1], strict=False))
    ):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to "
            f"indexing result of shape {list(shape)}"
        )
    return aval(x.shape, x.dtype, preserved_strides(x), x.device)


def _index_put_vjp(g: Any, inputs: Any, avals: Any, needs: Any, accumulate: bool) -> Any:
    indices = [inputs[i] for i in range(2, len(avals))]
    to_target = to_value = None
    if needs[0]:
        to_target = g if accumulate else index_put(g, constant(0), *indices, accumulate=False)
    if needs[1]:
        to_value = index(g, *indices)
        if to_value.aval.ndim < avals[1].ndim:
            to_value = reshape(to_value, (1,) * (avals[1].ndim - to_value.aval.ndim)
                               + to_value.aval.shape)
    return (to_target, to_value, *[None] * len(indices))


# x with value written (added, for accumulate) at the places that index(x, *indices) reads
index_put = Update(
    "index_put", _index_put_aval, "indexing.index_put", vjp=_index_put_vjp, keeps_from=2,
    autocast_cuda="widest", index_bounds=each_axis(2),
    leading=0,
)

# --- along one axis --------------------------------------------------------------------------


def check_index(name: str, index: Aval) -> None:
    """The index tensor is of type int64 (or int32)."""
    if index.dtype is not dtypes.int64 and index.dtype is not dtypes.int32:
        either = "int32 or int64" if name == "index_select" else "int32/int64"
        raise RuntimeError(f"{name}(): Expected dtype {either} for index")


def _check_gather(name: str, x: Aval, index: Aval, axis: int) -> None:
    check_index(name, index)
    if max(x.ndim, 1) != max(index.ndim, 1):
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as "
            f"{'input' if name == 'gather' else 'self'} tensor"
        )
    for i in range(index.ndim):
        if i != axis and x.ndim and index.shape[i] > x.shape[i]:
            raise RuntimeError(
                f"Size does not match at dimension {i} expected index {list(index.shape)} to be "
                f"no larger than self {list(x.shape)} apart from dimension {axis}"
            )


def _gather_aval(x: Aval, index: Aval, *, axis: int) -> Aval:
    if index.size:
        _check_gather("gather", x, index, axis)
    return aval(index.shape, x.dtype, None, x.device)


def _gather_vjp(g: Any, index: Any, avals: Any, axis: int) -> Any:
    return scatter_add(zeros_like_aval(avals[0]), index, g, axis=axis)


gather = Op(
    "gather", _gather_aval, "indexing.gather", vjp=(_gather_vjp, None), index_bounds=along_axis,
    leading=0,
)


def _scatter_aval(x: Aval, index: Aval, source: Aval, *, axis: int) -> Aval:
    if index.size and source.shape and index.ndim and index.ndim != source.ndim:
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as src tensor"
        )
    if index.size:
        _check_gather("scatter", x, index, axis)
    if source.shape and any(n > m for n, m in zip(index.shape, source.shape, strict=False)):
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(x.shape)} apart "
            f"from dimension {axis} and to be no larger size than src {list(source.shape)}"
        )
    return aval(x.shape, x.dtype, None, x.device)


def _cut_gather(g: Any, index: Any, described: Aval, axis: int) -> Any:
    """The gradient of a scattered source: read where it went; zero where it was not used."""
    read = gather(g, index, axis=axis)
    if not described.shape:
        return sum_to(read, ())
    if read.aval.shape == described.shape:
        return read
    padding = tuple(
        (0, n - m) for n, m in zip(described.shape, read.aval.shape, strict=True)
    )
    return pad(read, constant(0), padding=padding)


# x with source written at index along axis
scatter = Update(
    "scatter",
    _scatter_aval,
    "indexing.scatter",
    vjp=(
        lambda g, index, axis: scatter(g, index, constant(0), axis=axis),
        None,
        lambda g, index, avals, axis: _cut_gather(g, index, avals[2], axis),
    ),
    index_bounds=along_axis,
    leading=0,
)
scatter_add = Update(
    "scatter_add",
    _scatter_aval,
    "indexing.scatter_add",
    vjp=(
        lambda g: g,
        None,
        lambda g, index, avals, axis: _cut_gather(g, index, avals[2], axis),
    ),
    autocast_cuda="widest",
    index_bounds=along_axis,
    leading=0,
)


def _scatter_reduce_aval(
    x: Aval, index: Aval, source: Aval, *, axis: int, reduce: str, include_self: bool
) -> Aval:
    return _scatter_aval(x, index, source, axis=axis)


def _scatter_reduce_vjp(
    g: Any, x: Any, index: Any, source: Any, out: Any, needs: Any, axis: int, reduce: str,
    include_self: bool,
) -> Any:  # fmt: skip
    ones = scatter_add(zeros_like_aval(x.aval), index, _ones(index, x), axis=axis)
    untouched = equal(ones, constant(0))
    keep = constant(1) if include_self else untouched
    if reduce == "sum":
        return multiply(g, keep), None, gather(g, index, axis=axis)
    if reduce == "mean":
        count = add(ones, constant(1)) if include_self else where(untouched, constant(1), ones)
        share = divide(g, count)
        return multiply(share, keep), None, gather(share, index, axis=axis)
    if reduce == "prod":
        return _product_gradients(g, x, index, source, out, keep, axis, include_self)
    mine = equal(x, out)
    theirs = equal(source, gather(out, index, axis=axis))
    hits = scatter_add(zeros_like_aval(x.aval), index, _as(theirs, x), axis=axis)
    own_hits = multiply(_as(mine, x), keep) if not include_self else _as(mine, x)
    share = divide(g, _at_least_one(add(hits, own_hits)))
    return (
        multiply(share, own_hits),
        None,
        where(theirs, gather(share, index, axis=axis), constant(0)),
    )


def _product_gradients(
    g: Any, x: Any, index: Any, source: Any, out: Any, keep: Any, axis: int, include_self: bool
) -> Any:
    """The product of the other factors, each times ``g``; a factor 0 that is alone counts as 1.

    Where two factors are 0 all of theirs are 0, but ``x`` takes the product without its own.
    """
    one = constant(1)
    no_zeros = where(equal(x, constant(0)), one, x)
    others = scatter_reduce(
        no_zeros, index, source, axis=axis, reduce="prod", include_self=include_self
    )
    own = divide(multiply(g, others), no_zeros)
    if not include_self:
        own = where(keep, own, constant(0))
    is_zero = equal(source, constant(0))
    zeros = scatter_add(zeros_like_aval(x.aval), index, _as(is_zero, x), axis=axis)
    alone = logical_and(is_zero, equal(gather(zeros, index, axis=axis), one))
    lifted = scatter_reduce(
        x, index, where(alone, one, source), axis=axis, reduce="prod", include_self=include_self
    )
    theirs = where(
        alone,
        gather(multiply(g, lifted), index, axis=axis),
        divide(gather(multiply(g, out), index, axis=axis), where(is_zero, one, source)),
    )
    return own, None, theirs


def _ones(index: Tensor, x: Tensor) -> Tensor:
    return full_flat(index.aval.shape, x.aval.dtype, 1, x.aval.device)


def _as(mask: Tensor, x: Tensor) -> Any:
    return cast(mask, dtype=x.aval.dtype)


def _at_least_one(x: Any) -> Any:
    return where(equal(x, constant(0)), constant(1), x)


# reduce: sum, prod, mean, amax, amin of the sources that meet in a place (and the old element)
scatter_reduce = Update(
    "scatter_reduce", _scatter_reduce_aval, "indexing.scatter_reduce", vjp=_scatter_reduce_vjp,
    index_bounds=along_axis,
    leading=0,
)


def _index_select_aval(x: Aval, index: Aval, *, axis: int) -> Aval:
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    check_index("index_select", index)
    if not x.ndim:
        return aval((), x.dtype, None, x.device)
    return aval((*x.shape[:axis], index.size, *x.shape[axis + 1 :]), x.dtype, None, x.device)


def _index_select_vjp(g: Any, index: Any, avals: Any, axis: int) -> Any:
    return index_add(zeros_like_aval(avals[0]), index, g, axis=axis)


index_select = Op(
    "index_select", _index_select_aval, "indexing.index_select", vjp=(_index_select_vjp, None),
    index_bounds=along_axis,
    leading=0,
)


def _index_write_aval(x: Aval, index: Aval, source: Aval, *, axis: int) -> Aval:
    check_index("index_add", index)
    if index.ndim > 1:
        raise IndexError(
            f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
            f"{dtypes.scalar_type_name(index.dtype)} and size: {list(index.shape)}"
        )
    if source.ndim and source.shape[axis] != index.size:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.size}) should be equal to "
            f"source.size(dim): ({source.shape[axis]}), for dim: {axis}"
        )
    return aval(x.shape, x.dtype, None, x.device)


# x with source's slices added to those that index names
index_add = Update(
    "index_add",
    _index_write_aval,
    "indexing.index_add",
    vjp=(
        lambda g: g,
        None,
        lambda g, index, avals, axis: _picked(g, index, avals[2], axis),
    ),
    index_bounds=along_axis,
)


def _picked(g: Any, index: Any, described: Aval, axis: int) -> Any:
    read = index_select(g, index, axis=axis)
    return read if read.aval.ndim == described.ndim else expand(read, shape=described.shape)


def _index_copy_aval(x: Aval, index: Aval, source: Aval, *, axis: int) -> Aval:
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if not source.ndim and index.size != 1:
        raise IndexError(
            "index_copy_(): When source is scalar, index should have one element (got "
            f"{index.size})"
        )
    if source.ndim and x.ndim and source.ndim != x.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must "
            f"match. Source dimensionality ({source.ndim}), destination dimensionality ({x.ndim})"
        )
    if source.ndim and source.shape[axis] != index.size:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) "
            f"({source.shape[axis]})"
        )
    if index.dtype is not dtypes.int64:
        raise RuntimeError(
            "index_copy_(): Expected a long tensor for index, but got "
            f"{dtypes.scalar_type_name(index.dtype)}"
        )
    if source.dtype is not x.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{dtypes.scalar_type_name(x.dtype)} and (source) "
            f"{dtypes.scalar_type_name(source.dtype)}"
        )
    rest, given = ((*s[:axis], *s[axis + 1 :]) for s in (x.shape, source.shape))
    if rest != given:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"slice shape: {' '.join(map(str, rest))} at dimension {axis} and source slice shape: "
            f"{' '.join(map(str, given))} at dimension 0."
        )
    return aval(x.shape, x.dtype, None, x.device)


# x with source's slices in place of those that index names
index_copy = Update(
    "index_copy",
    _index_copy_aval,
    "indexing.index_copy",
    vjp=(
        lambda g, index, axis: index_fill(g, index, constant(0), axis=axis),
        None,
        lambda g, index, avals, axis: _picked(g, index, avals[2], axis),
    ),
    autocast="widest",
    index_bounds=along_axis,
)


def _index_fill_aval(x: Aval, index: Aval, value: Aval, *, axis: int) -> Aval:
    if value.ndim:
        raise RuntimeError(
            "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s)."
        )
    return aval(x.shape, x.dtype, preserved_strides(x), x.device)


def _fill_value_vjp(g: Any, index: Any, axis: int) -> Any:
    """The sum over what was filled: once, however often ``index`` names it."""
    filled = index_fill(zeros_like_aval(g.aval), index, constant(1), axis=axis)
    return sum_to(where(equal(filled, constant(0)), constant(0), g), ())


index_fill = Update(
    "index_fill",
    _index_fill_aval,
    "indexing.index_fill",
    vjp=(
        lambda g, index, axis: index_fill(g, index, constant(0), axis=axis),
        None,
        _fill_value_vjp,
    ),
    index_bounds=along_axis,
)

# --- masks -----------------------------------------------------------------------------------


def _masked_fill_aval(x: Aval, mask: Aval, value: Aval) -> Aval:
    if mask.dtype is not dtypes.bool_:
        raise RuntimeError(
            "masked_fill_ only supports boolean masks, but got mask with dtype "
            f"{dtypes.c_name(mask.dtype)}"
        )
    if value.ndim:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s)."
        )
    return aval(broadcast_shapes(x.shape, mask.shape), x.dtype, None, x.device)


def _masked_value_vjp(g: Any, mask: Any) -> Any:
    return sum_to(where(mask, g, constant(0)), ())


masked_fill = Op(
    "masked_fill",
    _masked_fill_aval,
    "indexing.masked_fill",
    vjp=(lambda g, mask: masked_fill(g, mask, constant(0)), None, _masked_value_vjp),
    scalar_step=lambda aval, in_avals: ("where", (1, 2, 0), aval.dtype.np),
    in_place_safe=True,
    asked=(1, 0, 2),
)


def _masked_scatter_aval(x: Aval, mask: Aval, source: Aval) -> Aval:
    shape = broadcast_shapes(mask.shape, x.shape)
    return aval(shape, x.dtype, None, x.device)


def _masked_scatter_source(g: Any, mask: Any, avals: Any) -> Any:
    return reshape(collect_masked(g, mask, size=avals[2].size), avals[2].shape)


masked_scatter = Update(
    "masked_scatter",
    _masked_scatter_aval,
    "indexing.masked_scatter",
    vjp=(lambda g, mask: masked_fill(g, mask, constant(0)), None, _masked_scatter_source),
    checks_values=True,
    leading=0,
)
# the elements where the mask is true, then zeros up to ``size``
collect_masked = Op(
    "masked_scatter_backward",
    lambda g, mask, *, size: aval((size,), g.dtype, None, g.device),
    "indexing.collect_masked",
    vjp=(lambda g, mask, avals: _spread_masked(g, mask, avals[0]), None),
)


def _spread_masked(g: Any, mask: Any, described: Aval) -> Any:
    return masked_scatter(zeros_like_aval(described), mask, g)


# --- flat places -----------------------------------------------------------------------------


def _take_vjp(g: Any, index: Any, avals: Any) -> Any:
    return put(zeros_like_aval(avals[0]), index, g, accumulate=True)


take = Op(
    "take",
    lambda x, index: aval(index.shape, x.dtype, None, x.device),
    "indexing.take",
    vjp=(_take_vjp, None),
    index_bounds=of_all_elements,
    leading=0,
)


def _put_target(g: Any, index: Any, accumulate: bool) -> Any:
    if accumulate:
        return g
    return put(g, index, zeros_like_aval(
        aval(index.aval.shape, g.aval.dtype, None, g.aval.device)
    ), accumulate=False)


put = Update(
    "put",
    lambda x, index, source, *, accumulate: aval(x.shape, x.dtype, None, x.device),
    "indexing.put",
    vjp=(_put_target, None, lambda g, index, avals: _take_like(g, index, avals[2])),
    index_bounds=of_all_elements,
    leading=0,
)


def _take_like(g: Any, index: Any, described: Aval) -> Any:
    return reshape(take(g, index), described.shape)


# --- triangles and diagonals -----------------------------------------------------------------


def _triangle_aval(name: str) -> Any:
    def rule(x: Aval, *, diagonal: int) -> Aval:
        if x.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return aval(x.shape, x.dtype, None, x.device)

    return rule


tril = Update("tril", _triangle_aval("tril"), "indexing.tril",
              vjp=lambda g, diagonal: tril(g, diagonal=diagonal))  # fmt: skip
triu = Update("triu", _triangle_aval("triu"), "indexing.triu",
              vjp=lambda g, diagonal: triu(g, diagonal=diagonal))  # fmt: skip


def _diag_embed_aval(x: Aval, *, offset: int, first: int, second: int) -> Aval:
    n = x.shape[-1] + abs(offset)
    shape = list(x.shape[:-1])
    low, high = sorted((first, second))
    shape.insert(low, n)
    shape.insert(high, n)
    return aval(tuple(shape), x.dtype, None, x.device)


def _diag_embed_vjp(g: Any, offset: int, first: int, second: int) -> Any:
    return clone(diagonal(g, offset=offset, first=first, second=second))


# zeros with x's last axis on a diagonal of the axes ``first`` and ``second``
diag_embed = Op("diag_embed", _diag_embed_aval, "indexing.diag_embed", vjp=_diag_embed_vjp)


def move_axis(x: Tensor, source: int, target: int) -> Tensor:
    """``x`` with one axis at another place."""
    axes = [i for i in range(x.aval.ndim) if i != source]
    axes.insert(target, source)
    return permute(x, axes=tuple(axes))


# what element types that are stored alone have of these ops
only_moves(index, index_put, index_select, take, diag_embed)
computes("complex", index_add, index_copy, index_fill, masked_fill, tril, triu)
