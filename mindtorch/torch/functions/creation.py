"""Functions that make tensors from nothing, numbers, lists and arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine import dtypes, stored_types
from mindtorch.engine.allocator import empty, refusal
from mindtorch.engine.autograd import api
from mindtorch.engine.aval import Aval, aval, channels_last_strides
from mindtorch.engine.devices import cuda
from mindtorch.engine.devices.device import cpu, empty_on
from mindtorch.engine.dtype_support import refuse
from mindtorch.engine.ops import complex as complex_ops
from mindtorch.engine.ops.copies import kernel_of_copy
from mindtorch.engine.result_strides import preserved_strides
from mindtorch.engine.symbolic_sizes import made_anew, open_sizes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant, from_array, make
from mindtorch.engine.transforms.vmap import for_each_example

from .._api.arguments import (
    as_device,
    as_dtype,
    as_int,
    as_shape,
    check_value,
    number_of,
    require_tensor,
)  # fmt: skip
from .._api.out_rules import OUT_PARAMETER, SCALAR_OBJECT, Out
from .._api.out_variants import prepare_out
from .._api.publish import function, store_out
from .._tensor.size_and_formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    preserve_format,
    strided,
)


def finish(
    tensor: Any, requires_grad: bool = False, layout: Any = None, pin_memory: bool = False
) -> Any:
    """Apply what all factories take; raise for what we do not have."""
    if layout is not None and layout is not strided:
        raise NotImplementedError(f"layout {layout} is not supported: only torch.strided is")
    if pin_memory:
        if not cuda.device_count():
            raise RuntimeError(
                "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory "
                "allocator is available on this system."
            )
        tensor = tensor.pin_memory()
    if requires_grad and tensor.aval.dtype.category < dtypes.FLOAT:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return api.track(tensor) if requires_grad else tensor


def new_empty(described: Aval) -> Any:
    """A tensor with uninitialised elements."""
    if open_sizes:
        made = made_anew(described, np.array, 0)
        if made is not None:
            return made
    return make(empty_on(described.device)(described.extent, described.dtype.np), described)


_MANY = 16384  # elements, from which a loop of vectors is quicker than numpy's


def filled(described: Aval, value: Any) -> Any:
    """A tensor with every element ``value``."""
    check_value(value, described.dtype, filling=described.size == 1)
    if described.dtype.category == dtypes.INTEGER and value.__class__ is not bool and value < 0:
        value = np.array(int(value)).astype(described.dtype.np)
    if open_sizes:
        anew = made_anew(described, np.array, value)
        if anew is not None:
            return anew
    if described.device.type == "meta":
        return new_empty(described)
    if described.device is not cpu:
        made = new_empty(described)
        cuda.fill(made.flat, described, value)
        return made
    size, kind = described.size, described.dtype.np
    zero = not value and not (isinstance(value, float) and math.copysign(1, value) < 0)
    plain = value.__class__ in (int, float) and described.dtype not in dtypes.STORED
    if size >= _MANY and not zero and plain:
        data, number = empty(size, kind), constant(value)
        kernel_of_copy(described, number.aval)(data, number.flat)
        return make(data, described)
    try:
        data = np.zeros(size, kind) if zero else np.empty(size, kind)
    except (MemoryError, ValueError):
        raise refusal(size, kind) from None
    if not zero and described.dtype in dtypes.STORED:
        data[...] = stored_types.narrowed(value, described.dtype)
    elif not zero and kind.itemsize == 2 and kind.kind not in "iub":  # bfloat16 is filled by numpy
        data.view(np.uint16).fill(np.array(value).astype(kind).view(np.uint16))  # one by one
    elif not zero:
        data.fill(value)
    return make(data, described)


def _described(
    size: Any, dtype: Any, device: Any, memory_format: Any = None, name: str = "size"
) -> Aval:
    shape = as_shape(size, name)
    for n in shape:
        if n < 0:
            raise RuntimeError(
                "zeros: Dimension size must be non-negative."
                if name == "zeros"
                else f"Trying to create tensor with negative dimension {n}: {list(shape)}"
            )
    chosen = dtypes.default if dtype is None else as_dtype(dtype)
    if math.prod(shape) * chosen.itemsize >= 1 << 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    strides = None
    if memory_format in (channels_last, channels_last_3d):
        strides = channels_last_strides(shape)
    return aval(shape, chosen, strides, as_device(device))


def sizes_of(size: Any, kwargs: dict[str, Any]) -> Any:
    if "size" in kwargs:
        return (kwargs.pop("size"),)
    return size


_FILLED = {0: "Zeros", 1: "Ones", None: "Uninitialised memory"}


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
        if kwargs:
            size = sizes_of(size, kwargs)
            if kwargs.get("names") is None:
                kwargs.pop("names", None)
            if kwargs:
                unknown = next(iter(kwargs))
                raise TypeError(f"{name}() got an unexpected keyword argument '{unknown}'")
        if out is not None:
            asked = None if dtype is None else as_dtype(dtype)
            shown = None if value is None else f"aten::{name}"
            prepare_out(out, name, as_shape(size, name), asked, layout, device, shown)
            return finish(out if value is None else out.fill_(value), requires_grad)
        described = _described(size, dtype, device, memory_format, name)
        made = new_empty(described) if value is None else filled(described, value)
        return finish(made, requires_grad, layout, pin_memory)

    about = f"{_FILLED[value]} in the shape ``size``, of the default type unless given."
    kept = "memory" if value is None else True
    function(method=False, name=name, about=about, constant=kept)(body)


for _name, _value in (("zeros", 0), ("ones", 1), ("empty", None)):
    _define_filled(_name, _value)


@function(method=False, constant=True)
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
    fill_value = number_of(fill_value)
    if out is not None:
        asked = None if dtype is None else as_dtype(dtype)
        shape = as_shape((size,), "full")
        prepare_out(out, "full", shape, asked, layout, device, "aten::full")
        return finish(out.fill_(fill_value), requires_grad)
    chosen = number_dtype(fill_value) if dtype is None else dtype
    if isinstance(size, int):
        raise TypeError("full() takes a tuple of ints")
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


def made_like(x: Any, dtype: Any, device: Any, memory_format: Any) -> Aval:
    chosen = x.aval.dtype if dtype is None else as_dtype(dtype)
    place = x.aval.device if device is None else as_device(device)
    strides = None
    if memory_format is preserve_format or memory_format is None:
        strides = preserved_strides(x.aval)
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
        described = made_like(input, dtype, device, memory_format)
        made = new_empty(described) if value is None else filled(described, value)
        return finish(for_each_example(made, input), requires_grad, layout, pin_memory)

    about = f"{_FILLED[value]} in the shape, and unless given the type and layout, of ``input``."
    kept = "memory" if value is None else True
    function(method=False, name=name, about=about, constant=kept)(body)


for _name, _value in (("zeros_like", 0), ("ones_like", 1), ("empty_like", None)):
    _define_like(_name, _value)


@function(method=False, constant=True)
def full_like(
    input: Any,  # noqa: A002
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = preserve_format,
    pin_memory: bool = False,
) -> Any:
    """``fill_value`` in the shape, and unless given the type, layout and device, of ``input``."""
    fill_value = number_of(fill_value)
    made = filled(made_like(input, dtype, device, memory_format), fill_value)
    return finish(for_each_example(made, input), requires_grad, layout, pin_memory)


@function(method=False, checked=True)
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
    """An uninitialised tensor with the shape and strides given.

    Args:
        stride: steps along the axes, in elements.
    """
    chosen = dtypes.default if dtype is None else as_dtype(dtype)
    shape, steps = as_shape((size,)), tuple(stride)
    if len(shape) != len(steps):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides "
            f"({len(steps)})"
        )
    described = aval(shape, chosen, steps, as_device(device))
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
    together.

    Args:
        physical_layout: the axes in the order of memory, outermost first.
    """
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
        size = sizes_of(size, kwargs)
        if kwargs:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kwargs))}'")
        place = self.aval.device if device is None else device
        described = _described(size, self.aval.dtype if dtype is None else dtype, place)
        made = new_empty(described) if value is None else filled(described, value)
        return finish(for_each_example(made, self), requires_grad, layout, pin_memory)

    about = f"{_FILLED[value]} in the shape ``size``, in the tensor's type and on its device."
    kept = "memory" if value is None else True
    function(namespace=False, name=name, about=about, constant=kept)(body)


for _name, _value in (("new_zeros", 0), ("new_ones", 1), ("new_empty", None)):
    _define_new(_name, _value)


@function(namespace=False, constant=True)
def new_full(
    self: Any,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """``fill_value`` in the shape ``size``, in the tensor's type and on its device unless given."""
    place = self.aval.device if device is None else device
    described = _described((size,), self.aval.dtype if dtype is None else dtype, place)
    made = for_each_example(filled(described, number_of(fill_value)), self)
    return finish(made, requires_grad, layout, pin_memory)


def type_for(dtype: Any, out: Any) -> Any:
    """The type asked for; else that of ``out``, else the default."""
    if dtype is not None:
        return as_dtype(dtype)
    return out.aval.dtype if isinstance(out, EngineTensor) else dtypes.default


@function(method=False, constant=True)
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """The n x m matrix with ones on its diagonal."""
    if n < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {n}")
    if m is not None and m < 0:
        raise RuntimeError(f"m must be greater or equal to 0, got {m}")
    chosen = type_for(dtype, out)
    if chosen is dtypes.complex32:
        refuse("eye", chosen)
    made = None
    if out is None and open_sizes:
        described = aval((n, n if m is None else m), chosen, None, as_device(device))
        made = made_anew(described, np.eye, n, m)
    if made is None:
        made = from_array(np.eye(n, m, dtype=chosen.np), as_device(device))
    if out is not None:
        made = store_out(made, out, "eye", (), Out(OUT_PARAMETER, shown="aten::eye"))
    return finish(made, requires_grad, layout, pin_memory)


@function(method=False, name="complex")
def complex_(real: Any, imag: Any, *, out: Any = None) -> Any:
    """The complex tensor with these parts.

    Args:
        real, imag: floating-point tensors of one type.
    """
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
    return store_out(result, out, "complex", (), Out(SCALAR_OBJECT))


@function(method=False, explained=False)
def is_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a tensor."""
    return isinstance(obj, EngineTensor)
