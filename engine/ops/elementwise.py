"""Elementwise ops: a scalar function (``kernels/scalar/real.py``) and its partial derivatives.

Sums over broadcast axes and casts back to an input's type happen in the tape, not here. Python
numbers stand in rules as weak constants. Comparisons and ``where`` are in :mod:`.comparison`.
"""

from __future__ import annotations

import math
from typing import Any

from .. import dtypes
from ..aval import Aval, aval, broadcast_two
from ..dtype_support import refuse, require_numbers, unordered, without
from ..dtypes import float16, float32, float64, scalar_type_name
from ..op import Op
from ..result_strides import follow_all
from ..stored_types import computes
from ..tensor import Tensor, full_flat
from ..tensor import constant as c
from . import base
from .base import Elementwise, LibraryElementwise, WholeDivision, refuse_bool
from .comparison import (
    equal,
    greater,
    greater_equal,
    is_nan,
    less,
    less_equal,
    logical_and,
    logical_or,
    where,
)
from .copies import cast

_NEGATIVE_BOOL = (
    "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
    "mask, use the `~` or `logical_not()` operator instead."
)

# --- arithmetic ------------------------------------------------------------------------------

add = Elementwise("add", (lambda g: g, lambda g: g))



def _difference_name(avals: Any, params: Any) -> str:
    return "RsubBackward1" if avals[0].weak and not avals[0].shape else "SubBackward0"


subtract = Elementwise(
    "subtract",
    (lambda g: g, lambda g: negative(g)),
    grad_name=_difference_name,
    dtypes=require_numbers,
)
multiply = Elementwise(
    "multiply",
    (lambda g, y: multiply(g, conj(y)), lambda g, x: multiply(g, conj(x))),
    grad_name="MulBackward0",
)
divide = Elementwise(
    "divide",
    (
        lambda g, y: divide(g, conj(y)),
        lambda g, x, y: negative(multiply(g, conj(divide(divide(x, y), y)))),
    ),
    result="float",
    grad_name="DivBackward0",
    autocast_cuda="quotient",
)
negative = Elementwise(
    "negative",
    (lambda g: negative(g),),
    grad_name="NegBackward0",
    refuses=refuse_bool(_NEGATIVE_BOOL),
)


def _power_base(g: Any, x: Any, y: Any) -> Any:
    if y.aval.weak:
        exponent = y.flat[0].item()
        if exponent == 0:
            return multiply(g, c(0))
        lower = op_of_power(x, exponent - 1)
        slope = power(x, c(exponent - 1)) if lower is None else lower(x)
        slope = multiply(slope, c(exponent))
        return multiply(g, conj(slope))
    slope = multiply(y, power(x, subtract(y, c(1))))
    return multiply(g, conj(where(equal(y, c(0)), c(0), slope)))


def _power_exponent(g: Any, out: Any, x: Any, y: Any) -> Any:
    if out.aval.dtype.is_complex and not x.aval.dtype.is_complex:
        x = cast(x, dtype=out.aval.dtype)  # negative numbers have a logarithm then
    slope = multiply(out, log(x))
    if x.aval.dtype.is_complex or y.aval.dtype.is_complex:
        at_zero = equal(x, c(0))
    else:
        at_zero = logical_and(equal(x, c(0)), greater_equal(y, c(0)))
    return multiply(g, conj(where(at_zero, c(0), slope)))


def _power_name(avals: Any, params: Any) -> str:
    base, exponent = avals
    if base.weak and not base.shape:
        return "PowBackward2"
    return "PowBackward0" if exponent.weak and not exponent.shape else "PowBackward1"


power = Elementwise(
    "power",
    (_power_base, _power_exponent),
    grad_name=_power_name,
    autocast_cuda="full",
    dtypes=without("bool", "pow"),
)


class _Square(Elementwise):
    """Bools are squared as int64."""

    def types(self, avals: Any) -> Any:
        kind = avals[0].dtype
        return (dtypes.int64,) * 2 if kind is dtypes.bool_ else (kind, kind)


def _power_of_number(name: str, exponent: float, scalar: str) -> Elementwise:
    """``x ** exponent`` by products or roots, as PyTorch's loops compute it."""

    def slope(g: Any, x: Any) -> Any:
        lower = op_of_power(x, exponent - 1)
        below = power(x, c(exponent - 1)) if lower is None else lower(x)
        return multiply(g, conj(multiply(below, c(exponent))))

    return _Square(
        name, (slope,), scalar=scalar, grad_name="PowBackward0", autocast_cuda="full"
    )


power_two = _Square(
    "power_two",
    (lambda g, x: multiply(g, multiply(conj(x), c(2))),),
    scalar="square",
    grad_name="PowBackward0",
    autocast_cuda="full",
)
power_three = _power_of_number("power_three", 3, "cube")
power_minus_two = _power_of_number("power_minus_two", -2, "inverse_square")
power_half = _power_of_number("power_half", 0.5, "sqrt")
power_minus_half = _power_of_number("power_minus_half", -0.5, "rsqrt")
power_minus_one = _power_of_number("power_minus_one", -1, "reciprocal")
_PRODUCTS: dict[float, Op] = {2: power_two, 3: power_three}
_ROOTS: dict[float, Op] = {
    -2: power_minus_two, 0.5: power_half, -0.5: power_minus_half, -1: power_minus_one,
}  # fmt: skip


def op_of_power(x: Any, exponent: Any) -> Op | None:
    """The op that computes ``x ** exponent`` by products or roots, if there is one."""
    kind = x.aval.dtype
    if kind.category >= dtypes.FLOAT:
        op = _PRODUCTS.get(exponent) or _ROOTS.get(exponent)
        fits = op is power_two or not (
            kind.is_complex
            # torch's library computes those of float16, whose roots of -infinity are no nan
            or (exponent in (-2, 0.5, -0.5) and kind is dtypes.float16)
        )
        return op if fits and type(exponent) in (int, float) else None
    return _PRODUCTS.get(exponent) if type(exponent) is int else None


square = _Square(
    "square",
    (lambda g, x: multiply(g, multiply(conj(x), c(2))),),
    grad_name="PowBackward0",
    autocast_cuda="full",
)
maximum = Elementwise(
    "maximum",
    (
        lambda g, x, y: multiply(g, _share(less(x, y), equal(x, y))),
        lambda g, x, y: multiply(g, _share(less(y, x), equal(x, y))),
    ),
    dtypes=unordered("maximum not implemented for complex tensors."),
)
minimum = Elementwise(
    "minimum",
    (
        lambda g, x, y: multiply(g, _share(greater(x, y), equal(x, y))),
        lambda g, x, y: multiply(g, _share(greater(y, x), equal(x, y))),
    ),
    dtypes=unordered("minimum not implemented for complex tensors."),
)


def _share(loses: Any, ties: Any) -> Any:
    """0 where it loses, 1/2 where both are equal, else 1: beside nan too."""
    return where(ties, c(0.5), where(loses, c(0.0), c(1.0)))


fmaximum = Elementwise(
    "fmax",
    (
        lambda g, x, y: where(logical_or(greater_equal(x, y), is_nan(y)), g, c(0)),
        lambda g, x, y: where(logical_or(greater_equal(x, y), is_nan(y)), c(0), g),
    ),
    dtypes=unordered("fmax not implemented for complex tensors."),
)
fminimum = Elementwise(
    "fmin",
    (
        lambda g, x, y: where(logical_or(less_equal(x, y), is_nan(y)), g, c(0)),
        lambda g, x, y: where(logical_or(less_equal(x, y), is_nan(y)), c(0), g),
    ),
    dtypes=unordered("fmin not implemented for complex tensors."),
)


def no_slope(g: Any) -> Any:
    """The derivative of what is constant between its steps: zeros, not the absence of one."""
    if g.aval.device.type == "meta":
        return multiply(g, c(0))
    return full_flat(g.aval.shape, g.aval.dtype, 0, g.aval.device)


# quotients rounded down or towards zero; locally constant, so their derivatives are zeros
floor_divide = WholeDivision(
    "floor_divide", (no_slope, no_slope), grad_name="DivBackward2",
    dtypes=without("bool complex", "div_floor_cpu"),
)  # fmt: skip
trunc_divide = WholeDivision(
    "trunc_divide", (no_slope, no_slope), grad_name="DivBackward2",
    dtypes=without("bool complex", "div_trunc_cpu"),
)  # fmt: skip
remainder = WholeDivision(
    "remainder", (lambda g: g, lambda g, x, y: negative(multiply(g, floor_divide(x, y)))),
    dtypes=without("bool complex", "remainder_cpu"),
    grad_name=base.name_by_number("Remainder", 0, 1),
)
fmod = WholeDivision(
    "fmod", (lambda g: g, lambda g, x, y: negative(multiply(g, trunc_divide(x, y)))),
    dtypes=without("bool complex", "fmod_cpu"), grad_name=base.name_by_number("Fmod", 0, 1),
)


hypot = Elementwise(
    "hypot",
    (
        lambda g, x, out: multiply(g, divide(x, out)),
        lambda g, y, out: multiply(g, divide(y, out)),
    ),
    dtypes=without("complex whole", "hypot_cpu"),
)


def _atan2_slope(g: Any, x: Any, y: Any, by: Any) -> Any:
    """g * by / (x^2 + y^2), rounded where PyTorch rounds."""
    square = add(multiply(x, x), multiply(y, y))
    return where(equal(square, c(0)), c(0), multiply(multiply(g, by), reciprocal(square)))


atan2 = Elementwise(
    "atan2",
    (
        lambda g, x, y: _atan2_slope(g, x, y, y),
        lambda g, x, y: _atan2_slope(g, x, y, negative(x)),
    ),
    result="float",
    autocast_cuda="widest",
    dtypes=without("complex", "atan2_cpu"),
)


def _copysign_size(g: Any, x: Any, out: Any) -> Any:
    return where(equal(x, c(0)), c(0), multiply(g, divide(out, x)))


copysign = Elementwise(
    "copysign", (_copysign_size, no_slope), result="float",
    dtypes=without("complex", "copysign_cpu"), grad_name=base.name_by_number("Copysign", 1, 0),
)  # fmt: skip
nextafter = Elementwise(
    "nextafter",
    (lambda g, x, y: where(equal(x, y), c(0), g), no_slope),
    dtypes=without("complex whole", "nextafter_cpu"),
)


class _Clamp(Elementwise):
    def shape_rule(self, *avals: Any) -> Any:
        if dtypes.result_type(avals).is_complex:
            alone = len(avals) == 2 or not avals[0].dtype.is_complex
            if alone and not all(each.weak for each in avals[1:]):
                refuse(f"{self.scalar}_cpu", dtypes.result_type(avals))
            raise NotImplementedError("clamp is not supported for complex types")
        return super().shape_rule(*avals)


def _clamp_low(g: Any, x: Any, y: Any, z: Any) -> Any:
    return where(logical_and(less(x, y), less(y, z)), g, c(0))


def _clamp_high(g: Any, x: Any, y: Any, z: Any) -> Any:
    return where(logical_or(greater(x, z), less(z, y)), g, c(0))


def _clamp_inside(g: Any, x: Any, y: Any, z: Any) -> Any:
    return where(logical_and(greater_equal(x, y), less_equal(x, z)), g, c(0))


# x, lowest, highest
clamp = _Clamp(
    "clamp", (_clamp_inside, _clamp_low, _clamp_high), grad_name=base.name_by_number("Clamp", 1, 0),
    dtypes=without("bool", "clamp_cpu")
)
clamp_min = _Clamp(
    "clamp_min",
    (
        lambda g, x, y: where(greater_equal(x, y), g, c(0)),
        lambda g, x, y: where(less(x, y), g, c(0)),
    ),
    scalar="maximum",
    grad_name=base.name_by_number("Clamp", 1, 0),
)
clamp_max = _Clamp(
    "clamp_max",
    (
        lambda g, x, y: where(less_equal(x, y), g, c(0)),
        lambda g, x, y: where(greater(x, y), g, c(0)),
    ),
    scalar="minimum",
    grad_name=base.name_by_number("Clamp", 1, 0),
)
lerp = Elementwise(
    "lerp",
    (
        lambda g, z: subtract(g, multiply(g, conj(z))),
        lambda g, z: multiply(g, conj(z)),
        lambda g, x, y: multiply(g, conj(subtract(y, x))),
    ),
)

# x + w * y * z
addcmul = Elementwise(
    "addcmul",
    (
        lambda g: g,
        lambda g, z, w: multiply(g, conj(multiply(z, w))),
        lambda g, y, w: multiply(g, conj(multiply(y, w))),
        None,
    ),
    autocast_cuda="widest",
)
# x + z * y and x - z * y
add_scaled = Elementwise(
    "add_scaled",
    (lambda g: g, lambda g, z: multiply(g, z), None),
    grad_name="AddBackward0",
)
subtract_scaled = Elementwise(
    "subtract_scaled",
    (lambda g: g, lambda g, z: negative(multiply(g, z)), None),
    grad_name="SubBackward0",
    dtypes=require_numbers,
)


def _quotient_by(g: Any, y: Any, z: Any, w: Any) -> Any:
    return negative(multiply(g, conj(divide(multiply(y, w), multiply(z, z)))))


# x + w * y / z
addcdiv = Elementwise(
    "addcdiv",
    (lambda g: g, lambda g, z, w: multiply(g, conj(divide(w, z))), _quotient_by, None),
    autocast_cuda="widest",
)

# --- functions -------------------------------------------------------------------------------


def _function(name: str, rule: Any, **options: Any) -> Elementwise:
    """A function of one number whose result is a floating-point number."""
    return Elementwise(name, (rule,), result="float", **options)


def _times(g: Any, slope: Any) -> Any:
    return multiply(g, conj(slope))


def _cubed(x: Any) -> Any:
    """x^3, which PyTorch rounds once in float16 and twice in other types."""
    if x.aval.dtype is dtypes.float16:
        return power(x, c(3))
    return multiply(x, multiply(x, x))


def _one_minus_square(x: Any) -> Any:
    return subtract(c(1), multiply(x, x))


sqrt = _function("sqrt", lambda g, out: divide(g, multiply(conj(out), c(2))))
rsqrt = _function(
    "rsqrt", lambda g, out: _times(multiply(g, c(-0.5)), _cubed(out)), autocast_cuda="full"
)
reciprocal = _function(
    "reciprocal", lambda g, out: negative(_times(g, multiply(out, out))), autocast_cuda="full"
)
exp = _function("exp", lambda g, out: _times(g, out), autocast_cuda="full")
exp2 = _function("exp2", lambda g, out: multiply(_times(g, out), c(math.log(2))))
expm1 = _function("expm1", lambda g, out: _times(g, add(out, c(1))), autocast_cuda="full")
log = _function("log", lambda g, x: divide(g, conj(x)), autocast_cuda="full")
log2 = _function(
    "log2", lambda g, x: divide(g, conj(multiply(x, c(math.log(2))))), autocast_cuda="full"
)
log10 = _function(
    "log10", lambda g, x: divide(g, conj(multiply(x, c(math.log(10))))), autocast_cuda="full"
)
log1p = _function(
    "log1p",
    lambda g, x: divide(g, conj(add(x, c(1)))),
    autocast_cuda="full",
    grad_name="Log1PBackward0",
)
sin = _function("sin", lambda g, x: _times(g, cos(x)))
cos = _function("cos", lambda g, x: negative(_times(g, sin(x))))
tan = _function(
    "tan", lambda g, out: _times(g, add(multiply(out, out), c(1))), autocast_cuda="full"
)
asin = _function("asin", lambda g, x: _times(g, rsqrt(_one_minus_square(x))), autocast_cuda="full")
acos = _function(
    "acos", lambda g, x: negative(_times(g, rsqrt(_one_minus_square(x)))), autocast_cuda="full"
)
atan = _function("atan", lambda g, x: divide(g, conj(add(multiply(x, x), c(1)))))
sinh = _function("sinh", lambda g, x: _times(g, cosh(x)), autocast_cuda="full")
cosh = _function("cosh", lambda g, x: _times(g, sinh(x)), autocast_cuda="full")
asinh = _function("asinh", lambda g, x: _times(g, rsqrt(add(multiply(x, x), c(1)))))


def _acosh_slope(x: Any) -> Any:
    if x.aval.dtype.is_complex:
        return multiply(rsqrt(subtract(x, c(1))), rsqrt(add(x, c(1))))
    return rsqrt(subtract(multiply(x, x), c(1)))


acosh = _function("acosh", lambda g, x: _times(g, _acosh_slope(x)))
atanh = _function("atanh", lambda g, x: divide(g, conj(_one_minus_square(x))))


def _real_only(name: str) -> Any:
    def check(dtype: Any) -> None:
        if dtype.is_complex:
            raise RuntimeError(f"{name} is not supported for complex tensors.")

    return check


deg2rad = _function(
    "deg2rad", lambda g: multiply(g, c(math.pi / 180)), refuses=_real_only("deg2rad"),
    grad_name="Deg2RadBackward0",
)  # fmt: skip
rad2deg = _function(
    "rad2deg", lambda g: multiply(g, c(180 / math.pi)), refuses=_real_only("rad2deg"),
    grad_name="Rad2DegBackward0",
)  # fmt: skip


def _tanh_rule(g: Any, out: Any) -> Any:
    if out.aval.dtype.is_complex:
        return _times(g, _one_minus_square(out))
    return tanh_gradient(g, out)


def _sigmoid_rule(g: Any, out: Any) -> Any:
    if out.aval.dtype.is_complex:
        return _times(g, multiply(out, subtract(c(1), out)))
    return sigmoid_gradient(g, out)


tanh = _function("tanh", _tanh_rule)
# g * (1 - y * y), y the result of tanh
tanh_gradient = Elementwise(
    "tanh_gradient",
    (
        lambda g, y: tanh_gradient(g, y),
        lambda g, x, y: multiply(multiply(g, x), multiply(y, c(-2))),
    ),
    grad_name="TanhBackwardBackward0",
)
sigmoid = _function("sigmoid", _sigmoid_rule)
# g * y * (1 - y), y the result of sigmoid
sigmoid_gradient = Elementwise(
    "sigmoid_gradient",
    (
        lambda g, y: sigmoid_gradient(g, y),
        lambda g, x, y: multiply(multiply(g, x), subtract(c(1), multiply(y, c(2)))),
    ),
    grad_name="SigmoidBackwardBackward0",
)


def _absolute_rule(g: Any, x: Any) -> Any:
    return multiply(g, sgn(x) if x.aval.dtype.is_complex else sign(x))


absolute = Elementwise(
    "absolute",
    (_absolute_rule,),
    result="real",
    grad_name="AbsBackward0",
    dtypes=without("bool", "abs_cpu"),
)
sign = Elementwise(
    "sign",
    (no_slope,),
    dtypes=unordered(
        "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
        "torch.sgn instead.",
        NotImplementedError,
    ),
)


def _sgn_rule(g: Any, x: Any, out: Any) -> Any:
    if not x.aval.dtype.is_complex:
        return no_slope(g)
    turned = multiply(real(multiply(g, conj(out))), out)
    return where(equal(x, c(0)), c(0), divide(subtract(g, turned), absolute(x)))


sgn = Elementwise("sgn", (_sgn_rule,))
# --- complex numbers -------------------------------------------------------------------------

# a complex number from its parts; their gradients are those of the real and imaginary part
make_complex = Op(
    "complex",
    lambda x, y: aval(_common(x, y), x.dtype.to_complex(), None, x.device),
    "scipy_special.make_complex",
    layout=follow_all,
    vjp=(lambda g: real(g), lambda g: imag(g)),
)
_conjugate = LibraryElementwise("conj", (lambda g: conj(g),), grad_name="ConjBackward0")
real_part = LibraryElementwise(
    "real", (lambda g, avals: _with_zero_imaginary(g),), result="real"
)
imaginary_part = LibraryElementwise(
    "imag", (lambda g: make_complex(multiply(g, c(0)), g),), result="real"
)


def check_parts(x: Aval, y: Aval) -> None:
    """torch's errors for two tensors that cannot be the parts of a complex one."""
    if any(a.dtype not in (float16, float32, float64) for a in (x, y)):
        raise RuntimeError(
            "Expected both inputs to be Half, Float or Double tensors but got "
            f"{scalar_type_name(x.dtype)} and {scalar_type_name(y.dtype)}"
        )
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {scalar_type_name(x.dtype)} but got scalar type "
            f"{scalar_type_name(y.dtype)} for second argument"
        )


def _common(x: Aval, y: Aval) -> Any:
    check_parts(x, y)
    return broadcast_two(x.shape, y.shape)


def _with_zero_imaginary(g: Any) -> Any:
    return make_complex(g, multiply(g, c(0)))


def conj(x: Tensor) -> Tensor:
    """The complex conjugate; ``x`` itself where it is real."""
    return _conjugate(x) if x.aval.dtype.is_complex else x


def real(x: Tensor) -> Tensor:
    """The real part; ``x`` itself where it is real."""
    return real_part(x) if x.aval.dtype.is_complex else x


def imag(x: Tensor) -> Tensor:
    """The imaginary part of a complex tensor."""
    if not x.aval.dtype.is_complex:
        raise RuntimeError(
            "imag is not implemented for tensors with non-complex dtypes."
        )
    return imaginary_part(x)


# what element types that are stored alone have of these ops
computes("complex",
    add, subtract, multiply, negative, addcmul, add_scaled, subtract_scaled, addcdiv,
    make_complex, _conjugate, real_part, imaginary_part,
)  # fmt: skip
computes("both", absolute)
