"""Functions that make tensors from nothing, numbers, lists and arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch.engine import autodiff, cuda, dtypes
from mindtorch.engine.aval import Aval, aval, channels_last_strides
from mindtorch.engine.device import cpu, empty_on
from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array, make
from mindtorch.engine.vmap import for_each_example

from .._arguments import (
    as_device,
    as_dtype,
    as_int,
    as_shape,
    check_form,
    check_value,
    require_tensor,
)
from .._out import prepare_out
from .._registry import function, store_out
from .._types import channels_last, channels_last_3d, contiguous_format, preserve_format, strided


def finish(
    tensor: Any, requires_grad: bool = False, layout: Any = None, pin_memory: bool = False
) -> Any:
    """Apply what all factories take; raise for what we do not have."""
    if layout is not None and layout is not strided:
        raise NotImplementedError(f"layout {layout} is not supported: only torch.strided is")
    if pin_memory:
        tensor = tensor.pin_memory()
    if requires_grad and tensor.aval.dtype.category < dtypes.FLOAT:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return autodiff.track(tensor) if requires_grad else tensor


def new_empty(described: Aval) -> Any:
    """A tensor with uninitialised elements."""
    return make(empty_on(described.device)(described.extent, described.dtype.np), described)


def filled(described: Aval, value: Any) -> Any:
    """A tensor with every element ``value``."""
    check_value(value, described.dtype)
    if described.dtype.category == dtypes.INTEGER and value < 0:
        value = np.array(int(value)).astype(described.dtype.np)
    if described.device.type == "meta":
        return new_empty(described)
    if described.device is not cpu:
        made = new_empty(described)
        cuda.fill(made.flat, described, value)
        return made
    size = described.size
    if not value and not (isinstance(value, float) and math.copysign(1, value) < 0):
        return make(np.zeros(size, described.dtype.np), described)
    return make(np.full(size, value, described.dtype.np), described)


def _described(
    size: Any, dtype: Any, device: Any, memory_format: Any = None, name: str = "size"
) -> Aval:
    shape = as_shape(size, name)
    for n in shape:
        if n < 0:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {n}: {list(shape)}"
            )
    chosen = dtypes.default if dtype is None else as_dtype(dtype)
    strides = None
    if memory_format in (channels_last, channels_last_3d):
        strides = channels_last_strides(shape)
    return aval(shape, chosen, strides, as_device(device))


def _sizes(size: Any, kwargs: dict[str, Any]) -> Any:
    if "size" in kwargs:
        return (kwargs.pop("size"),)
    return size


def _define_filled(name: str, value: Any) -> None:
    def body(
        *size: Any,
        out: Any = None,
        dtype: Any = None,
        layout: Any = strided,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: Any = contiguous_format,
        **kwargs: Any,
    ) -> Any:
        size = _sizes(size, kwargs)
        kwargs.pop("names", None) if kwargs.get("names") is None else None
        if kwargs:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if out is not None:
            asked = None if dtype is None else as_dtype(dtype)
            prepare_out(out, name, as_shape(size, name), asked)
            return out if value is None else out.fill_(value)
        described = _described(size, dtype, device, memory_format, name)
        made = new_empty(described) if value is None else filled(described, value)
        return finish(made, requires_grad, layout, pin_memory)

    function(method=False, name=name)(body)


for _name, _value in (("zeros", 0), ("ones", 1), ("empty", None)):
    _define_filled(_name, _value)


@function(method=False)
def full(
    size: Any,
    fill_value: Any,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = strided,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor with every element ``fill_value``, which decides the type unless it is given."""
    if isinstance(fill_value, EngineTensor):
        fill_value = fill_value.item()
    if out is not None:
        asked = None if dtype is None else as_dtype(dtype)
        return prepare_out(out, "full", as_shape((size,), "full"), asked).fill_(fill_value)
    chosen = number_dtype(fill_value) if dtype is None else dtype
    described = _described((size,), chosen, device, name="full")
    made = filled(described, fill_value)
    return finish(made, requires_grad, layout, pin_memory)


def number_dtype(value: Any) -> dtypes.DType:
    """The type of a tensor made of this Python number."""
    if isinstance(value, (bool, np.bool_)):
        return dtypes.bool_
    if isinstance(value, (int, np.integer)):
        return dtypes.int64
    if isinstance(value, (complex, np.complexfloating)):
        return dtypes.default.to_complex()
    return dtypes.default


def _like(x: Any, dtype: Any, device: Any, memory_format: Any) -> Aval:
    chosen = x.aval.dtype if dtype is None else as_dtype(dtype)
    place = x.aval.device if device is None else as_device(device)
    strides = None
    if memory_format is preserve_format or memory_format is None:
        if x.aval.dense:
            strides = x.aval.strides
        elif x.aval.ndim > 1 and x.aval.size:
            from mindtorch.engine.aval import _ordered_strides

            strides = _ordered_strides(x.aval.shape, [x.aval.strides])
    elif memory_format is not contiguous_format:
        strides = channels_last_strides(x.aval.shape)
    return aval(x.aval.shape, chosen, strides, place)


def _define_like(name: str, value: Any) -> None:
    def body(
        input: Any,  # noqa: A002
        *,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        memory_format: Any = preserve_format,
        pin_memory: bool = False,
    ) -> Any:
        described = _like(input, dtype, device, memory_format)
        made = new_empty(described) if value is None else filled(described, value)
        return finish(for_each_example(made, input), requires_grad, layout, pin_memory)

    function(method=False, name=name)(body)


for _name, _value in (("zeros_like", 0), ("ones_like", 1), ("empty_like", None)):
    _define_like(_name, _value)


@function(method=False)
def full_like(
    input: Any,  # noqa: A002
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = preserve_format,
) -> Any:
    if isinstance(fill_value, EngineTensor):
        fill_value = fill_value.item()
    made = filled(_like(input, dtype, device, memory_format), fill_value)
    return finish(for_each_example(made, input), requires_grad, layout)


@function(method=False)
def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """An uninitialised tensor with the shape and strides given."""
    chosen = dtypes.default if dtype is None else as_dtype(dtype)
    described = aval(as_shape((size,)), chosen, tuple(stride), as_device(device))
    return finish(new_empty(described), requires_grad, layout, pin_memory)


@function(method=False)
def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """An uninitialised tensor whose axes lie in memory in the order given, the last ones closest
    together."""
    shape, order = as_shape((size,)), [as_int(i) for i in physical_layout]
    if len(shape) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    strides, step = [0] * len(shape), 1
    for place, axis in enumerate(order):
        if not 0 <= axis < len(shape):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got "
                f"{axis} at index {place}).  NB: negative dims not currently supported; file an "
                "issue if you want it."
            )
    if len({*order}) < len(order):
        raise RuntimeError("Duplicate dim not allowed")
    for axis in reversed(order):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return empty_strided(
        shape, strides, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad,
        pin_memory=pin_memory,
    )  # fmt: skip


def _define_new(name: str, value: Any) -> None:
    def body(
        self: Any,
        *size: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = None,
        pin_memory: bool = False,
        **kwargs: Any,
    ) -> Any:
        size = _sizes(size, kwargs)
        if kwargs:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kwargs))}'")
        place = self.aval.device if device is None else device
        described = _described(size, self.aval.dtype if dtype is None else dtype, place)
        made = new_empty(described) if value is None else filled(described, value)
        return finish(for_each_example(made, self), requires_grad, layout, pin_memory)

    function(namespace=False, name=name)(body)


for _name, _value in (("new_zeros", 0), ("new_ones", 1), ("new_empty", None)):
    _define_new(_name, _value)


@function(namespace=False)
def new_full(
    self: Any,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    place = self.aval.device if device is None else device
    described = _described((size,), self.aval.dtype if dtype is None else dtype, place)
    return finish(for_each_example(filled(described, fill_value), self), requires_grad)


@function(namespace=False)
def new_tensor(
    self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    return tensor(
        data,
        dtype=self.aval.dtype if dtype is None else dtype,
        device=self.aval.device if device is None else device,
        requires_grad=requires_grad,
    )


def _contains_tensor(data: Any) -> bool:
    return isinstance(data, (list, tuple)) and any(
        isinstance(x, EngineTensor) or _contains_tensor(x) for x in data
    )


def _plain(data: Any) -> Any:
    """Nested lists with tensors replaced by their values."""
    if isinstance(data, EngineTensor):
        if data.aval.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return data.item()
    if isinstance(data, (list, tuple)):
        return [_plain(x) for x in data]
    return data


def _check_nesting(data: Any, depth: int = 0) -> None:
    lengths = {len(x) for x in data if isinstance(x, (list, tuple))}
    kinds = {isinstance(x, (list, tuple)) for x in data}
    if len(lengths) > 1:
        first = next(len(x) for x in data if isinstance(x, (list, tuple)))
        other = next(len(x) for x in data if isinstance(x, (list, tuple)) and len(x) != first)
        raise ValueError(
            f"expected sequence of length {first} at dim {depth + 1} (got {other})"
        )
    if len(kinds) > 1:
        wrong = next(
            x
            for x in data
            if isinstance(x, (list, tuple))
            != (True in kinds and isinstance(data[0], (list, tuple)))
        )
        raise TypeError(f"not a sequence: {type(wrong).__name__}")
    for x in data:
        if isinstance(x, (list, tuple)):
            _check_nesting(x, depth + 1)


def infer_array(data: Any, dtype: Any) -> Any:
    """A numpy array of nested data with the element type torch infers."""
    if isinstance(data, (np.ndarray, np.generic)):
        array = np.asarray(data)
        own = dtypes.from_numpy(array.dtype)
        return array.astype((own if dtype is None else dtype).np)
    if not isinstance(data, (list, tuple, int, float, complex, bool)):
        if hasattr(data, "__array__") or hasattr(data, "__array_interface__"):
            return infer_array(np.asarray(data), dtype)
        if isinstance(data, Sequence) and not isinstance(data, str):
            return infer_array(list(data), dtype)
        if isinstance(data, str):
            raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    if isinstance(data, (list, tuple)) and _contains_tensor(data):
        kinds = {x.aval.dtype for x in data if isinstance(x, EngineTensor)}
        if dtype is None and len(kinds) == 1:
            dtype = next(iter(kinds))
        data = _plain(data)
    if isinstance(data, (list, tuple)):
        _check_nesting(data)
    try:
        array = np.array(data)
    except (OverflowError, ValueError) as error:
        raise ValueError("Overflow when unpacking long long") from error
    if array.dtype == object or array.dtype.kind in "USV":
        raise _invalid_element(data)
    if dtype is None:
        if array.size == 0 or (array.dtype.kind == "f" and not _only_numpy(data)):
            dtype = dtypes.default
        elif array.dtype.kind == "c" and not _only_numpy(data):
            dtype = dtypes.default.to_complex()
        else:
            dtype = dtypes.from_numpy(array.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        if array.dtype.kind == "c" and dtype.category < dtypes.COMPLEX:
            array = array.real
        return array.astype(dtype.np)


def _only_numpy(data: Any) -> bool:
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return isinstance(data, (np.ndarray, np.generic)) and not isinstance(data, float)


def _invalid_element(data: Any) -> Exception:
    while isinstance(data, (list, tuple)) and data:
        wrong = [x for x in data if not isinstance(x, (int, float, complex, bool))]
        data = wrong[0] if wrong else data[0]
    if isinstance(data, int):
        return ValueError("Overflow when unpacking long long")
    if isinstance(data, str):
        return TypeError("new(): invalid data type 'str'")
    return RuntimeError(f"Could not infer dtype of {type(data).__name__}")


@function(method=False)
def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A new tensor holding a copy of numbers, nested lists or an array."""
    chosen = None if dtype is None else as_dtype(dtype)
    if isinstance(data, EngineTensor):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach()."
            "clone() or sourceTensor.detach().clone().requires_grad_(True), rather than "
            "torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
        made = data.detach().clone()
        if chosen is not None:
            made = made.to(chosen)
        if device is not None:
            made = made.to(as_device(device))
        return finish(made, requires_grad, None, pin_memory)
    place = as_device(device)
    array = infer_array(data, chosen)
    if place is not cpu:
        return finish(from_array(array).to(place), requires_grad, None, pin_memory)
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    shape = array.shape
    made = make(array.reshape(-1), aval(shape, dtypes.from_numpy(array.dtype)))
    return finish(made, requires_grad, None, pin_memory)


@function(method=False)
def from_numpy(ndarray: Any) -> Any:
    """A tensor that shares the array's memory."""
    if not isinstance(ndarray, np.ndarray):
        package = "numpy." if isinstance(ndarray, np.generic) else ""
        raise TypeError(f"expected np.ndarray (got {package}{type(ndarray).__name__})")
    if not ndarray.flags.writeable:
        import warnings

        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable "
            "tensors. This means writing to this tensor will result in undefined behavior. You may "
            "want to copy the array to protect its data or make it writable before converting it "
            "to a tensor. This type of warning will be suppressed for the rest of this program.",
            UserWarning,
            stacklevel=2,
        )
    if ndarray.dtype.byteorder not in "=|" and ndarray.dtype.newbyteorder("=") != ndarray.dtype:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported."
        )
    result = from_array(ndarray)
    if not ndarray.size:  # numpy's strides of an empty array are kept
        strides = tuple(s // ndarray.dtype.itemsize for s in ndarray.strides)
        result.aval = aval(ndarray.shape, result.aval.dtype, strides)
    return result


@function(method=False, aliases=("asarray",))
def as_tensor(data: Any, dtype: Any = None, device: Any = None, **options: Any) -> Any:
    """``data`` as a tensor, sharing memory where it can."""
    requires_grad = options.pop("requires_grad", False)
    copy = options.pop("copy", None)
    if options:
        raise TypeError(f"as_tensor() got an unexpected keyword argument '{next(iter(options))}'")
    chosen = None if dtype is None else as_dtype(dtype)
    if isinstance(data, EngineTensor):
        result: Any = data
        if chosen is not None and data.aval.dtype is not chosen:
            result = data.to(chosen)
        elif copy:
            result = data.clone()
        if device is not None:
            result = result.to(as_device(device))
        return finish(result, requires_grad)
    if isinstance(data, np.ndarray) and not copy:
        shared = from_array(data)
        if chosen is not None and chosen is not shared.aval.dtype:
            shared = movement.cast(shared, dtype=chosen)
        return finish(shared.to(as_device(device)), requires_grad)
    if not isinstance(data, (np.ndarray, type)) and hasattr(data, "__cuda_array_interface__"):
        shared = cuda.adopt(data, as_device("cuda" if device is None else device))
        if chosen is not None:
            shared = movement.cast(shared, dtype=chosen)
        return finish(shared.clone() if copy else shared, requires_grad)
    if hasattr(data, "_storage"):
        return finish(_over_storage(data, chosen), requires_grad)
    return tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)


def _over_storage(storage: Any, chosen: Any) -> Any:
    """A 1-d tensor over a storage's memory; bytes are read as int64 where no type is named."""
    own = getattr(storage, "dtype", dtypes.int64)
    empty = make(np.empty(0, np.uint8), aval((0,), own if chosen is None else chosen))
    return empty.set_(storage)


@function(method=False)
def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, **options: Any) -> Any:
    return tensor(s, dtype=dtypes.default if dtype is None else dtype, device=device, **options)


@function(method=False)
def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Any:
    """A 1-d tensor over the memory of a Python buffer."""
    chosen = as_dtype(dtype)
    size = len(memoryview(buffer).cast("B"))
    if size == 0:
        raise ValueError("both buffer length (0) and count (-1) must not be 0")
    if offset >= size:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({size} bytes) minus 1"
        )
    if count < 0 and (size - offset) % chosen.itemsize:
        raise ValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({chosen.itemsize})"
        )
    if count > 0 and offset + count * chosen.itemsize > size:
        raise ValueError(
            f"requested buffer length ({count} * {chosen.itemsize} bytes) after offset ({offset} "
            f"bytes) must not be greater than actual buffer length ({size} bytes)"
        )
    array = np.frombuffer(buffer, chosen.np, count, offset)
    return finish(make(array, aval(array.shape, chosen)), requires_grad)


@function(method=False)
def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """start, start + step, ... below ``end``: ``start + i * step``, computed in float64."""
    if end is None:
        start, end = 0, start
    start, end, step = (x.item() if isinstance(x, EngineTensor) else x for x in (start, end, step))
    if dtype is None:
        if out is not None:
            dtype = out.dtype
        elif all(isinstance(x, (int, np.integer)) for x in (start, end, step)):
            dtype = dtypes.int64
        else:
            dtype = dtypes.default
    chosen = as_dtype(dtype)
    if chosen.is_complex:
        kind = dtypes.scalar_type_name(chosen)
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{kind}'")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if chosen is dtypes.int64:  # other whole numbers count their elements in float64
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if chosen.category < dtypes.FLOAT:
        count = max(-((int(start) - int(end)) // int(step)), 0) if isinstance(step, int) else (
            math.ceil((end - start) / step)
        )
        values = int(start) + np.arange(count, dtype=np.int64) * int(step)
    else:
        count = math.ceil((end - start) / step)
        values = start + np.arange(count, dtype=np.float64) * step
    if out is not None:
        return store_out(from_array(values.astype(chosen.np)), out, "arange")
    made = from_array(values.astype(chosen.np), as_device(device))
    return finish(made, requires_grad, layout, pin_memory)


@function(method=False, name="range")
def range_(start: Any = 0, end: Any = None, step: Any = 1, **options: Any) -> Any:
    if end is None:
        start, end = 0, start
    count = int((end - start) / step) + 1
    values = start + np.arange(count, dtype=np.float64) * step
    dtype = options.pop("dtype", None) or dtypes.default
    return finish(from_array(values.astype(dtype.np)), **options)


def _type_for(dtype: Any, out: Any) -> Any:
    """The type asked for; else that of ``out``, else the default."""
    if dtype is not None:
        return as_dtype(dtype)
    return out.aval.dtype if isinstance(out, EngineTensor) else dtypes.default


def _spaced(
    name: str, values: Any, dtype: Any, device: Any, requires_grad: bool, layout: Any, out: Any
) -> Any:
    made = from_array(values.astype(dtype.np), as_device(device))
    if out is not None:
        return store_out(made, out, name)
    return finish(made, requires_grad, layout)


def _linear(start: float, end: float, steps: int, chosen: Any) -> Any:
    """Steps counted from both ends, in the type's own arithmetic, as torch does."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    work = chosen.np.type if chosen in (dtypes.float32, dtypes.float64) else np.float64
    if chosen.category < dtypes.FLOAT:
        start, end = int(start), int(end)
    if steps == 1:
        return np.array([start], work)
    first, last = work(start), work(end)
    step = work((last - first) / work(max(steps - 1, 1)))
    index = np.arange(steps)
    half = steps // 2
    left = (first + step * index.astype(work)).astype(work)
    right = (last - step * (steps - 1 - index).astype(work)).astype(work)
    return np.where(index < half, left, right)


def _ends(name: str, start: Any, end: Any, steps: Any, more: str = "") -> tuple[Any, ...]:
    """Both ends as numbers; tensors must be 0-d.

    Args:
        more: parameters after ``steps``, as the error about a wrong type lists them.
    """
    forms = (
        f"{a} start, {b} end, int steps,{more} *, Tensor out = None, torch.dtype dtype = None, "
        "torch.layout layout = None, torch.device device = None, bool pin_memory = False, bool "
        "requires_grad = False"
        for b in ("Tensor", "Number") for a in ("Tensor", "Number")
    )  # fmt: skip
    whole = isinstance(steps, EngineTensor) or hasattr(steps, "__index__")
    check_form(name, whole, (start, end, steps), *forms)
    wrong = [
        f"{word} with {x.aval.ndim} dimension(s)"
        for word, x in (("start", start), ("end", end))
        if isinstance(x, EngineTensor) and x.aval.ndim
    ]  # fmt: skip
    if wrong:
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got "
            f"{' and '.join(wrong)}."
        )
    ends = (x.item() if isinstance(x, EngineTensor) else x for x in (start, end))
    return tuple(ends)


@function(method=False)
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """``steps`` values from ``start`` to ``end`` with equal distances."""
    start, end = _ends("linspace", start, end, steps)
    chosen = _type_for(dtype, out)
    values = _linear(start, end, as_int(steps), chosen)
    return _spaced("linspace", values, chosen, device, requires_grad, layout, out)


@function(method=False)
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """``base`` to the powers of :func:`linspace`."""
    start, end = _ends("logspace", start, end, steps, " float base = 10.0,")
    chosen = _type_for(dtype, out)
    if chosen.category < dtypes.FLOAT:
        start, end = int(start), int(end)
    values = np.power(float(base), _linear(start, end, as_int(steps), dtypes.float64))
    return _spaced("logspace", values, chosen, device, requires_grad, layout, out)


@function(method=False)
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """The n x m matrix with ones on its diagonal."""
    if n < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {n}")
    if m is not None and m < 0:
        raise RuntimeError(f"m must be greater or equal to 0, got {m}")
    chosen = _type_for(dtype, out)
    made = from_array(np.eye(n, m, dtype=chosen.np), as_device(device))
    if out is not None:
        return store_out(made, out, "eye")
    return finish(made, requires_grad, layout)


@function(method=False, name="complex")
def complex_(real: Any, imag: Any, *, out: Any = None) -> Any:
    """The complex tensor with these parts."""
    from mindtorch.engine.ops import complex as complex_ops

    require_tensor(real, "complex", "real", 1)
    require_tensor(imag, "complex", "imag", 2)
    result = complex_ops.make_complex(real, imag)
    if out is None:
        return result
    if out.aval.dtype is not result.aval.dtype:
        raise RuntimeError(
            "Expected object of scalar type "
            f"{dtypes.scalar_type_name(result.aval.dtype)} but got scalar type "
            f"{dtypes.scalar_type_name(out.aval.dtype)} for argument 'out'"
        )
    return store_out(result, out, "complex")


@function(method=False)
def is_tensor(obj: Any) -> bool:
    return isinstance(obj, EngineTensor)
