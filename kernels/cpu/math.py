"""Mathematics for compiled kernels: branch-free polynomials that LLVM turns into vector code.

float32 versions are our own (Cephes' method: reduce the argument, evaluate a polynomial, put the
exponent back by its bits); their error, at most 2 units in the last place, is tested over the
range. float64, and what is not listed, is the C library's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.kernels import scalar
from mindtorch.kernels.compile import kernel

from .bits import bits_float, float_bits

_f = np.float32


@kernel(inline="always")
def exp32(x: Any) -> Any:
    """exp: 2^n * p(x - n ln 2), |x - n ln 2| <= ln(2) / 2."""
    low = x if x < _f(89.0) else _f(89.0)
    y = low if low > _f(-104.0) else _f(-104.0)
    shifted = y * _f(1.44269504088896341) + _f(12582912.0)
    n = shifted - _f(12582912.0)
    r = y - n * _f(0.693359375)
    r = r - n * _f(-2.12194440e-4)
    p = _f(1.9875691500e-4)
    p = p * r + _f(1.3981999507e-3)
    p = p * r + _f(8.3334519073e-3)
    p = p * r + _f(4.1665795894e-2)
    p = p * r + _f(1.6666665459e-1)
    p = p * r + _f(5.0000001201e-1)
    p = p * r * r + r + _f(1.0)
    k = np.int32(float_bits(shifted) - np.int32(0x4B400000))
    half = np.int32(k >> 1)
    first = bits_float(np.int32(np.int32(half + 127) << 23))
    second = bits_float(np.int32(np.int32(k - half + 127) << 23))
    result = p * first * second
    return result if x == x else x


@kernel(inline="always")
def expm132(x: Any) -> Any:
    """exp(x) - 1: Kahan's correction would divide; near 0 a polynomial, elsewhere exp."""
    low = x if x < _f(89.0) else _f(89.0)
    y = low if low > _f(-20.0) else _f(-20.0)
    shifted = y * _f(1.44269504088896341) + _f(12582912.0)
    n = shifted - _f(12582912.0)
    r = y - n * _f(0.693359375)
    r = r - n * _f(-2.12194440e-4)
    p = _f(1.9875691500e-4)
    p = p * r + _f(1.3981999507e-3)
    p = p * r + _f(8.3334519073e-3)
    p = p * r + _f(4.1665795894e-2)
    p = p * r + _f(1.6666665459e-1)
    p = p * r + _f(5.0000001201e-1)
    p = p * r * r + r
    k = np.int32(float_bits(shifted) - np.int32(0x4B400000))
    half = np.int32(k >> 1)
    first = bits_float(np.int32(np.int32(half + 127) << 23))
    second = bits_float(np.int32(np.int32(k - half + 127) << 23))
    power = first * second
    result = (p * first) * second + (power - _f(1.0))
    result = x if x == _f(0.0) else result
    return result if x == x else x


@kernel(inline="always")
def log32(x: Any) -> Any:
    """log: the mantissa in [sqrt(1/2), sqrt(2)), a polynomial in it, plus the exponent."""
    tiny = x < _f(1.17549435e-38)
    y = x * _f(8388608.0) if tiny else x
    bits = float_bits(y)
    offset = np.int32(bits - np.int32(0x3F3504F3))
    k = np.int32(offset >> 23)
    m = bits_float(np.int32(bits - np.int32(k << 23))) - _f(1.0)
    n = _f(k) - (_f(23.0) if tiny else _f(0.0))
    z = m * m
    p = _f(7.0376836292e-2)
    p = p * m + _f(-1.1514610310e-1)
    p = p * m + _f(1.1676998740e-1)
    p = p * m + _f(-1.2420140846e-1)
    p = p * m + _f(1.4249322787e-1)
    p = p * m + _f(-1.6668057665e-1)
    p = p * m + _f(2.0000714765e-1)
    p = p * m + _f(-2.4999993993e-1)
    p = p * m + _f(3.3333331174e-1)
    p = p * m * z
    p = p + n * _f(-2.12194440e-4)
    p = p - _f(0.5) * z
    result = m + p + n * _f(0.693359375)
    result = _f(np.inf) if x == _f(np.inf) else result
    result = _f(-np.inf) if x == _f(0.0) else result
    return result if x >= _f(0.0) else _f(np.nan)


@kernel(inline="always")
def log1p32(x: Any) -> Any:
    """log(1 + x): log of the rounded sum, corrected for what rounding lost."""
    u = _f(1.0) + x
    lost = (x - (u - _f(1.0))) / u
    result = log32(u) + (lost if u < _f(np.inf) else _f(0.0))
    result = result if u > _f(0.0) else log32(u)
    return x if abs(x) < _f(1e-7) else result


@kernel(inline="always")
def tanh32(x: Any) -> Any:
    """tanh: an odd polynomial below 0.625, else 1 - 2 / (exp(2 |x|) + 1)."""
    a = abs(x)
    z = x * x
    p = _f(-5.70498872745e-3)
    p = p * z + _f(2.06390887954e-2)
    p = p * z + _f(-5.37397155531e-2)
    p = p * z + _f(1.33314422036e-1)
    p = p * z + _f(-3.33332819422e-1)
    near = x + x * z * p
    capped = a if a < _f(10.0) else _f(10.0)
    far = _f(1.0) - _f(2.0) / (exp32(capped + capped) + _f(1.0))
    signed = -far if x < _f(0.0) else far
    result = near if a < _f(0.625) else signed
    return result if x == x else x


@kernel(inline="always")
def erf32(x: Any) -> Any:
    """erf: odd polynomial below 0.927, else 1 - exp(polynomial) (N. Juffa's fit)."""
    a = abs(x)
    s = x * x
    r = _f(-5.96761703e-4)
    r = r * s + _f(4.99119423e-3)
    r = r * s + _f(-2.67681349e-2)
    r = r * s + _f(1.12819925e-1)
    r = r * s + _f(-3.76125336e-1)
    r = r * s + _f(1.28379166e-1)
    near = r * x + x
    capped = a if a < _f(4.0) else _f(4.0)
    q = _f(-1.72853470e-5) * capped + _f(3.83197126e-4)
    u = _f(-3.88396438e-3) * capped + _f(2.42546219e-2)
    q = q * (capped * capped) + u
    q = q * capped + _f(-1.06777877e-1)
    q = q * capped + _f(-6.34846687e-1)
    q = q * capped + _f(-1.28717512e-1)
    q = q * capped - capped
    far = _f(1.0) - exp32(q)
    signed = -far if x < _f(0.0) else far
    result = near if a < _f(0.927734375) else signed
    return result if x == x else x


_OWN_FLOAT32 = {
    "exp": exp32,
    "expm1": expm132,
    "log": log32,
    "log1p": log1p32,
    "tanh": tanh32,
    "erf": erf32,
}


@kernel(inline="always")
def _floor(x: Any) -> Any:
    return np.floor(x)


@kernel(inline="always")
def _ceil(x: Any) -> Any:
    return np.ceil(x)


@kernel(inline="always")
def _trunc(x: Any) -> Any:
    return np.trunc(x)


@kernel(inline="always")
def _isfinite(x: Any) -> Any:
    return x - x == 0


@kernel(inline="always")
def _isinf(x: Any) -> Any:
    return (x - x != 0) & (x == x)


@kernel
def _fmod(x: Any, y: Any) -> Any:
    return np.fmod(x, y)


@kernel
def _nextafter(x: Any, y: Any) -> Any:
    return np.nextafter(x, y)


_OWN = {
    "_floor": _floor,
    "_ceil": _ceil,
    "_trunc": _trunc,
    "_isfinite": _isfinite,
    "_isinf": _isinf,
    "_fmod": _fmod,
    "_nextafter": _nextafter,
}


def mathematics(dtype: np.dtype[Any]) -> dict[str, Any]:
    """The functions of the scalar module's ``MATHEMATICS`` for element type ``dtype``."""
    table = {**scalar.MATHEMATICS, **_OWN, "math": math}
    if dtype == np.float32:
        table.update(_OWN_FLOAT32)
    return table
