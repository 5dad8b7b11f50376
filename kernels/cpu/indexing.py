"""Reading and writing at places named by indices. Places out of range raise torch's errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.fused_loop import Step
from mindtorch.kernels.codegen.jit import entry_point, kernel

from . import elementwise, gather_scatter_axis, triangles
from .cat_flip_roll_pad import dense, picture
from .strided_copy import WORDS
from .via_float32 import SHORT_FLOATS, flat, in_float32

_SOME_OF_ALL = 4  # a strided array is copied where every so many elements of it are read


def _checked(index: Any, size: int, axis: int) -> Any:
    """``index`` counted from the front."""
    if index.size == 0:
        return index
    if _inside(index, 0, size):
        return index
    if not _inside(index, -size, size):
        wrong = index[(index >= size) | (index < -size)][0]
        raise IndexError(f"index {wrong} is out of bounds for dimension {axis} with size {size}")
    return np.where(index < 0, index + size, index)


def _inside(index: Any, low: int, high: int) -> bool:
    if 0 in index.strides:  # expanded: the same numbers again
        index = index[tuple([0 if s == 0 else slice(None) for s in index.strides])]
    return bool(gather_scatter_axis.all_in_range(flat(index), low, high))


def _places(x: Any, indices: Any) -> Any:
    count = 0  # torch's message counts the index tensors, not the axes
    places: list[Any] = []
    for axis, index in enumerate(indices):
        places.append(slice(None))
        if index is not None:
            places[-1] = _checked(index, x.shape[axis], count)
            count += 1
    return tuple(places)


def index(out: Any, x: Any, *indices: Any) -> None:
    """``out = x[indices]``; None takes the whole axis."""
    axis = _only(indices)
    if axis is None:
        out[...] = x[_places(x, indices)]
    else:
        _take(out, x, _checked(indices[axis], x.shape[axis], 0), axis)


def _take(out: Any, x: Any, rows: Any, axis: int) -> None:
    """Slices of ``x``, of which numpy's ``take`` makes a copy in C order first where it is not."""
    if x.flags.c_contiguous or x.size < _SOME_OF_ALL * out.size:
        np.take(x, rows, axis, out=out, mode="clip")
    else:
        out[...] = x[(*[slice(None)] * axis, rows)]


def _only(indices: Any) -> int | None:
    """The axis of the only index; None where there are several."""
    given = [axis for axis, index in enumerate(indices) if index is not None]
    return given[0] if len(given) == 1 else None


def _keep(out: Any, x: Any) -> None:
    """``out = x``, unless they lie in one memory: then ``x`` is what is written to."""
    if not np.may_share_memory(out, x):
        out[...] = x


def index_put(out: Any, x: Any, value: Any, *indices: Any, accumulate: bool) -> None:
    """``out = x`` with ``out[indices] = value`` (``+=`` with repetitions for ``accumulate``)."""
    _keep(out, x)
    places = _places(x, indices)
    if value.dtype != out.dtype:
        value = value.astype(out.dtype)
    if not accumulate:
        out[places] = value
        return
    if len(places) == 1 and out.ndim >= 1 and places[0].ndim:
        _add_rows(out, places[0].reshape(-1), value, places[0].shape + out.shape[1:])
        return
    axis = _only(indices)
    if axis is not None and places[axis].ndim == 1:
        shape = (*out.shape[:axis], places[axis].size, *out.shape[axis + 1 :])
        if gather_scatter_axis.add_slices(out, places[axis], np.broadcast_to(value, shape), axis):
            return
    np.add.at(out, places, value)


def _add_rows(out: Any, rows: Any, value: Any, shape: Any) -> None:
    """``out[rows[i]] += value[i]``, in order; of a strided array sorted, then by segments."""
    if not rows.size or not out.size:
        return
    value = np.broadcast_to(value, shape).reshape(rows.size, -1)
    if gather_scatter_axis.add_slices(out, rows, value, 0):
        return
    adding = np.logical_or if out.dtype.kind == "b" else np.add
    target = out.reshape(out.shape[0], -1)
    if not np.may_share_memory(target, out):
        np.add.at(out, rows, value.reshape(rows.size, *out.shape[1:]))
        return
    if target.shape[1] == 1 and out.dtype.kind in "fiu":
        np.add.at(target[:, 0], rows, value[:, 0])
        return
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    places = ordered[starts]
    target[places] = adding(target[places], adding.reduceat(value[order], starts, 0))


def _counted(
    index: Any, size: int, axis: int, error: type[Exception] = RuntimeError, prefix: str = ""
) -> Any:
    """``index``, all of whose numbers count from the front."""
    if not _inside(index, 0, size):
        wrong = index[(index >= size) | (index < 0)][0]
        raise error(f"{prefix}index {wrong} is out of bounds for dimension {axis} with size {size}")
    return index


def _open(index: Any, axis: int) -> Any:
    """A tuple of index arrays that names ``index`` along ``axis``."""
    places = []
    for i, n in enumerate(index.shape):
        if i == axis:
            places.append(index)
        else:
            shape = [1] * index.ndim
            shape[i] = n
            places.append(np.arange(n).reshape(shape))
    return tuple(places)


def _at_least_1d(*arrays: Any) -> Any:
    return [a.reshape(1) if a is not None and not a.ndim else a for a in arrays]


def gather(out: Any, x: Any, index: Any, *, axis: int) -> None:
    """``out[i, j] = x[index[i, j], j]`` for axis 0."""
    out, x, index = _at_least_1d(out, x, index)
    _counted(index, x.shape[axis], axis)
    copied = not x.flags.c_contiguous and x.size > _SOME_OF_ALL * index.size
    if copied or not gather_scatter_axis.gather(out, x, index, axis):
        out[...] = x[_open(index, axis)]


def _gather_plan(out_layouts: Any, in_layouts: Any, *, axis: int) -> Any:
    """For few elements that lie in order: the loop, without a look at shapes at each call."""
    shape = in_layouts[0].shape
    loop = gather_scatter_axis.small_gather(out_layouts[0], *in_layouts, axis) if shape else None
    if loop is None:
        return None
    size = shape[axis]
    inside = entry_point(gather_scatter_axis.all_in_range, "boolean(int64[::1], int64, int64)")

    def run(out: Any, x: Any, index: Any) -> None:
        if not inside(index, 0, size):
            _counted(index, size, axis)
        loop(out, x, index)

    return run


gather.plan = _gather_plan


def _source(source: Any, index: Any, dtype: Any) -> Any:
    if source.ndim == 0 or source.shape == index.shape:
        return source.astype(dtype, copy=False)
    return source[tuple(slice(0, n) for n in index.shape)].astype(dtype, copy=False)


def scatter(out: Any, x: Any, index: Any, source: Any, *, axis: int) -> None:
    """``out = x`` with ``out[index[i, j], j] = source[i, j]`` for axis 0."""
    _keep(out, x)
    target, index = _at_least_1d(out, index)
    if not index.size:
        return
    _counted(index, target.shape[axis], axis)
    _write(target, index, _source(source, index, out.dtype), axis)


@in_float32
def scatter_add(out: Any, x: Any, index: Any, source: Any, *, axis: int) -> None:
    """As :func:`scatter`, added; 16-bit sums are rounded once, as PyTorch's are."""
    _keep(out, x)
    target, index = _at_least_1d(out, index)
    if not index.size:
        return
    _counted(index, target.shape[axis], axis)
    _combine(target, index, _source(source, index, out.dtype), axis, "sum")


def _scatter_plan(adding: bool) -> Any:
    def plan(outs: Any, ins: Any, *, axis: int) -> Any:
        """For few elements that lie in order, as for gather."""
        index, size = ins[1], outs[0].shape[axis] if outs[0].shape else 0
        if adding and outs[0].dtype in SHORT_FLOATS:
            return None
        loop = gather_scatter_axis.small_scatter(outs[0], *ins, axis, adding) if size else None
        if loop is None or index.dtype != np.int64:
            return None
        inside = entry_point(gather_scatter_axis.all_in_range, "boolean(int64[::1], int64, int64)")

        def run(out: Any, x: Any, index: Any, source: Any) -> None:
            if not inside(index, 0, size):
                _counted(index, size, axis)
            loop(out, x, index, source)

        return run

    return plan


scatter.plan, scatter_add.plan = _scatter_plan(False), _scatter_plan(True)
_REDUCE: dict[str, Any] = {
    "sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum,
}  # fmt: skip
_BEGIN = {"sum": 0, "mean": 0, "prod": 1}


def scatter_reduce(
    out: Any, x: Any, index: Any, source: Any, *, axis: int, reduce: str, include_self: bool
) -> None:
    """``out`` = ``x`` and the sources that meet in a place, folded by ``reduce``."""
    _fold(out, x, index, source, axis=axis, reduce=reduce, include_self=include_self)
    if reduce != "mean" or not index.size:
        return
    target, index = _at_least_1d(out, index)
    shape = target.shape
    if gather_scatter_axis.repeated(index, axis):
        index = gather_scatter_axis.first_of(index, axis)
        index = index.reshape(index.shape + (1,) * (target.ndim - index.ndim))
        shape = shape[: axis + 1] + (1,) * (target.ndim - axis - 1)
    count = np.full(shape, int(include_self), np.int64)
    _combine(count, index, np.ones(index.shape, np.int64), axis, "sum")
    count[count == 0] = 1
    if out.dtype.kind in "iu":
        target[...] = target // count
    else:
        target[...] = (target / count).astype(out.dtype)


@in_float32
def _fold(
    out: Any, x: Any, index: Any, source: Any, *, axis: int, reduce: str, include_self: bool
) -> None:
    """:func:`scatter_reduce`, but a sum for the mean."""
    _keep(out, x)
    target, index = _at_least_1d(out, index)
    if not index.size:
        return
    _counted(index, target.shape[axis], axis)
    value = _source(source, index, out.dtype)
    if not include_self:
        _write(target, index, np.asarray(_begin(out.dtype, reduce), out.dtype), axis)
    _combine(target, index, value, axis, reduce)


def _scatter_reduce_plan(
    outs: Any, ins: Any, *, axis: int, reduce: str, include_self: bool
) -> Any:
    return scatter_add.plan(outs, ins, axis=axis) if reduce == "sum" and include_self else None


scatter_reduce.plan = _scatter_reduce_plan


def _write(target: Any, index: Any, value: Any, axis: int) -> None:
    if not gather_scatter_axis.scatter(target, index, value, axis, adding=False):
        target[_open(index, axis)] = value


def _combine(target: Any, index: Any, value: Any, axis: int, reduce: str) -> None:
    """Fold ``value`` into ``target`` at the places along ``axis`` that ``index`` names."""
    if reduce in ("sum", "mean"):
        done = gather_scatter_axis.scatter(target, index, value, axis, adding=True)
    else:
        done = gather_scatter_axis.fold(target, index, value, axis, reduce)
    if not done:
        _REDUCE[reduce].at(target, _open(index, axis), value)


def _begin(dtype: Any, reduce: str) -> Any:
    if reduce in _BEGIN:
        return _BEGIN[reduce]
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if reduce == "amax" else limits.max
    if dtype.kind == "b":
        return reduce == "amin"
    return -np.inf if reduce == "amax" else np.inf


def index_select(out: Any, x: Any, index: Any, *, axis: int) -> None:
    """Slices of ``x`` at ``index`` along ``axis``."""
    rows = index.reshape(-1)
    if not x.ndim:
        if not _inside(rows, 0, 1):
            raise IndexError("index out of range in self")
        out[...] = x
        return
    if not _inside(rows, 0, x.shape[axis]):
        if axis != 1:
            raise IndexError("index out of range in self")
        n = x.shape[axis]
        wrong = rows[(rows < 0) | (rows >= n)][0]
        raise RuntimeError(f"INDICES element is out of DATA bounds, id={wrong} axis_dim={n}")
    _take(out, x, rows, axis)


def _select_plan(outs: Any, ins: Any, *, axis: int) -> Any:
    """For operands in C order: ``run(out, x, index)`` on flat arrays."""
    (out,), (x, index) = outs, ins
    word = WORDS.get(x.dtype.itemsize)
    fits = word is not None and index.dtype == np.int64 and bool(x.shape)
    if not fits or not all(dense(v) for v in (out, x, index)):
        return None
    outer, n, inner = picture(x.shape, axis)
    loop = gather_scatter_axis.selecting(word, outer, n, math.prod(index.shape), inner)
    inside = entry_point(gather_scatter_axis.all_in_range, "boolean(int64[::1], int64, int64)")
    shapes = out.shape, x.shape

    def run(out: Any, x: Any, index: Any) -> None:
        if not inside(index, 0, n):  # which raises
            index_select(out.reshape(shapes[0]), x.reshape(shapes[1]), index, axis=axis)
        loop(out, x, index)

    return run


index_select.plan = _select_plan


@kernel(noalias=True)
def _pairs(out: Any, x: Any, first: Any, second: Any, n: int, m: int, inner: int) -> bool:
    """``out[i] = x[first[i], second[i]]``, slices of ``inner`` elements; False where a place is
    not inside."""
    for i in range(first.size):
        a, b = first[i], second[i]
        a, b = a + n if a < 0 else a, b + m if b < 0 else b
        if (a < 0) | (a >= n) | (b < 0) | (b >= m):
            return False
        at, to = (a * m + b) * inner, i * inner
        for j in range(inner):
            out[np.uint64(to + j)] = x[np.uint64(at + j)]
    return True


def _index_plan(outs: Any, ins: Any) -> Any:
    """For one index, or two of one shape along the first axes; all operands in C order."""
    (out,), (x, *given) = outs, ins
    indices = [i for i in given if i is not None]
    word = WORDS.get(x.dtype.itemsize)
    fits = word is not None and all(i.dtype == np.int64 for i in indices)
    if not fits or not all(dense(v) for v in (out, x, *indices)) or not indices:
        return None
    name, shapes = np.dtype(word).name, [v if v is None else v.shape for v in (out, x, *given)]

    def by_numpy(*arrays: Any) -> None:
        index(*[v if s is None else v.reshape(s) for v, s in zip(arrays, shapes, strict=True)])

    if len(indices) == 1:
        outer, n, inner = picture(x.shape, given.index(indices[0]))
        m = math.prod(indices[0].shape)
        loop = gather_scatter_axis.selecting(word, outer, n, m, inner)
        inside = entry_point(gather_scatter_axis.all_in_range, "boolean(int64[::1], int64, int64)")
        at = 2 + given.index(indices[0])

        def run(*arrays: Any) -> None:
            if inside(arrays[at], 0, n):
                loop(arrays[0], arrays[1], arrays[at])
            else:
                by_numpy(*arrays)

        return run
    if len(given) != 2 or indices[0].shape != indices[1].shape:
        return None
    pairs = entry_point(
        _pairs, f"boolean({name}[::1], {name}[::1], int64[::1], int64[::1], int64, int64, int64)"
    )
    sizes = (*x.shape[:2], picture(x.shape, 1)[2])

    def two(out: Any, x: Any, first: Any, second: Any) -> None:
        if not pairs(out, x, first, second, *sizes):
            by_numpy(out, x, first, second)

    return two


index.plan = _index_plan


def index_add(out: Any, x: Any, index: Any, source: Any, *, axis: int) -> None:
    """``out = x`` with ``source``'s slices added to those that ``index`` names."""
    add = _index_add_wide if _is_scatter(out, axis) else _index_add
    add(out, x, index, source, axis=axis)


def _is_scatter(out: Any, axis: int) -> bool:
    """Whether PyTorch's index_add is a scatter_add, whose 16-bit sums are rounded once."""
    return out.dtype in SHORT_FLOATS and len(out.shape) > 1 and axis in (0, len(out.shape) - 1)


def _index_add(out: Any, x: Any, index: Any, source: Any, *, axis: int) -> None:
    _keep(out, x)
    target, source = _at_least_1d(out, source)
    rows = index.reshape(-1)
    if axis == 0 and target.ndim > 1:  # torch reads whole rows by other means
        _counted(rows, target.shape[axis], axis)
    elif not _inside(rows, 0, target.shape[axis]):
        raise IndexError("index out of range in self")
    value = source.astype(out.dtype, copy=False)
    if axis == 0:
        _add_rows(target, rows, value, (rows.size, *target.shape[1:]))
    elif not gather_scatter_axis.add_slices(target, rows, value, axis):
        np.add.at(np.moveaxis(target, axis, 0), rows, np.moveaxis(value, axis, 0))


_index_add_wide = in_float32(_index_add)
_small_index_add = gather_scatter_axis.slices_plan(index_add, True)


def _index_add_plan(outs: Any, ins: Any, *, axis: int) -> Any:
    return None if _is_scatter(outs[0], axis) else _small_index_add(outs, ins, axis=axis)


def index_copy(out: Any, x: Any, index: Any, source: Any, *, axis: int) -> None:
    """``out = x`` with ``source``'s slices in place of those that ``index`` names."""
    _keep(out, x)
    target, source = _at_least_1d(out, source)
    rows = _counted(index.reshape(-1), target.shape[axis], axis, IndexError, "index_copy_(): ")
    np.moveaxis(target, axis, 0)[rows] = np.moveaxis(source, axis, 0)


def index_fill(out: Any, x: Any, index: Any, value: Any, *, axis: int) -> None:
    """``out = x`` with ``value`` in the slices that ``index`` names."""
    _keep(out, x)
    (target,) = _at_least_1d(out)
    rows = _checked(index.reshape(-1), target.shape[axis], axis)
    np.moveaxis(target, axis, 0)[rows] = value.astype(out.dtype)


index_add.plan = _index_add_plan
index_copy.plan = gather_scatter_axis.slices_plan(index_copy, False)
index_fill.plan = gather_scatter_axis.slices_plan(index_fill, False)
index_put.plan = gather_scatter_axis.index_put_plan(index_put)


def masked_fill(out: Any, x: Any, mask: Any, value: Any) -> None:
    """``value`` where ``mask``, else ``x``."""
    out[...] = x
    np.copyto(out, value.astype(out.dtype), where=mask)


def _masked_fill_plan(out_layouts: Any, in_layouts: Any) -> Any:
    kind = out_layouts[0].dtype
    filling = in_layouts[2].dtype
    if "c" in (kind.kind, filling.kind) or (kind.kind == "b" and filling != kind):
        return None  # loops take a number's low bits for a bool
    step = Step("where", (1, 2, 0), kind, kind)
    return elementwise.fused_plan((step,), (0,), out_layouts, in_layouts)


masked_fill.plan = _masked_fill_plan


def masked_scatter(out: Any, x: Any, mask: Any, source: Any) -> None:
    """``out = x`` with ``source``'s elements, in order, where ``mask``."""
    _keep(out, x)
    mask = np.broadcast_to(mask, out.shape)
    count = int(np.count_nonzero(mask))
    if count > source.size:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    out[mask] = source.reshape(-1)[:count]


def collect_masked(out: Any, g: Any, mask: Any, *, size: int) -> None:
    """The elements of ``g`` where ``mask``, then zeros."""
    chosen = g[np.broadcast_to(mask, g.shape)]
    out[: chosen.size] = chosen
    out[chosen.size :] = 0


def _flat_places(index: Any, size: int) -> Any:
    if index.size and (index.max() >= size or index.min() < -size):
        wrong = index.max() if index.max() >= size else index.min()
        raise IndexError(
            f"out of range: tried to access index {wrong} on a tensor of {size} elements."
        )
    return index


def take(out: Any, x: Any, index: Any) -> None:
    """``x`` read as one row, at ``index``."""
    places = _flat_places(index, x.size)
    if x.flags.c_contiguous or x.size < _SOME_OF_ALL * out.size:
        out[...] = x.reshape(-1)[places]
    else:
        out[...] = x[np.unravel_index(places % x.size, x.shape)]


take.plan = gather_scatter_axis.take_plan(take)


def put(out: Any, x: Any, index: Any, source: Any, *, accumulate: bool) -> None:
    """``x`` read as one row, with ``source`` written (added) at ``index``."""
    _keep(out, x)
    target, places = out, _flat_places(index, x.size).reshape(-1)
    if out.flags.c_contiguous:
        target = out.reshape(-1)
    else:
        places = np.unravel_index(places % out.size, out.shape)
    if accumulate:
        np.add.at(target, places, source.reshape(-1).astype(out.dtype))
    else:
        target[places] = source.reshape(-1)

tril, triu, diag_embed = triangles.tril, triangles.triu, triangles.diag_embed
