"""Scalar functions of complex numbers, where those of real numbers do not hold as they are.

Written like those of ``kernels.scalar``: ``complex_exp`` takes the place of ``exp`` where elements
are complex. Constants have the type of the parts. A driver supplies ``_complex(x, y)`` and cmath's
functions in the place of the names imported from there.
"""

from __future__ import annotations

from cmath import acos as _cacos
from cmath import acosh as _cacosh
from cmath import asin as _casin
from cmath import asinh as _casinh
from cmath import atan as _catan
from cmath import atanh as _catanh
from cmath import cosh as _ccosh
from cmath import exp as _cexp
from cmath import sinh as _csinh
from cmath import sqrt as _csqrt
from cmath import tanh as _ctanh
from math import atan2 as _atan2
from math import cos, exp, expm1, log, sin
from math import floor as _floor
from math import hypot as _hypot
from math import isfinite as _isfinite
from math import isinf as _isinf
from math import nan as _nan
from typing import Any

from .facts import facts_of

Number = Any

_complex = complex
# what a driver must supply for a complex type besides the functions of its parts' type
MATHEMATICS = {
    "_cacos": _cacos, "_cacosh": _cacosh, "_casin": _casin, "_casinh": _casinh, "_catan": _catan,
    "_catanh": _catanh, "_ccosh": _ccosh, "_cexp": _cexp, "_csinh": _csinh,
    "_csqrt": _csqrt, "_ctanh": _ctanh,
}  # fmt: skip


def _scaled(x: Number, factor: Number) -> Number:
    """``x`` times a real number; infinite parts leave the other alone."""
    return _complex(x.real * factor, x.imag * factor)


def complex_divide(x: Number, y: Number) -> Number:
    """By the divisor's larger part first, so that squares do not overflow."""
    a, b = y.real, y.imag
    if abs(a) >= abs(b):
        if a == 0 and b == 0:
            return _complex(x.real / abs(a), x.imag / abs(a))
        ratio = b / a
        scale = 1 / (a + b * ratio)
        return _complex((x.real + x.imag * ratio) * scale, (x.imag - x.real * ratio) * scale)
    ratio = a / b
    scale = 1 / (b + a * ratio)
    return _complex((x.real * ratio + x.imag) * scale, (x.imag * ratio - x.real) * scale)


def complex_reciprocal(x: Number) -> Number:
    return complex_divide(_complex(1.0, 0.0), x)


def complex_inverse_square(x: Number) -> Number:
    return complex_divide(_complex(1.0, 0.0), x * x)


def complex_absolute(x: Number) -> Number:
    return _hypot(x.real, x.imag)


def complex_angle(x: Number) -> Number:
    return _atan2(x.imag, x.real)


def complex_real(x: Number) -> Number:
    return x.real


def complex_imag(x: Number) -> Number:
    return x.imag


def complex_conj(x: Number) -> Number:
    return _complex(x.real, -x.imag)


def complex_make_complex(x: Number, y: Number) -> Number:
    """``x + i y`` of real numbers."""
    return _complex(x.real, y.real)


def complex_sgn(x: Number) -> Number:
    size = _hypot(x.real, x.imag)
    return x if size == 0 else _complex(x.real / size, x.imag / size)


def complex_isnan(x: Number) -> Number:
    return (x.real != x.real) | (x.imag != x.imag)


def complex_isinf(x: Number) -> Number:
    return _isinf(x.real) | _isinf(x.imag)


def complex_isfinite(x: Number) -> Number:
    return _isfinite(x.real) & _isfinite(x.imag)


def complex_exp(x: Number) -> Number:
    return _cexp(x)


def complex_exp2(x: Number) -> Number:
    return _cexp(_scaled(x, 0.6931471805599453))


def complex_expm1(x: Number) -> Number:
    half = sin(x.imag * 0.5)
    real = expm1(x.real) * cos(x.imag) - 2.0 * half * half
    return _complex(real, exp(x.real) * sin(x.imag))


def complex_log(x: Number) -> Number:
    return _complex(log(_hypot(x.real, x.imag)), _atan2(x.imag, x.real))


def complex_log1p(x: Number) -> Number:
    return _complex(log(_hypot(x.real + 1.0, x.imag)), _atan2(x.imag, x.real + 1.0))


def complex_log2(x: Number) -> Number:
    return _scaled(complex_log(x), 1.4426950408889634)


def complex_log10(x: Number) -> Number:
    return _scaled(complex_log(x), 0.4342944819032518)


def complex_sqrt(x: Number) -> Number:
    return _csqrt(x)


def complex_rsqrt(x: Number) -> Number:
    return complex_divide(_complex(1.0, 0.0), _csqrt(x))


def _times_i(x: Number) -> Number:
    return _complex(-x.imag, x.real)


def _over_i(x: Number) -> Number:
    return _complex(x.imag, -x.real)


def complex_sin(x: Number) -> Number:
    return _over_i(_csinh(_times_i(x)))


def complex_cos(x: Number) -> Number:
    return _ccosh(_times_i(x))


def complex_tan(x: Number) -> Number:
    return _over_i(_ctanh(_times_i(x)))


def complex_asin(x: Number) -> Number:
    return _casin(x)


def complex_acos(x: Number) -> Number:
    return _cacos(x)


def complex_atan(x: Number) -> Number:
    return _catan(x)


def complex_sinh(x: Number) -> Number:
    return _csinh(x)


def complex_cosh(x: Number) -> Number:
    return _ccosh(x)


def complex_tanh(x: Number) -> Number:
    return _ctanh(x)


def complex_asinh(x: Number) -> Number:
    return _casinh(x)


def complex_acosh(x: Number) -> Number:
    return _cacosh(x)


def complex_atanh(x: Number) -> Number:
    return _catanh(x)


def complex_power(x: Number, y: Number) -> Number:
    """Whole exponents by products, others by ``exp(y log(x))``."""
    n = y.real
    if y.imag == 0 and n == _floor(n) and abs(n) < 100.0:
        result, factor, left = _complex(1.0, 0.0), x, abs(n)
        while left > 0.0:
            half = _floor(left * 0.5)
            if half + half != left:
                result = result * factor
            factor = factor * factor
            left = half
        return complex_divide(_complex(1.0, 0.0), result) if n < 0.0 else result
    if x.real == 0 and x.imag == 0:
        none = x.real / x.real
        return _complex(0.0, 0.0) if y.imag == 0 and n > 0.0 else _complex(none, none)
    return _cexp(y * complex_log(x))


def complex_sigmoid(x: Number) -> Number:
    return complex_divide(_complex(1.0, 0.0), 1.0 + _cexp(-x))


def complex_silu(x: Number) -> Number:
    return complex_divide(x, 1.0 + _cexp(-x))


def complex_tanhshrink(x: Number) -> Number:
    return x - _ctanh(x)


def complex_lerp(x: Number, y: Number, weight: Number) -> Number:
    near = x + weight * (y - x)
    return near if complex_absolute(weight) < 0.5 else y - (y - x) * (1.0 - weight)


def complex_addcdiv(x: Number, y: Number, z: Number, value: Number) -> Number:
    return x + complex_divide(value * y, z)


def complex_sinc(x: Number) -> Number:
    z = _scaled(x, 3.141592653589793)
    return _complex(1.0, 0.0) if x == 0 else complex_divide(complex_sin(z), z)


def complex_logaddexp(x: Number, y: Number) -> Number:
    if complex_isnan(x) or complex_isnan(y):
        return _complex(_nan, _nan)
    if x.real == y.real and _isinf(x.real):
        return y if x.real < 0 else complex_log(_cexp(x) + _cexp(y))
    if x.real >= y.real:
        return x + complex_log1p(_cexp(y - x))
    return y + complex_log1p(_cexp(x - y))




def is_written(name: str) -> bool:
    """Whether the scalar function is there for complex numbers, here or as it stands."""
    return f"complex_{name}" in globals() or facts_of(name).of_complex
