"""Primitives that order calls, move elements, choose some, or put several together into one."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from ..common.dtype import text_of
from ..common.tensor import F, adopt, t
from ..ops import function, indexing
from .errors import UnsupportedPrimitiveError
from .primitives import reads, whole, whole_numbers
from .values import MONAD

# MindSpore's numbers of element types begin here and follow in this order.
_FIRST_TYPE = 30
_TYPES = (
    dtypes.bool_, None, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, None, dtypes.uint8,
    dtypes.uint16, dtypes.uint32, dtypes.uint64, None, dtypes.float16, dtypes.float32,
    dtypes.float64, dtypes.bfloat16,
)  # fmt: skip
_BY_NAME = {text_of(each).lower(): each for each in _TYPES if each is not None}


def element_type(value: Any) -> Any:
    """An element type from its number or its name."""
    if value is None or not isinstance(value, (int, str)):
        return value
    if isinstance(value, str):
        found = _BY_NAME.get(value.lower())
    else:
        place = value - _FIRST_TYPE
        found = _TYPES[place] if 0 <= place < len(_TYPES) else None
    if found is None:
        raise UnsupportedPrimitiveError(f"the element type {value!r} is not known here")
    return found


def type_number(dtype: Any) -> int:
    """MindSpore's number of an element type."""
    return _FIRST_TYPE + _TYPES.index(dtype)


# --- order and tuples -----------------------------------------------------------------------------


@reads("Load", "Depend", "Identity", "StopGradient", "identity", "TensorMove")
def _first(x: Any, *_: Any) -> Any:
    return x


@reads("UpdateState")
def _update_state(*_: Any) -> Any:
    return MONAD


@reads("MakeTuple", "make_tuple", "MakeList", "make_list")
def _make_tuple(*values: Any) -> Any:
    return values


@reads("TupleGetItem", "tuple_getitem", "ListGetItem", "list_getitem", "RealTupleGetItem")
def _get_item(values: Any, index: Any) -> Any:
    return values[whole(index)]


@reads("Return", "return")
def _return(x: Any) -> Any:
    return x


@reads("ScalarToTensor", "ScalarToArray")
def _scalar_to_tensor(x: Any, dtype: Any = None) -> Any:
    array = np.array(x)
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    made = adopt(from_array(array))
    return made if dtype is None else function.cast(made, element_type(dtype))


@reads("TupleToTensor")
def _tuple_to_tensor(x: Any, dtype: Any = None) -> Any:
    return _scalar_to_tensor(x, dtype)


@reads("TensorToTuple")
def _tensor_to_tuple(x: Any) -> Any:
    return whole_numbers(x)


@reads("Shape", "TensorShape", "DynamicShape")
def _shape(x: Any) -> Any:
    return tuple(x.shape)


# --- shapes ---------------------------------------------------------------------------------------


@reads("Reshape")
def _reshape(x: Any, shape: Any) -> Any:
    return t.reshape(x, whole_numbers(shape))


@reads("Transpose")
def _transpose(x: Any, axes: Any) -> Any:
    return t.permute(x, whole_numbers(axes))


@reads("ExpandDims")
def _expand_dims(x: Any, axis: Any) -> Any:
    return t.unsqueeze(x, whole(axis))


@reads("Squeeze")
def _squeeze(x: Any, *, axis: Any = ()) -> Any:
    axes = whole_numbers(axis)
    return t.squeeze(x, axes) if axes else t.squeeze(x)


@reads("Flatten")
def _flatten(x: Any) -> Any:
    return t.reshape(x, (x.shape[0], -1)) if x.aval.size else t.flatten(x, 1)


@reads("Tile")
def _tile(x: Any, counts: Any) -> Any:
    return t.tile(x, whole_numbers(counts))


@reads("BroadcastTo")
def _broadcast_to(x: Any, *, shape: Any) -> Any:
    return t.broadcast_to(x, _kept_lengths(x, whole_numbers(shape)))


def _kept_lengths(x: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape in which -1 stands for the length that ``x`` has."""
    own = (1,) * (len(shape) - x.aval.ndim) + tuple(x.shape)
    return tuple(m if n == -1 else n for n, m in zip(shape, own, strict=True))


@reads("Concat")
def _concat(values: Any, *more: Any, axis: Any = 0) -> Any:
    return function.cat([*values, *more] if isinstance(values, tuple) else [values, *more], axis)


@reads("Stack")
def _stack(values: Any, *more: Any, axis: Any = 0) -> Any:
    return t.stack([*values, *more] if isinstance(values, tuple) else [values, *more], axis)


@reads("Unstack", "Unpack")
def _unstack(x: Any, *, axis: Any = 0, num: Any = None) -> Any:
    return tuple(t.unbind(x, axis))


@reads("Split")
def _split(x: Any, *, axis: Any = 0, output_num: Any = 1) -> Any:
    return tuple(t.split(x, x.shape[axis] // output_num, axis))


@reads("SplitV")
def _split_v(x: Any, *, size_splits: Any, split_dim: Any, num_split: Any = None) -> Any:
    return tuple(t.split(x, list(whole_numbers(size_splits)), split_dim))


@reads("StridedSlice")
def _strided_slice(
    x: Any, begin: Any, end: Any, strides: Any, *, begin_mask: Any = 0, end_mask: Any = 0,
    ellipsis_mask: Any = 0, new_axis_mask: Any = 0, shrink_axis_mask: Any = 0,
) -> Any:  # fmt: skip
    return indexing.strided_slice(
        x, whole_numbers(begin), whole_numbers(end), whole_numbers(strides), begin_mask, end_mask,
        ellipsis_mask, new_axis_mask, shrink_axis_mask,
    )  # fmt: skip


@reads("Slice")
def _slice(x: Any, begin: Any, size: Any) -> Any:
    return indexing.slice(x, whole_numbers(begin), whole_numbers(size))


@reads("TensorCopySlices")
def _copy_slices(x: Any, value: Any, begin: Any, end: Any, strides: Any) -> Any:
    places = zip(*[whole_numbers(each) for each in (begin, end, strides)], strict=True)
    made = t.clone(x)
    made[tuple(slice(*each) for each in places)] = value
    return made


@reads("ReverseV2")
def _reverse(x: Any, *, axis: Any) -> Any:
    return t.flip(x, whole_numbers(axis))


@reads("Pad")
def _pad(x: Any, *, paddings: Any) -> Any:
    return F.pad(x, [whole(n) for pair in reversed(list(paddings)) for n in pair])


@reads("PadV3")
def _pad_v3(
    x: Any, padding: Any, value: Any = 0, *, mode: str = "constant", paddings_contiguous: Any = True
) -> Any:
    numbers = list(whole_numbers(padding))
    if not paddings_contiguous:  # all beginnings, then all ends
        half = len(numbers) // 2
        numbers = [n for pair in zip(numbers[:half], numbers[half:], strict=True) for n in pair]
    if mode != "constant":
        return F.pad(x, numbers, "replicate" if mode == "edge" else mode)
    # of a constant, which a tracer knows
    filled = value.array().item() if isinstance(value, EngineTensor) else value
    return F.pad(x, numbers, "constant", filled or 0)


# --- choosing elements ----------------------------------------------------------------------------


@reads("Gather")
def _gather(x: Any, places: Any, axis: Any, *, batch_dims: Any = 0) -> Any:
    return function.gather(x, places, whole(axis), batch_dims)


@reads("GatherD", "GatherDGradV2")
def _gather_d(x: Any, axis: Any, places: Any) -> Any:
    return t.gather(x, whole(axis), places.long())


@reads("Diagonal")
def _diagonal(x: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    return t.diagonal(x, whole(offset), whole(axis1), whole(axis2))


@reads("MatrixSetDiagV3")
def _set_diagonal(
    x: Any, values: Any, k: Any, *, align: Any = "RIGHT_LEFT", max_length: Any = None
) -> Any:
    offsets = whole_numbers(k)
    if len(set(offsets)) != 1:
        raise UnsupportedPrimitiveError("MatrixSetDiagV3 of several diagonals")
    return t.diagonal_scatter(x, values, offsets[0], -2, -1)


@reads("Eye")
def _eye(rows: Any, columns: Any, dtype: Any) -> Any:
    return t.eye(whole(rows), whole(columns), dtype=element_type(dtype))


@reads("Meshgrid")
def _meshgrid(values: Any, *, indexing: Any = "xy") -> Any:
    order = {0: "ij", 1: "xy"}.get(indexing, indexing)
    return function.meshgrid(*values, indexing=order)


@reads("EmbeddingLookup")
def _embedding_lookup(
    table: Any, places: Any, offset: Any = 0, *, bprop_return_sparse: Any = True
) -> Any:
    at = places.long() - whole(offset)
    kept = (at >= 0) & (at < table.shape[0])  # others give zeros
    rows = function.gather(table, t.where(kept, at, 0), 0)
    return t.where(t.unsqueeze(kept, -1), rows, t.zeros_like(rows))


@reads("IndexFill")
def _index_fill(x: Any, axis: Any, places: Any, value: Any) -> Any:
    return t.index_fill(x, whole(axis), places.long(), value)


@reads("Scatter")
def _scatter(x: Any, axis: Any, places: Any, values: Any, reduction: Any = 0) -> Any:
    return _scattered(x, whole(axis), places, values, reduction)


@reads("TensorScatterElements")
def _scatter_elements(
    x: Any, places: Any, values: Any, axis: Any = 0, reduction: Any = "none"
) -> Any:
    return _scattered(x, whole(axis), places, values, reduction)


def _scattered(x: Any, axis: int, places: Any, values: Any, reduction: Any) -> Any:
    if reduction not in (0, 1, "none", "add"):
        raise UnsupportedPrimitiveError(f"elements are scattered with the reduction {reduction!r}")
    put = t.scatter if reduction in (0, "none") else t.scatter_add
    return put(x, axis, places.long(), values)


@reads("SearchSorted")
def _search_sorted(
    rows: Any, values: Any, order: Any = None, dtype: Any = dtypes.int64, right: Any = False
) -> Any:
    found = t.searchsorted(rows, values, right=bool(right), sorter=order)
    return found.to(element_type(dtype))


@reads("UniqueConsecutive")
def _unique_consecutive(
    x: Any, inverse: Any = False, counts: Any = False, axis: Any = None
) -> Any:
    made = t.unique_consecutive(x, True, True, None if axis is None else whole(axis))
    return tuple(made)


@reads("OneHot")
def _one_hot(places: Any, depth: Any, on: Any, off: Any, *, axis: Any = -1) -> Any:
    return function.one_hot(places, whole(depth), on, off, axis)


@reads("TopK")
def _top_k(x: Any, k: Any, *, sorted: Any = True) -> Any:  # noqa: A002
    return function.topk(x, whole(k), sorted=sorted)


@reads("Argmax")
def _argmax(x: Any, *, axis: Any = -1, output_type: Any = dtypes.int32) -> Any:
    return t.argmax(x, axis).to(element_type(output_type))


@reads("Argmin")
def _argmin(x: Any, *, axis: Any = -1, output_type: Any = dtypes.int32) -> Any:
    return t.argmin(x, axis).to(element_type(output_type))


@reads("ArgMaxWithValue")
def _arg_max_with_value(x: Any, *, axis: Any = 0, keep_dims: Any = False) -> Any:
    values, places = t.max(x, axis, keepdim=keep_dims)
    return places, values


@reads("ArgMinWithValue")
def _arg_min_with_value(x: Any, *, axis: Any = 0, keep_dims: Any = False) -> Any:
    values, places = t.min(x, axis, keepdim=keep_dims)
    return places, values


@reads("Cast")
def _cast(x: Any, dtype: Any) -> Any:
    return function.cast(x, element_type(dtype))


@reads("Tril")
def _tril(x: Any, *, diagonal: Any = 0) -> Any:
    return t.tril(x, diagonal)


@reads("Triu")
def _triu(x: Any, *, diagonal: Any = 0) -> Any:
    return t.triu(x, diagonal)


@reads("ZerosLike", "ZerosLikeExt")
def _zeros_like(x: Any, dtype: Any = None) -> Any:
    return t.zeros_like(x, dtype=element_type(dtype))


@reads("OnesLike", "OnesLikeExt")
def _ones_like(x: Any, dtype: Any = None) -> Any:
    return t.ones_like(x, dtype=element_type(dtype))


@reads("FillV2", "FillScalar")
def _fill(shape: Any, value: Any, dtype: Any = None) -> Any:
    number = value.item() if isinstance(value, EngineTensor) else value
    kind = value.aval.dtype if isinstance(value, EngineTensor) else element_type(dtype)
    return t.full(whole_numbers(shape), number, dtype=kind)


@reads("Range")
def _range(start: Any, end: Any, step: Any, *, maxlen: Any = None) -> Any:
    return function.range(start, end, step)
