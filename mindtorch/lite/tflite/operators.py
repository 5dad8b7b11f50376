"""What TFLite's operators compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tflite

from mindtorch import torch
from mindtorch.torch.nn import functional

from ..errors import ConvertError
from .model import Operator, TFLiteModel

__all__ = ["OPERATORS", "PASSING", "quantized_weight"]


def _nothing(module: Any, operator: Operator) -> None:
    """There is nothing to prepare."""


@dataclass
class _Rule:
    """``compute(run, operator)`` stores the results; ``prepare(module, operator)`` brings constants
    into our order, before."""

    compute: Callable[[Any, Operator], None]
    prepare: Callable[[Any, Operator], None] = _nothing


OPERATORS: dict[str, _Rule] = {}
PASSING = frozenset(("MAX_POOL_2D", "RESHAPE", "SQUEEZE"))  # rounding may be left to who reads them
_NARROW = 1 << 16  # numbers of a row of a quantised product


def _operator(*names: str, prepare: Any = _nothing) -> Any:
    def enter(compute: Any) -> Any:
        OPERATORS.update(dict.fromkeys(names, _Rule(compute, prepare)))
        return compute

    return enter


def quantized_weight(model: TFLiteModel, operator: Operator) -> np.ndarray | None:
    """The signed bytes of a layer that is computed in 8 bits, a row or filter for each channel of
    the result; None for a layer of floats."""
    if operator.name not in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
        return None
    x, weight = (model.tensors[i] for i in operator.inputs[:2])
    if weight.data is None or weight.dtype != np.int8:
        return None
    if not weight.scales.size or weight.zeros.any():
        return None
    if x.levels is None or not 0 <= x.levels[1] + (128 if x.dtype == np.int8 else 0) <= 255:
        return None
    each = operator.name == "DEPTHWISE_CONV_2D"
    data = weight.data
    if each:
        if weight.shape[-1] != x.shape[-1]:
            return None
        data = np.moveaxis(data, -1, 0)
    if weight.scales.size > 1 and weight.axis != (weight.data.ndim - 1 if each else 0):
        return None
    return data if data[0].size < _NARROW else None


def _activated(x: Any, activation: int) -> Any:
    """A result after the activation that is part of its operator.

    Raises:
        ConvertError: the activation is not known.
    """
    kinds = tflite.ActivationFunctionType
    if activation == kinds.NONE:
        return x
    if activation == kinds.RELU:
        return torch.relu(x)
    if activation == kinds.RELU6:
        return functional.relu6(x)
    if activation == kinds.RELU_N1_TO_1:
        return torch.clamp(x, -1.0, 1.0)
    if activation == kinds.TANH:
        return torch.tanh(x)
    raise ConvertError(f"the activation {activation} is not known")


# --- layers ---------------------------------------------------------------------------------------


def _around(
    size: Any, window: Any, stride: Any, dilation: Any, padding: int
) -> list[tuple[int, int]]:
    """Zeros before and after on either axis: as many as "SAME" asks for, or none."""
    if padding == tflite.Padding.VALID:
        return [(0, 0), (0, 0)]
    made = []
    for n, k, s, d in zip(size, window, stride, dilation, strict=True):
        missing = max(0, (-(-n // s) - 1) * s + (k - 1) * d + 1 - n)
        made.append((missing // 2, missing - missing // 2))
    return made


def _bordered(x: Any, around: Any, value: float = 0.0) -> tuple[Any, tuple[int, int]]:
    """An image with a border, or without where both sides are equal: that is its padding then."""
    (top, bottom), (left, right) = around
    if top == bottom and left == right and value == 0.0:
        return x, (top, left)
    return functional.pad(x, (left, right, top, bottom), value=value), (0, 0)


def _bias(run: Any, operator: Operator) -> Any:
    place = operator.inputs[2] if len(operator.inputs) > 2 else -1
    return None if place < 0 else run.value(place)


def _weight_first(module: Any, operator: Operator) -> None:
    """``[channel, row, column, given]`` becomes ``[channel, given, row, column]``."""
    _turn(module, operator, (0, 3, 1, 2))


def _weight_each(module: Any, operator: Operator) -> None:
    """``[1, row, column, channel]`` becomes ``[channel, 1, row, column]``."""
    _turn(module, operator, (3, 0, 1, 2))


def _turn(module: Any, operator: Operator, axes: Any) -> None:
    from_tensor = module.model.tensors[operator.inputs[1]]
    if from_tensor.data is None:
        raise ConvertError(f"the weight {from_tensor.name!r} is computed: a constant is needed")
    name = f"constant_{operator.inputs[1]}"
    weight = from_tensor.real().transpose(axes)
    module.register_buffer(name, torch.from_numpy(np.array(weight, order="C")))


@_operator("CONV_2D", prepare=_weight_first)
def _convolution(run: Any, operator: Operator) -> None:
    _convolve(run, operator, 1)


@_operator("DEPTHWISE_CONV_2D", prepare=_weight_each)
def _depthwise(run: Any, operator: Operator) -> None:
    _convolve(run, operator, run.image(operator.inputs[0]).shape[1])


def _convolve(run: Any, operator: Operator, groups: int) -> None:
    options = operator.options
    x, weight = run.image(operator.inputs[0]), run.value(operator.inputs[1])
    stride = options.StrideH(), options.StrideW()
    dilation = options.DilationHFactor(), options.DilationWFactor()
    around = _around(x.shape[2:], weight.shape[2:], stride, dilation, options.Padding())
    x, padding = _bordered(x, around)
    if groups == 1:
        groups = x.shape[1] // weight.shape[1]
    made = torch.conv2d(x, weight, _bias(run, operator), stride, padding, dilation, groups)
    run.store(operator, _activated(made, options.FusedActivationFunction()), True)


@_operator("FULLY_CONNECTED")
def _product(run: Any, operator: Operator) -> None:
    options = operator.options
    x, weight = run.value(operator.inputs[0]), run.value(operator.inputs[1])
    if not options.KeepNumDims():
        x = x.reshape(-1, weight.shape[1])
    made = functional.linear(x, weight, _bias(run, operator))
    run.store(operator, _activated(made, options.FusedActivationFunction()))


@_operator("TRANSPOSE_CONV")
def _transposed(run: Any, operator: Operator) -> None:
    options = operator.options
    height, width = (int(n) for n in run.constant(operator.inputs[0])[1:3])
    weight = run.value(operator.inputs[1]).permute(3, 0, 1, 2)
    x = run.image(operator.inputs[2])
    stride = options.StrideH(), options.StrideW()
    bias = run.value(operator.inputs[3]) if len(operator.inputs) > 3 else None
    made = functional.conv_transpose2d(x, weight, bias, stride)
    (top, _), (left, _) = _around(
        (height, width), weight.shape[2:], stride, (1, 1), options.Padding()
    )
    made = made[:, :, top : top + height, left : left + width]
    missing = (0, width - made.shape[3], 0, height - made.shape[2])
    if any(missing):
        raise ConvertError("TRANSPOSE_CONV: the result is larger than what its input reaches")
    run.store(operator, made, True)


@_operator("MAX_POOL_2D")
def _largest(run: Any, operator: Operator) -> None:
    x, window, stride, around = _pooled(run, operator)
    equal = all(a == b for a, b in around)
    if equal and all(2 * a[0] <= n for a, n in zip(around, window, strict=True)):
        padding: Any = around[0][0], around[1][0]
    else:
        (top, bottom), (left, right) = around
        x, padding = functional.pad(x, (left, right, top, bottom), value=float("-inf")), (0, 0)
    made = functional.max_pool2d(x, window, stride, padding)
    run.store(operator, _activated(made, operator.options.FusedActivationFunction()), True)


@_operator("AVERAGE_POOL_2D")
def _mean_of_windows(run: Any, operator: Operator) -> None:
    x, window, stride, around = _pooled(run, operator)
    if all(a == (0, 0) for a in around):
        whole = tuple(window) == tuple(x.shape[2:])
        made = (
            functional.adaptive_avg_pool2d(x, 1) if whole
            else functional.avg_pool2d(x, window, stride)
        )  # fmt: skip
    else:
        (top, bottom), (left, right) = around
        sides = (left, right, top, bottom)
        ones = functional.pad(torch.ones_like(x[:, :1]), sides)
        sums = functional.avg_pool2d(functional.pad(x, sides), window, stride)
        made = sums / functional.avg_pool2d(ones, window, stride)
    run.store(operator, _activated(made, operator.options.FusedActivationFunction()), True)


def _pooled(run: Any, operator: Operator) -> Any:
    options, x = operator.options, run.image(operator.inputs[0])
    window = options.FilterHeight(), options.FilterWidth()
    stride = options.StrideH(), options.StrideW()
    return x, window, stride, _around(x.shape[2:], window, stride, (1, 1), options.Padding())


# --- elementwise ----------------------------------------------------------------------------------

_ONE: dict[str, Any] = {
    "RELU": torch.relu, "RELU6": functional.relu6, "LOGISTIC": torch.sigmoid, "TANH": torch.tanh,
    "ABS": torch.abs, "NEG": torch.neg, "EXP": torch.exp, "LOG": torch.log, "SQRT": torch.sqrt,
    "RSQRT": torch.rsqrt, "SQUARE": torch.square, "SIN": torch.sin, "COS": torch.cos,
    "FLOOR": torch.floor, "CEIL": torch.ceil, "ELU": functional.elu, "ROUND": torch.round,
    "HARD_SWISH": functional.hardswish, "QUANTIZE": lambda x: x, "DEQUANTIZE": lambda x: x,
    "RELU_N1_TO_1": lambda x: torch.clamp(x, -1.0, 1.0),
    "RELU_0_TO_1": lambda x: torch.clamp(x, 0.0, 1.0),
}  # fmt: skip


@_operator(*_ONE)
def _of_one(run: Any, operator: Operator) -> None:
    _elementwise(run, operator, _ONE[operator.name])


@_operator("LEAKY_RELU")
def _leaky(run: Any, operator: Operator) -> None:
    slope = operator.options.Alpha()
    _elementwise(run, operator, lambda x: functional.leaky_relu(x, slope))


@_operator("GELU")
def _gelu(run: Any, operator: Operator) -> None:
    kind = "tanh" if operator.options.Approximate() else "none"
    _elementwise(run, operator, lambda x: functional.gelu(x, approximate=kind))


def _elementwise(run: Any, operator: Operator, function: Any) -> None:
    """In the order in which the input is."""
    place = operator.inputs[0]
    first = place in run.first
    run.store(operator, function(run.first[place] if first else run.value(place)), first)


_TWO: dict[str, Any] = {
    "ADD": torch.add, "SUB": torch.sub, "MUL": torch.mul, "DIV": torch.div,
    "MAXIMUM": torch.maximum, "MINIMUM": torch.minimum, "POW": torch.pow,
    "SQUARED_DIFFERENCE": lambda a, b: torch.square(a - b),
    "PRELU": lambda x, slope: torch.where(x < 0, x * slope, x),
}  # fmt: skip


@_operator(*_TWO)
def _of_two(run: Any, operator: Operator) -> None:
    first = any(place in run.first for place in operator.inputs)
    given = [_operand(run, place, first) for place in operator.inputs]
    if any(x is None for x in given):
        first, given = False, [run.value(place) for place in operator.inputs]
    made = _TWO[operator.name](*given)
    fused = getattr(operator.options, "FusedActivationFunction", None)
    run.store(operator, made if fused is None else _activated(made, fused()), first)


def _operand(run: Any, place: int, first: bool) -> Any:
    """A value that is broadcast to images with channels first; None where it does not fit."""
    if not first or place in run.first:
        return run.first[place] if first else run.value(place)
    x = run.value(place)
    if x.ndim == 4:
        return run.image(place)
    if x.ndim <= 1:
        return x.reshape(-1, 1, 1) if x.ndim else x
    return None


@_operator("SOFTMAX", "LOG_SOFTMAX")
def _softmax(run: Any, operator: Operator) -> None:
    x = run.value(operator.inputs[0])
    if operator.name == "LOG_SOFTMAX":
        return run.store(operator, torch.log_softmax(x, -1))
    beta = operator.options.Beta()
    return run.store(operator, torch.softmax(x if beta == 1 else x * beta, -1))


# --- shapes ---------------------------------------------------------------------------------------


@_operator("RESHAPE")
def _reshape(run: Any, operator: Operator) -> None:
    x = run.value(operator.inputs[0])
    if len(operator.inputs) > 1:
        shape = [int(n) for n in run.constant(operator.inputs[1]).reshape(-1)]
    else:
        shape = [operator.options.NewShape(i) for i in range(operator.options.NewShapeLength())]
    given, made = run.tensor(operator.inputs[0]).shape, run.tensor(operator.outputs[0]).shape
    if given and made and given[0] == made[0] and shape and shape[0] == made[0] and -1 not in shape:
        shape[0] = -1  # the batch, which may be another
    run.store(operator, x.reshape(shape))


@_operator("SQUEEZE")
def _squeeze(run: Any, operator: Operator) -> None:
    x, options = run.value(operator.inputs[0]), operator.options
    axes = [options.SqueezeDims(i) % x.ndim for i in range(options.SqueezeDimsLength())]
    axes = axes or [i for i, n in enumerate(run.tensor(operator.inputs[0]).shape) if n == 1]
    run.store(operator, torch.squeeze(x, tuple(axes)))


@_operator("EXPAND_DIMS")
def _expand(run: Any, operator: Operator) -> None:
    axis = int(run.constant(operator.inputs[1]).reshape(-1)[0])
    run.store(operator, torch.unsqueeze(run.value(operator.inputs[0]), axis))


@_operator("TRANSPOSE")
def _transpose(run: Any, operator: Operator) -> None:
    axes = [int(n) for n in run.constant(operator.inputs[1]).reshape(-1)]
    run.store(operator, run.value(operator.inputs[0]).permute(*axes).contiguous())


@_operator("CONCATENATION")
def _concatenation(run: Any, operator: Operator) -> None:
    axis = operator.options.Axis()
    rank = len(run.tensor(operator.outputs[0]).shape)
    if rank == 4:
        order = (0, 2, 3, 1)
        made = torch.cat([run.image(i) for i in operator.inputs], order[axis % 4])
    else:
        made = torch.cat([run.value(i) for i in operator.inputs], axis)
    made = _activated(made, operator.options.FusedActivationFunction())
    run.store(operator, made, rank == 4)


@_operator("PAD", "PADV2")
def _pad(run: Any, operator: Operator) -> None:
    pads = run.constant(operator.inputs[1]).astype(int)
    value = 0.0
    if len(operator.inputs) > 2:
        value = float(run.value(operator.inputs[2]).reshape(-1)[0])
    first = pads.shape[0] == 4
    x = run.image(operator.inputs[0]) if first else run.value(operator.inputs[0])
    rows = pads[[0, 3, 1, 2]] if first else pads
    sides = [int(n) for row in rows[::-1] for n in row]
    while len(sides) > 2 and sides[-2:] == [0, 0]:
        sides = sides[:-2]
    run.store(operator, functional.pad(x, tuple(sides), value=value), first)


_REDUCED: dict[str, Any] = {
    "MEAN": torch.mean, "SUM": torch.sum, "REDUCE_MAX": torch.amax, "REDUCE_MIN": torch.amin,
}  # fmt: skip


@_operator(*_REDUCED)
def _reduced(run: Any, operator: Operator) -> None:
    place, keep = operator.inputs[0], operator.options.KeepDims()
    rank = len(run.tensor(place).shape)
    axes = sorted({int(n) % rank for n in run.constant(operator.inputs[1]).reshape(-1)})
    if operator.name == "MEAN" and rank == 4 and axes == [1, 2]:
        made = functional.adaptive_avg_pool2d(run.image(place), 1)
        return run.store(operator, made if keep else torch.flatten(made, 1), bool(keep))
    made = _REDUCED[operator.name](run.value(place), tuple(axes), keepdim=bool(keep))
    return run.store(operator, made)


@_operator("SPLIT")
def _split(run: Any, operator: Operator) -> None:
    axis = int(run.constant(operator.inputs[0]).reshape(-1)[0])
    parts = torch.chunk(run.value(operator.inputs[1]), operator.options.NumSplits(), axis)
    for number, part in enumerate(parts):
        run.store(operator, part, number=number)


@_operator("SLICE")
def _slice(run: Any, operator: Operator) -> None:
    x = run.value(operator.inputs[0])
    begins, sizes = (run.constant(i).reshape(-1) for i in operator.inputs[1:3])
    for axis, (begin, size) in enumerate(zip(begins, sizes, strict=True)):
        if begin or (size != -1 and size != run.tensor(operator.inputs[0]).shape[axis]):
            length = x.shape[axis] - int(begin) if size == -1 else int(size)
            x = torch.narrow(x, axis, int(begin), length)
    run.store(operator, x)


@_operator("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def _resize(run: Any, operator: Operator) -> None:
    size = [int(n) for n in run.constant(operator.inputs[1])]
    corners, middles = operator.options.AlignCorners(), operator.options.HalfPixelCenters()
    x = run.image(operator.inputs[0])
    if operator.name == "RESIZE_BILINEAR" and (corners or middles):
        made = functional.interpolate(x, size, mode="bilinear", align_corners=bool(corners))
    elif operator.name == "RESIZE_NEAREST_NEIGHBOR" and not corners:
        mode = "nearest-exact" if middles else "nearest"
        made = functional.interpolate(x, size, mode=mode)
    else:
        raise ConvertError(f"{operator.name}: this choice of corners and middles is not known")
    run.store(operator, made, True)
