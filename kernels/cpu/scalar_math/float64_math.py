"""float64 mathematics for compiled kernels, and short forms of it that serve float32.

The short forms (``*_short``) are good to about 1e-10, far beyond what float32 keeps, for arguments
that came from float32: a float32 function made of one is all but correctly rounded.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

from ..vectors.float_bits import bits_double, choose, double_bits, float_bits, fma, magnitude
from ..vectors.float_bits import with_sign as float32_with_sign

_ROUNDER = 6755399441055744.0  # 1.5 * 2^52: adding it leaves a whole number in the low bits
_ROUNDER_BITS = np.int64(0x4338000000000000)
_EXPONENT_ONE = np.int64(1023 << 52)
_HALF_ROOT = np.int64(0x3FE6A09E667F3BCD)  # sqrt(1/2)
_POSITIVE = np.int64(0x7FFFFFFFFFFFFFFF)
_EXPONENT = np.int64(0x7FF0000000000000)
_TWO_52 = np.int64(0x4330000000000000)
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 0.6931471805598903  # ends in zeros: a small multiple is exact
_LN2_LOW = 5.497923018708371e-14
_PI_2 = 1.5707963267948966
_PI_4 = 0.7853981633974483
_PI = 3.141592653589793


@kernel(inline="always")
def with_sign(x: Any, y: Any) -> Any:
    """``x`` with the sign of ``y``.

    LLVM's copysign would be narrowed into a rounding to float16, for which it calls a library
    function (``__truncdfhf2``) that may not be there.
    """
    size = magnitude(x)
    return choose(double_bits(y) < 0, -size, size)


# --- exponentials ----------------------------------------------------------------------------


@kernel(inline="always")
def power_of_two(k: Any) -> Any:
    """2^k for k in [-1022, 1023]."""
    return bits_double((k + np.int64(1023)) << np.int64(52))


@kernel(inline="always")
def _halved(k: Any) -> Any:
    """k >> 1 without an arithmetic shift, which AVX2 has not got; |k| < 4096."""
    return (((k + np.int64(4096)) & _POSITIVE) >> np.int64(1)) - np.int64(2048)


@kernel(inline="always")
def _exp_rest(r: Any) -> Any:
    """exp(r) - 1 for |r| <= ln(2) / 2."""
    p = fma(2.5100472505694996e-08, r, 2.7620201591031547e-07)
    p = fma(p, r, 2.7557268276905696e-06)
    p = fma(p, r, 2.4801521057868204e-05)
    p = fma(p, r, 0.00019841269863171557)
    p = fma(p, r, 0.0013888888917367081)
    p = fma(p, r, 0.008333333333330039)
    p = fma(p, r, 0.041666666666623824)
    p = fma(p, r, 0.16666666666666669)
    p = fma(p, r, 0.5000000000000001)
    return fma(p, r * r, r)


@kernel(inline="always")
def exp64(x: Any) -> Any:
    """exp: 2^n exp(x - n ln 2)."""
    y = choose(x > 710.0, 710.0, x)
    y = choose(y < -746.0, -746.0, y)
    shifted = fma(y, _LOG2_E, _ROUNDER)
    n = shifted - _ROUNDER
    r = fma(n, -_LN2_LOW, fma(n, -_LN2_HIGH, y))
    k = double_bits(shifted) - _ROUNDER_BITS
    half = _halved(k)
    return (_exp_rest(r) + 1.0) * power_of_two(half) * power_of_two(k - half)


@kernel(inline="always")
def expm164(x: Any) -> Any:
    """exp(x) - 1: 2^n (exp(r) - 1) + (2^n - 1), in halves lest 2^n overflow."""
    y = choose(x > 710.0, 710.0, x)
    y = choose(y < -50.0, -50.0, y)
    shifted = fma(y, _LOG2_E, _ROUNDER)
    n = shifted - _ROUNDER
    r = fma(n, -_LN2_LOW, fma(n, -_LN2_HIGH, y))
    k = double_bits(shifted) - _ROUNDER_BITS
    half = _halved(k)
    first = power_of_two(half)
    rest = fma(_exp_rest(r), first, first - power_of_two(half - k))
    return choose(x == 0.0, x, rest * power_of_two(k - half))


@kernel(inline="always")
def tanh64(x: Any) -> Any:
    """-e / (e + 2) with e = exp(-2 |x|) - 1."""
    e = expm164(-2.0 * magnitude(x))
    return with_sign(-e / (e + 2.0), x)


@kernel(inline="always")
def exp_short(x: Any) -> Any:
    """exp for |x| < 700, shortly."""
    shifted = fma(x, _LOG2_E, _ROUNDER)
    n = shifted - _ROUNDER
    return _scaled_short(fma(n, -0.6931471805599453, x), shifted)


@kernel(inline="always")
def _scaled_short(r: Any, shifted: Any) -> Any:
    """exp(r) 2^n, where ``shifted`` carries n."""
    p = fma(0.00019891080463998843, r, 0.0013933730715792083)
    p = fma(p, r, 0.008333310844647862)
    p = fma(p, r, 0.04166646419740569)
    p = fma(p, r, 0.16666666681704215)
    p = fma(p, r, 0.500000001353873)
    p = fma(p, r * r, r) + 1.0
    return p * power_of_two(double_bits(shifted) - _ROUNDER_BITS)


@kernel(inline="always")
def exp2_short(x: Any) -> Any:
    """2^x of a float32, shortly; exact for whole x."""
    y = choose(x > 200.0, 200.0, x)
    y = choose(y < -200.0, -200.0, y)
    shifted = y + _ROUNDER
    return _scaled_short((y - (shifted - _ROUNDER)) * 0.6931471805599453, shifted)


@kernel(inline="always")
def sinh_short(x: Any) -> Any:
    """An odd polynomial below 1, else from exp."""
    z = x * x
    p = fma(2.8062802582276946e-06, z, 0.00019838101968683888)
    p = fma(p, z, 0.00833333967591706)
    p = fma(p, z, 0.16666666646842135)
    near = fma(p * z, x, x)
    a = magnitude(x)
    e = exp_short(choose(a > 200.0, 200.0, a))
    return choose(a < 1.0, near, with_sign(0.5 * (e - 1.0 / e), x))


@kernel(inline="always")
def cosh_short(x: Any) -> Any:
    a = magnitude(x)
    e = exp_short(choose(a > 200.0, 200.0, a))
    return 0.5 * (e + 1.0 / e)


# --- logarithms ------------------------------------------------------------------------------


@kernel(inline="always")
def _exponent(bits: Any) -> Any:
    """Of a positive normal number: (n, the bits of its mantissa in [sqrt(1/2), sqrt(2)))."""
    offset = (bits - _HALF_ROOT + _EXPONENT_ONE) & _POSITIVE
    n = bits_double((offset >> np.int64(52)) | _TWO_52) - 4503599627371519.0
    return n, bits - ((offset & _EXPONENT) - _EXPONENT_ONE)


@kernel(inline="always")
def _log_edges(x: Any, result: Any) -> Any:
    """log at 0, inf and where it has no value; ``result`` elsewhere."""
    result = choose(x == np.inf, np.inf, result)
    result = choose(x == 0.0, -np.inf, result)
    return choose(x >= 0.0, result, np.nan)


@kernel(inline="always")
def log64(x: Any) -> Any:
    """log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)) with s = f / (2 + f)."""
    tiny = x < 2.2250738585072014e-308
    n, bits = _exponent(double_bits(choose(tiny, x * 18014398509481984.0, x)))
    n = n - choose(tiny, 54.0, 0.0)
    f = bits_double(bits) - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = fma(0.1461916477718642, z, 0.1533150172120742)
    p = fma(p, z, 0.18182895746801428)
    p = fma(p, z, 0.22222211043822487)
    p = fma(p, z, 0.28571428626533335)
    p = fma(p, z, 0.3999999999989827)
    p = fma(p, z, 0.666666666666667) * z
    half = 0.5 * f * f
    low = fma(s, half + p, n * _LN2_LOW)
    return _log_edges(x, fma(n, _LN2_HIGH, f - (half - low)))


@kernel(inline="always")
def log1p64(x: Any) -> Any:
    """log of the rounded sum, corrected for what rounding lost."""
    u = 1.0 + x
    lost = choose(x > 1.0, 1.0 - (u - x), x - (u - 1.0)) / u
    result = log64(u) + choose((u > 0.0) & (u < np.inf), lost, 0.0)
    return choose(x == 0.0, x, result)


@kernel(inline="always")
def log_short(x: Any) -> Any:
    """log for x no denormal, shortly."""
    n, bits = _exponent(double_bits(x))
    f = bits_double(bits) - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = fma(0.23332761807741403, z, 0.285507364053582)
    p = fma(p, z, 0.40000122584584097)
    p = fma(p, z, 0.6666666655358554) * z
    half = 0.5 * f * f
    return _log_edges(x, fma(n, 0.6931471805599453, f - (half - s * (half + p))))


@kernel(inline="always")
def log1p_short(x: Any) -> Any:
    u = 1.0 + x
    lost = (x - (u - 1.0)) / u
    return log_short(u) + choose((u > 0.0) & (u < np.inf), lost, 0.0)


@kernel(inline="always")
def asinh_short(x: Any) -> Any:
    """log1p(a + a^2 / (1 + sqrt(1 + a^2))), odd."""
    a = magnitude(x)
    z = a * a
    inner = a + z / (1.0 + math.sqrt(1.0 + z))
    return with_sign(log1p_short(choose(a < 1e40, inner, a)), x)


@kernel(inline="always")
def acosh_short(x: Any) -> Any:
    t = x - 1.0
    inner = t + math.sqrt(t * (t + 2.0))
    return choose(x >= 1.0, log1p_short(choose(t < 1e40, inner, t)), np.nan)


@kernel(inline="always")
def atanh_short(x: Any) -> Any:
    a = magnitude(x)
    return with_sign(0.5 * log1p_short(2.0 * a / (1.0 - a)), x)


@kernel(inline="always")
def power_short(x: Any, y: Any) -> Any:
    """exp(y log |x|) with C's rules for signs and special values."""
    a = magnitude(x)
    exponent = y * log_short(a)
    exponent = choose(exponent > 200.0, 200.0, exponent)
    exponent = choose(exponent < -200.0, -200.0, exponent)
    result = exp_short(exponent)
    whole = y == np.floor(y)
    odd = whole & (0.5 * y != np.floor(0.5 * y))
    result = choose(odd, with_sign(result, x), result)
    result = choose((x < 0.0) & (a < np.inf) & ~whole, np.nan, result)
    one = (y == 0.0) | (x == 1.0) | ((a == 1.0) & (magnitude(y) == np.inf))
    return choose(one, 1.0, result)


@kernel(inline="always")
def _fmod_step(a: Any, b: Any) -> Any:
    return fma(-np.trunc(a / b), b, a)


@kernel(inline="always")
def fmod_short(x: Any, y: Any) -> Any:
    """The exact rest of float32 numbers; each step takes 52 bits off the quotient.

    Where |x / y| is beyond float32's range it is nan, as torch's is.
    """
    a, b = magnitude(x), magnitude(y)
    rest = _fmod_step(_fmod_step(_fmod_step(a, b), b), b)
    rest = choose(rest < 0.0, rest + b, rest)
    rest = choose(rest < b, rest, np.nan)
    rest = choose((b == np.inf) & (a < np.inf), a, rest)
    return with_sign(rest, x)


# --- angles ----------------------------------------------------------------------------------


def _turns_table() -> Any:
    """2^(e - 150) 2/pi modulo 4 for each exponent e of float32, in two parts.

    The first part has 29 bits, so that its product with a 24-bit mantissa is exact.
    """
    digits = (  # floor(2/pi * 2^320)
        0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2E0
    )  # fmt: skip
    table = np.empty((2, 256))
    for e in range(256):
        shift = max(e, 1) - 150 - 320  # the value is digits * 2^shift
        kept = digits % (1 << (2 - shift))
        drop = max(kept.bit_length() - 29, 0)
        high = (kept >> drop) << drop
        table[0, e] = math.ldexp(high, shift)
        table[1, e] = math.ldexp(kept - high, shift)
    table[:, 255] = np.nan
    return table


_TURNS = _turns_table()
_TURNS_HIGH = np.ascontiguousarray(_TURNS[0])
_TURNS_LOW = np.ascontiguousarray(_TURNS[1])


@kernel(inline="always")
def _quarter(x: Any) -> Any:
    """Of |x|, a float32: (the nearest quarter turn, the angle left over in [-pi/4, pi/4])."""
    bits = float_bits(x)
    e = np.int32((bits >> np.int32(23)) & np.int32(255))
    mantissa = np.int32(bits & np.int32(0x7FFFFF))
    mantissa = np.int32(mantissa + np.int32(choose(e > 0, np.int32(0x800000), np.int32(0))))
    m = np.float64(mantissa)
    first, second = m * _TURNS_HIGH[e], m * _TURNS_LOW[e]
    shifted = (first + second) + _ROUNDER
    rest = (first - (shifted - _ROUNDER)) + second
    return double_bits(shifted) & np.int64(3), rest * _PI_2


@kernel(inline="always")
def _sine(r: Any) -> Any:
    z = r * r
    p = fma(2.72493143604168e-06, z, -0.00019840082015127998)
    p = fma(p, z, 0.008333331865963797)
    p = fma(p, z, -0.16666666663832777)
    return fma(p * z, r, r)


@kernel(inline="always")
def _cosine(r: Any) -> Any:
    z = r * r
    p = fma(2.454743746250183e-05, z, -0.0013888300698073966)
    p = fma(p, z, 0.04166666464746341)
    return fma(p * z, z, fma(-0.5, z, 1.0))


@kernel(inline="always")
def sin_short(x: Any) -> Any:
    q, r = _quarter(x)
    value = choose(q & np.int64(1) != 0, _cosine(r), _sine(r))
    value = choose(q & np.int64(2) != 0, -value, value)
    return choose(float32_with_sign(np.float32(1.0), x) < 0, -value, value)


@kernel(inline="always")
def cos_short(x: Any) -> Any:
    q, r = _quarter(x)
    value = choose(q & np.int64(1) != 0, _sine(r), _cosine(r))
    return choose((q + np.int64(1)) & np.int64(2) != 0, -value, value)


@kernel(inline="always")
def tan_short(x: Any) -> Any:
    q, r = _quarter(x)
    s, c = _sine(r), _cosine(r)
    odd = q & np.int64(1) != 0
    value = choose(odd, -c, s) / choose(odd, s, c)
    return choose(float32_with_sign(np.float32(1.0), x) < 0, -value, value)


@kernel(inline="always")
def atan2_short(y: Any, x: Any) -> Any:
    """The angle of (x, y): reduced to a ratio of at most tan(pi/8), then an odd polynomial."""
    a, b = magnitude(y), magnitude(x)
    a = choose(a == np.inf, 1e300, a)
    b = choose(b == np.inf, 1e300, b)
    steep = a > b
    small, large = choose(steep, b, a), choose(steep, a, b)
    wide = small > 0.41421356237309503 * large
    above = choose(wide, small - large, small)
    below = choose(wide, small + large, large)
    t = above / choose(below == 0.0, 1.0, below)
    z = t * t
    p = fma(-0.04039404333201808, z, 0.07133514897325516)
    p = fma(p, z, -0.09028664303294537)
    p = fma(p, z, 0.1110746943078721)
    p = fma(p, z, -0.1428561158613577)
    p = fma(p, z, 0.19999998905277577)
    p = fma(p, z, -0.33333333331415915)
    angle = fma(p * z, t, t) + choose(wide, _PI_4, 0.0)
    angle = choose(steep, _PI_2 - angle, angle)
    angle = choose(with_sign(1.0, x) < 0.0, _PI - angle, angle)
    return choose((x != x) | (y != y), np.nan, with_sign(angle, y))


@kernel(inline="always")
def _arc(x: Any) -> Any:
    """Of |x|: (|x| > 1/2, asin |x|, or 2 asin sqrt((1 - |x|) / 2) where it is)."""
    a = magnitude(x)
    far = a > 0.5
    z = choose(far, 0.5 - 0.5 * a, a * a)
    s = choose(far, math.sqrt(z), a)
    p = fma(0.028360143945785232, z, 0.0010549948438043743)
    p = fma(p, z, 0.01686881267929702)
    p = fma(p, z, 0.01690176112688145)
    p = fma(p, z, 0.02241251693593384)
    p = fma(p, z, 0.030379939464357363)
    p = fma(p, z, 0.044642906636416894)
    p = fma(p, z, 0.07499999953258117)
    p = fma(p, z, 0.16666666666738927)
    angle = fma(p * z, s, s)
    return far, choose(far, angle + angle, angle)


@kernel(inline="always")
def asin_short(x: Any) -> Any:
    far, angle = _arc(x)
    return with_sign(choose(far, _PI_2 - angle, angle), x)


@kernel(inline="always")
def acos_short(x: Any) -> Any:
    far, angle = _arc(x)
    near = _PI_2 - with_sign(angle, x)
    return choose(far, choose(x < 0.0, _PI - angle, angle), near)
