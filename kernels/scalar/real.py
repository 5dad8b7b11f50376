"""Scalar functions of real numbers: what an elementwise op computes at one place.

Plain Python on numbers of one type, used by the CPU, CUDA and fused kernels alike. A driver
compiles them for a type: it gives every constant that type, so float32 arithmetic stays float32,
and puts that type's own ``exp``, ``log``, ... in the place of the names imported from ``math``.
What else loops know of a function is stated above it (:mod:`.facts`).
"""

from __future__ import annotations

from builtins import round as _round
from math import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    cos,
    cosh,
    erf,
    erfc,
    exp,
    exp2,
    expm1,
    lgamma,
    log,
    log1p,
    log2,
    log10,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from math import atan2 as _atan2
from math import ceil as _ceil
from math import copysign as _copysign
from math import floor as _floor
from math import fmod as _fmod
from math import hypot as _hypot
from math import isfinite as _isfinite
from math import isinf as _isinf
from math import nextafter as _nextafter
from math import pow as _pow
from math import trunc as _trunc
from typing import Any

from .facts import facts


def _fma(x: Any, y: Any, z: Any) -> Any:
    """``x * y + z``; drivers round it once in floating types, as PyTorch's loops do."""
    return x * y + z


def _round_bfloat16(x: Any) -> Any:
    """``x``, a float32, as a bfloat16 holds it; drivers have their own."""
    return x


# The mathematics functions that a driver must supply for each type, by name.
MATHEMATICS = {
    "acos": acos, "acosh": acosh, "asin": asin, "asinh": asinh, "atan": atan, "atanh": atanh,
    "cos": cos, "cosh": cosh, "erf": erf, "erfc": erfc, "exp": exp, "exp2": exp2,
    "expm1": expm1, "lgamma": lgamma, "log": log, "log1p": log1p, "log2": log2, "log10": log10,
    "sin": sin, "sinh": sinh, "sqrt": sqrt, "tan": tan, "tanh": tanh,
    "_atan2": _atan2, "_ceil": _ceil, "_copysign": _copysign, "_floor": _floor, "_fmod": _fmod,
    "_hypot": _hypot, "_isfinite": _isfinite, "_isinf": _isinf, "_nextafter": _nextafter,
    "_pow": _pow, "_round": _round, "_round_bfloat16": _round_bfloat16, "_trunc": _trunc,
    "_fma": _fma,
}  # fmt: skip

Number = Any

# --- arithmetic ------------------------------------------------------------------------------


@facts(cheap=True, light=1, rounds="all", of_complex=True)
def add(x: Number, y: Number) -> Number:
    return x + y


@facts(cheap=True, light=1, rounds="all", of_complex=True)
def subtract(x: Number, y: Number) -> Number:
    return x - y


@facts(cheap=True, light=1, rounds="tensors", of_complex=True)
def multiply(x: Number, y: Number) -> Number:
    return x * y


@facts(light=2, rounds="tensors")
def divide(x: Number, y: Number) -> Number:
    return x / y


@facts(cheap=True, light=1, of_complex=True)
def negative(x: Number) -> Number:
    return -x


@facts(cheap=True, light=1, of_complex=True)
def square(x: Number) -> Number:
    return x * x


@facts(light=1, of_complex=True)
def cube(x: Number) -> Number:
    return x * x * x


def inverse_square(x: Number) -> Number:
    return 1 / (x * x)


def bfloat16_cube(x: Number) -> Number:
    """PyTorch's loop rounds each product."""
    return _round_bfloat16(x * x) * x


def bfloat16_inverse_square(x: Number) -> Number:
    return 1 / _round_bfloat16(x * x)


def reciprocal(x: Number) -> Number:
    return 1 / x


@facts(rounds="all")
def power(x: Number, y: Number) -> Number:
    return _pow(x, y)


@facts(cheap=True, light=1)
def maximum(x: Number, y: Number) -> Number:
    """The larger, the first of zeros; NaN if either is."""
    larger = y if y > x else x
    return y if y != y else larger


@facts(cheap=True, light=1)
def minimum(x: Number, y: Number) -> Number:
    smaller = y if y < x else x
    return y if y != y else smaller


def fmax(x: Number, y: Number) -> Number:
    """The larger, the first of zeros; the other where one is NaN."""
    larger = y if y > x else x
    return y if x != x else larger


def fmin(x: Number, y: Number) -> Number:
    smaller = y if y < x else x
    return y if x != x else smaller


@facts(cheap=True)
def clamp(x: Number, low: Number, high: Number) -> Number:
    raised = x if x >= low or x != x else low  # nan where anything is
    return raised if raised <= high or raised != raised else high


@facts(light=1)
def lerp(x: Number, y: Number, weight: Number) -> Number:
    """``x + weight * (y - x)``, from the nearer end."""
    near = _fma(weight, y - x, x)
    far = _fma(weight - 1, y - x, y)
    return near if absolute(weight) < 0.5 else far


def floor_divide(x: Number, y: Number) -> Number:
    """The quotient rounded down, corrected as Python does (floating-point types)."""
    rest = _fmod(x, y)
    quotient = (x - rest) / y
    quotient = quotient - 1 if (rest != 0) and ((rest < 0) != (y < 0)) else quotient
    rounded = _floor(quotient)
    rounded = rounded + 1 if quotient - rounded > 0.5 else rounded
    zero = _copysign(0.0, x / y)
    result = rounded if quotient != 0 else zero
    return x / y if y == 0 else result


def trunc_divide(x: Number, y: Number) -> Number:
    return _trunc(x / y)


@facts(rounds="all")
def remainder(x: Number, y: Number) -> Number:
    """``x - y * floor(x / y)``: the sign of ``y`` (floating-point types)."""
    rest = _fmod(x, y)
    return rest + y if (rest != 0) and ((rest < 0) != (y < 0)) else rest


@facts(rounds="all")
def fmod(x: Number, y: Number) -> Number:
    return _fmod(x, y)


def integer_floor_divide(x: Number, y: Number) -> Number:
    """The least number by -1 wraps round to itself: processors fail on it."""
    safe = y if (y != 0) and (y != -1) else y * y + 1
    quotient = x // safe if y != -1 else -x
    return quotient if y != 0 else 0


def integer_trunc_divide(x: Number, y: Number) -> Number:
    safe = y if (y != 0) and (y != -1) else y * y + 1
    quotient = x // safe
    adjusted = quotient + 1 if (quotient < 0) and (quotient * safe != x) else quotient
    wrapped = adjusted if y != -1 else -x
    return wrapped if y != 0 else 0


def integer_remainder(x: Number, y: Number) -> Number:
    return x - integer_floor_divide(x, y) * y if y != 0 else 0


def integer_fmod(x: Number, y: Number) -> Number:
    return x - integer_trunc_divide(x, y) * y if y != 0 else 0


def integer_power(x: Number, y: Number) -> Number:
    """By squaring, wrapping round; a negative exponent leaves only 1 and -1."""
    result = 1
    base = x
    left = y
    while left > 0:
        if left & 1:
            result = result * base
        base = base * base
        left = left >> 1
    odd = y & 1
    negative_result = 0
    if x == 1:
        negative_result = 1
    elif x == -1:
        negative_result = x if odd else x * x
    return result if y >= 0 else negative_result


@facts(rounds="all")
def hypot(x: Number, y: Number) -> Number:
    return _hypot(x, y)


@facts(rounds="all")
def atan2(x: Number, y: Number) -> Number:
    return _atan2(x, y)


@facts(rounds="all")
def copysign(x: Number, y: Number) -> Number:
    return _copysign(x, y)


@facts(rounds="all")
def nextafter(x: Number, y: Number) -> Number:
    return _nextafter(x, y)


def short_nextafter(x: Number, y: Number, part: Number, least: Number, most: Number) -> Number:
    """A number that is rounded to the short type's next one; ``part`` is a little over half the
    distance of the numbers above 1, ``least`` lies below the least one, ``most`` is the largest."""
    step = maximum(absolute(x) * part, least)
    moved = x + step if y > x else x - step
    moved = _copysign(most, x) if absolute(x) > most else moved
    moved = y if x == y else moved
    return y if y != y else moved


def float16_nextafter(x: Number, y: Number) -> Number:
    return short_nextafter(x, y, 0.00048876, 4.4703484e-08, 65504.0)


def bfloat16_nextafter(x: Number, y: Number) -> Number:
    return short_nextafter(x, y, 0.003936, 6.9e-41, 3.3895313892515355e38)


def ldexp(x: Number, y: Number) -> Number:
    return x * exp2(y)


@facts(rounds="all")
def xlogy(x: Number, y: Number) -> Number:
    product = x * log(y)
    kept = 0 if x == 0 else product
    return y if y != y else kept


def binary_cross_entropy(x: Number, y: Number) -> Number:
    hit = maximum(log(x), -100)
    missed = maximum(log1p(-x), -100)
    return (y - 1) * missed - y * hit


def logit(x: Number) -> Number:
    return log(x / (1 - x))


@facts(rounds="all")
def xlog1py(x: Number, y: Number) -> Number:
    product = x * log1p(y)
    kept = 0 if x == 0 else product
    return y if y != y else kept


@facts(rounds="all")
def logaddexp(x: Number, y: Number) -> Number:
    larger = maximum(x, y)
    spread = absolute(x - y)
    total = larger + log1p(exp(-spread))
    return larger if x == y and _isinf(x) else total


@facts(rounds="all")
def logaddexp2(x: Number, y: Number) -> Number:
    larger = maximum(x, y)
    spread = absolute(x - y)
    total = larger + log1p(exp(-spread * 0.6931471805599453)) * 1.4426950408889634
    return larger if x == y and _isinf(x) else total


@facts(rounds="all")
def heaviside(x: Number, y: Number) -> Number:
    step = 1 if x > 0 else 0
    return y if x == 0 else step


# --- comparison, logic and bits --------------------------------------------------------------


@facts(cheap=True, light=1, rounds="all", of_complex=True)
def eq(x: Number, y: Number) -> Number:
    return x == y


@facts(cheap=True, light=1, rounds="all", of_complex=True)
def ne(x: Number, y: Number) -> Number:
    return x != y


@facts(cheap=True, light=1, rounds="all")
def lt(x: Number, y: Number) -> Number:
    return x < y


@facts(cheap=True, light=1, rounds="all")
def le(x: Number, y: Number) -> Number:
    return x <= y


@facts(cheap=True, light=1, rounds="all")
def gt(x: Number, y: Number) -> Number:
    return x > y


@facts(cheap=True, light=1, rounds="all")
def ge(x: Number, y: Number) -> Number:
    return x >= y


@facts(cheap=True, light=1, of_complex=True)
def logical_and(x: Number, y: Number) -> Number:
    return (x != 0) & (y != 0)


@facts(cheap=True, light=1, of_complex=True)
def logical_or(x: Number, y: Number) -> Number:
    return (x != 0) | (y != 0)


@facts(of_complex=True)
def logical_xor(x: Number, y: Number) -> Number:
    return (x != 0) ^ (y != 0)


@facts(cheap=True, light=1, of_complex=True)
def logical_not(x: Number) -> Number:
    return x == 0


@facts(light=1)
def isnan(x: Number) -> Number:
    return x != x


@facts(of_whole="isnan")
def isinf(x: Number) -> Number:
    return _isinf(x)


def isfinite(x: Number) -> Number:
    return _isfinite(x)


def signbit(x: Number) -> Number:
    return _copysign(1.0, x) < 0


def bitwise_and(x: Number, y: Number) -> Number:
    return x & y


def bitwise_or(x: Number, y: Number) -> Number:
    return x | y


def bitwise_xor(x: Number, y: Number) -> Number:
    return x ^ y


def bitwise_not(x: Number) -> Number:
    return ~x


def logical_bit_not(x: Number) -> Number:
    return not x


def left_shift(x: Number, y: Number) -> Number:
    return 0 if (y < 0) or (y > 63) else x << y


def right_shift(x: Number, y: Number) -> Number:
    return x >> 63 if (y < 0) or (y > 63) else x >> y


def gcd(x: Number, y: Number) -> Number:
    a = absolute(x)
    b = absolute(y)
    while b != 0:
        a, b = b, a % b
    return a


def lcm(x: Number, y: Number) -> Number:
    divisor = gcd(x, y)
    safe = divisor if divisor != 0 else divisor + 1
    return absolute((x // safe) * y)


def smooth_l1(x: Number, y: Number, beta: Number) -> Number:
    """A parabola about 0, straight lines from ``beta`` on."""
    d = abs(x - y)
    return d - 0.5 * beta if d >= beta else 0.5 * d * d / beta


def smooth_l1_slope(g: Number, x: Number, y: Number, beta: Number) -> Number:
    d = x - y
    inside = g * d / beta
    return -g if d <= -beta else (g if d >= beta else inside)


def huber(x: Number, y: Number, delta: Number) -> Number:
    d = abs(x - y)
    return delta * (d - 0.5 * delta) if d >= delta else 0.5 * d * d


def huber_slope(g: Number, x: Number, y: Number, delta: Number) -> Number:
    d = x - y
    return -delta * g if d <= -delta else (delta * g if d >= delta else g * d)


@facts(cheap=True, light=1, of_complex=True)
def where(condition: Number, x: Number, y: Number) -> Number:
    return x if condition else y


@facts(cheap=True)
def threshold_gradient(g: Number, y: Number, limit: Number) -> Number:
    """``g`` where ``y > limit``, else 0 (NaN in ``y`` lets ``g`` through)."""
    return 0 if y <= limit else g


# --- functions of one number -----------------------------------------------------------------


@facts(cheap=True, light=1)
def absolute(x: Number) -> Number:
    return abs(x)


@facts(light=1)
def sign(x: Number) -> Number:
    up = 1 if x > 0 else 0
    return -1 if x < 0 else up


def sgn(x: Number) -> Number:
    return sign(x)


def rsqrt(x: Number) -> Number:
    return 1.0 / sqrt(x)


@facts(light=1, of_whole="positive")
def floor(x: Number) -> Number:
    return _floor(x)


@facts(light=1, of_whole="positive")
def ceil(x: Number) -> Number:
    return _ceil(x)


@facts(light=1, of_whole="positive")
def trunc(x: Number) -> Number:
    return _trunc(x)


@facts(light=1, of_whole="positive")
def round_(x: Number) -> Number:
    """To the nearest whole number, halves to the even one."""
    return _round(x)


def frac(x: Number) -> Number:
    return x - _trunc(x)


def sinc(x: Number) -> Number:
    angle = x * 3.141592653589793
    return sin(angle) / angle if x != 0 else 1


def deg2rad(x: Number) -> Number:
    return x * 0.017453292519943295


def rad2deg(x: Number) -> Number:
    return x * 57.29577951308232


# --- compositions of several numbers -----------------------------------------


@facts(light=1, of_complex=True)
def addcmul(x: Number, y: Number, z: Number, value: Number) -> Number:
    return _fma(value * y, z, x)


def add_scaled(x: Number, y: Number, value: Number) -> Number:
    return _fma(value, y, x)


def subtract_scaled(x: Number, y: Number, value: Number) -> Number:
    return _fma(-value, y, x)


def addcdiv(x: Number, y: Number, z: Number, value: Number) -> Number:
    return x + value * y / z


def fake_quantize(
    x: Number, scale: Number, inverse: Number, zero: Number, low: Number, high: Number
) -> Number:
    """``x`` as the nearest of the numbers that ``low`` to ``high`` stand for; nan is the lowest."""
    level = _trunc(zero + _round(x * inverse))
    above = level if level >= low else low
    return ((high if above > high else above) - zero) * scale


def fake_quantize_gradient(
    g: Number, x: Number, inverse: Number, zero: Number, low: Number, high: Number
) -> Number:
    level = _trunc(zero + _round(x * inverse))
    return g if (level >= low) and (level <= high) else 0


def quantize_levels(
    x: Number, inverse: Number, zero: Number, low: Number, high: Number
) -> Number:
    """The level that stands for ``x``; nan is the highest."""
    level = _round(_fma(x, inverse, zero))
    below = level if level <= high else high
    return low if below < low else below


def nan_to_num(x: Number, nan: Number, high: Number, low: Number) -> Number:
    big = high if x > 0 else low
    finite = big if _isinf(x) else x
    return nan if x != x else finite


@facts(cheap=True, light=1, of_complex=True)
def positive(x: Number) -> Number:
    return x
