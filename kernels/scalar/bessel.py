"""Scalar functions of analysis that the CPU takes from scipy: Bessel's, Airy's, zeta, gamma's.

Written like those of ``kernels.scalar``, for devices without scipy, in double precision: sums of
positive terms, asymptotic series where their smallest term is below rounding, and the trapezoidal
rule for integrals that decay doubly exponentially, where it converges as fast.
"""

from __future__ import annotations

from math import atan2 as _atan2
from math import copysign as _copysign
from math import cos, cosh, erfc, exp, lgamma, log, log1p, sin, sinh, sqrt
from math import floor as _floor
from math import pow as _pow
from typing import Any

Number = Any

# functions of one name that a device's library has whole
SUPPLIED = (
    "erfinv", "erfcx", "ndtri", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1",
    "frexp_mantissa", "frexp_exponent",
)  # fmt: skip


def erfcx(x: Number) -> Number:
    """``exp(x^2) erfc(x)``: the device's own, see ``SUPPLIED``."""
    raise NotImplementedError


# --- modified Bessel functions ---------------------------------------------------------------


def _scaled_first(x: Number, order: Number) -> Number:
    """``exp(-x) I(x)`` of order 0 or 1 for ``x >= 0``."""
    total, term, k = 1.0, 1.0, 1.0
    if x <= 20.0:
        z = 0.25 * x * x
        while term > 1e-17 * total:
            term *= z / (k * (k + order))
            total += term
            k += 1.0
        return exp(-x) * total * (1.0 if order == 0.0 else 0.5 * x)
    while abs(term) > 1e-17 and k < 40.0:
        odd = k + k - 1.0
        term *= (odd * odd - 4.0 * order) / (8.0 * k * x)
        total += term
        k += 1.0
    return total / sqrt(6.283185307179586 * x)


def i0e(x: Number) -> Number:
    return _scaled_first(abs(x), 0.0)


def i1e(x: Number) -> Number:
    return _copysign(_scaled_first(abs(x), 1.0), x)


def _unscaled(x: Number, value: Number) -> Number:
    """``exp(x) value``, which may be finite where the exponential is not."""
    half = exp(0.5 * x)
    return half * x if x > 1000.0 else half * value * half


def i0(x: Number) -> Number:
    return _unscaled(abs(x), _scaled_first(abs(x), 0.0))


def i1(x: Number) -> Number:
    return _copysign(_unscaled(abs(x), _scaled_first(abs(x), 1.0)), x)


def _scaled_second(x: Number, order: Number) -> Number:
    """``exp(x) K(x)``: the integral of ``exp(x - x cosh(t)) cosh(order t)`` over ``t >= 0``."""
    if not x > 0.0:
        return (x * 0.0 + 1.0) / 0.0 if x == 0.0 else (x - x) / (x - x)
    if x > 1e16:
        return sqrt(1.5707963267948966 / x)
    if x < 1e-8 and order == 0.0:
        return exp(x) * (0.11593151565841245 - log(x))
    if x < 1e-8 and order == 1.0:
        return exp(x) / x
    narrow = 0.7 / sqrt(x)
    step = narrow if narrow < 0.2 else 0.2
    total, t, exponent = 0.5, step, 0.0
    while exponent < 42.0 + order * t:
        bent = sinh(0.5 * t)
        exponent = 2.0 * x * bent * bent
        total += exp(-exponent) * cosh(order * t)
        t += step
    return total * step


def scaled_modified_bessel_k0(x: Number) -> Number:
    return _scaled_second(x, 0.0)


def scaled_modified_bessel_k1(x: Number) -> Number:
    return _scaled_second(x, 1.0)


def modified_bessel_k0(x: Number) -> Number:
    return exp(-x) * _scaled_second(x, 0.0)


def modified_bessel_k1(x: Number) -> Number:
    return exp(-x) * _scaled_second(x, 1.0)


# --- Airy's function, the spherical one ------------------------------------------------------


def airy_ai(x: Number) -> Number:
    """By K of order 1/3 above 1, Taylor steps of ``y'' = x y`` to -10, asymptotic beyond."""
    if x - x != 0.0:
        return (x - x) / (x - x)
    if x > 1.0:
        z = 0.6666666666666666 * x * sqrt(x)
        third = _scaled_second(z, 0.3333333333333333)
        return 0.3183098861837907 * sqrt(x / 3.0) * exp(-z) * third
    if x < -10.0:
        return _airy_far(-x)
    at, value, slope = 0.0, 0.3550280538878172, -0.2588194037928068
    while x != at:
        h = x - at if x - at > -1.0 else -1.0
        before, this, after, n = 0.0, value, slope * h, 0.0
        value, slope = this + after, after
        while n < 32.0:
            # terms c[n] h^n with (n + 1) (n + 2) c[n + 2] = at c[n] + c[n - 1]
            following = (at * this + before * h) * h * h / ((n + 1.0) * (n + 2.0))
            value += following
            slope += (n + 2.0) * following
            before, this, after = this, after, following
            n += 1.0
        slope, at = slope / h, at + h
    return value


def _airy_far(x: Number) -> Number:
    """Ai at ``-x``: its amplitude and phase by asymptotic series."""
    root = sqrt(x)
    z = 0.6666666666666666 * x * root
    even, odd, term, k = 1.0, 0.0, 1.0, 1.0
    while abs(term) > 1e-17 and k < 40.0:
        wide = 6.0 * k
        term *= (wide - 5.0) * (wide - 3.0) * (wide - 1.0) / ((k + k - 1.0) * 216.0 * k * z)
        turn = k - 4.0 * _floor(0.25 * k)
        if turn == 1.0:
            odd += term
        elif turn == 2.0:
            even -= term
        elif turn == 3.0:
            odd -= term
        else:
            even += term
        k += 1.0
    phase = z - 0.7853981633974483
    return (cos(phase) * even + sin(phase) * odd) / sqrt(3.141592653589793 * root)


def spherical_bessel_j0(x: Number) -> Number:
    if x == 0.0:
        return 1.0
    return 0.0 if x - x != 0.0 and x == x else sin(x) / x


# --- zeta ------------------------------------------------------------------------------------


def zeta(x: Number, q: Number) -> Number:
    """The sum of ``(q + k)^-x``: ten terms and more, then Euler's and Maclaurin's formula."""
    if x == 1.0:
        return x / 0.0
    if x < 1.0 or x != x or q != q:
        return (x - x) / (x - x)
    if q <= 0.0 and q == _floor(q):
        return x / 0.0
    if q <= 0.0 and x != _floor(x):
        return (q - q) / (q - q)
    last, at, k = _pow(q, -x), q, 0.0
    total = last
    while k < 9.0 or at <= 9.0:
        at += 1.0
        last = _pow(at, -x)
        total += last
        k += 1.0
    if last == 0.0:
        return total
    w = 1.0 / (at * at)
    series = 0.08333333333333333 + (x + 1.0) * (x + 2.0) * w * (
        -0.001388888888888889 + (x + 3.0) * (x + 4.0) * w * (
            3.306878306878307e-05 + (x + 5.0) * (x + 6.0) * w * (
                -8.267195767195768e-07 + (x + 7.0) * (x + 8.0) * w * (
                    2.0876756987868098e-08 + (x + 9.0) * (x + 10.0) * w * (
                        -5.284190138687493e-10 + (x + 11.0) * (x + 12.0) * w * (
                            1.3382536530684678e-11 - (x + 13.0) * (x + 14.0) * w
                            * 3.3896802963225828e-13)))))
    )  # fmt: skip
    return total + last * (at / (x - 1.0) - 0.5 + x * series / at)


# --- incomplete gamma functions --------------------------------------------------------------


def _excess(u: Number) -> Number:
    """``u - log(1 + u)``."""
    if abs(u) > 0.1:
        return u - log1p(u)
    total, power, k = 0.0, u, 2.0
    while k < 20.0:
        power *= -u
        total -= power / k
        k += 1.0
    return total


def _gamma_term(a: Number, x: Number) -> Number:
    """``x^a exp(-x) / gamma(a + 1)``."""
    if a < 10.0:
        return exp(a * log(x) - x - lgamma(a + 1.0))
    w = 1.0 / (a * a)
    stirling = (0.08333333333333333 - w * (0.002777777777777778 - w * (
        0.0007936507936507937 - w * (0.0005952380952380953 - w * 0.0008417508417508417)))) / a
    return exp(-a * _excess((x - a) / a) - stirling) / sqrt(6.283185307179586 * a)


def _gamma_uniform(a: Number, x: Number, upper: Number) -> Number:
    """For large ``a``: the error function of the place, and two terms of the remainder."""
    u = (x - a) / a
    square = 2.0 * _excess(u)
    e = _copysign(sqrt(square), u)
    if abs(e) < 0.02:
        first = -0.3333333333333333 + e * (0.08333333333333333 - e * (
            0.014814814814814815 - e * (0.0011574074074074073 + e * 0.0003527336860670194)))
        second = -0.001851851851851852 - e * (0.003472222222222222 - e * 0.0026455026455026454)
    else:
        first = 1.0 / u - 1.0 / e
        second = 1.0 / (e * square) - (1.0 / (u * u) + 1.0 / u) / u - 1.0 / (12.0 * u)
    rest = exp(-0.5 * a * square) / sqrt(6.283185307179586 * a) * (first + second / a)
    side = e * sqrt(0.5 * a)
    return 0.5 * erfc(side) + rest if upper == 1.0 else 0.5 * erfc(-side) - rest


def _gamma_part(a: Number, x: Number, upper: Number) -> Number:
    """The share of gamma's integral beyond ``x`` (``upper`` 1) or before it (0)."""
    if x < 0.0 or a < 0.0:
        return (x - x) / 0.0 * 0.0
    if a == 0.0:
        return 1.0 - upper if x > 0.0 else (a * x) / (a * x)
    if x == 0.0:
        return upper
    if a == a and a - a != 0.0:
        return a - x if x == a else upper
    if x == x and x - x != 0.0:
        return 1.0 - upper
    if a != a or x != x:
        return a + x
    if a > 1e5:
        return _gamma_uniform(a, x, upper)
    if x <= a + 1.0:
        total, term, k = 1.0, 1.0, a
        while term > 1e-17 * total:
            k += 1.0
            term *= x / k
            total += term
        lower = total * _gamma_term(a, x)
        return 1.0 - lower if upper == 1.0 else lower
    # Lentz's way through the continued fraction
    b, k, change = x + 1.0 - a, 1.0, 2.0
    c, d = 1e300, 1.0 / b
    result = d
    while abs(change - 1.0) > 2e-16 and k < 1e5:
        n = -k * (k - a)
        b += 2.0
        d, c = n * d + b, b + n / c
        d = 1.0 / (1e-300 if d == 0.0 else d)
        c = 1e-300 if c == 0.0 else c
        change = c * d
        result *= change
        k += 1.0
    beyond = result * a * _gamma_term(a, x)
    return beyond if upper == 1.0 else 1.0 - beyond


def igamma(a: Number, x: Number) -> Number:
    return _gamma_part(a, x, 0.0)


def igammac(a: Number, x: Number) -> Number:
    return _gamma_part(a, x, 1.0)


# --- probability, numbers --------------------------------------------------------------------


def log_ndtr(x: Number) -> Number:
    """``log(erfc(-x / sqrt(2)) / 2)``."""
    y = x * 0.7071067811865476
    if x < -1.0:
        return log(0.5 * erfcx(-y)) - y * y
    return log1p(-0.5 * erfc(y))


def entr(x: Number) -> Number:
    if x > 0.0:
        return -x * log(x)
    return x if x == 0.0 or x != x else -1.0 / 0.0


def angle(x: Number) -> Number:
    return x if x != x else _atan2(0.0, x)
