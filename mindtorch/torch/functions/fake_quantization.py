"""Fake quantisation: floating-point tensors on the grid of numbers that whole levels stand for."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.autograd.api import grad_mode
from mindtorch.engine.ops import activations as act
from mindtorch.engine.ops import elementwise as el
from mindtorch.engine.ops import movement
from mindtorch.engine.ops.reduction import amax, amin
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant, from_array

from .._api.arguments import normalize_axis
from .._api.meta_kernels import require_kernel
from .._api.publish import function
from .quantization_parameters import choose_parameters

_FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


@function()
def dequantize(input: Any) -> Any:  # noqa: A002
    """The numbers that levels stand for; of a tensor that is not quantised, float32 of it."""
    if isinstance(input, (tuple, list)):
        raise NotImplementedError(
            "Could not run 'aten::dequantize.tensors' with arguments from the 'CPU' backend."
        )
    require_kernel("dequantize.self", input)
    return input.to(dtypes.float32)


@function(method=False, checked=True)
def fake_quantize_per_tensor_affine(
    input: Any,  # noqa: A002
    scale: Any,
    zero_point: Any,
    quant_min: int,
    quant_max: int,
) -> Any:
    """``(clamp(round(x / scale) + zero_point, quant_min, quant_max) - zero_point) * scale``.

    The gradient passes where nothing was cut off.

    Args:
        input: floating-point.
        scale: between two levels; a number, or a tensor of one element with ``zero_point``.
        zero_point: the level that stands for 0.
        quant_min, quant_max: the lowest and the highest level.

    Raises:
        RuntimeError: an empty range of levels, or a zero point outside of it.
    """
    require_kernel("fake_quantize_per_tensor_affine_cachemask", input)
    _check(input, quant_min, quant_max, "fake_quantize_tensor_cachemask_kernel_type_handling")
    label = "FakeQuantizePerTensorAffineCachemask"
    if isinstance(scale, EngineTensor) and isinstance(zero_point, EngineTensor):
        _require_constants("per_tensor_affine_cachemask_tensor_qparams", scale, zero_point)
        label += "TensorQparams"
        width = _single(scale)
        inverse = el.divide(constant(1.0), width)
        zero = _single(zero_point)
        if zero.aval.dtype.is_floating_point:  # torch reads a whole number
            zero = movement.cast(zero, dtype=dtypes.int32)
    else:
        start = operator.index(zero_point)
        if not quant_min <= start <= quant_max:
            raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
        with np.errstate(divide="ignore"):
            step = np.float32(scale)
            width, inverse = (constant(float(v)) for v in (step, np.float32(1) / step))
        zero = constant(float(start))
    return _quantized(input, width, inverse, zero, quant_min, quant_max, label)


@function(method=False)
def fake_quantize_per_channel_affine(
    input: Any,  # noqa: A002
    scale: Any,
    zero_point: Any,
    axis: int,
    quant_min: int,
    quant_max: int,
) -> Any:
    """``fake_quantize_per_tensor_affine`` with a scale and a zero point for each index of ``axis``.

    Args:
        input: floating-point.
        scale: one-dimensional, of float32 or bfloat16.
        zero_point: one-dimensional, of int32; of a floating type it is added before rounding.
        axis: of ``input``, as long as both.
        quant_min, quant_max: the lowest and the highest level.

    Raises:
        RuntimeError: other shapes or types, an empty range of levels, a zero point outside of it.
    """
    names = {
        "Scale must be Float or BFloat16": (scale, (dtypes.float32, dtypes.bfloat16)),
        "Zero-point must be Int32, Float or Half":
            (zero_point, (dtypes.int32, dtypes.float32, dtypes.float16)),
    }  # fmt: skip
    for text, (tensor, allowed) in names.items():
        if tensor.aval.dtype not in allowed:
            raise RuntimeError(f"{text}, found {dtypes.scalar_type_name(tensor.aval.dtype)}")
    for text, tensor in (("scale", scale), ("zero point", zero_point)):
        if tensor.aval.ndim != 1:
            raise RuntimeError(f"{text} should be a 1-D tensor")
    if scale.aval.shape != zero_point.aval.shape:
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    shape = input.aval.shape
    if scale.aval.shape[0] != shape[normalize_axis(axis, len(shape))]:
        raise RuntimeError(
            "dimensions of scale and zero-point are not consistent with input tensor"
        )
    if axis < 0:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    _check(input, quant_min, quant_max, "fake_quantize_channel_cachemask_cpu_type_handling")
    _require_constants("per_channel_affine_cachemask", scale, zero_point)
    whole = zero_point.aval.dtype is dtypes.int32
    if scale.aval.size and whole and not (
        quant_min <= amin(zero_point, axis=(0,), keepdims=False).item()
        and amax(zero_point, axis=(0,), keepdims=False).item() <= quant_max
    ):
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    lengths = tuple(n if i == axis else 1 for i, n in enumerate(shape))
    width, zero = (
        movement.cast(movement.reshape(t, lengths), dtype=dtypes.float32)
        for t in (scale, zero_point)
    )
    inverse = el.divide(constant(1.0), width)
    if not whole:
        return _rounded_together(input, width, inverse, zero, quant_min, quant_max)
    return _quantized(input, width, inverse, zero, quant_min, quant_max,
                      "FakeQuantizePerChannelAffineCachemask")  # fmt: skip


def _rounded_together(x: Any, width: Any, inverse: Any, zero: Any, low: int, high: int) -> Any:
    """Zero points that need not be whole are a part of what is rounded."""
    moved = el.add(el.multiply(movement.cast(x, dtype=dtypes.float32), inverse), zero)
    one, none = constant(1.0), constant(0.0)
    level = act.fake_quantize(moved, one, one, none, constant(float(low)), constant(float(high)))
    result = movement.cast(el.multiply(el.subtract(level, zero), width), dtype=x.aval.dtype)
    return tape.named(result, "FakeQuantizePerChannelAffineCachemaskBackward0")


@function(method=False)
def fused_moving_avg_obs_fake_quant(
    input: Any,  # noqa: A002
    observer_on: Any,
    fake_quant_on: Any,
    running_min: Any,
    running_max: Any,
    scale: Any,
    zero_point: Any,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Any:
    """Follow the range of a tensor, and put it on the levels that the range asks for.

    Where observed, ``running = running + averaging_const * (found - running)`` for both ends (the
    first range is taken as it is), and scale and zero point are chosen anew.

    Args:
        input: floating-point.
        observer_on, fake_quant_on: of one element: whether to observe, whether to quantise.
        running_min, running_max: the range; written.
        scale, zero_point: what levels mean; written.
        averaging_const: the weight of a new range.
        quant_min, quant_max: the lowest and the highest level.
        ch_axis: the axis that has a range for each index, with ``per_row_fake_quant``.
        per_row_fake_quant: one range for each index, not one for all.
        symmetric_quant: 0 lies in the middle of the levels.
    """
    if ch_axis >= input.aval.ndim:
        raise RuntimeError(
            "Error in fused_moving_avg_obs_fake_quant_cpu: ch_axis must be < self.dim()"
        )
    if observer_on.item():
        with grad_mode(False):
            _observe(input, running_min, running_max, averaging_const, ch_axis, per_row_fake_quant)
            _choose(running_min, running_max, scale, zero_point, quant_min, quant_max,
                    symmetric_quant)  # fmt: skip
    if not fake_quant_on.item():
        return movement.alias_view(input)
    if per_row_fake_quant:
        whole = zero_point.to(dtypes.int32)
        made = fake_quantize_per_channel_affine(
            input, scale, whole, ch_axis, quant_min, quant_max
        )
    else:
        made = fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max)
    return tape.named(made, "FusedMovingAvgObsFqHelperBackward0")


def _observe(
    x: Any, low: Any, high: Any, weight: float, axis: int, by_rows: bool
) -> None:
    axes = tuple(i for i in range(x.aval.ndim) if not by_rows or i != axis)
    ends = [fold(x.detach(), axis=axes, keepdims=False) for fold in (amin, amax)]
    for running, found in zip((low, high), ends, strict=True):
        known = running.array()
        new = found.array().reshape(-1 if by_rows else known.shape).astype(known.dtype)
        if known.size == new.size and known.size and not np.isinf(known).all():
            new = known + (new - known) * known.dtype.type(weight)
        if known.shape != new.shape:
            running.resize_(new.shape)
        running.copy_(from_array(np.array(new, order="C")))


def _choose(
    low: Any, high: Any, scale: Any, zero_point: Any, first: int, last: int, symmetric: bool
) -> None:
    ends = zip(low.array().reshape(-1).tolist(), high.array().reshape(-1).tolist(), strict=True)
    made = [choose_parameters(a, b, first, last, symmetric=symmetric) for a, b in ends]
    for tensor, place in ((scale, 0), (zero_point, 1)):
        values = np.array([each[place] for each in made])
        if tensor.aval.shape != values.shape:
            tensor.resize_(values.shape)
        tensor.copy_(from_array(values.astype(tensor.aval.dtype.np)))


def _check(x: Any, low: int, high: int, kernel: str) -> None:
    if low > high:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")
    if x.aval.dtype not in _FLOATS:
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for '{dtypes.scalar_type_name(x.aval.dtype)}'"
        )


def _require_constants(name: str, scale: Any, zero_point: Any) -> None:
    for argument, value in (("scale", scale), ("zero_point", zero_point)):
        if isinstance(value, EngineTensor) and value.requires_grad:
            raise RuntimeError(
                f"The function 'fake_quantize_{name}' is not differentiable with respect to "
                f"argument '{argument}'. This input cannot have requires_grad True."
            )


def _single(x: Any) -> Any:
    """The only element, in float32."""
    if x.aval.size != 1:
        raise RuntimeError(f"a Tensor with {x.aval.size} elements cannot be converted to Scalar")
    return movement.cast(movement.reshape(x, ()), dtype=dtypes.float32)


def _quantized(
    x: Any, width: Any, inverse: Any, zero: Any, low: int, high: int, label: str
) -> Any:
    """Scales are of float32, and so is what is computed of 16-bit elements."""
    own = x.aval.dtype
    wide = x if own in (dtypes.float32, dtypes.float64) else movement.cast(x, dtype=dtypes.float32)
    result = act.fake_quantize(
        wide, width, inverse, zero, constant(float(low)), constant(float(high))
    )
    if own is dtypes.float64 and not width.aval.shape:  # torch multiplies in float32 there
        with grad_mode(False):
            single = movement.cast(movement.cast(result, dtype=dtypes.float32), dtype=own)
            rest = el.subtract(single, result)
        result = el.add(result, rest)
    elif wide is not x:
        result = movement.cast(result, dtype=own)
    return tape.named(result, f"{label}Backward0")
