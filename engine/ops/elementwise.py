"""Elementwise ops: a scalar function (``mindtorch.kernels.scalar``) and its partial derivatives.

Sums over broadcast axes and casts back to an input's type happen in the tape, not here. Python
numbers stand in rules as weak constants.
"""

from __future__ import annotations

import math
from typing import Any

from ..tensor import constant as c
from .families import Elementwise, refuse_bool


def _conj(x: Any) -> Any:
    """``x`` itself unless complex: partial derivatives are conjugated as torch does."""
    if x.aval.dtype.is_complex:
        from .complex import conj

        return conj(x)
    return x


_SUBTRACT_BOOL = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
    "`logical_xor()` operator instead."
)
_NEGATIVE_BOOL = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
    "mask, use the `~` or `logical_not()` operator instead."
)

# --- arithmetic ------------------------------------------------------------------------------

add = Elementwise("add", (lambda g: g, lambda g: g), linear=True)
subtract = Elementwise(
    "subtract",
    (lambda g: g, lambda g: negative(g)),
    grad_name="SubBackward0",
    refuses=refuse_bool(_SUBTRACT_BOOL),
    linear=True,
)
multiply = Elementwise(
    "multiply",
    (lambda g, y: multiply(g, _conj(y)), lambda g, x: multiply(g, _conj(x))),
    grad_name="MulBackward0",
)
divide = Elementwise(
    "divide",
    (
        lambda g, y: divide(g, _conj(y)),
        lambda g, x, y: negative(multiply(g, _conj(divide(divide(x, y), y)))),
    ),
    result="float",
    grad_name="DivBackward0",
)
negative = Elementwise(
    "negative",
    (lambda g: negative(g),),
    grad_name="NegBackward0",
    refuses=refuse_bool(_NEGATIVE_BOOL),
    linear=True,
)


def _power_base(g: Any, x: Any, y: Any) -> Any:
    slope = multiply(y, power(x, subtract(y, c(1))))
    return multiply(g, _conj(where(equal(y, c(0)), c(0), slope)))


def _power_exponent(g: Any, out: Any, x: Any, y: Any) -> Any:
    slope = multiply(out, log(x))
    at_zero = logical_and(equal(x, c(0)), greater_equal(y, c(0)))
    return multiply(g, _conj(where(at_zero, c(0), slope)))


power = Elementwise("power", (_power_base, _power_exponent), grad_name="PowBackward0")
maximum = Elementwise(
    "maximum",
    (
        lambda g, x, y: multiply(g, _share(greater(x, y), equal(x, y))),
        lambda g, x, y: multiply(g, _share(greater(y, x), equal(x, y))),
    ),
)
minimum = Elementwise(
    "minimum",
    (
        lambda g, x, y: multiply(g, _share(less(x, y), equal(x, y))),
        lambda g, x, y: multiply(g, _share(less(y, x), equal(x, y))),
    ),
)


def _share(wins: Any, ties: Any) -> Any:
    """1 where it wins, 1/2 where both are equal."""
    return where(ties, c(0.5), where(wins, c(1.0), c(0.0)))


# --- comparison and logic --------------------------------------------------------------------

equal = Elementwise("eq", arity=2, result="bool")
not_equal = Elementwise("ne", arity=2, result="bool")
less = Elementwise("lt", arity=2, result="bool")
less_equal = Elementwise("le", arity=2, result="bool")
greater = Elementwise("gt", arity=2, result="bool")
greater_equal = Elementwise("ge", arity=2, result="bool")
logical_and = Elementwise("logical_and", arity=2, result="bool")
logical_or = Elementwise("logical_or", arity=2, result="bool")
logical_xor = Elementwise("logical_xor", arity=2, result="bool")
logical_not = Elementwise("logical_not", arity=1, result="bool")


class _Where(Elementwise):
    """The condition takes no part in promotion."""

    def types(self, avals: Any) -> Any:
        from .. import dtypes

        compute = dtypes.result_type(avals[1:])
        return compute, compute


where = _Where(
    "where",
    (None, lambda g, x: where(x, g, c(0)), lambda g, x: where(x, c(0), g)),
)

# --- functions -------------------------------------------------------------------------------

sqrt = Elementwise("sqrt", (lambda g, out: divide(g, multiply(c(2), _conj(out))),), result="float")
exp = Elementwise("exp", (lambda g, out: multiply(g, _conj(out)),), result="float")
log = Elementwise("log", (lambda g, x: divide(g, _conj(x)),), result="float")
tanh = Elementwise(
    "tanh",
    (lambda g, out: multiply(g, _conj(subtract(c(1), multiply(out, out)))),),
    result="float",
)
sigmoid = Elementwise(
    "sigmoid",
    (lambda g, out: multiply(g, _conj(multiply(out, subtract(c(1), out)))),),
    result="float",
)
erf = Elementwise(
    "erf",
    (
        lambda g, x: multiply(
            g, multiply(c(2 / math.sqrt(math.pi)), exp(negative(multiply(x, x))))
        ),
    ),
    result="float",
)
absolute = Elementwise(
    "absolute", (lambda g, x: multiply(g, sign(x)),), result="real", grad_name="AbsBackward0"
)
sign = Elementwise("sign", (lambda g: multiply(g, c(0)),))
relu = Elementwise("relu", (lambda g, out: threshold_gradient(g, out, c(0)),))
# g where out > limit, else 0
threshold_gradient = Elementwise(
    "threshold_gradient",
    (lambda g, y, z: threshold_gradient(g, y, z), None, None),
    grad_name="ThresholdBackwardBackward0",
)
