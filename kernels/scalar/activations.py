"""Scalar functions of activations and their gradients; :mod:`.real` says how they are used."""

from __future__ import annotations

from math import erf, exp, expm1, log1p, tanh

from .facts import facts
from .real import Number, clamp


def sigmoid(x: Number) -> Number:
    """``1 / (1 + exp(-x))``, from the exponential that cannot overflow."""
    z = exp(-abs(x))
    return (1.0 if x >= 0 else z) / (1.0 + z)


def sigmoid_gradient(g: Number, y: Number) -> Number:
    return g * (1.0 - y) * y


def tanh_gradient(g: Number, y: Number) -> Number:
    return g * (1.0 - y * y)


@facts(cheap=True, light=1)
def relu(x: Number) -> Number:
    return 0 if x < 0 else x


@facts(light=1)
def leaky_relu(x: Number, slope: Number) -> Number:
    return x if x > 0 else x * slope


def leaky_relu_gradient(g: Number, x: Number, slope: Number) -> Number:
    return g if x > 0 else g * slope


def elu(x: Number, alpha: Number, scale: Number, input_scale: Number) -> Number:
    return x * scale if x > 0 else expm1(x * input_scale) * alpha * scale


def elu_gradient(
    g: Number, x: Number, alpha: Number, scale: Number, input_scale: Number
) -> Number:
    return g * scale if x > 0 else g * input_scale * alpha * scale * exp(x * input_scale)


def silu(x: Number) -> Number:
    return x / (1.0 + exp(-x))


def silu_gradient(g: Number, x: Number) -> Number:
    s = sigmoid(x)
    return g * s * (1.0 + x * (1.0 - s))


def mish(x: Number) -> Number:
    """``x * tanh(log(1 + e))`` with ``e = exp(x)``: a quotient in ``n = e * (e + 2)``."""
    e = exp(x if x < 20.0 else 20.0)
    n = e * (e + 2.0)
    return x * (n / (n + 2.0)) if x < 20.0 else x


def mish_gradient(g: Number, x: Number) -> Number:
    e = exp(x if x < 20.0 else 20.0)
    n = e * (e + 2.0)
    t = n / (n + 2.0)
    return g * (t + x * sigmoid(x) * (1.0 - t * t))  # nan at infinity, as PyTorch's


def ndtr(x: Number) -> Number:
    """Phi(x), as PyTorch computes it: none of its digits are left far below 0."""
    return (1.0 + erf(x * 0.7071067811865476)) * 0.5


def gelu(x: Number) -> Number:
    """``x * Phi(x)``."""
    return x * 0.5 * (1.0 + erf(x * 0.7071067811865476))


def gelu_gradient(g: Number, x: Number) -> Number:
    cdf = 0.5 * (1.0 + erf(x * 0.7071067811865476))
    pdf = exp(x * x * -0.5) * 0.3989422804014327
    return g * (cdf + x * pdf)


def gelu_tanh(x: Number) -> Number:
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + tanh(inner))


def gelu_tanh_gradient(g: Number, x: Number) -> Number:
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    t = tanh(inner)
    slope = 0.7978845608028654 * (1.0 + 0.134145 * x * x)
    return g * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope)


def softplus(x: Number, beta: Number, threshold: Number) -> Number:
    return x if x * beta > threshold else log1p(exp(x * beta)) / beta


def softplus_gradient(g: Number, x: Number, beta: Number, threshold: Number) -> Number:
    z = exp(x * beta)
    return g if x * beta > threshold else g * z / (z + 1.0)


def logsigmoid(x: Number) -> Number:
    low = x if x < 0 else 0
    return low - log1p(exp(-abs(x)))


def logsigmoid_gradient(g: Number, x: Number) -> Number:
    z = exp(-abs(x))
    return g * (z / (1.0 + z) if x >= 0 else 1.0 - z / (1.0 + z))


def softsign(x: Number) -> Number:
    return x / (1.0 + abs(x))


def hardsigmoid(x: Number) -> Number:
    return clamp(x + 3.0, 0.0, 6.0) / 6.0


def hardsigmoid_gradient(g: Number, x: Number) -> Number:
    # PyTorch's slope is float32's sixth in every type
    return g * 0.16666667163372040 if (x > -3.0) and (x < 3.0) else 0


def hardswish(x: Number) -> Number:
    return x * clamp(x + 3.0, 0.0, 6.0) / 6.0


def hardswish_gradient(g: Number, x: Number) -> Number:
    inside = g if x >= 3.0 else g * (x / 3.0 + 0.5)
    return 0 if x <= -3.0 else inside


def hardtanh_gradient(g: Number, x: Number, low: Number, high: Number) -> Number:
    return g if (x > low) and (x < high) else 0


@facts(light=1)
def threshold(x: Number, limit: Number, value: Number) -> Number:
    return value if x <= limit else x


def hardshrink(x: Number, limit: Number) -> Number:
    return 0 if (x >= -limit) and (x <= limit) else x


def hardshrink_gradient(g: Number, x: Number, limit: Number) -> Number:
    return g if (x < -limit) or (x > limit) else 0


def softshrink(x: Number, limit: Number) -> Number:
    low = x + limit if x < -limit else (x if x != x else 0)
    return x - limit if x > limit else low


def tanhshrink(x: Number) -> Number:
    return x - tanh(x)
