"""Scalar functions of analysis: orthogonal polynomials, derivatives of log gamma.

Written like those of ``kernels.scalar``, of which they are a continuation. A polynomial's degree is
a number of the element type; its whole part counts, and a negative degree gives 0.
"""

from __future__ import annotations

from math import acos, cos, log, sin, tan
from math import copysign as _copysign
from math import floor as _floor
from math import trunc as _trunc
from typing import Any

Number = Any

# --- derivatives of log gamma ----------------------------------------------------------------


def digamma(x: Number) -> Number:
    """Reflected below 0, moved up to 10 by its recurrence, an asymptotic series beyond."""
    if x == 0.0:
        return -_copysign(1.0, x) / 0.0
    result = 0.0
    if x < 0.0:
        if x == _trunc(x):
            return 0.0 / (x - x)
        result = -3.141592653589793 / tan(3.141592653589793 * (x - _floor(x + 0.5)))
        x = 1.0 - x
    while x < 10.0:
        result -= 1.0 / x
        x += 1.0
    z = 1.0 / (x * x)
    series = z * (
        0.08333333333333333 - z * (0.008333333333333333 - z * (0.003968253968253968 - z * (
            0.004166666666666667 - z * (0.007575757575757576 - z * (
                0.021092796092796094 - z * 0.08333333333333333)))))
    )  # fmt: skip
    return result + log(x) - 0.5 / x - series


def trigamma(x: Number) -> Number:
    """Reflected below 1/2, moved up by six by its recurrence, then an asymptotic series."""
    sign, result = 1.0, 0.0
    if x < 0.5:
        sign = -1.0
        turned = sin(3.141592653589793 * x)
        result -= 9.869604401089358 / (turned * turned)
        x = 1.0 - x
    k = 0.0
    while k < 6.0:
        result += 1.0 / (x * x)
        x += 1.0
        k += 1.0
    z = 1.0 / (x * x)
    series = 1.0 + 1.0 / (2.0 * x) + z * (
        0.16666666666666666 - z * (0.03333333333333333 - z * 0.023809523809523808)
    )
    return sign * (result + series / x)


# --- orthogonal polynomials ------------------------------------------------------------------


def _is_odd(n: Number) -> Number:
    return n - 2.0 * _floor(n / 2.0) == 1.0


def _recurrence(degree: Number, first: Number, second: Number, step: Number) -> Number:
    """The member ``degree`` of the sequence ``next = step * this - previous``."""
    if degree == 0.0:
        return first
    previous, this, k = first, second, 1.0
    while k < degree and this == this:
        previous, this = this, step * this - previous
        k += 1.0
    return this


# The four kinds at x = cos(angle): a closed form from a degree on, that is given (for the shifted
# polynomials it is another), the recurrence below it and outside of [-1, 1].


def _first_kind(x: Number, degree: Number, closed_from: Number) -> Number:
    n = _trunc(degree)
    if not n >= 0.0:
        return 0.0
    if abs(x) == 1.0:
        return -1.0 if x < 0.0 and _is_odd(n) else 1.0
    if n > closed_from and abs(x) < 1.0:
        return cos(n * acos(x))
    return _recurrence(n, 1.0, x, x + x)


def _second_kind(x: Number, degree: Number, closed_from: Number) -> Number:
    n = _trunc(degree)
    if not n >= 0.0:
        return 0.0
    if abs(x) == 1.0:
        return -(n + 1.0) if x < 0.0 and _is_odd(n) else n + 1.0
    if n > closed_from and abs(x) < 1.0:
        angle = acos(x)
        if sin(angle) != 0.0:
            return sin((n + 1.0) * angle) / sin(angle)
        return (n + 1.0) * cos((n + 1.0) * angle) / x
    return _recurrence(n, 1.0, x + x, x + x)


def _third_kind(x: Number, degree: Number, closed_from: Number) -> Number:
    n = _trunc(degree)
    if not n >= 0.0:
        return 0.0
    if x == 1.0:
        return 1.0
    at_minus_one = -(n + n + 1.0) if _is_odd(n) else n + n + 1.0
    if x == -1.0:
        return at_minus_one
    if n > closed_from and abs(x) < 1.0:
        angle = acos(x)
        if sin(angle / 2.0) != 1.0:
            return cos((n + 0.5) * angle) / cos(angle / 2.0)
        return at_minus_one
    return _recurrence(n, 1.0, x + x - 1.0, x + x)


def _fourth_kind(x: Number, degree: Number, closed_from: Number) -> Number:
    n = _trunc(degree)
    if not n >= 0.0:
        return 0.0
    if x == 1.0:
        return n + n + 1.0
    at_minus_one = -1.0 if _is_odd(n) else 1.0
    if x == -1.0:
        return at_minus_one
    if n > closed_from and abs(x) < 1.0:
        angle = acos(x)
        if cos(angle / 2.0) != 1.0:
            return sin((n + 0.5) * angle) / sin(angle / 2.0)
        return n + n + 1.0 if x > 0.0 else at_minus_one
    return _recurrence(n, 1.0, x + x + 1.0, x + x)


def chebyshev_t(x: Number, degree: Number) -> Number:
    """``cos(n acos(x))``."""
    return _first_kind(x, degree, 6.0)


def chebyshev_u(x: Number, degree: Number) -> Number:
    """``sin((n + 1) acos(x)) / sin(acos(x))``."""
    return _second_kind(x, degree, 8.0)


def chebyshev_v(x: Number, degree: Number) -> Number:
    """``cos((n + 1/2) acos(x)) / cos(acos(x) / 2)``."""
    return _third_kind(x, degree, 8.0)


def chebyshev_w(x: Number, degree: Number) -> Number:
    """``sin((n + 1/2) acos(x)) / sin(acos(x) / 2)``."""
    return _fourth_kind(x, degree, 8.0)


def shifted_chebyshev_t(x: Number, degree: Number) -> Number:
    """The polynomial T at ``2 x - 1``."""
    return _first_kind(x + x - 1.0, degree, 6.0)


def shifted_chebyshev_u(x: Number, degree: Number) -> Number:
    """The polynomial U at ``2 x - 1``."""
    return _second_kind(x + x - 1.0, degree, 6.0)


def shifted_chebyshev_v(x: Number, degree: Number) -> Number:
    """The polynomial V at ``2 x - 1``."""
    return _third_kind(x + x - 1.0, degree, 6.0)


def shifted_chebyshev_w(x: Number, degree: Number) -> Number:
    """The polynomial W at ``2 x - 1``."""
    return _fourth_kind(x + x - 1.0, degree, 4.0)


def hermite_h(x: Number, degree: Number) -> Number:
    """The physicist's: ``next = 2 x this - 2 k previous``."""
    n = _trunc(degree)
    if not n >= 0.0:
        return 0.0
    if n == 0.0:
        return 1.0
    previous, this, k = 1.0, x + x, 2.0
    while k < n + n:
        previous, this = this, (x + x) * this - k * previous
        k += 2.0
    return this


def hermite_he(x: Number, degree: Number) -> Number:
    """The probabilist's: ``next = x this - k previous``."""
    n = _trunc(degree)
    if not n >= 0.0:
        return 0.0
    if n == 0.0:
        return 1.0
    previous, this, k = 1.0, x, 1.0
    while k < n:
        previous, this = this, x * this - k * previous
        k += 1.0
    return this


def laguerre_l(x: Number, degree: Number) -> Number:
    """``(k + 1) next = (2 k + 1 - x) this - k previous``."""
    n = _trunc(degree)
    if not n >= 0.0:
        return 0.0
    if n == 0.0 or x == 0.0:
        return 1.0
    previous, this, k = 1.0, 1.0 - x, 1.0
    while k < n and this == this:
        previous, this = this, ((k + k + (1.0 - x)) * this - k * previous) / (k + 1.0)
        k += 1.0
    return this


def legendre_p(x: Number, degree: Number) -> Number:
    """``(k + 1) next = (2 k + 1) x this - k previous``."""
    n = _trunc(degree)
    if not n >= 0.0:
        return 0.0
    if abs(x) == 1.0:
        return -1.0 if x < 0.0 and _is_odd(n) else 1.0
    if n == 0.0:
        return 1.0
    previous, this, k = 1.0, x, 1.0
    while k < n and this == this:
        previous, this = this, ((k + k + 1.0) * x * this - k * previous) / (k + 1.0)
        k += 1.0
    return this
