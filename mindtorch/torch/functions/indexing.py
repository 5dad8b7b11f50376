"""``x[...]`` and ``x[...] = value``."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import inplace, tape
from mindtorch.engine.call_cache.call_cache import cached
from mindtorch.engine.devices.device import cpu
from mindtorch.engine.dispatch import GRAD, state
from mindtorch.engine.ops import indexing
from mindtorch.engine.ops import movement as ops
from mindtorch.engine.symbolic_sizes import as_index, has_amounts, open_sizes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant, from_array
from mindtorch.engine.transforms import vmap

from .._api.arguments import check_value
from .._api.meta_kernels import lacks_elements, without_places
from .._api.publish import METHODS
from .._api.warn_caller import warn_caller


def get_item(x: Any, item: Any) -> Any:
    """``x[item]``: a view for ints, slices, None and ..., a copy where tensors index."""
    kind = type(item)
    if kind is int:
        shape = x.aval.shape
        if shape and -shape[0] <= item < shape[0]:
            place = item + shape[0] if item < 0 else item
            params = {"axis": 0, "index": place}
            return ops.select_at(x, 0, place * x.aval.strides[0], params)
        return select_first(x, item)
    if kind is slice:
        if not x.aval.ndim:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        return _slice(x, 0, item, alias=True)
    if kind is tuple:
        for each in item:
            if each.__class__ not in _VIEWING:
                break
        else:
            return _views(x, item)
        parts: list[Any] = []
        for each in item:
            if each.__class__ is slice and each.stop is None is each.start is each.step:
                parts.append(None)
            elif _is_places(x, each):
                parts.append(each)
            else:
                break
        else:
            return _by_places(x, *parts)
    elif item is None:
        return ops.unsqueeze_at(x, 0, 0, {"axis": 0})
    if _is_places(x, item):
        return _by_places(x, item)
    if isinstance(item, EngineTensor) and item.aval.dtype is dtypes.bool_ and item.aval.shape:
        if item.aval.shape == x.aval.shape and x.aval.device is cpu is item.aval.device:
            return indexing.index(x, *_true_places(item))
    view, indices = _basic(x, item)
    if indices is None:
        return view
    return indexing.index(view, *indices)


def _is_places(x: Any, item: Any) -> bool:
    """Whether an index is one tensor of places along the first axis, all on the CPU."""
    if not isinstance(item, EngineTensor) or item.aval.dtype is not dtypes.int64:
        return False
    return bool(item.aval.shape and x.aval.shape) and x.aval.device is cpu is item.aval.device


def _is_held(dtype: dtypes.DType, number: float) -> bool:
    """Whether a type of floats certainly holds a number."""
    if dtype is not dtypes.float32 and dtype is not dtypes.float64:
        return False
    return abs(number) < _IN_RANGE or abs(number) == math.inf


_IN_RANGE = 3e38  # of float32


def _true_places(mask: Any) -> list[Any]:
    """The coordinates of a mask's true elements, one index tensor for each axis."""
    found = vmap.known_values(mask, vmap.MASK).nonzero()
    return [from_array(np.ascontiguousarray(places)) for places in found]


@cached
def _by_places(x: Any, *parts: Any) -> Any:
    """``x`` by places along the first axes; None: all of one."""
    view, indices = _basic(x, tuple([slice(None) if each is None else each for each in parts]))
    return indexing.index(view, *(indices or ()))


def select_first(x: Any, index: int) -> Any:
    shape = x.aval.shape
    if not shape:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
            "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
        )
    n = shape[0]
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for dimension 0 with size {n}")
    return _at(x, 0, index + n if index < 0 else index)


def _at(x: Any, axis: int, index: int) -> Any:
    params = {"axis": axis, "index": index}
    return ops.select_at(x, axis, index * x.aval.strides[axis], params)


def bounds(item: slice, step: int, size: int) -> tuple[int, int]:
    """Where a slice begins and ends in an axis, whose length may stand for many."""
    if not open_sizes or not has_amounts((size, item.start, item.stop)):
        start, stop, _ = item.indices(size)
        return start, stop
    ends = []
    for end, default in ((item.start, 0), (item.stop, size)):
        place = default if end is None else as_index(end)
        if end is not None and place < 0:
            place = place + size
        ends.append(0 if place < 0 else size if place > size else place)
    return ends[0], ends[1]


def _slice(x: Any, axis: int, item: slice, alias: bool = False) -> Any:
    size = x.aval.shape[axis]
    step = item.step
    if not open_sizes and (step is None or (step.__class__ is int and step > 0)):
        start, stop, step = item.indices(size)
        length = -((start - stop) // step) if stop > start else 0
        if length == size and step == 1 and not alias:
            return x
        params = {"axis": axis, "start": start, "length": length, "step": step}
        return ops.slice_at(x, (axis, length, step), start * x.aval.strides[axis], params)
    step = 1 if step is None else operator.index(step)
    if step <= 0:
        raise ValueError(
            "step must be greater than zero" if step else "slice step cannot be zero"
        )
    start, stop = bounds(item, step, size)
    length = max(0, -(-(stop - start) // step))
    if length == size and step == 1 and not alias:
        return x
    start = min(start, size)
    params = {"axis": axis, "start": start, "length": length, "step": step}
    return ops.slice_at(x, (axis, length, step), start * x.aval.strides[axis], params)


_SIMPLE = {int, float, bool}
_VIEWING = {int, slice, type(None), type(...)}


def _views(x: Any, items: tuple[Any, ...]) -> Any:
    """``x[items]`` for whole numbers, slices, None and ``...``."""
    left = x.aval.ndim - len(items)
    for each in items:
        if each is None or each is ...:
            left += 1
    if left < 0:
        raise IndexError(f"too many indices for tensor of dimension {x.aval.ndim}")
    view, axis = x, 0
    for place, each in enumerate(items):
        if each.__class__ is int:
            described = view.aval
            n = described.shape[axis]
            if not -n <= each < n:
                raise IndexError(
                    f"index {each} is out of bounds for dimension {place} with size {n}"
                )
            params = {"axis": axis, "index": each + n if each < 0 else each}
            view = ops.select_at(view, axis, params["index"] * described.strides[axis], params)
            continue
        if each is None:
            view = ops.unsqueeze_at(view, axis, 0, {"axis": axis})
        elif each is ...:
            axis += left - 1
        elif not (each.stop is None is each.start is each.step):
            view = _slice(view, axis, each)
        axis += 1
    return ops.alias_view(x) if view is x else view


_SEQUENCES = (slice, EngineTensor, list, tuple, range, str, np.ndarray, type(None), type(...))


def _as_items(item: Any) -> tuple[Any, ...]:
    """What indexes one axis after another: a list, too, where something in it is no number."""
    if isinstance(item, tuple):
        return item
    if isinstance(item, list) and len(item) < 32 and any(isinstance(i, _SEQUENCES) for i in item):
        warn_caller(
            "Using a non-tuple sequence for multidimensional indexing is deprecated and will be "
            "changed in pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will "
            "be interpreted as tensor index, x[torch.tensor(seq)], which will result either in an "
            "error or a different result",
        )
        return tuple(item)
    return (item,)


def _consumes(item: Any) -> int:
    """How many axes an item of an index takes up."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, EngineTensor) and item.aval.dtype in (dtypes.bool_, dtypes.uint8):
        return item.aval.ndim
    if isinstance(item, np.ndarray) and item.dtype == bool:
        return item.ndim
    return 1


def _basic(x: Any, item: Any) -> tuple[Any, list[Any] | None]:
    """Take the views that ``item`` means; what is left are tensors, by axis (None: whole axis)."""
    items = _as_items(item)
    used = sum(_consumes(i) for i in items)
    if used > x.aval.ndim:
        raise IndexError(f"too many indices for tensor of dimension {x.aval.ndim}")
    view = x
    axis = 0
    indices: dict[int, Any] = {}
    changed = False
    masks: list[tuple[int, Any]] = []
    for place, each in enumerate(items):
        if each is Ellipsis:
            axis += x.aval.ndim - used
            changed = True
        elif each is None:
            view = ops.unsqueeze(view, axis=axis)
            axis += 1
            changed = True
        elif isinstance(each, bool) or _is_single_mask(each):
            kept = each if isinstance(each, bool) else vmap.known_values(each, vmap.MASK).item()
            view = ops.unsqueeze(view, axis=axis)
            indices[axis] = from_array(np.zeros(1 if kept else 0, np.int64), x.aval.device)
            axis += 1
        elif isinstance(each, slice):
            view = _slice(view, axis, each)
            axis += 1
            changed = True
        elif _is_integer(each):
            view = _select(view, axis, as_index(each), place)
            changed = True
        else:
            axis = _take_tensor(axis, each, indices, masks)
    if not indices:
        return (ops.alias_view(x) if view is x or not changed else view), None
    for start, mask in masks:
        _read_mask(view, start, mask, indices)
    found = [indices.get(i) for i in range(max(indices) + 1)]
    if x.aval.device.type == "cuda":  # index tensors of the CPU are taken, too
        found = [i.to(x.aval.device) if i is not None else None for i in found]
    return view, found


def _is_single_mask(item: Any) -> bool:
    """Whether it is a 0-d mask, which adds an axis of length 1, or 0 where it is false."""
    is_tensor = isinstance(item, EngineTensor) and not item.aval.shape
    return is_tensor and item.aval.dtype in (dtypes.bool_, dtypes.uint8)


def _is_integer(item: Any) -> bool:
    if isinstance(item, EngineTensor):
        return (
            not item.aval.shape
            and item.aval.dtype.category == dtypes.INTEGER
            and item.aval.dtype is not dtypes.uint8
            and not state.interpreters
        )
    if isinstance(item, (np.ndarray, list, tuple, range)):
        return False
    return hasattr(item, "__index__")


def _select(view: Any, axis: int, index: int, place: int) -> Any:
    n = view.aval.shape[axis]
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of bounds for dimension {place} with size {n}")
    return _at(view, axis, index + n if index < 0 else index)


def _take_tensor(axis: int, item: Any, indices: dict[int, Any], masks: list[Any]) -> int:
    """Enter an index tensor; the axis after it. Masks are read when all views are taken."""
    if not isinstance(item, EngineTensor):
        array = np.asarray(item)
        if array.size == 0 and not isinstance(item, np.ndarray):
            array = array.astype(np.int64)
        if array.dtype.kind in "US":
            raise TypeError("new(): invalid data type 'str'")
        if array.dtype.kind == "f" and isinstance(item, list):
            array = array.astype(np.int64)
        if array.dtype.kind not in "biu":
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables "
                f"are valid indices (got {type(item).__name__})"
            )
        item = from_array(array if array.dtype == bool else array.astype(np.int64))
    dtype = item.aval.dtype
    if dtype in (dtypes.bool_, dtypes.uint8):
        warn_byte_mask(item)
        masks.append((axis, item))
        for i in range(item.aval.ndim):
            indices[axis + i] = None
        return axis + item.aval.ndim
    if dtype not in (dtypes.int64, dtypes.int32):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    indices[axis] = item
    return axis + 1


def warn_byte_mask(mask: Any) -> None:
    """Warn, as torch does, of a mask of bytes."""
    if mask.aval.dtype is dtypes.uint8:
        warn_caller(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
            "instead.",
        )


def _read_mask(view: Any, axis: int, mask: Any, indices: dict[int, Any]) -> None:
    """Enter the coordinates of a mask's true elements."""
    for i, n in enumerate(mask.aval.shape):
        if n != view.aval.shape[axis + i]:
            raise IndexError(
                f"The shape of the mask {list(mask.aval.shape)} at index {i} does not match "
                f"the shape of the indexed tensor {list(view.aval.shape)} at index {axis + i}"
            )
    if lacks_elements(mask):
        raise without_places()
    for i, places in enumerate(np.nonzero(vmap.known_values(mask, vmap.MASK))):
        indices[axis + i] = from_array(np.ascontiguousarray(places), view.aval.device)


def _part(x: Any, item: Any) -> tuple[Any, int] | None:
    """What view ``x[item]`` is but for where it begins, and where; None of what is more than whole
    numbers and slices within bounds."""
    shape, strides = x.aval.shape, x.aval.strides
    items = item if item.__class__ is tuple else (item,)
    if len(items) > len(shape):
        return None
    kind: list[Any] = []
    offset = 0
    for each, n, stride in zip(items, shape, strides, strict=False):
        if each.__class__ is int:
            if not -n <= each < n:
                return None
            offset += (each + n if each < 0 else each) * stride
            kind.append(None)
        elif each.__class__ is slice and each.step is None:
            start, stop, _ = each.indices(n)
            kind.append(stop - start)
            offset += start * stride
        else:
            return None
    return tuple(kind), offset


def set_item(x: Any, item: Any, value: Any) -> None:
    """``x[item] = value``; of complex tensors the real part, where ``x`` is real."""
    number = not isinstance(value, EngineTensor)
    if number:
        if not isinstance(value, (int, float, bool, complex, np.integer)):
            kind = type(value)
            package = "numpy." if kind.__module__ == "numpy" else ""
            raise TypeError(
                f"can't assign a {package}{kind.__name__} to a "
                f"{tape.tensor_type_name(x)}"
            )
        plain, value = value, constant(value)
    if isinstance(item, EngineTensor) and item.aval.dtype is dtypes.bool_ and not value.aval.shape:
        if item.aval.shape == x.aval.shape and not tape.requires_grad(value):
            # calls with numbers are cached
            plainly = number and plain.__class__ in (int, float) and _is_held(x.aval.dtype, plain)
            x.masked_fill_(item, plain if plainly else value)
            return
    if item is False:
        return
    places = _is_places(x, item)
    part = None if places or state.mode > GRAD else _part(x, item)
    if part is not None and not (number and plain.__class__ not in _SIMPLE):
        if number and x.aval.dtype.category > dtypes.BOOL:
            check_value(plain, x.aval.dtype)
        if inplace.copy_into_part(x, *part, value):
            return
    if item is True:
        view, indices = ops.unsqueeze(x, axis=0), None
    elif type(item) is int:
        view, indices = select_first(x, item), None
    else:
        view, indices = (x, [item]) if places else _basic(x, item)
    if number and x.aval.dtype.category > dtypes.BOOL:
        check_value(1j if value.aval.dtype.is_complex and not x.aval.dtype.is_complex else plain,
                    x.aval.dtype)
    if indices is None:
        given = value
        if value.aval.shape != view.aval.shape:
            value = _drop_leading(value)
            if value.aval.ndim > view.aval.ndim:
                value.expand(view.aval.shape)  # raises torch's error
            if not number:
                value = value.expand(view.aval.shape)  # as a view it may lie in what is written
        inplace.copy_(view, value)
        if part is not None and given.aval.ndim <= view.aval.ndim:
            inplace.keep_part(x, part[0], view, given)
        return
    if not number:
        parts = item if type(item) is tuple else (item,)
        require_same_type(view, _drop_leading(value), parts, indices)
    _index_put_(view, indices, _drop_leading(value))


def _is_mask(index: Any) -> bool:
    if isinstance(index, EngineTensor):
        return index.aval.dtype in (dtypes.bool_, dtypes.uint8)
    return np.asarray(index).dtype == bool


def require_same_type(x: Any, value: Any, item: Any, indices: Any) -> None:
    """torch's error for a tensor written by index into one of another type.

    A single element that is written by nothing but one mask fills, and has any type.
    """
    if value.aval.dtype is x.aval.dtype:
        return
    places = [i for i in item if isinstance(i, (EngineTensor, list, np.ndarray))]
    if len(places) == 1 and value.aval.size == 1 and _is_mask(places[0]):
        if value.aval.dtype.is_complex and not x.aval.dtype.is_complex:
            check_value(value.detach().array().item(), x.aval.dtype)
        return
    indexing.index_put(x, ops.cast(value, dtype=x.aval.dtype), *indices, accumulate=False)
    # what is wrong with the shapes or the places has been told
    to, of = (dtypes.scalar_type_name(a.aval.dtype) for a in (x, value))
    raise RuntimeError(
        "Index put requires the source and destination dtypes match, got "
        f"{to} for the destination and {of} for the source."
    )


def _drop_leading(value: Any) -> Any:
    """``value`` without its leading axes of length 1."""
    shape = value.aval.shape
    while shape and shape[0] == 1:
        shape = shape[1:]
    if shape != value.aval.shape:
        return ops.reshape(value, shape)
    return value


def _index_put_(x: Any, indices: Any, value: Any) -> Any:
    """Write ``value`` at the places that the index tensors name."""
    inplace.check_writable(x)
    for each in (value, *indices):
        if isinstance(each, EngineTensor):
            inplace.check_apart(x, each)
    if value.aval.dtype is not x.aval.dtype:
        value = ops.cast(value, dtype=x.aval.dtype)
    if not state.interpreters:
        put = indexing.index_put
        return inplace.apply_in_place(put, x, x, value, *indices, accumulate=False)
    result = indexing.index_put(x, value, *indices, accumulate=False)
    return inplace.copy_(x, result)


_index_put_ = cached(_index_put_, writes=True)


METHODS["__getitem__"] = get_item
METHODS["__setitem__"] = set_item
