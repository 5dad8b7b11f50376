"""The scalar functions of complex numbers on arrays: numpy's loops, or formulas of them.

An elementwise plan finds a function here by the scalar function's name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

add = np.add
subtract = np.subtract
multiply = np.multiply
divide = np.true_divide
negative = np.negative
positive = np.positive
power = np.power
square = np.square
reciprocal = np.reciprocal
absolute = np.abs
conj = np.conj
where = np.where

exp = np.exp
exp2 = np.exp2
expm1 = np.expm1
log = np.log
log2 = np.log2
log10 = np.log10
log1p = np.log1p
sqrt = np.sqrt
sin = np.sin
cos = np.cos
tan = np.tan
asin = np.arcsin
acos = np.arccos
atan = np.arctan
sinh = np.sinh
cosh = np.cosh
tanh = np.tanh
asinh = np.arcsinh
acosh = np.arccosh
atanh = np.arctanh

eq = np.equal
ne = np.not_equal
isnan = np.isnan
isinf = np.isinf
isfinite = np.isfinite
logical_and = np.logical_and
logical_or = np.logical_or
logical_xor = np.logical_xor
logical_not = np.logical_not


def cube(x: Any) -> Any:
    return x * x * x


def rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def tanhshrink(x: Any) -> Any:
    return x - np.tanh(x)


def sgn(x: Any) -> Any:
    return np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x)))


def sinc(x: Any) -> Any:
    return np.sinc(x)


def lerp(x: Any, y: Any, weight: Any) -> Any:
    """From the nearer end."""
    return np.where(np.abs(weight) < 0.5, x + weight * (y - x), y - (y - x) * (1 - weight))


def addcmul(x: Any, y: Any, z: Any, value: Any) -> Any:
    return x + value * y * z


def addcdiv(x: Any, y: Any, z: Any, value: Any) -> Any:
    return x + value * y / z


def nan_to_num(x: Any, nan: Any, high: Any, low: Any) -> Any:
    return np.nan_to_num(x)


def logaddexp(x: Any, y: Any) -> Any:
    """From the larger real part, so that no exponential overflows."""
    larger = x.real >= y.real
    found = np.where(larger, x, y) + np.log1p(np.exp(np.where(larger, y - x, x - y)))
    same = (x.real == y.real) & np.isinf(x.real)
    found = np.where(same, np.where(x.real < 0, y, np.log(np.exp(x) + np.exp(y))), found)
    return np.where(np.isnan(x) | np.isnan(y), complex(np.nan, np.nan), found)
