"""Mathematics for compiled kernels: branch-free polynomials that LLVM turns into vector code.

A float32 function that many programs use is computed in float32: reduce the argument, evaluate a
polynomial by fused multiply-adds, put the exponent back by its bits. The others are computed by
short polynomials in float64. Errors, at most 2 units in the last place, are tested over the range.
What is not listed in ``mathematics`` is the C library's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel
from mindtorch.kernels.scalar import real

from ..vectors.float_bits import (
    bits_double,
    bits_float,
    choose,
    double_bits,
    float_bits,
    fma,
    load_bfloat16,
    magnitude,
    nearest,
    store_bfloat16,
    with_sign,
)
from . import float64_math as double
from .erfc_lgamma import erfc_short, lgamma_short

_f = np.float32
_ROUNDER = _f(12582912.0)  # 1.5 * 2^23: adding it leaves a whole number in the low bits
_ROUNDER_BITS = np.int32(0x4B400000)
_LOG2_E = _f(1.44269504088896341)
_LN2_HIGH, _LN2_LOW = _f(0.693359375), _f(-2.12194440e-4)
_INF = _f(np.inf)


@kernel(inline="always")
def _power_of_two(k: Any) -> Any:
    """2^k for k in [-126, 127]."""
    return bits_float(np.int32(np.int32(k + np.int32(127)) << np.int32(23)))


@kernel(inline="always")
def _exp_rest(r: Any) -> Any:
    """exp(r) - 1 for |r| <= ln(2) / 2 (Cephes' polynomial)."""
    p = fma(_f(1.9875691500e-4), r, _f(1.3981999507e-3))
    p = fma(p, r, _f(8.3334519073e-3))
    p = fma(p, r, _f(4.1665795894e-2))
    p = fma(p, r, _f(1.6666665459e-1))
    p = fma(p, r, _f(5.0000001201e-1))
    return fma(p, r * r, r)


@kernel(inline="always")
def exp32(x: Any) -> Any:
    """exp: 2^n exp(x - n ln 2). 2^n in two factors reaches denormals and inf."""
    y = choose(x > _f(89.0), _f(89.0), x)
    y = choose(y < _f(-104.0), _f(-104.0), y)
    shifted = fma(y, _LOG2_E, _ROUNDER)
    n = shifted - _ROUNDER
    r = fma(n, -_LN2_LOW, fma(n, -_LN2_HIGH, y))
    k = np.int32(float_bits(shifted) - _ROUNDER_BITS)
    half = np.int32(k >> np.int32(1))
    return (_exp_rest(r) + _f(1.0)) * _power_of_two(half) * _power_of_two(np.int32(k - half))


@kernel(inline="always")
def exp_falling(x: Any) -> Any:
    """exp for x <= 0 (or NaN), of a polynomial that is nearest to it; 0 below 2^-126."""
    shifted = fma(x, _LOG2_E, _ROUNDER)
    n = shifted - _ROUNDER
    r = fma(n, -_LN2_LOW, fma(n, -_LN2_HIGH, x))
    p = fma(_f(1.3814539415761828e-3), r, _f(8.36874544620514e-3))
    p = fma(p, r, _f(4.166838899254799e-2))
    p = fma(p, r, _f(1.666652113199234e-1))
    p = fma(p, r, _f(4.999999403953552e-1))
    p = fma(fma(p, r, _f(1.0)), r, _f(1.0))
    k = np.int32(float_bits(shifted) - _ROUNDER_BITS)
    return choose(x < _f(-87.3365), _f(0.0), p * _power_of_two(k))


@kernel(inline="always")
def expm132(x: Any) -> Any:
    """exp(x) - 1: 2^n (exp(r) - 1) + (2^n - 1), in halves lest 2^n overflow."""
    y = choose(x > _f(89.0), _f(89.0), x)
    y = choose(y < _f(-20.0), _f(-20.0), y)
    shifted = fma(y, _LOG2_E, _ROUNDER)
    n = shifted - _ROUNDER
    r = fma(n, -_LN2_LOW, fma(n, -_LN2_HIGH, y))
    k = np.int32(float_bits(shifted) - _ROUNDER_BITS)
    half = np.int32(k >> np.int32(1))
    first = _power_of_two(half)
    rest = fma(_exp_rest(r), first, first - _power_of_two(np.int32(half - k)))
    return choose(x == _f(0.0), x, rest * _power_of_two(np.int32(k - half)))


@kernel(inline="always")
def log32(x: Any) -> Any:
    """log: the mantissa in [sqrt(1/2), sqrt(2)), a polynomial (Cephes') in it, and the exponent."""
    tiny = x < _f(1.17549435e-38)
    bits = float_bits(choose(tiny, x * _f(8388608.0), x))
    k = np.int32(np.int32(bits - np.int32(0x3F3504F3)) >> np.int32(23))
    m = bits_float(np.int32(bits - np.int32(k << np.int32(23)))) - _f(1.0)
    n = _f(k) - choose(tiny, _f(23.0), _f(0.0))
    z = m * m
    p = fma(_f(7.0376836292e-2), m, _f(-1.1514610310e-1))
    p = fma(p, m, _f(1.1676998740e-1))
    p = fma(p, m, _f(-1.2420140846e-1))
    p = fma(p, m, _f(1.4249322787e-1))
    p = fma(p, m, _f(-1.6668057665e-1))
    p = fma(p, m, _f(2.0000714765e-1))
    p = fma(p, m, _f(-2.4999993993e-1))
    p = fma(p, m, _f(3.3333331174e-1)) * m * z
    p = fma(_f(-0.5), z, fma(n, _LN2_LOW, p))
    result = fma(n, _LN2_HIGH, m + p)
    result = choose(x == _INF, _INF, result)
    result = choose(x == _f(0.0), -_INF, result)
    return choose(x >= _f(0.0), result, _f(np.nan))


@kernel(inline="always")
def log1p32(x: Any) -> Any:
    """log(1 + x): log of the rounded sum, corrected for what rounding lost."""
    u = _f(1.0) + x
    lost = (x - (u - _f(1.0))) / u
    result = log32(u) + choose((u > _f(0.0)) & (u < _INF), lost, _f(0.0))
    return choose(magnitude(x) < _f(1e-4), fma(x * x, fma(x, _f(1 / 3), _f(-0.5)), x), result)


@kernel(inline="always")
def tanh32(x: Any) -> Any:
    """tanh: an odd polynomial (Cephes') below 0.625, else 1 - 2 / (exp(2 |x|) + 1): near 1, where
    programs take 1 - tanh(x)^2, the last difference alone rounds."""
    a = magnitude(x)
    z = x * x
    p = fma(_f(-5.70498872745e-3), z, _f(2.06390887954e-2))
    p = fma(p, z, _f(-5.37397155531e-2))
    p = fma(p, z, _f(1.33314422036e-1))
    p = fma(p, z, _f(-3.33332819422e-1))
    near = fma(a * z, p, a)
    e = exp_falling(_f(-2.0) * a)
    far = _f(1.0) - (e + e) / (_f(1.0) + e)
    return with_sign(choose(a < _f(0.625), near, far), x)


@kernel(inline="always")
def erf32(x: Any) -> Any:
    """erf: odd polynomial below 0.927, else 1 - exp(polynomial) (N. Juffa's fit)."""
    a = magnitude(x)
    s = x * x
    r = fma(_f(-5.96761703e-4), s, _f(4.99119423e-3))
    r = fma(r, s, _f(-2.67681349e-2))
    r = fma(r, s, _f(1.12819925e-1))
    r = fma(r, s, _f(-3.76125336e-1))
    r = fma(r, s, _f(1.28379166e-1))
    near = fma(r, a, a)
    capped = choose(a > _f(4.0), _f(4.0), a)
    q = fma(_f(-1.72853470e-5), capped, _f(3.83197126e-4))
    u = fma(_f(-3.88396438e-3), capped, _f(2.42546219e-2))
    q = fma(q, capped * capped, u)
    q = fma(q, capped, _f(-1.06777877e-1))
    q = fma(q, capped, _f(-6.34846687e-1))
    q = fma(q, capped, _f(-1.28717512e-1))
    far = _f(1.0) - exp_falling(fma(q, capped, -capped))
    return with_sign(choose(a < _f(0.927734375), near, far), x)


# --- gelu: odd quotients of polynomials instead of the functions that its definition names -------


@kernel(inline="always")
def _within(x: Any, limit: Any) -> Any:
    """x, or the nearest end of [-limit, limit]; NaN stays."""
    x = choose(x > limit, limit, x)
    return choose(x < -limit, -limit, x)


@kernel(inline="always")
def gelu32(x: Any) -> Any:
    """x (1 + t) / 2, where t = erf(x / sqrt(2)) to 3e-7 and is 1 from 5.4 on."""
    y = _within(x, _f(5.4))
    z = y * y
    p = fma(_f(4.67735575e-8), z, _f(1.27192907e-5))
    p = fma(p, z, _f(3.28600639e-4))
    p = fma(p, z, _f(9.30143986e-3))
    p = fma(p, z, _f(6.67407513e-2))
    p = fma(p, z, _f(7.97884464e-1))
    q = fma(_f(1.21656444e-6), z, _f(7.23921112e-5))
    q = fma(q, z, _f(1.85886247e-3))
    q = fma(q, z, _f(2.83775795e-2))
    q = fma(q, z, _f(2.50313222e-1))
    q = fma(q, z, _f(1.0))
    return x * _f(0.5) * (_f(1.0) + y * p / q)


@kernel(inline="always")
def gelu_gradient32(g: Any, x: Any) -> Any:
    """g (1 / 2 + h), where h = erf(x / sqrt(2)) / 2 + x phi(x) to 2e-7 and is 1 / 2 from 6 on."""
    y = _within(x, _f(6.0))
    z = y * y
    p = fma(_f(1.70468102e-8), z, _f(9.22644574e-7))
    p = fma(p, z, _f(3.40920196e-5))
    p = fma(p, z, _f(2.02777432e-4))
    p = fma(p, z, _f(1.38572408e-2))
    p = fma(p, z, _f(-2.23686378e-2))
    p = fma(p, z, _f(7.97884524e-1))
    q = fma(_f(1.31475386e-9), z, _f(3.39005112e-7))
    q = fma(q, z, _f(1.03083894e-5))
    q = fma(q, z, _f(2.45335483e-4))
    q = fma(q, z, _f(3.97164375e-3))
    q = fma(q, z, _f(4.4134561e-2))
    q = fma(q, z, _f(3.0529803e-1))
    q = fma(q, z, _f(1.0))
    # the product with 0 is NaN at infinity, as PyTorch's x phi(x) is
    return g * fma(x, _f(0.0), _f(0.5) + y * p / q)


@kernel(inline="always")
def _sin32(x: Any) -> Any:
    return _f(double.sin_short(x))


@kernel(inline="always")
def _cos32(x: Any) -> Any:
    return _f(double.cos_short(x))


@kernel(inline="always")
def _tan32(x: Any) -> Any:
    return _f(double.tan_short(x))


def _widened(short: Any) -> Any:
    """The float32 function of a short float64 one."""

    @kernel(inline="always")
    def function(x: Any) -> Any:
        return _f(short(np.float64(x)))

    return function


def _widened_logarithm(factor: float) -> Any:
    log_short = double.log_short

    @kernel(inline="always")
    def function(x: Any) -> Any:
        return _f(log_short(np.float64(x)) * factor)

    return function


@kernel(inline="always")
def _atan32(x: Any) -> Any:
    return _f(double.atan2_short(np.float64(x), 1.0))


@kernel(inline="always")
def _atan2_32(y: Any, x: Any) -> Any:
    return _f(double.atan2_short(np.float64(y), np.float64(x)))


@kernel(inline="always")
def _power32(x: Any, y: Any) -> Any:
    return _f(double.power_short(np.float64(x), np.float64(y)))


@kernel(inline="always")
def _hypot32(x: Any, y: Any) -> Any:
    a, b = np.float64(x), np.float64(y)
    infinite = (magnitude(x) == _INF) | (magnitude(y) == _INF)
    return choose(infinite, _INF, _f(math.sqrt(a * a + b * b)))


@kernel(inline="always")
def _fmod32(x: Any, y: Any) -> Any:
    return _f(double.fmod_short(np.float64(x), np.float64(y)))


def _neighbour(bits_of: Any, number_of: Any, whole: Any, kind: Any) -> Any:
    """nextafter by the bits: one up where the size grows, else one down."""
    one = whole(1)

    @kernel(inline="always")
    def function(x: Any, y: Any) -> Any:
        farther = (y > x) == (x > kind(0))
        bits = bits_of(x)
        moved = number_of(whole(bits + choose(farther, one, whole(-one))))
        first = choose(y > kind(0), number_of(one), -number_of(one))
        moved = choose(x == kind(0), first, moved)
        moved = choose(x == y, y, moved)
        return choose((x != x) | (y != y), x + y, moved)

    return function


@kernel(inline="always")
def _round_bfloat16(x: Any) -> Any:
    return load_bfloat16(store_bfloat16(x))


_OWN_FLOAT32 = {
    "exp": exp32,
    "expm1": expm132,
    "log": log32,
    "log1p": log1p32,
    "tanh": tanh32,
    "erf": erf32,
    "erfc": _widened(erfc_short),
    "lgamma": _widened(lgamma_short),
    "gelu": gelu32,
    "gelu_gradient": gelu_gradient32,
    "sin": _sin32,
    "cos": _cos32,
    "tan": _tan32,
    "exp2": _widened(double.exp2_short),
    "log2": _widened_logarithm(1.4426950408889634),
    "log10": _widened_logarithm(0.4342944819032518),
    "sinh": _widened(double.sinh_short),
    "cosh": _widened(double.cosh_short),
    "asinh": _widened(double.asinh_short),
    "acosh": _widened(double.acosh_short),
    "atanh": _widened(double.atanh_short),
    "asin": _widened(double.asin_short),
    "acos": _widened(double.acos_short),
    "atan": _atan32,
    "_atan2": _atan2_32,
    "_fmod": _fmod32,
    "_pow": _power32,
    "_hypot": _hypot32,
    "_nextafter": _neighbour(float_bits, bits_float, np.int32, np.float32),
    "_round_bfloat16": _round_bfloat16,
}


@kernel(inline="always")
def _exp2_64(x: Any) -> Any:
    return 2.0**x


@kernel(inline="always")
def _log2_64(x: Any) -> Any:
    return np.log2(x)


@kernel(inline="always")
def _log10_64(x: Any) -> Any:
    return np.log10(x)


_OWN_FLOAT64 = {
    "exp": double.exp64,
    "expm1": double.expm164,
    "log": double.log64,
    "log1p": double.log1p64,
    "tanh": double.tanh64,
    "_nextafter": _neighbour(double_bits, bits_double, np.int64, np.float64),
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
def _nearest(x: Any) -> Any:
    return nearest(x)


@kernel(inline="always")
def _isfinite(x: Any) -> Any:
    return x - x == 0


@kernel(inline="always")
def _isinf(x: Any) -> Any:
    return (x - x != 0) & (x == x)


@kernel(inline="always")
def _power(x: Any, y: Any) -> Any:
    return x**y


@kernel
def _fmod(x: Any, y: Any) -> Any:
    return np.fmod(x, y)


@kernel(inline="always")
def _product_and_sum(x: Any, y: Any, z: Any) -> Any:
    return x * y + z


_OWN = {
    "_floor": _floor,
    "_ceil": _ceil,
    "_trunc": _trunc,
    "_round": _nearest,
    "_isfinite": _isfinite,
    "_isinf": _isinf,
    "_pow": _power,
    "exp2": _exp2_64,
    "log2": _log2_64,
    "log10": _log10_64,
    "_fmod": _fmod,
    "_fma": _product_and_sum,
}


def mathematics(dtype: np.dtype[Any]) -> dict[str, Callable[..., Any]]:
    """The functions of the scalar module's ``MATHEMATICS`` for element type ``dtype``.

    Other scalar functions that are here replace what the scalar module says.
    """
    table: dict[str, Any] = {**real.MATHEMATICS, **_OWN, "math": math}
    if dtype.kind == "f":
        table["_fma"] = fma
    if dtype == np.float32:
        table.update(_OWN_FLOAT32)
    if dtype == np.float64:
        table.update(_OWN_FLOAT64)
    return table
