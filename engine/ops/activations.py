"""Activation functions, elementwise; gradients that networks spend time in are ops of their own.

A gradient op takes ``x``, the gradient of the result, then ``y``, the activation's input, then the
activation's parameters.
"""

from __future__ import annotations

import math
from typing import Any

from ..dtype_support import WHOLE, floats_only, without
from ..dtypes import bool_
from ..tensor import constant as c
from .base import Elementwise
from .comparison import greater, where
from .elementwise import add, exp, multiply, negative, no_slope, sigmoid, subtract, tanh

# --- rectified linear unit --------------------------------------------------------------------


def _no_bool(dtype: Any) -> None:
    if dtype is bool_:
        raise RuntimeError("Boolean inputs not supported for relu")
    if dtype.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")


relu = Elementwise(
    "relu", (lambda g, out: threshold_gradient(g, out, c(0)),), refuses=_no_bool
)
# g where y > limit, else 0
threshold_gradient = Elementwise(
    "threshold_gradient",
    (lambda g, y, z: threshold_gradient(g, y, z), no_slope, None),
    grad_name="ThresholdBackwardBackward0",
)


# --- smooth ----------------------------------------------------------------------------------


def _silu_curvature(g: Any, x: Any, y: Any) -> Any:
    s = sigmoid(y)
    bend = multiply(multiply(s, subtract(c(1), s)), add(multiply(
        y, subtract(c(1), multiply(s, c(2)))
    ), c(2)))  # fmt: skip
    return multiply(multiply(g, x), bend)


silu = Elementwise("silu", (lambda g, x: silu_gradient(g, x),), result="float")
silu_gradient = Elementwise(
    "silu_gradient",
    (lambda g, y: silu_gradient(g, y), _silu_curvature),
    grad_name="SiluBackwardBackward0",
)


def _gelu_curvature(g: Any, x: Any, y: Any) -> Any:
    square = multiply(y, y)
    density = multiply(exp(multiply(square, c(-0.5))), c(1 / math.sqrt(2 * math.pi)))
    return multiply(multiply(g, x), multiply(density, subtract(c(2), square)))


gelu = Elementwise(
    "gelu",
    (lambda g, x: gelu_gradient(g, x),),
    result="float",
    dtypes=without("complex", "GeluKernelImpl"),
)
gelu_gradient = Elementwise(
    "gelu_gradient",
    (lambda g, y: gelu_gradient(g, y), _gelu_curvature),
    grad_name="GeluBackwardBackward0",
)

_SLOPE = math.sqrt(2 / math.pi)
_CUBE = 0.044715


def _gelu_tanh_curvature(g: Any, x: Any, y: Any) -> Any:
    square = multiply(y, y)
    t = tanh(multiply(multiply(y, c(_SLOPE)), add(multiply(square, c(_CUBE)), c(1))))
    bell = subtract(c(1), multiply(t, t))
    first = multiply(add(multiply(square, c(3 * _CUBE)), c(1)), c(_SLOPE))
    second = multiply(y, c(_SLOPE * 6 * _CUBE))
    inner = subtract(second, multiply(multiply(t, c(2)), multiply(first, first)))
    bend = multiply(bell, add(first, multiply(multiply(y, c(0.5)), inner)))
    return multiply(multiply(g, x), bend)


gelu_tanh = Elementwise(
    "gelu_tanh",
    (lambda g, x: gelu_tanh_gradient(g, x),),
    result="float",
    grad_name="GeluBackward0",
    dtypes=without("complex", "GeluKernelImpl"),
)
gelu_tanh_gradient = Elementwise(
    "gelu_tanh_gradient",
    (lambda g, y: gelu_tanh_gradient(g, y), _gelu_tanh_curvature),
    grad_name="GeluBackwardBackward0",
)


def _softplus_curvature(g: Any, x: Any, y: Any, z: Any, w: Any) -> Any:
    scaled = multiply(y, z)
    s = sigmoid(scaled)
    bend = multiply(multiply(multiply(s, subtract(c(1), s)), z), multiply(g, x))
    return where(greater(scaled, w), c(0), bend)


# log(1 + exp(x * y)) / y; x itself where x * y > z
softplus = Elementwise(
    "softplus",
    (lambda g, x, y, z: softplus_gradient(g, x, y, z), None, None),
    result="float",
    autocast_cuda="full",
    dtypes=without("complex", "softplus_cpu"),
)
softplus_gradient = Elementwise(
    "softplus_gradient",
    (lambda g, y, z, w: softplus_gradient(g, y, z, w), _softplus_curvature, None, None),
    grad_name="SoftplusBackwardBackward0",
)


def _mish_curvature(g: Any, x: Any, y: Any) -> Any:
    t = tanh(softplus(y, c(1.0), c(20.0)))
    s = sigmoid(y)
    bell = subtract(c(1), multiply(t, t))
    inner = add(multiply(y, subtract(subtract(c(1), s), multiply(multiply(t, s), c(2)))), c(2))
    return multiply(multiply(g, x), multiply(multiply(bell, s), inner))


mish = Elementwise(
    "mish",
    (lambda g, x: mish_gradient(g, x),),
    result="float",
    dtypes=without("complex", "mish_cpu"),
)
mish_gradient = Elementwise(
    "mish_gradient",
    (lambda g, y: mish_gradient(g, y), _mish_curvature),
    grad_name="MishBackwardBackward0",
)


def _log_sigmoid_curvature(g: Any, x: Any, y: Any) -> Any:
    s = sigmoid(y)
    return negative(multiply(multiply(g, x), multiply(s, subtract(c(1), s))))


# log(sigmoid(x))
log_sigmoid = Elementwise(
    "log_sigmoid",
    (lambda g, x: log_sigmoid_gradient(g, x),),
    scalar="logsigmoid",
    grad_name="LogSigmoidBackward0",
    dtypes=without("complex", "log_sigmoid_cpu"),
)
log_sigmoid_gradient = Elementwise(
    "log_sigmoid_gradient",
    (lambda g, y: log_sigmoid_gradient(g, y), _log_sigmoid_curvature),
    scalar="logsigmoid_gradient",
    grad_name="LogSigmoidBackwardBackward0",
)

# --- with kinks ------------------------------------------------------------------------------


# x, slope for x <= 0
leaky_relu = Elementwise(
    "leaky_relu",
    (lambda g, x, y: leaky_relu_gradient(g, x, y), None),
    dtypes=without("complex", "leaky_relu_cpu"),
)
leaky_relu_gradient = Elementwise(
    "leaky_relu_gradient",
    (lambda g, y, z: leaky_relu_gradient(g, y, z), no_slope, None),
    grad_name="LeakyReluBackwardBackward0",
)
# x where x > 0, else x * y, with a derivative for y
prelu = Elementwise(
    "prelu",
    (
        lambda g, x, y: where(greater(x, c(0)), g, multiply(g, y)),
        lambda g, x: where(greater(x, c(0)), c(0), multiply(g, x)),
    ),
    scalar="leaky_relu",
    grad_name="PreluKernelBackward0",
    dtypes=floats_only("prelu_cpu"),
)
prelu.saves_second_first = False


def _elu_curvature(g: Any, x: Any, y: Any, z: Any, w: Any, v: Any) -> Any:
    steep = multiply(multiply(z, w), multiply(v, v))
    bend = multiply(multiply(g, x), multiply(steep, exp(multiply(y, v))))
    return where(greater(y, c(0)), c(0), bend)


# z * x where x > 0, else z * y * (exp(w * x) - 1)
elu = Elementwise(
    "elu", (lambda g, x, y, z, w: elu_gradient(g, x, y, z, w), None, None, None),
    dtypes=without("complex", "elu_cpu")
)
elu_gradient = Elementwise(
    "elu_gradient",
    (lambda g, y, z, w, v: elu_gradient(g, y, z, w, v), _elu_curvature, None, None, None),
    grad_name="EluBackwardBackward0",
)
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946

# x between y and z
hardtanh = Elementwise(
    "hardtanh", (lambda g, x, y, z: hardtanh_gradient(g, x, y, z), None, None), scalar="clamp"
)
hardtanh_gradient = Elementwise(
    "hardtanh_gradient",
    (lambda g, y, z, w: hardtanh_gradient(g, y, z, w), no_slope, None, None),
    grad_name="HardtanhBackwardBackward0",
)
# clamp(x + 3, 0, 6) / 6
hardsigmoid = Elementwise(
    "hardsigmoid",
    (lambda g, x: hardsigmoid_gradient(g, x),),
    dtypes=without("complex", "hardsigmoid_cpu"),
)
hardsigmoid_gradient = Elementwise(
    "hardsigmoid_gradient",
    (lambda g, y: hardsigmoid_gradient(g, y), None),
    grad_name="HardsigmoidBackwardBackward0",
)


def _hardswish_curvature(g: Any, x: Any, y: Any) -> Any:
    return multiply(hardtanh_gradient(multiply(g, x), y, c(-3.0), c(3.0)), c(1 / 3))


# x * clamp(x + 3, 0, 6) / 6
hardswish = Elementwise(
    "hardswish",
    (lambda g, x: hardswish_gradient(g, x),),
    dtypes=without("complex", "hardswish_cpu"),
)
hardswish_gradient = Elementwise(
    "hardswish_gradient",
    (lambda g, y: hardswish_gradient(g, y), _hardswish_curvature),
    grad_name="HardswishBackwardBackward0",
)
# g where y > z or y < -z, else 0
shrink_gradient = Elementwise(
    "shrink_gradient",
    (lambda g, y, z: shrink_gradient(g, y, z), no_slope, None),
    scalar="hardshrink_gradient",
    grad_name="HardshrinkBackwardBackward0",
)
# x where x > y or x < -y, else 0
hardshrink = Elementwise(
    "hardshrink",
    (lambda g, x, y: shrink_gradient(g, x, y), None),
    dtypes=without("complex", "hardshrink_cpu"),
)
# x - y where x > y, x + y where x < -y, else 0
softshrink = Elementwise(
    "softshrink",
    (lambda g, x, y: shrink_gradient(g, x, y), None),
    dtypes=without("complex", "softshrink_check"),
)
# x where x > y, else z
threshold = Elementwise(
    "threshold", (lambda g, x, y: threshold_gradient(g, x, y), None, None),
    dtypes=floats_only("threshold_cpu", WHOLE)
)

# the nearest multiple of y, z its reciprocal, of the levels v to u less w
fake_quantize = Elementwise(
    "fake_quantize",
    (lambda g, x, z, w, v, u: fake_quantize_gradient(g, x, z, w, v, u), *(None,) * 5),
    grad_name="FakeQuantizePerTensorAffineCachemaskBackward0",
)
# x where y is between the levels, else 0
fake_quantize_gradient = Elementwise(
    "fake_quantize_gradient",
    (lambda g, y, z, w, v, u: fake_quantize_gradient(g, y, z, w, v, u), no_slope, *(None,) * 4),
    grad_name="MulBackward0",
)
