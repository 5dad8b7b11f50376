"""Reading and writing at places: gather, scatter, masks, triangles, diagonals."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch.engine import dtypes, stored_types
from mindtorch.engine.autograd import inplace, tape
from mindtorch.engine.aval import aval, broadcast_shapes
from mindtorch.engine.counted_values import loops as counting
from mindtorch.engine.devices.device import cpu, meta
from mindtorch.engine.dtype_support import refuse, refuse_kinds
from mindtorch.engine.ops import indexing as ops
from mindtorch.engine.ops import movement
from mindtorch.engine.ops.comparison import equal
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array, full_flat, make
from mindtorch.engine.transforms import vmap

from .._api.arguments import (
    as_int,
    check_value,
    normalize_axis,
    require_tensor,
)
from .._api.meta_kernels import lacks_elements
from .._api.onnx_export import exporting_now
from .._api.out_rules import EXACT, SAME_SCALAR_TYPE, Out
from .._api.publish import FUNCTIONS, function, operand
from .._api.warn_caller import warn_caller, warn_caller_once
from ._places import check_folded, check_places, check_range, check_slices, source_of
from .creation import full_like
from .indexing import require_same_type, warn_byte_mask
from .pointwise import scaled_operand

_FEW = 4096  # elements whose places numpy finds as soon


def _axis(x: Any, dim: Any) -> int:
    return normalize_axis(operator.index(dim), x.aval.ndim)


@function(out=Out(EXACT, no_overlap=True), cacheable=True)
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:  # noqa: A002
    """``out[i][j] = input[index[i][j]][j]`` for ``dim`` 0.

    Args:
        sparse_grad: the gradient is the same, but dense, and a warning says so.
    """
    if sparse_grad and input.requires_grad:
        warn_caller(
            "torch.gather(sparse_grad=True): the gradient is the same, but a dense tensor",
        )
    if index.aval.dtype is not dtypes.int64 and index.aval.dtype is not dtypes.int32:
        if index.aval.size:
            raise RuntimeError("gather(): Expected dtype int32/int64 for index")
        index = index.long()
    return ops.gather(input, index, axis=_axis(input, dim))


_OLD_REDUCE = {"add": "sum", "multiply": "prod"}


@function(out=Out(EXACT), in_place=True, apart=True, cacheable=True)
def scatter(
    input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None  # noqa: A002
) -> Any:
    """``input`` with ``src`` (or ``value``) written at ``index`` along ``dim``.

    Args:
        reduce: None to overwrite, "add" or "multiply".
    """
    folds = reduce is not None and isinstance(src, EngineTensor)
    if folds and src.aval.shape and not lacks_elements(input):
        warn_caller_once(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be "
            "removed in a future PyTorch release. Use torch.scatter_reduce instead for more "
            "reduction options."
        )
    source = source_of(input, value if src is None else src, "scatter")
    _check_filling(input, value if src is None else src)
    check_places(input, _axis(input, dim), index, src)
    if reduce is None:
        made = ops.scatter(input, index, source, axis=_axis(input, dim))
        return made if isinstance(src, EngineTensor) else tape.named(made, "ScatterBackward1")
    if reduce not in _OLD_REDUCE:
        raise RuntimeError("reduce argument must be either add or multiply.")
    if not source.aval.shape:
        source = full_like(index, source.flat[0].item(), dtype=input.aval.dtype)
    return ops.scatter_reduce(
        input, index, source, axis=_axis(input, dim), reduce=_OLD_REDUCE[reduce], include_self=True
    )


@function(out=Out(EXACT), in_place=True, apart=True, cacheable=True)
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:  # noqa: A002
    """``input`` with ``src`` added at ``index`` along ``dim``."""
    require_tensor(src, "scatter_add", "src", 4)
    axis = _axis(input, dim)
    source = source_of(input, src, "scatter")
    check_places(input, axis, index, src)
    return ops.scatter_add(input, index, source, axis=axis)


@function(out=Out(EXACT), in_place=True, apart=True, cacheable=True, checked=True)
def scatter_reduce(
    input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True  # noqa: A002
) -> Any:
    """``input`` with the elements of ``src`` that meet at a place folded by ``reduce``."""
    axis = _axis(input, dim)
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(
            "reduce argument must be either sum, prod, mean, amax or amin, got " + str(reduce)
        )
    source = source_of(input, src, "scatter")
    check_places(input, axis, index, src)
    if reduce != "sum":
        lacks = "complex" if reduce[0] == "a" else "bool" if reduce == "mean" else ""
        kernel = f"scatter_gather_tensor_cpu_reduce_{reduce}"
        refuse_kinds(kernel, input.aval, lacks)
    return ops.scatter_reduce(
        input, index, source, axis=axis, reduce=reduce, include_self=include_self
    )


@function(out=Out(EXACT), in_place=True, apart=True, checked=True)
def index_reduce(
    input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True  # noqa: A002
) -> Any:
    """``input`` with the slices of ``source`` that meet at a slice folded by ``reduce``."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got "
            f"{reduce}."
        )
    axis = _axis(input, dim)
    check_folded(input, axis, index, source)
    check_range(input, axis, index)
    kernel = "index_func_" if include_self else "index_reduce_func_exclude_input_init"
    refuse_kinds(kernel, input.aval, "bool complex")
    warn_caller_once("index_reduce() is in beta and the API may change at any time.")
    if not input.aval.ndim:
        whole = (input.reshape(1), index.reshape(-1), source.reshape(-1))
        found = ops.scatter_reduce(
            *whole, axis=0, reduce=reduce, include_self=include_self
        ).reshape(())
        return tape.named(found, "IndexReduceBackward0")
    shape = tuple(index.aval.size if i == axis else 1 for i in range(input.aval.ndim))
    places = index.reshape(shape).expand(source.aval.shape)
    found = ops.scatter_reduce(
        input, places, source, axis=axis, reduce=reduce, include_self=include_self
    )
    return tape.named(found, "IndexReduceBackward0")


@function(method=False, home="functional")
def unravel_index(indices: Any, shape: Any) -> Any:
    """The coordinates, in a tensor of ``shape``, of places in it written as a line.

    Args:
        indices: whole numbers, below the product of ``shape``.
    """
    if indices.aval.dtype.category >= dtypes.FLOAT or indices.aval.dtype is dtypes.bool_:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in sizes:
        if not isinstance(n, int):
            raise TypeError(
                f"expected 'shape' sequence to only contain ints, but got {type(n)}"
            )
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    rest, coordinates = indices.long(), []
    for n in reversed(sizes):
        coordinates.append(rest % n if n else rest)
        rest = rest.div(max(n, 1), rounding_mode="floor")
    if not coordinates:
        return ()
    return FUNCTIONS["stack"](coordinates[::-1], -1).unbind(-1)


@function(out=True)
def nonzero_static(input: Any, *, size: int, fill_value: int = -1) -> Any:  # noqa: A002
    """The first ``size`` rows of ``nonzero``, filled up with ``fill_value``."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    if lacks_elements(input):
        return input.new_empty((input.aval.ndim, size), dtype=dtypes.int64).t()
    found = input.nonzero()[:size]
    missing = size - found.aval.shape[0]
    return FUNCTIONS["cat"]([found, found.new_full((missing, input.aval.ndim), fill_value)])


@function(out=Out(SAME_SCALAR_TYPE, no_overlap=True), cacheable=True)
def index_select(input: Any, dim: int, index: Any) -> Any:  # noqa: A002
    """The slices of ``input`` that ``index`` names along ``dim``."""
    axis = _axis(input, dim)
    if input.aval.ndim and not input.aval.shape[axis] and index.aval.size:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    if not input.aval.ndim and index.aval.size != 1:
        raise RuntimeError(
            "index_select(): Index to scalar can have only 1 value, got "
            f"{index.aval.size} value(s)"
        )
    return ops.index_select(input, index, axis=axis)


@function(out=Out(EXACT), in_place=True, apart=True, cacheable=True)
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:  # noqa: A002
    """``input`` with ``alpha * source`` added to the slices that ``index`` names."""
    axis = _axis(input, dim)
    if source.aval.dtype is not input.aval.dtype:
        raise RuntimeError(
            f"index_add_(): self ({dtypes.scalar_type_name(input.aval.dtype)}) and source "
            f"({dtypes.scalar_type_name(source.aval.dtype)}) must have the same scalar type"
        )
    check_slices("index_add_", axis, index, source)
    own, given = list(input.aval.shape), list(source.aval.shape)
    compared = [own, given]
    if own and given:
        compared = [[n for i, n in enumerate(each) if i != axis] for each in compared]
    if compared[0] != compared[1]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified "
            f"dimension. Got self.shape = {own} source.shape = {given}"
        )
    scaled = scaled_operand(source, alpha, "index_add")
    return ops.index_add(input, index, scaled, axis=axis)


@function(out=Out(EXACT), in_place=True, apart=True, cacheable=True)
def index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:  # noqa: A002
    """``input`` with ``source`` in place of the slices that ``index`` names."""
    return ops.index_copy(input, index, source, axis=_axis(input, dim))


@function(in_place=True, apart=True, cacheable=True)
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:  # noqa: A002
    """``input`` with ``value`` in the slices that ``index`` names."""
    filling = operand(value, "index_fill", "value")
    if isinstance(value, complex) and not input.aval.dtype.is_complex:
        raise RuntimeError(
            "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        )
    one = not isinstance(value, EngineTensor) or not value.aval.shape  # else refused as torch does
    if one and index.aval.dtype is not dtypes.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    _check_filling(input, value)
    found = ops.index_fill(input, index, filling, axis=_axis(input, dim))
    return tape.named(found, f"IndexFillBackward{int(isinstance(value, EngineTensor))}")


@function(in_place=True, apart=True, checked=True)
def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:  # noqa: A002
    """``input`` with ``values`` written (added) at ``indices``, a tuple of index tensors."""
    given = _as_places(input, indices)
    require_same_type(input, values, () if accumulate else indices, given)
    if values.aval.dtype is not input.aval.dtype:
        values = movement.cast(values, dtype=input.aval.dtype)
    return ops.index_put(input, values, *given, accumulate=bool(accumulate))


def _as_places(x: Any, indices: Any) -> list[Any]:
    """Index tensors, masks replaced by their coordinates."""
    if len(indices) > x.aval.ndim:
        raise IndexError(
            f"too many indices for tensor of dimension {x.aval.ndim} (got {len(indices)})"
        )
    places: list[Any] = []
    for index in indices:
        if index is not None and index.aval.dtype in (dtypes.bool_, dtypes.uint8):
            warn_byte_mask(index)
            places += [
                from_array(p, x.aval.device) for p in np.nonzero(index.detach().array())
            ]
        else:
            places.append(index)
    if len(places) > x.aval.ndim:
        raise IndexError(
            f"too many indices for tensor of dimension {x.aval.ndim} (got {len(places)})"
        )
    if all(place is None for place in places):
        raise RuntimeError("index_put needs at least one index tensor")
    return places


@function(in_place=True, cacheable=True)
def masked_fill(input: Any, mask: Any, value: Any) -> Any:  # noqa: A002
    """``value`` where ``mask``, else ``input``."""
    _check_filling(input, value)
    if mask.aval.shape != input.aval.shape:
        broadcast_shapes(mask.aval.shape, input.aval.shape)
    found = ops.masked_fill(input, mask, operand(value, "masked_fill", "value"))
    return tape.named(found, f"MaskedFillBackward{int(isinstance(value, EngineTensor))}")


def _check_filling(x: Any, value: Any) -> None:
    if isinstance(value, EngineTensor) and not value.aval.shape and value.aval.dtype.is_complex:
        value = complex(value.item())
    if type(value) in (int, float, complex):
        check_value(value, x.aval.dtype, filling=False)


@function(namespace=False, name="masked_fill_", cacheable=True)
def _masked_fill_(self: Any, mask: Any, value: Any) -> Any:
    """:func:`masked_fill` over ``self``."""
    _check_filling(self, value)
    filling = inplace.outside(self, operand(value, "masked_fill_", "value"))
    return inplace.apply_in_place(ops.masked_fill, self, self, mask, filling)


@function(out=Out(SAME_SCALAR_TYPE, no_overlap=True))
def masked_select(input: Any, mask: Any) -> Any:  # noqa: A002
    """The elements where ``mask``, in one row."""
    if mask.aval.dtype is not dtypes.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    x, m = input, mask
    if mask.aval.shape != input.aval.shape:
        shape = broadcast_shapes(mask.aval.shape, input.aval.shape)
        x, m = movement.expand(input, shape=shape), movement.expand(mask, shape=shape)
    (places,) = vmap.known_values(m, vmap.MASKED_SELECT).reshape(-1).nonzero()
    return tape.named(ops.take(x, from_array(places, x.aval.device)), "MaskedSelectBackward0")


@function(in_place=True)
def masked_scatter(input: Any, mask: Any, source: Any) -> Any:  # noqa: A002
    """``input`` with the elements of ``source``, in order, where ``mask``."""
    if mask.aval.dtype is not dtypes.bool_:
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{dtypes.scalar_type_name(mask.aval.dtype)}"
        )
    if source.aval.dtype is not input.aval.dtype:
        kinds = [dtypes.scalar_type_name(x.aval.dtype) for x in (input, source)]
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got{kinds[0]} and "
            f"{kinds[1]}"
        )
    return ops.masked_scatter(input, mask, source)


@function(
    out=Out(
        (
            "take(): self and out expected to have the same dtype, but got self.dtype = "
            "{result} and out.dtype = {out}"
        ),
        no_overlap=True,
    ),
    cacheable=True,
)
def take(input: Any, index: Any) -> Any:  # noqa: A002
    """``input`` read as one row, at ``index``."""
    if index.aval.dtype is not dtypes.int64:
        raise RuntimeError("take(): Expected a long tensor for index, but got "
                           f"{dtypes.scalar_type_name(index.aval.dtype)}")
    if not input.aval.size and index.aval.size:
        raise IndexError("take(): tried to take from an empty tensor")
    return ops.take(input, index)


@function(in_place=True, apart=True, checked=True)
def put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:  # noqa: A002
    """``input`` read as one row, with ``source`` written (added) at ``index``."""
    if source.aval.size != index.aval.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.aval.size}, index.numel() = {index.aval.size}"
        )
    if source.aval.dtype is not input.aval.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{dtypes.scalar_type_name(input.aval.dtype)} and source.dtype = "
            f"{dtypes.scalar_type_name(source.aval.dtype)}"
        )
    if index.aval.dtype is not dtypes.int64:
        raise RuntimeError(
            "put_(): Expected a long tensor for index, but got "
            f"{dtypes.scalar_type_name(index.aval.dtype)}"
        )
    if index.aval.size and not input.aval.size:
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    return ops.put(input, index, source, accumulate=bool(accumulate))


@function(out=Out(EXACT, shown="gather"), cacheable=True)
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:  # noqa: A002
    """:func:`gather` with broadcasting of the other axes; with ``dim`` from the end, too.

    Args:
        indices: places along ``dim``; as many axes as ``input``.
    """
    if dim is None:
        flat = movement.reshape(input, (input.aval.size,))
        return ops.gather(flat, movement.reshape(indices, (indices.aval.size,)), axis=0)
    if input.aval.ndim != indices.aval.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input.aval.ndim} dimensions for input, and {indices.aval.ndim} dimensions "
            "for indices"
        )
    if indices.aval.dtype is not dtypes.int64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got "
            f"{dtypes.scalar_type_name(indices.aval.dtype)}"
        )
    axis = _axis(input, dim)
    own = [*input.aval.shape]
    own[axis] = 1
    shape = list(broadcast_shapes(tuple(own), tuple(
        1 if i == axis else n for i, n in enumerate(indices.aval.shape)
    )))  # fmt: skip
    wide = [*shape]
    shape[axis], wide[axis] = indices.aval.shape[axis], input.aval.shape[axis]
    x = movement.expand(input, shape=tuple(wide))
    indices = FUNCTIONS["where"](indices < 0, indices + wide[axis], indices)
    return ops.gather(x, movement.expand(indices, shape=tuple(shape)), axis=axis)


@function(
    out=Out(
        "nonzero: Expected out tensor to have scalar type {result} but got scalar type{out}",
        no_overlap=True,
    ),
)
def nonzero(input: Any, *, as_tuple: bool = False) -> Any:  # noqa: A002
    """The coordinates of the elements that are not 0: one row each, or a tuple by axis.

    Args:
        as_tuple: give one index tensor for each axis.
    """
    if input.flat.__class__ is np.ndarray:
        array = input.array()
    else:
        array = vmap.known_values(input, vmap.SHAPE.format("nonzero"))
    if input.aval.dtype in dtypes.FLOATS_OF_8_BITS:
        refuse("nonzero_count_cpu", input.aval.dtype)
    if input.aval.dtype in dtypes.STORED:
        array = stored_types.widened(array)
    if as_tuple and (not array.ndim or input.aval.device is not cpu):
        return nonzero(input if array.ndim else input.reshape(1)).unbind(1)
    if not array.ndim:
        return _places([], int(array != 0), input.aval.device)
    if array.dtype != np.bool_ and array.size > 64:
        array = array != 0  # numpy looks for what is True in vectors
    if array.ndim > 1 and array.size > _FEW and input.aval.device is cpu:
        flat = counting().coordinates(array)
        count = flat.size // array.ndim
        places = make(flat, aval((count, array.ndim), dtypes.int64, (1, count), cpu))
        return places.unbind(1) if as_tuple else places
    found = array.nonzero()
    if as_tuple:
        places = _places(found, found[0].size, cpu)
        if len(found) == 1:
            return (movement.select(places, axis=1, index=0),)
        return places.unbind(1)
    return _places(found, found[0].size, input.aval.device)


def _places(found: Sequence[Any], count: int, device: Any) -> Any:
    """Coordinates by axis, so many, as columns that lie together, as torch's do."""
    axes = len(found)
    if device.type == "cuda":
        return from_array(np.stack(found).T if axes else np.zeros((count, 0), np.int64), device)
    flat = np.ascontiguousarray(found[0]) if axes == 1 else np.array(found, np.int64).reshape(-1)
    return make(flat, aval((count, axes), dtypes.int64, (1, count), device))


@function()
def argwhere(input: Any) -> Any:  # noqa: A002
    """The coordinates of the elements that are not 0, one row each."""
    return nonzero(input)


_FEW_CLASSES = 64  # rows of one_hot that are kept


@functools.lru_cache(maxsize=16)
def _ones_at(count: int) -> Any:
    return np.eye(count, dtype=np.int64)


def one_hot(input: Any, num_classes: int = -1) -> Any:  # noqa: A002
    """Zeros with a 1 at the place that each element names, along a new last axis.

    Args:
        num_classes: length of the new axis; -1 for the largest element and one.
    """
    if input.aval.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    num_classes = int(num_classes)
    if input.aval.device is meta and num_classes > 0:
        return full_flat((*input.aval.shape, num_classes), dtypes.int64, 0, meta)
    if num_classes > 0 and (vmap.is_mapped(input) or exporting_now[0]):
        classes = from_array(np.arange(num_classes, dtype=np.int64), input.aval.device)
        found = equal(movement.unsqueeze(input, axis=input.aval.ndim), classes)
        return movement.cast(found, dtype=dtypes.int64)
    array = vmap.known_values(input, vmap.ITEM)
    if not array.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    least, greatest = counting().extremes(array) if array.size else (0, -1)
    if least < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = greatest + 1
    elif greatest >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    if num_classes <= _FEW_CLASSES:
        return from_array(_ones_at(num_classes).take(array, 0), input.aval.device)
    result = np.zeros((*array.shape, num_classes), np.int64)
    if array.size:
        result.reshape(-1)[np.arange(array.size) * num_classes + array.reshape(-1)] = 1
    return from_array(result, input.aval.device)


@function(out=Out(EXACT), in_place=True, cacheable=True)
def tril(input: Any, diagonal: int = 0) -> Any:  # noqa: A002
    """The elements on and below a diagonal, zeros above it."""
    return ops.tril(input, diagonal=operator.index(diagonal))


@function(out=Out(EXACT), in_place=True, cacheable=True)
def triu(input: Any, diagonal: int = 0) -> Any:  # noqa: A002
    """The elements on and above a diagonal, zeros below it."""
    return ops.triu(input, diagonal=operator.index(diagonal))


@function(out=Out(EXACT, shown="aten::diag_embed"), cacheable=True)
def diag(input: Any, diagonal: int = 0) -> Any:  # noqa: A002
    """A vector on a diagonal of a matrix; a matrix' diagonal as a vector."""
    if input.aval.ndim == 1:
        return ops.diag_embed(input, offset=diagonal, first=0, second=1)
    if input.aval.ndim == 2:
        found = movement.diagonal(input, offset=diagonal, first=0, second=1)
        return tape.named(movement.clone(found), "DiagonalBackward0_copy")
    raise RuntimeError(
        f"diag(): Supports 1D or 2D tensors. Got {input.aval.ndim}D"
    )


@function(cacheable=True)
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:  # noqa: A002
    """The last axis on a diagonal of two new axes, zeros elsewhere."""
    ndim = input.aval.ndim + 1
    first, second = normalize_axis(dim1, ndim), normalize_axis(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return ops.diag_embed(input, offset=as_int(offset), first=first, second=second)


@function()
def diagflat(input: Any, offset: int = 0) -> Any:  # noqa: A002
    """All elements, in one row, on a diagonal of a matrix."""
    return diag(movement.reshape(input, (input.aval.size,)), offset)


@function(namespace=False, name="fill_diagonal_", cacheable=True)
def _fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """Write ``fill_value`` on the main diagonal.

    Args:
        wrap: in a matrix with more rows than columns, begin again below.
    """
    if isinstance(fill_value, EngineTensor) and fill_value.aval.shape:
        raise TypeError("fill_diagonal_(): argument 'fill_value' must be a number")
    if self.aval.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    inplace.check_writable(self)
    shape = self.aval.shape
    if self.aval.ndim > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    steps, length = self.aval.strides, min(shape)
    starts = range(0, shape[0], shape[1] + 1) if wrap and self.aval.ndim == 2 else (0,)
    for start in starts:
        inplace.fill_(
            movement.as_strided(
                self, shape=(min(length, shape[0] - start),), strides=(sum(steps),),
                offset=start * steps[0],
            ),
            fill_value,
        )  # fmt: skip
    return self
