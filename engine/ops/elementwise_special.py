"""Special functions of probability and analysis, elementwise."""

from __future__ import annotations

import math
from typing import Any

from ..tensor import constant as c
from .elementwise import (
    add,
    cos,
    divide,
    equal,
    exp,
    less_equal,
    log,
    log1p,
    logical_and,
    multiply,
    negative,
    sigmoid,
    sin,
    subtract,
    where,
)
from .families import Elementwise, LibraryElementwise


def _function(name: str, rule: Any, **options: Any) -> Elementwise:
    return Elementwise(name, (rule,), result="float", **options)


def _library(name: str, rule: Any) -> Elementwise:
    return LibraryElementwise(name, (rule,), result="float")


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
digamma = _library("digamma", lambda g, x: multiply(g, trigamma(x)))
# the derivative of digamma
trigamma = _library(
    "trigamma", lambda g, x: negative(multiply(g, multiply(c(2), zeta(c(3.0), x))))
)
# the sum of (y + k)^-x over k >= 0
zeta = LibraryElementwise(
    "zeta", (None, lambda g, x, y: negative(multiply(g, multiply(x, zeta(add(x, c(1)), y))))),
    result="float",
)  # fmt: skip
i0 = _library("i0", lambda g, x: multiply(g, i1(x)))
i1 = _library(
    "i1",
    lambda g, x, out: multiply(
        g, where(equal(x, c(0)), c(0.5), subtract(i0(x), divide(out, x)))
    ),
)


def _sinc_slope(g: Any, x: Any) -> Any:
    turned = multiply(x, c(math.pi))
    slope = divide(
        subtract(multiply(turned, cos(turned)), sin(turned)),
        multiply(turned, x),
    )
    return where(equal(x, c(0)), c(0), multiply(g, slope))


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
        lambda g, x, y: multiply(g, sigmoid(subtract(x, y))),
        lambda g, x, y: multiply(g, sigmoid(subtract(y, x))),
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
