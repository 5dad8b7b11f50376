"""Functions of each element: arithmetic, rounding, exponentials, special functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import inplace, tape
from mindtorch.engine.call_cache.call_cache import cached
from mindtorch.engine.dispatch import call_of, in_frames_as
from mindtorch.engine.dtype_support import refuse, require_numbers
from mindtorch.engine.implementations import Implementations
from mindtorch.engine.ops import activations as activation_ops
from mindtorch.engine.ops import comparison as comparisons
from mindtorch.engine.ops import elementwise as ops
from mindtorch.engine.ops import elementwise_special as special
from mindtorch.engine.ops import movement, rounding
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant, of_numpy

from .. import return_types
from .._api.arguments import as_int, check_form, check_value, require_power, require_tensor
from .._api.out_rules import FOUND, ONLY_BOOLEAN, Out
from .._api.public import Public
from .._api.publish import (
    METHODS,
    NOT_GIVEN,
    binary,
    check_numbers,
    elementwise,
    function,
    of_numbers,
    operand,
    second,
    store_out,
    write_result,
)
from .._api.shown_signature import ShownSignature
from .._api.signatures import is_number
from ._old_forms import old_factor
from ._powers import power_of_number

_NUMBERS = (float, int, bool, complex)

for _name, _op, _aliases, _formula in (
    ("sqrt", ops.sqrt, (), "sqrt(x)"),
    ("rsqrt", ops.rsqrt, (), "1 / sqrt(x)"),
    ("reciprocal", ops.reciprocal, (), "1 / x"),
    ("exp", ops.exp, (), "e ** x"),
    ("exp2", ops.exp2, (), "2 ** x"),
    ("expm1", ops.expm1, (), "e ** x - 1"),
    ("log", ops.log, (), "the logarithm of x to the base e"),
    ("log2", ops.log2, (), "the logarithm of x to the base 2"),
    ("log10", ops.log10, (), "the logarithm of x to the base 10"),
    ("log1p", ops.log1p, (), "log(1 + x)"),
    ("sin", ops.sin, (), "sin(x), x in radians"),
    ("cos", ops.cos, (), "cos(x), x in radians"),
    ("tan", ops.tan, (), "tan(x), x in radians"),
    ("asin", ops.asin, ("arcsin",), "the angle in [-pi / 2, pi / 2] whose sine is x"),
    ("acos", ops.acos, ("arccos",), "the angle in [0, pi] whose cosine is x"),
    ("atan", ops.atan, ("arctan",), "the angle in (-pi / 2, pi / 2) whose tangent is x"),
    ("sinh", ops.sinh, (), "(e ** x - e ** -x) / 2"),
    ("cosh", ops.cosh, (), "(e ** x + e ** -x) / 2"),
    ("tanh", ops.tanh, (), "sinh(x) / cosh(x)"),
    ("asinh", ops.asinh, ("arcsinh",), "log(x + sqrt(x * x + 1))"),
    ("acosh", ops.acosh, ("arccosh",), "log(x + sqrt(x * x - 1))"),
    ("atanh", ops.atanh, ("arctanh",), "log((1 + x) / (1 - x)) / 2"),
    ("sigmoid", ops.sigmoid, (), "1 / (1 + e ** -x)"),
    ("erf", special.erf, (), "2 / sqrt(pi) times the integral of e ** -t**2 from 0 to x"),
    ("erfc", special.erfc, (), "1 - erf(x)"),
    ("erfinv", special.erfinv, (), "y with erf(y) = x"),
    ("lgamma", special.lgamma, (), "log(abs(gamma(x)))"),
    ("digamma", special.digamma, (), "the derivative of lgamma at x"),
    ("i0", special.i0, (), "the modified Bessel function of the first kind of order 0 at x"),
    ("sinc", special.sinc, (), "sin(pi x) / (pi x), and 1 for 0"),
    ("relu", activation_ops.relu, (), "max(x, 0)"),
    ("deg2rad", ops.deg2rad, (), "x * pi / 180"),
    ("rad2deg", ops.rad2deg, (), "x * 180 / pi"),
):
    elementwise(_name, _op, _formula, aliases=_aliases)
for _name, _op, _aliases, _formula in (
    ("abs", ops.absolute, ("absolute",), "abs(x)"),
    ("neg", ops.negative, ("negative",), "-x"),
    ("sign", ops.sign, (), "1, 0 or -1: the sign of x"),
    ("sgn", ops.sgn, (), "x / abs(x), and 0 for 0"),
    ("floor", rounding.floor, (), "the greatest integer not above x"),
    ("ceil", rounding.ceil, (), "the least integer not below x"),
    ("trunc", rounding.trunc, ("fix",), "x without its fraction"),
    ("frac", rounding.frac, (), "x - trunc(x)"),
):
    elementwise(_name, _op, _formula, aliases=_aliases, out=Out(FOUND))
elementwise("square", ops.square, "x * x", out=Out(shown="pow"), cacheable=True)
elementwise(
    "signbit", comparisons.signbit, "whether the sign bit of x is set", in_place=False,
    out=Out(ONLY_BOOLEAN),
)  # fmt: skip

for _name, _op, _aliases, _numbers, _formula in (
    ("fmod", ops.fmod, (), "other", "x - trunc(x / y) * y: the remainder with the sign of x"),
    ("remainder", ops.remainder, (), "one",
     "x - floor(x / y) * y: the remainder with the sign of y"),
    ("atan2", ops.atan2, ("arctan2",), "none",
     "the angle in [-pi, pi] of the point with abscissa y and ordinate x"),
    ("hypot", ops.hypot, (), "none", "sqrt(x * x + y * y)"),
    ("copysign", ops.copysign, (), "other", "abs(x) with the sign of y"),
    ("nextafter", ops.nextafter, (), "none", "the number next to x towards y"),
    ("xlogy", special.xlogy, (), "one", "x * log(y), and 0 where x is 0 and y no nan"),
    ("gcd", comparisons.gcd, (), "none", "the greatest common divisor of integers"),
    ("lcm", comparisons.lcm, (), "none", "the least common multiple of integers"),
    ("igamma", special.igamma, (), "none",
     "the regularised lower incomplete gamma function P(x, y)"),
    ("igammac", special.igammac, (), "none",
     "the regularised upper incomplete gamma function 1 - P(x, y)"),
    ("mul", ops.multiply, ("multiply",), "both", "x * y"),
):
    binary(_name, _op, _formula, aliases=_aliases, numbers=_numbers)
binary("floor_divide", ops.floor_divide, "floor(x / y)", out=Out(shown="aten::floor_divide"))

for _name, _op, _formula in (
    ("maximum", ops.maximum, "the greater of both; nan if one is nan"),
    ("minimum", ops.minimum, "the lesser of both; nan if one is nan"),
    ("fmax", ops.fmaximum, "the greater of both; nan only if both are"),
    ("fmin", ops.fminimum, "the lesser of both; nan only if both are"),
    ("logaddexp", special.logaddexp, "log(e ** x + e ** y)"),
    ("logaddexp2", special.logaddexp2, "log2(2 ** x + 2 ** y)"),
):
    binary(_name, _op, _formula, in_place=False, numbers="none")


# --- sums and differences --------------------------------------------------------------------


def scaled_operand(other: Any, alpha: Any, name: str, beside: Any = None) -> Any:
    """``alpha * other``; torch's errors for an alpha of the wrong kind.

    Args:
        beside: the tensor that it is added to, whose type may make the sum a floating-point one.
    """
    other = operand(other, name, "other")
    if "sub" in name and isinstance(beside, EngineTensor):
        require_numbers(beside.aval, other.aval)
    other = _in_type_of_sum(other, beside)
    if isinstance(alpha, EngineTensor) and not is_number(alpha):
        raise TypeError(f"{name}(): argument 'alpha' must be Number, not Tensor")
    alpha = of_numpy(alpha) if isinstance(alpha, np.generic) else alpha
    if alpha == 1 and type(alpha) is int:
        return other
    kinds = [x.aval for x in (other, beside) if isinstance(x, EngineTensor)]
    if isinstance(alpha, (float, complex)) and dtypes.result_type(kinds).category < dtypes.FLOAT:
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if isinstance(alpha, complex) and not dtypes.result_type(kinds).is_complex:
        raise RuntimeError(
            "For non-complex input tensors, argument alpha must not be a complex number."
        )
    if isinstance(alpha, bool) and other.aval.dtype is not dtypes.bool_:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    common = dtypes.result_type(kinds) if kinds else other.aval.dtype
    if common is dtypes.bool_:
        alpha = bool(alpha)
    check_value(alpha, common, filling=False)
    if alpha == 1:
        return other
    return ops.multiply(other, operand(alpha, name, "alpha"))


def _in_type_of_sum(other: Any, beside: Any) -> Any:
    """Whole numbers as floating-point ones where they are added to such a tensor."""
    if not isinstance(beside, EngineTensor) or beside.aval.dtype.category < dtypes.FLOAT:
        return other
    if other.aval.dtype.category >= dtypes.FLOAT:
        return other
    return movement.cast(other, dtype=beside.aval.dtype)


def _is_fused(x: Any, other: Any, alpha: Any) -> bool:
    """Whether the product with alpha and the sum are one rounding, as in PyTorch's loops."""
    return (
        type(alpha) in (int, float)
        and alpha != 1
        and isinstance(other, EngineTensor)
        and isinstance(x, EngineTensor)
        and other.aval.dtype.is_floating_point
        and not x.aval.dtype.is_complex
    )


def _factor(x: Any, other: Any, alpha: float) -> Any:
    """Alpha as PyTorch's loops have it: of the sum's type where that is of 16 bits."""
    if other.aval.dtype.itemsize == 2 and x.aval.dtype is other.aval.dtype:
        alpha = float(other.aval.dtype.np.type(alpha))
    return constant(alpha)


_sum, _difference, _quotient = (call_of(op, 2) for op in (ops.add, ops.subtract, ops.divide))


def _scaled_sum(first: Any, other: Any, alpha: Any) -> Any:
    first, other = of_numbers(first, other)
    if _is_fused(first, other, alpha):
        return ops.add_scaled(first, other, _factor(first, other, alpha))
    return ops.add(operand(first, "add", "input"), scaled_operand(other, alpha, "add", first))


@function(out=True, cacheable=True)
def add(input: Any, other: Any, *old: Any, alpha: Any = 1) -> Any:  # noqa: A002
    """``input + alpha * other``."""
    if old:
        alpha, (other,) = other, old_factor("add", "alpha", "other", input, other, old)
    if alpha.__class__ is not int or alpha != 1 or other.__class__ in _NUMBERS:
        return _scaled_sum(input, other, alpha)
    if not isinstance(other, EngineTensor):
        other = operand(other, "add", "other")
    return _sum(input if isinstance(input, EngineTensor) else operand(input, "add", "input"), other)


@function(out=True, aliases=("subtract",), cacheable=True)
def sub(input: Any, other: Any, *old: Any, alpha: Any = 1) -> Any:  # noqa: A002
    """``input - alpha * other``."""
    if old:
        alpha, (other,) = other, old_factor("sub", "alpha", "other", input, other, old)
    if not isinstance(input, EngineTensor):
        input, other = of_numbers(input, other)  # noqa: A001
    if _is_fused(input, other, alpha):
        return ops.subtract_scaled(input, other, _factor(input, other, alpha))
    if alpha.__class__ is int and alpha == 1 and isinstance(other, EngineTensor):
        if other.aval.dtype is not dtypes.bool_:  # the op refuses them
            other = _in_type_of_sum(other, input)
    else:
        other = scaled_operand(other, alpha, "sub", input)
    return _difference(operand(input, "sub", "input"), other)


_add_others, _sub_others = Implementations(), Implementations()


def _other_of(name: str, given: Any, old: Any, x2: Any, other: Any) -> tuple[Any, Any]:
    """The second operand, given by place or by one of its names, and what follows it by place: in
    the older form, `add_(2, other=y)`, the factor comes first."""
    named = x2 if other is NOT_GIVEN else other
    if named is NOT_GIVEN:
        return (second(name, given) if given is NOT_GIVEN else given), old
    return (named, old) if given is NOT_GIVEN else (given, (*old, named))


def _add_(
    self: Any, given: Any = NOT_GIVEN, /, *old: Any, alpha: Any = 1, x2: Any = NOT_GIVEN,
    other: Any = NOT_GIVEN,
) -> Any:  # fmt: skip
    """``self += alpha * other``."""
    other, old = _other_of("add_", given, old, x2, other)
    if _add_others:
        found = _add_others.call((self, other, *old), {"alpha": alpha})
        if found is not NotImplemented:
            return found
    if old:
        alpha, (other,) = other, old_factor("add_", "alpha", "other", self, other, old)
    if alpha.__class__ is int and alpha == 1 and isinstance(other, EngineTensor) and (
        other.aval.dtype is self.aval.dtype
    ):
        return inplace.apply_in_place(ops.add, self, self, other)
    if _is_fused(self, other, alpha):
        factor = _factor(self, other, alpha)
        return inplace.apply_in_place(ops.add_scaled, self, self, other, factor)
    return inplace.apply_in_place(ops.add, self, self, scaled_operand(other, alpha, "add_", self))


def _sub_(
    self: Any, given: Any = NOT_GIVEN, /, *old: Any, alpha: Any = 1, x2: Any = NOT_GIVEN,
    other: Any = NOT_GIVEN,
) -> Any:  # fmt: skip
    """``self -= alpha * other``."""
    other, old = _other_of("sub_", given, old, x2, other)
    if _sub_others:
        found = _sub_others.call((self, other, *old), {"alpha": alpha})
        if found is not NotImplemented:
            return found
    if old:
        alpha, (other,) = other, old_factor("sub_", "alpha", "other", self, other, old)
    if _is_fused(self, other, alpha):
        factor = _factor(self, other, alpha)
        return inplace.apply_in_place(ops.subtract_scaled, self, self, other, factor)
    scaled = scaled_operand(other, alpha, "sub_", self)
    return inplace.apply_in_place(ops.subtract, self, self, scaled)


for _body, _others in ((_add_, _add_others), (_sub_, _sub_others)):
    in_frames_as(_body.__name__[1:], _body)
    _written: Any = cached(_body, others=_others, writes=True)
    _written.__signature__ = ShownSignature(lambda self, other, *, alpha=1: None)
    _written.public = Public(_body.__name__, _body, explained=False, implementations=_others)
    METHODS[_body.__name__] = _written
METHODS["subtract_"] = METHODS["sub_"]


@function()
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:  # noqa: A002
    """``other - alpha * input``."""
    check_form(
        "rsub", isinstance(input, EngineTensor), (input, other),
        "Tensor input, Tensor other, *, Number alpha = 1",
        "Tensor input, Number other, Number alpha = 1",
    )  # fmt: skip
    if _is_fused(other, input, alpha):
        found = ops.subtract_scaled(other, input, _factor(other, input, alpha))
        return tape.named(found, f"RsubBackward{int(not isinstance(other, EngineTensor))}")
    scaled = scaled_operand(input, alpha, "rsub", other)
    found = ops.subtract(operand(other, "rsub", "other"), scaled)
    return tape.named(found, f"RsubBackward{int(not isinstance(other, EngineTensor))}")


_ROUNDED = {None: ops.divide, "floor": ops.floor_divide, "trunc": ops.trunc_divide}


def _division(rounding_mode: Any) -> Any:
    op = _ROUNDED.get(rounding_mode)
    if op is None:
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    return op


@function(out=True, aliases=("divide",))
def div(input: Any, other: Any, *, rounding_mode: Any = None) -> Any:  # noqa: A002
    """``input / other``, rounded down ("floor") or towards zero ("trunc") on request."""
    if rounding_mode is None and isinstance(input, EngineTensor) and (
        isinstance(other, EngineTensor)
    ):
        return _quotient(input, other)
    op = ops.divide if rounding_mode is None else _division(rounding_mode)
    if not isinstance(input, EngineTensor):
        input, other = of_numbers(input, other)  # noqa: A001
    x, y = operand(input, "div", "input"), operand(other, "div", "other")
    if op is ops.trunc_divide and _is_short(x, y):
        return rounding.trunc(ops.divide(x, y))
    return op(x, y)


def _is_short(x: Any, y: Any) -> bool:
    """Whether a quotient has 16 bits: torch rounds it before it truncates it."""
    kind = dtypes.result_type((x.aval, y.aval))
    return kind.category == dtypes.FLOAT and kind.itemsize == 2


@function(namespace=False, name="div_", aliases=("divide_",), cacheable=True)
def _div_(self: Any, other: Any, *, rounding_mode: Any = None) -> Any:
    """``self /= other``."""
    op = _division(rounding_mode)
    if op is ops.trunc_divide and _is_short(self, operand(other, "div_", "other")):
        inplace.check_writable(self)
        return write_result(self, div(self, other, rounding_mode="trunc"))
    return inplace.apply_in_place(op, self, self, operand(other, "div_", "other"))


@function(out=Out(shown="div"), in_place=True)
def true_divide(input: Any, other: Any) -> Any:  # noqa: A002
    """``input / other``."""
    if not isinstance(input, EngineTensor):
        input, other = of_numbers(input, other)  # noqa: A001
    return ops.divide(operand(input, "div", "input"), operand(other, "div", "other"))


@function(out=True)
def pow(input: Any, exponent: Any) -> Any:  # noqa: A001, A002
    """``input ** exponent``."""
    if not isinstance(input, EngineTensor):
        check_numbers("pow", "one", input, exponent)
        if isinstance(exponent, EngineTensor):
            exponent = movement.contiguous(exponent)
    elif exponent.__class__ in _NUMBERS:
        return power_of_number(input, exponent)
    return ops.power(operand(input, "pow", "input"), operand(exponent, "pow", "exponent"))


@function(namespace=False, name="pow_", cacheable=True)
def _pow_(self: Any, exponent: Any) -> Any:
    """``self **= exponent``."""
    if isinstance(exponent, int) and exponent < 0:
        require_power(self, exponent)
    op = ops.op_of_power(self, exponent) if exponent.__class__ in _NUMBERS else None
    if op is not None:
        return inplace.apply_in_place(op, self, self)
    return inplace.apply_in_place(ops.power, self, self, operand(exponent, "pow_", "exponent"))


@function(
    out=Out(
        cast=(
            "the output given to float_power has dtype {out} but the operation's result "
            "requires dtype {result}"
        ),
        shown="pow",
    ),
    in_place=True,
)
def float_power(input: Any, exponent: Any) -> Any:  # noqa: A002
    """``input ** exponent`` in double precision."""
    check_numbers("float_power", "one", input, exponent)
    base, power = operand(input, "float_power", "input"), operand(exponent, "float_power", "exp")
    is_complex = base.aval.dtype.is_complex or power.aval.dtype.is_complex
    wide = dtypes.complex128 if is_complex else dtypes.float64
    found = ops.power(movement.cast(base, dtype=wide), movement.cast(power, dtype=wide))
    return tape.named(found, f"PowBackward{int(isinstance(exponent, EngineTensor))}")


@function(namespace=False, name="float_power_")
def _float_power_(self: Any, exponent: Any) -> Any:
    """``self`` to the power of ``exponent``, where ``self`` has double precision."""
    power = operand(exponent, "float_power_", "exponent")
    is_complex = self.aval.dtype.is_complex or power.aval.dtype.is_complex
    wide = dtypes.complex128 if is_complex else dtypes.float64
    if self.aval.dtype is not wide:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {dtypes.scalar_type_name(self.aval.dtype)} "
            f"but the operation's result requires dtype {dtypes.scalar_type_name(wide)}"
        )
    return inplace.apply_in_place(ops.power, self, self, power)


@function()
def frexp(input: Any, *, out: Any = None) -> Any:  # noqa: A002
    """``input`` as ``mantissa * 2 ** exponent`` with the mantissa's size in [1/2, 1)."""
    require_tensor(input, "frexp", "input", 1)
    if input.aval.dtype.category != dtypes.FLOAT:
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    found = return_types.frexp(special.frexp_mantissa(input), special.frexp_exponent(input))
    if out is None:
        return found
    same = "torch.frexp() expects mantissa to have dtype {c_result} but got {c_out}"
    return store_out(found, out, "frexp", (), Out(same))


# --- rounding and limits ---------------------------------------------------------------------


@function(out=Out(FOUND), cacheable=True)
def round(input: Any, *, decimals: int = 0) -> Any:  # noqa: A001, A002
    """To the nearest number with ``decimals`` places, halves to the even one."""
    require_tensor(input, "round", "input", 1)
    decimals = as_int(decimals)
    if decimals == 0:
        return rounding.round_(input)
    if input.aval.dtype.category != dtypes.FLOAT:
        refuse("round_cpu", input.aval.dtype)
    if input.aval.dtype.itemsize < 4:  # rounded to the type once, at the end
        wide = round(movement.cast(input, dtype=dtypes.float32), decimals=decimals)
        return tape.named(movement.cast(wide, dtype=input.aval.dtype), "RoundBackward1")
    factor = constant(10.0 ** abs(decimals))
    if decimals > 0:
        result = ops.divide(rounding.round_(ops.multiply(input, factor)), factor)
    else:
        result = ops.multiply(rounding.round_(ops.divide(input, factor)), factor)
    return tape.named(result, "RoundBackward1")


@function(name="round_", cacheable=True)
def _round_(self: Any, *, decimals: int = 0) -> Any:
    """:func:`round` over ``self``, to ``decimals`` places."""
    require_tensor(self, "round_", "input", 1)
    if not as_int(decimals):
        return inplace.apply_in_place(rounding.round_, self, self)
    inplace.check_writable(self)
    return write_result(self, round(movement.clone(self), decimals=decimals))


def _clamp(input: Any, min: Any, max: Any) -> Any:  # noqa: A002
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if min is None:
        return ops.clamp_max, (input, operand(max, "clamp", "max"))
    if max is None:
        return ops.clamp_min, (input, operand(min, "clamp", "min"))
    return ops.clamp, (input, operand(min, "clamp", "min"), operand(max, "clamp", "max"))


@function(out=True, aliases=("clip",), cacheable=True)
def clamp(input: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    """``input`` not below ``min`` and not above ``max``."""
    require_tensor(input, "clamp", "input", 1)
    op, inputs = _clamp(input, min, max)
    return op(*inputs)


@function(name="clamp_", aliases=("clip_",), cacheable=True)
def _clamp_(self: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    """:func:`clamp` over ``self``."""
    op, inputs = _clamp(self, min, max)
    return inplace.apply_in_place(op, self, *inputs)


@function(out=True, in_place=True, cacheable=True)
def clamp_min(input: Any, min: Any) -> Any:  # noqa: A002
    """``input`` not below ``min``."""
    check_numbers("clamp_min", "other", input, min)
    form = int(isinstance(min, EngineTensor))
    bounded = ops.clamp_min(input, operand(min, "clamp_min", "min"))
    return tape.named(bounded, f"ClampMinBackward{form}")


@function(out=True, in_place=True, cacheable=True)
def clamp_max(input: Any, max: Any) -> Any:  # noqa: A002
    """``input`` not above ``max``."""
    check_numbers("clamp_max", "other", input, max)
    form = int(isinstance(max, EngineTensor))
    bounded = ops.clamp_max(input, operand(max, "clamp_max", "max"))
    return tape.named(bounded, f"ClampMaxBackward{form}")


@function(
    out=Out("nan_to_num: dtype of out: {out} should be same as input: {result}"),
    in_place=True, cacheable=True,
)  # fmt: skip
def nan_to_num(
    input: Any,  # noqa: A002
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Any:
    """nan, inf and -inf replaced: by 0 and the type's limits unless given."""
    import ml_dtypes

    dtype = input.aval.dtype
    if dtype.category < dtypes.FLOAT:
        return movement.clone(input)
    limits = ml_dtypes.finfo(dtype.to_real().np)
    high = float(limits.max) if posinf is None else float(posinf)
    low = float(limits.min) if neginf is None else float(neginf)
    return special.nan_to_num(input, constant(float(nan or 0)), constant(high), constant(low))


# --- complex ---------------------------------------------------------------------------------


@function(namespace=False)
def chalf(input: Any, *, memory_format: Any = None) -> Any:  # noqa: A002
    """``input`` as complex32."""
    given = {} if memory_format is None else {"memory_format": memory_format}
    return input.to(dtypes.complex32, **given)
