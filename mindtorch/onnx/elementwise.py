"""Operators that compute each element from the elements at the same place."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.torch import nn

from .errors import UnsupportedOperatorError
from .registry import operator
from .values import tensor, torch_type

F = nn.functional

# --- of one tensor --------------------------------------------------------------------------------


def _of_one(name: str, function: Any) -> None:
    operator(name)(lambda x: function(x))


_of_one("Abs", torch.abs)
_of_one("Acos", torch.acos)
_of_one("Acosh", torch.acosh)
_of_one("Asin", torch.asin)
_of_one("Asinh", torch.asinh)
_of_one("Atan", torch.atan)
_of_one("Atanh", torch.atanh)
_of_one("BitwiseNot", torch.bitwise_not)
_of_one("Ceil", torch.ceil)
_of_one("Cos", torch.cos)
_of_one("Cosh", torch.cosh)
_of_one("Erf", torch.erf)
_of_one("Exp", torch.exp)
_of_one("Floor", torch.floor)
_of_one("HardSwish", F.hardswish)
_of_one("IsNaN", torch.isnan)
_of_one("Log", torch.log)
_of_one("Mish", F.mish)
_of_one("Neg", torch.neg)
_of_one("Not", torch.logical_not)
_of_one("Reciprocal", torch.reciprocal)
_of_one("Relu", torch.relu)
_of_one("Round", torch.round)
_of_one("Sigmoid", torch.sigmoid)
_of_one("Sign", torch.sign)
_of_one("Sin", torch.sin)
_of_one("Sinh", torch.sinh)
_of_one("Softplus", lambda x: torch.logaddexp(x, torch.zeros_like(x)))
_of_one("Softsign", F.softsign)
_of_one("Sqrt", torch.sqrt)
_of_one("Tan", torch.tan)
_of_one("Tanh", torch.tanh)


@operator("Identity")
def _identity(x: Any) -> Any:
    return x


@operator("Celu")
def _celu(x: Any, *, alpha: float = 1.0) -> Any:
    return F.celu(x, alpha)


@operator("Elu")
def _elu(x: Any, *, alpha: float = 1.0) -> Any:
    return F.elu(x, alpha)


@operator("Gelu")
def _gelu(x: Any, *, approximate: str = "none") -> Any:
    return F.gelu(x, approximate=approximate)


@operator("HardSigmoid")
def _hard_sigmoid(x: Any, *, alpha: float = 0.2, beta: float = 0.5) -> Any:
    return torch.clamp(x * alpha + beta, 0, 1)


@operator("IsInf")
def _is_inf(x: Any, *, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    found = torch.isinf(x)
    if not detect_negative:
        found = found & (x > 0)
    return found if detect_positive else found & (x < 0)


@operator("LeakyRelu")
def _leaky_relu(x: Any, *, alpha: float = 0.01) -> Any:
    return F.leaky_relu(x, alpha)


@operator("PRelu")
def _prelu(x: Any, slope: Any) -> Any:
    return torch.where(x < 0, x * slope, x)


@operator("Selu")
def _selu(
    x: Any, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875
) -> Any:
    return gamma * torch.where(x > 0, x, alpha * (torch.exp(torch.clamp(x, max=0)) - 1))


@operator("Shrink")
def _shrink(x: Any, *, bias: float = 0.0, lambd: float = 0.5) -> Any:
    less = torch.where(x < -lambd, x + bias, torch.zeros_like(x))
    return torch.where(x > lambd, x - bias, less).to(x.dtype)


@operator("Swish")
def _swish(x: Any, *, alpha: float = 1.0) -> Any:
    return x * torch.sigmoid(alpha * x)


@operator("ThresholdedRelu")
def _thresholded_relu(x: Any, *, alpha: float = 1.0) -> Any:
    return torch.where(x > alpha, x, torch.zeros_like(x))


@operator("Clip", 1, 10)
def _clip_by_attributes(x: Any, *, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    return x if min is None and max is None else torch.clamp(x, min, max)


@operator("Clip", 11)
def _clip(x: Any, low: Any = None, high: Any = None) -> Any:
    x = x if low is None else torch.maximum(x, low)
    return x if high is None else torch.minimum(x, high)


@operator("Dropout", 1, 11)
def _dropout_by_attribute(
    x: Any, *, ratio: float = 0.5, is_test: int = 0, outputs: int, training: bool
) -> Any:
    kept = F.dropout(x, ratio, training)
    return (kept, torch.ones_like(x, dtype=torch.bool))[:outputs]


@operator("Dropout", 12)
def _dropout(
    x: Any, ratio: Any = None, mode: Any = None, *, seed: Any = None, outputs: int, training: bool
) -> Any:
    share = 0.5 if ratio is None else float(ratio)
    drops = mode is not None and bool(mode) and share > 0
    if not (drops or (training and mode is None)):
        return (x, torch.ones_like(x, dtype=torch.bool))[:outputs]
    mask = torch.rand_like(x) >= share
    return (torch.where(mask, x / (1 - share), torch.zeros_like(x)), mask)[:outputs]


# --- types ----------------------------------------------------------------------------------------


_SHORT = {torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz}
_BEYOND = 464  # what e4m3fn would round to 480, which it has not


def _converted(x: Any, kind: Any, saturate: int, round_mode: str) -> Any:
    """The elements as another type; those beyond a float of 8 bits are its largest number where
    conversions saturate, else an infinity or NaN."""
    if kind is torch.float8_e8m0fnu and round_mode != "nearest":
        raise UnsupportedOperatorError(f"conversions to e8m0 with round_mode={round_mode!r}")
    if kind in _SHORT and x.dtype not in _SHORT:
        x = x.to(torch.float32)
        if saturate:
            x = torch.clamp(x, -torch.finfo(kind).max, torch.finfo(kind).max)
        elif kind is torch.float8_e4m3fn:
            x = torch.where(x.abs() > _BEYOND, torch.nan, x)
    return x.to(kind)


@operator("Cast", 6)
def _cast(x: Any, *, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    return _converted(x, torch_type(to), saturate, round_mode)


@operator("CastLike")
def _cast_like(x: Any, like: Any, *, saturate: int = 1, round_mode: str = "up") -> Any:
    return _converted(x, like.dtype, saturate, round_mode)


@operator("BitCast")
def _bit_cast(x: Any, *, to: int) -> Any:
    return x.view(torch_type(to))


# --- of two and more ------------------------------------------------------------------------------


def _of_two(name: str, function: Any, first: int = 7) -> None:
    operator(name, first)(lambda x, y: function(x, y))


def _divided(x: Any, y: Any) -> Any:
    whole = not (x.dtype.is_floating_point or x.dtype.is_complex)
    return torch.div(x, y, rounding_mode="trunc") if whole else torch.div(x, y)


def _raised(x: Any, y: Any) -> Any:
    return torch.pow(x, y).to(x.dtype)


_of_two("Add", torch.add)
_of_two("Sub", torch.sub)
_of_two("Mul", torch.mul)
_of_two("Div", _divided)
_of_two("Pow", _raised)
_of_two("And", torch.logical_and)
_of_two("Or", torch.logical_or)
_of_two("Xor", torch.logical_xor)
_of_two("Equal", torch.eq)
_of_two("Less", torch.lt)
_of_two("LessOrEqual", torch.le)
_of_two("Greater", torch.gt)
_of_two("GreaterOrEqual", torch.ge)
_of_two("BitwiseAnd", torch.bitwise_and)
_of_two("BitwiseOr", torch.bitwise_or)
_of_two("BitwiseXor", torch.bitwise_xor)


def _by_attribute(name: str, function: Any) -> None:
    """The form of opset 1 to 6: broadcast only where an attribute says so, from an axis on."""

    def run(
        x: Any, y: Any, *, axis: Any = None, broadcast: int = 0, consumed_inputs: Any = None
    ) -> Any:
        if broadcast and axis is not None:
            y = y.reshape([*y.shape, *[1] * (x.ndim - axis % x.ndim - y.ndim)])
        return function(x, y)

    operator(name, 1, 6)(run)


_by_attribute("Add", torch.add)
_by_attribute("Sub", torch.sub)
_by_attribute("Mul", torch.mul)
_by_attribute("Div", _divided)
_by_attribute("Pow", _raised)


@operator("BitShift")
def _bit_shift(x: Any, y: Any, *, direction: str) -> Any:
    shift = torch.bitwise_left_shift if direction == "LEFT" else torch.bitwise_right_shift
    kind = x.dtype
    if kind in (torch.uint16, torch.uint32, torch.uint64):
        x, y = x.to(torch.int64), y.to(torch.int64)
    return shift(x, y).to(kind)


@operator("Mod")
def _mod(x: Any, y: Any, *, fmod: int = 0) -> Any:
    return torch.fmod(x, y) if fmod else torch.remainder(x, y)


def _of_many(name: str, function: Any) -> None:
    operator(name, 6)(lambda *values: functools.reduce(function, values))


_of_many("Max", torch.maximum)
_of_many("Min", torch.minimum)
_of_many("Sum", torch.add)


@operator("Mean", 6)
def _mean(*values: Any) -> Any:
    return functools.reduce(torch.add, values) / len(values)


@operator("Where")
def _where(condition: Any, x: Any, y: Any) -> Any:
    return torch.where(condition, x, y)


# --- random numbers -------------------------------------------------------------------------------


def _seeded(seed: Any) -> Any:
    if seed is None:
        return None
    return torch.Generator().manual_seed(int(np.float32(seed).view(np.int32)) & 0x7FFFFFFF)


@operator("RandomNormal")
def _random_normal(
    *, shape: Any, mean: float = 0.0, scale: float = 1.0, dtype: int = 1, seed: Any = None
) -> Any:
    made = torch.randn(shape, generator=_seeded(seed), dtype=torch_type(dtype))
    return made * scale + mean


@operator("RandomNormalLike")
def _random_normal_like(
    x: Any, *, mean: float = 0.0, scale: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    kind = x.dtype if dtype is None else torch_type(dtype)
    return torch.randn(tuple(x.shape), generator=_seeded(seed), dtype=kind) * scale + mean


@operator("RandomUniform")
def _random_uniform(
    *, shape: Any, low: float = 0.0, high: float = 1.0, dtype: int = 1, seed: Any = None
) -> Any:
    made = torch.rand(shape, generator=_seeded(seed), dtype=torch_type(dtype))
    return made * (high - low) + low


@operator("RandomUniformLike")
def _random_uniform_like(
    x: Any, *, low: float = 0.0, high: float = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    kind = x.dtype if dtype is None else torch_type(dtype)
    return torch.rand(tuple(x.shape), generator=_seeded(seed), dtype=kind) * (high - low) + low


@operator("Bernoulli")
def _bernoulli(x: Any, *, dtype: Any = None, seed: Any = None) -> Any:
    made = torch.bernoulli(x, generator=_seeded(seed))
    return made if dtype is None else made.to(torch_type(dtype))


# --- constants ------------------------------------------------------------------------------------


@operator("Constant")
def _constant(
    *, value: Any = None, value_float: Any = None, value_floats: Any = None, value_int: Any = None,
    value_ints: Any = None, value_string: Any = None, value_strings: Any = None,
    sparse_value: Any = None,
) -> Any:  # fmt: skip
    if value is not None:
        return value
    for number, dtype in (
        (value_float, np.float32), (value_floats, np.float32), (value_int, np.int64),
        (value_ints, np.int64),
    ):  # fmt: skip
        if number is not None:
            return np.array(number, dtype)
    raise UnsupportedOperatorError("a Constant of texts, or a sparse one")


# --- quantized numbers ----------------------------------------------------------------------------


def _along(x: Any, row: Any, axis: int, block: int = 0) -> Any:
    """A scale or zero point, of which there may be one for each place along an axis."""
    row = tensor(row)
    if not row.ndim or (row.ndim == 1 and row.shape[0] == 1):
        return row.reshape(())
    if row.ndim == 1 and not block:
        shape = [1] * x.ndim
        shape[axis] = row.shape[0]
        return row.reshape(shape)
    return torch.repeat_interleave(row, block or x.shape[axis] // row.shape[axis], axis)


@operator("DequantizeLinear")
def _dequantize(
    x: Any, scale: Any, zero: Any = None, *, axis: int = 1, block_size: int = 0,
    output_dtype: int = 0,
) -> Any:  # fmt: skip
    spread = _along(x, scale, axis, block_size)
    whole = x.to(torch.float32)
    if zero is not None:
        whole = whole - _along(x, zero, axis, block_size).to(torch.float32)
    made = whole * spread.to(torch.float32)
    return made.to(torch_type(output_dtype) if output_dtype else scale.dtype)


def quantized(x: Any, scale: Any, zero: Any, kind: Any, axis: int = 1, block: int = 0) -> Any:
    """Numbers as steps of a scale from a zero point, within the type's range."""
    if kind not in (torch.uint8, torch.int8, torch.uint16, torch.int16):
        raise UnsupportedOperatorError(f"QuantizeLinear to {kind}")
    limits = torch.iinfo(kind)
    steps = torch.round(x.to(torch.float32) / _along(x, scale, axis, block).to(torch.float32))
    if zero is not None:
        steps = steps + _along(x, zero, axis, block).to(torch.float32)
    return torch.clamp(steps, limits.min, limits.max).to(torch.int32).to(kind)


@operator("QuantizeLinear")
def _quantize(
    x: Any, scale: Any, zero: Any = None, *, axis: int = 1, saturate: int = 1, block_size: int = 0,
    output_dtype: int = 0, precision: int = 0,
) -> Any:  # fmt: skip
    kind = torch.uint8 if zero is None else zero.dtype
    kind = torch_type(output_dtype) if output_dtype else kind
    return quantized(x, scale, zero, kind, axis, block_size)


@operator("MatMulInteger")
def _matmul_integer(x: Any, y: Any, x_zero: Any = None, y_zero: Any = None) -> Any:
    x, y = x.to(torch.int32), y.to(torch.int32)
    x = x if x_zero is None else x - x_zero.to(torch.int32)
    y = y if y_zero is None else y - y_zero.to(torch.int32)
    return torch.matmul(x, y)


@operator("QLinearMatMul")
def _qlinear_matmul(
    x: Any, x_scale: Any, x_zero: Any, y: Any, y_scale: Any, y_zero: Any, scale: Any, zero: Any
) -> Any:
    whole = _matmul_integer(x, y, x_zero, y_zero).to(torch.float32)
    made = whole * (x_scale.to(torch.float32) * y_scale.to(torch.float32))
    return quantized(made, scale, zero, zero.dtype)


