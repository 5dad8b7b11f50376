"""Special functions of probability and analysis, elementwise."""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..tensor import constant as c
from .elementwise import (
    _conj,
    add,
    cos,
    divide,
    equal,
    exp,
    exp2,
    less_equal,
    log,
    log1p,
    logical_and,
    multiply,
    negative,
    reciprocal,
    sgn,
    sigmoid,
    sin,
    subtract,
    where,
)
from .families import Elementwise, LibraryElementwise
from .movement import cast


def _function(name: str, rule: Any, **options: Any) -> Elementwise:
    return Elementwise(name, (rule,), result="float", **options)


def _library(name: str, rule: Any) -> Elementwise:
    return LibraryElementwise(name, (rule,), result="float")


def _no_derivative(name: str) -> Any:
    """A rule that raises torch's error in the backward pass."""

    def rule(g: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return rule


def _bell(x: Any) -> Any:
    """2 / sqrt(pi) * exp(-x^2), the derivative of erf."""
    return multiply(c(2 / math.sqrt(math.pi)), exp(negative(multiply(x, x))))


erf = _function("erf", lambda g, x: multiply(g, _bell(x)))
erfc = _function("erfc", lambda g, x: negative(multiply(g, _bell(x))))
erfinv = _library(
    "erfinv",
    lambda g, out: multiply(
        g, multiply(c(math.sqrt(math.pi) / 2), exp(multiply(out, out)))
    ),
)
lgamma = _function("lgamma", lambda g, x: multiply(g, digamma(x)))
digamma = _function("digamma", lambda g, x: multiply(g, trigamma(x)))
# the derivative of digamma
trigamma = _function(
    "trigamma", lambda g, x: negative(multiply(g, multiply(c(2), zeta(c(3.0), x))))
)
# the sum of (y + k)^-x over k >= 0
zeta = LibraryElementwise(
    "zeta",
    (
        _no_derivative("zeta"),
        lambda g, x, y: negative(multiply(g, multiply(x, zeta(add(x, c(1)), y)))),
    ),
    result="float",
)
i0 = _library("i0", lambda g, x: multiply(g, i1(x)))
i1 = _library(
    "i1",
    lambda g, x, out: multiply(
        g, where(equal(x, c(0)), c(0.5), subtract(i0(x), divide(out, x)))
    ),
)
i0e = _library("i0e", lambda g, x, out: multiply(g, subtract(i1e(x), multiply(sgn(x), out))))
i1e = _library(
    "i1e",
    lambda g, x, out: multiply(
        g,
        where(
            equal(x, c(0)),
            c(0.5),
            subtract(i0e(x), multiply(out, add(sgn(x), reciprocal(x)))),
        ),
    ),
)
erfcx = _library(
    "erfcx",
    lambda g, x, out: multiply(
        g, subtract(multiply(multiply(c(2.0), x), out), c(2 / math.sqrt(math.pi)))
    ),
)
ndtr = _library(
    "ndtr",
    lambda g, x: multiply(
        g, multiply(c(1 / math.sqrt(2 * math.pi)), exp(multiply(c(-0.5), multiply(x, x))))
    ),
)
log_ndtr = _library(
    "log_ndtr",
    lambda g, x: multiply(
        divide(g, erfcx(multiply(x, c(-math.sqrt(0.5))))), c(math.sqrt(2 / math.pi))
    ),
)
ndtri = _library(
    "ndtri",
    lambda g, out: multiply(
        multiply(g, c(math.sqrt(2 * math.pi))), exp(multiply(c(0.5), multiply(out, out)))
    ),
)
entr = _library("entr", lambda g, x: multiply(g, negative(add(c(1), log(x)))))


def _gamma_density(g: Any, x: Any, y: Any) -> Any:
    """``y^(x - 1) exp(-y) / gamma(x)``."""
    exponent = subtract(multiply(subtract(x, c(1)), log(y)), add(y, lgamma(x)))
    return multiply(g, exp(exponent))


# the regularised incomplete gamma functions of shape x at y
igamma = LibraryElementwise(
    "igamma", (_no_derivative("igamma: input"), _gamma_density), result="float"
)
igammac = LibraryElementwise(
    "igammac",
    (_no_derivative("igammac: input"), lambda g, x, y: negative(_gamma_density(g, x, y))),
    result="float",
)

# x = mantissa * 2^exponent
frexp_mantissa = LibraryElementwise(
    "frexp_mantissa",
    (lambda g, x: divide(g, exp2(cast(frexp_exponent(x), dtype=x.aval.dtype))),),
    grad_name="FrexpBackward0",
)


class _Exponent(LibraryElementwise):
    """Its results are int32."""

    def types(self, avals: Any) -> Any:
        return avals[0].dtype, dtypes.int32


frexp_exponent = _Exponent("frexp_exponent", arity=1)

# without derivatives, as in torch
airy_ai = LibraryElementwise("airy_ai", arity=1, result="float")
bessel_j0 = LibraryElementwise("bessel_j0", arity=1, result="float")
bessel_j1 = LibraryElementwise("bessel_j1", arity=1, result="float")
bessel_y0 = LibraryElementwise("bessel_y0", arity=1, result="float")
bessel_y1 = LibraryElementwise("bessel_y1", arity=1, result="float")
modified_bessel_i0 = LibraryElementwise(
    "modified_bessel_i0", arity=1, result="float", scalar="i0"
)
modified_bessel_i1 = LibraryElementwise(
    "modified_bessel_i1", arity=1, result="float", scalar="i1"
)
modified_bessel_k0 = LibraryElementwise("modified_bessel_k0", arity=1, result="float")
modified_bessel_k1 = LibraryElementwise("modified_bessel_k1", arity=1, result="float")
scaled_modified_bessel_k0 = LibraryElementwise(
    "scaled_modified_bessel_k0", arity=1, result="float"
)
scaled_modified_bessel_k1 = LibraryElementwise(
    "scaled_modified_bessel_k1", arity=1, result="float"
)
spherical_bessel_j0 = LibraryElementwise("spherical_bessel_j0", arity=1, result="float")
# polynomials in x of degree y
chebyshev_t = Elementwise("chebyshev_t", arity=2, result="float")
chebyshev_u = Elementwise("chebyshev_u", arity=2, result="float")
chebyshev_v = Elementwise("chebyshev_v", arity=2, result="float")
chebyshev_w = Elementwise("chebyshev_w", arity=2, result="float")
shifted_chebyshev_t = Elementwise("shifted_chebyshev_t", arity=2, result="float")
shifted_chebyshev_u = Elementwise("shifted_chebyshev_u", arity=2, result="float")
shifted_chebyshev_v = Elementwise("shifted_chebyshev_v", arity=2, result="float")
shifted_chebyshev_w = Elementwise("shifted_chebyshev_w", arity=2, result="float")
hermite_h = Elementwise("hermite_h", arity=2, result="float")
hermite_he = Elementwise("hermite_he", arity=2, result="float")
laguerre_l = Elementwise("laguerre_l", arity=2, result="float")
legendre_p = Elementwise("legendre_p", arity=2, result="float")


def _sinc_slope(g: Any, x: Any) -> Any:
    turned = multiply(x, c(math.pi))
    slope = divide(
        subtract(multiply(turned, cos(turned)), sin(turned)),
        multiply(turned, x),
    )
    return where(equal(x, c(0)), c(0), multiply(g, _conj(slope)))


# sin(pi x) / (pi x)
sinc = _function("sinc", _sinc_slope)


def _xlogy_log(g: Any, x: Any, y: Any) -> Any:
    silent = logical_and(equal(x, c(0)), less_equal(y, c(0)))
    return where(silent, c(0), multiply(g, log(y)))


# x * log(y), 0 where x is 0
xlogy = Elementwise(
    "xlogy", (_xlogy_log, lambda g, x, y: divide(multiply(g, x), y)), result="float"
)
xlog1py = Elementwise(
    "xlog1py",
    (
        lambda g, x, y: where(
            logical_and(equal(x, c(0)), less_equal(y, c(-1))),
            c(0),
            multiply(g, log1p(y)),
        ),
        lambda g, x, y: divide(multiply(g, x), add(y, c(1))),
    ),
    result="float",
)
logaddexp = Elementwise(
    "logaddexp",
    (
        lambda g, x, y: multiply(g, _conj(sigmoid(subtract(x, y)))),
        lambda g, x, y: multiply(g, _conj(sigmoid(subtract(y, x)))),
    ),
)
logaddexp2 = Elementwise(
    "logaddexp2",
    (
        lambda g, x, y: multiply(g, sigmoid(multiply(subtract(x, y), c(math.log(2))))),
        lambda g, x, y: multiply(g, sigmoid(multiply(subtract(y, x), c(math.log(2))))),
    ),
)
heaviside = Elementwise("heaviside", arity=2)


def _nan_to_num_rule(g: Any, x: Any) -> Any:
    usual = logical_and(equal(x, x), equal(subtract(x, x), c(0)))
    return where(usual, g, c(0))


# x with nan, inf and -inf replaced by y, z, w
nan_to_num = Elementwise("nan_to_num", (_nan_to_num_rule, None, None, None))
