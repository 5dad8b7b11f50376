"""Writers of ops that compute each element from the elements at the same place.

They write in the words of ONNX's operators; a writer of another format has methods of these names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.ops import (
    activations,
    copies,
    elementwise,
    elementwise_special,
    indexing,
    rounding,
)
from mindtorch.engine.ops import activations as activation_ops
from mindtorch.engine.ops import comparison as comparisons
from mindtorch.engine.ops.base import Elementwise

from .errors import UnsupportedOperatorError
from .writers import Writers

__all__ = ["ELEMENTWISE"]

Formula = Callable[..., str]
Writer = Any
ELEMENTWISE = Writers()
writes = ELEMENTWISE.writes


def _elementwise(*ops: Elementwise) -> Callable[[Formula], Formula]:
    """Make ``formula(writer, dtype, *inputs)`` the writer of these ops: its inputs have the type
    that the op computes in."""

    def register(formula: Formula) -> Formula:
        def write(w: Writer, node: Any) -> str:
            compute, stored = node.op.types(tuple([v.aval for v in node.inputs]))
            given = [w.typed(v, compute) for v in node.inputs]
            result = formula(w, compute, *given)
            if node.op.result == "bool":
                return result
            return w.cast(result, compute, stored)

        writes(*ops)(write)
        return formula

    return register


def _direct(operator: str, op: Elementwise) -> None:
    _elementwise(op)(lambda w, dtype, *given: str(getattr(w, operator)(*given)))


_direct("Relu", activation_ops.relu)
_direct("Exp", elementwise.exp)
_direct("Log", elementwise.log)
_direct("Sqrt", elementwise.sqrt)
_direct("Sigmoid", elementwise.sigmoid)
_direct("Tanh", elementwise.tanh)
_direct("Erf", elementwise_special.erf)
_direct("Floor", rounding.floor)
_direct("Ceil", rounding.ceil)
_direct("Round", rounding.round_)
_direct("Sin", elementwise.sin)
_direct("Cos", elementwise.cos)
_direct("Tan", elementwise.tan)
_direct("Asin", elementwise.asin)
_direct("Acos", elementwise.acos)
_direct("Atan", elementwise.atan)
_direct("Sinh", elementwise.sinh)
_direct("Cosh", elementwise.cosh)
_direct("Asinh", elementwise.asinh)
_direct("Acosh", elementwise.acosh)
_direct("Atanh", elementwise.atanh)
_direct("Reciprocal", elementwise.reciprocal)
_direct("Sign", elementwise.sign)
_direct("Mish", activations.mish)
_direct("Abs", elementwise.absolute)
_direct("Neg", elementwise.negative)
_direct("HardSwish", activations.hardswish)
_direct("IsNaN", comparisons.is_nan)
_direct("IsInf", comparisons.is_infinite)
_direct("Sqrt", elementwise.power_half)
_direct("Reciprocal", elementwise.power_minus_one)
_direct("Sub", elementwise.subtract)
_direct("Div", elementwise.divide)
_direct("Pow", elementwise.power)
_direct("Equal", comparisons.equal)


def _of_truth(operator: str, logical: str, op: Elementwise) -> None:
    """An operator of numbers that has another name for truth values."""

    def formula(w: Writer, dtype: Any, a: str, b: str) -> str:
        return str(getattr(w, logical if dtype is dtypes.bool_ else operator)(a, b))

    _elementwise(op)(formula)


_of_truth("Add", "Or", elementwise.add)
_of_truth("Mul", "And", elementwise.multiply)
_of_truth("BitwiseAnd", "And", comparisons.bitwise_and)
_of_truth("BitwiseOr", "Or", comparisons.bitwise_or)
_of_truth("BitwiseXor", "Xor", comparisons.bitwise_xor)


def _in_int8(operator: str, op: Elementwise) -> None:
    """An operator that does not take truth values."""

    def formula(w: Writer, dtype: Any, a: str, b: str) -> str:
        compares = operator in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual")
        if dtype is not dtypes.bool_:
            return str(getattr(w, operator)(a, b))
        a, b = (w.cast(x, dtype, dtypes.int32) for x in (a, b))
        made = str(getattr(w, operator)(a, b))
        return made if compares else w.cast(made, dtypes.int32, dtypes.bool_)

    _elementwise(op)(formula)


_in_int8("Less", comparisons.less)
_in_int8("LessOrEqual", comparisons.less_equal)
_in_int8("Greater", comparisons.greater)
_in_int8("GreaterOrEqual", comparisons.greater_equal)
_in_int8("Max", elementwise.maximum)
_in_int8("Min", elementwise.minimum)
_in_int8("Max", elementwise.clamp_min)
_in_int8("Min", elementwise.clamp_max)


@_elementwise(comparisons.not_equal)
def _ne(w: Writer, dtype: Any, a: str, b: str) -> str:
    return str(w.Not(w.Equal(a, b)))


@_elementwise(elementwise.clamp, activations.hardtanh)
def _clamp(w: Writer, dtype: Any, x: str, low: str, high: str) -> str:
    return str(w.Min(w.Max(x, low), high))


@_elementwise(comparisons.bitwise_not)
def _bitwise_not(w: Writer, dtype: Any, x: str) -> str:
    return str(w.Not(x) if dtype is dtypes.bool_ else w.BitwiseNot(x))


def _logical(operator: str, op: Elementwise) -> None:
    def formula(w: Writer, dtype: Any, *given: str) -> str:
        return str(getattr(w, operator)(*[w.cast(x, dtype, dtypes.bool_) for x in given]))

    _elementwise(op)(formula)


_logical("And", comparisons.logical_and)
_logical("Or", comparisons.logical_or)
_logical("Xor", comparisons.logical_xor)
_logical("Not", comparisons.logical_not)


def _composed(op: Elementwise, formula: Callable[..., Any]) -> None:
    """``formula(writer, number, *inputs)``, where ``number`` makes constants of the type."""

    def write(w: Writer, dtype: Any, *given: str) -> str:
        return str(formula(w, lambda number: w.scalar(number, dtype), *given))

    _elementwise(op)(write)


_composed(activations.silu, lambda w, c, x: w.Mul(x, w.Sigmoid(x)))
_composed(elementwise.square, lambda w, c, x: w.Mul(x, x))
_composed(elementwise.power_two, lambda w, c, x: w.Mul(x, x))
_composed(elementwise.power_three, lambda w, c, x: w.Mul(w.Mul(x, x), x))
_composed(elementwise.power_minus_two, lambda w, c, x: w.Reciprocal(w.Mul(x, x)))
_composed(elementwise.power_minus_half, lambda w, c, x: w.Reciprocal(w.Sqrt(x)))
_composed(elementwise.rsqrt, lambda w, c, x: w.Reciprocal(w.Sqrt(x)))
_composed(elementwise.log1p, lambda w, c, x: w.Log(w.Add(x, c(1))))
_composed(elementwise.log2, lambda w, c, x: w.Div(w.Log(x), c(math.log(2))))
_composed(elementwise.log10, lambda w, c, x: w.Div(w.Log(x), c(math.log(10))))
_composed(elementwise.exp2, lambda w, c, x: w.Pow(c(2), x))
_composed(elementwise.expm1, lambda w, c, x: w.Sub(w.Exp(x), c(1)))
_composed(elementwise_special.erfc, lambda w, c, x: w.Sub(c(1), w.Erf(x)))
_composed(activations.hardsigmoid, lambda w, c, x: w.HardSigmoid(x, alpha=1 / 6, beta=0.5))
_composed(activations.log_sigmoid, lambda w, c, x: w.Neg(w.Softplus(w.Neg(x))))
_composed(rounding.trunc, lambda w, c, x: w.Mul(w.Sign(x), w.Floor(w.Abs(x))))
_composed(rounding.frac, lambda w, c, x: w.Sub(x, w.Mul(w.Sign(x), w.Floor(w.Abs(x)))))
_composed(elementwise_special.logit, lambda w, c, x: w.Log(w.Div(x, w.Sub(c(1), x))))
_composed(comparisons.is_finite, lambda w, c, x: w.Not(w.Or(w.IsNaN(x), w.IsInf(x))))
_composed(activations.gelu_tanh, lambda w, c, x:
    w.Gelu(x, approximate="tanh") if w.has_gelu() else w.Mul(
        w.Mul(x, c(0.5)), w.Add(c(1), w.Tanh(w.Mul(c(math.sqrt(2 / math.pi)), w.Add(
            x, w.Mul(c(0.044715), w.Mul(w.Mul(x, x), x))))))))
_composed(activations.gelu, lambda w, c, x: w.Gelu(x) if w.has_gelu() else w.Mul(
    w.Mul(x, c(0.5)), w.Add(c(1), w.Erf(w.Mul(x, c(math.sqrt(0.5)))))))
_composed(activations.leaky_relu, lambda w, c, x, slope: w.Where(
    w.Greater(x, c(0)), x, w.Mul(x, slope)))
_composed(activations.prelu, lambda w, c, x, slope: w.Where(
    w.Greater(x, c(0)), x, w.Mul(x, slope)))
_composed(activations.elu, lambda w, c, x, alpha, scale, inner: w.Where(
    w.Greater(x, c(0)), w.Mul(x, scale),
    w.Mul(w.Mul(w.Sub(w.Exp(w.Mul(x, inner)), c(1)), alpha), scale)))
_composed(activations.softplus, lambda w, c, x, beta, limit: w.Where(
    w.Greater(w.Mul(x, beta), limit), x, w.Div(w.Softplus(w.Mul(x, beta)), beta)))
_composed(activations.threshold, lambda w, c, x, limit, value: w.Where(
    w.LessOrEqual(x, limit), value, x))
_composed(activations.hardshrink, lambda w, c, x, limit: w.Where(
    w.LessOrEqual(w.Abs(x), limit), c(0), x))
_composed(activations.softshrink, lambda w, c, x, limit: w.Mul(
    w.Sign(x), w.Max(w.Sub(w.Abs(x), limit), c(0))))
_composed(elementwise.lerp, lambda w, c, x, y, weight: w.Add(x, w.Mul(weight, w.Sub(y, x))))
_composed(elementwise.addcmul, lambda w, c, x, y, z, value: w.Add(x, w.Mul(w.Mul(value, y), z)))
_composed(elementwise.addcdiv, lambda w, c, x, y, z, value: w.Add(x, w.Div(w.Mul(value, y), z)))
_composed(elementwise.add_scaled, lambda w, c, x, y, value: w.Add(x, w.Mul(value, y)))
_composed(elementwise.subtract_scaled, lambda w, c, x, y, value: w.Sub(x, w.Mul(value, y)))
_composed(elementwise.hypot, lambda w, c, x, y: w.Sqrt(w.Add(w.Mul(x, x), w.Mul(y, y))))
_composed(elementwise_special.logaddexp, lambda w, c, x, y: w.Add(
    w.Max(x, y), w.Softplus(w.Neg(w.Abs(w.Sub(x, y))))))
_composed(elementwise_special.xlogy, lambda w, c, x, y: w.Where(
    w.Equal(x, c(0)), w.Where(w.IsNaN(y), y, c(0)), w.Mul(x, w.Log(y))))
_composed(elementwise_special.sinc, lambda w, c, x: w.Where(
    w.Equal(x, c(0)), c(1), w.Div(w.Sin(w.Mul(c(math.pi), x)), w.Mul(c(math.pi), x))))
_composed(elementwise.sgn, lambda w, c, x: w.Sign(x))
_composed(elementwise.atan2, lambda w, c, y, x: w.Where(
    w.Equal(x, c(0)), w.Mul(w.Sign(y), c(math.pi / 2)),
    w.Add(w.Atan(w.Div(y, x)), w.Where(
        w.Less(x, c(0)), w.Where(w.Less(y, c(0)), c(-math.pi), c(math.pi)), c(0)))))


def _floor_mod(w: Writer, dtype: Any, x: str, y: str) -> str:
    """The rest with the sign of ``y``."""
    if dtype.category < dtypes.FLOAT:
        return str(w.Mod(x, y))
    rest, zero = w.Mod(x, y, fmod=1), w.scalar(0, dtype)
    other_sign = w.Xor(w.Less(rest, zero), w.Less(y, zero))
    moves = w.And(other_sign, w.Not(w.Equal(rest, zero)))
    return str(w.Where(moves, w.Add(rest, y), rest))


_elementwise(elementwise.remainder)(_floor_mod)


@_elementwise(elementwise.floor_divide)
def _floor_divide(w: Writer, dtype: Any, x: str, y: str) -> str:
    if dtype.category == dtypes.FLOAT:
        return str(w.Round(w.Div(w.Sub(x, _floor_mod(w, dtype, x, y)), y)))
    return str(w.Div(w.Sub(x, w.Mod(x, y)), y))


@_elementwise(elementwise.fmod)
def _fmod(w: Writer, dtype: Any, x: str, y: str) -> str:
    return str(w.Mod(x, y, fmod=1))


@_elementwise(elementwise.trunc_divide)
def _trunc_divide(w: Writer, dtype: Any, x: str, y: str) -> str:
    quotient = w.Div(x, y)
    if dtype.category < dtypes.FLOAT:
        return str(quotient)
    return str(w.Mul(w.Sign(quotient), w.Floor(w.Abs(quotient))))


@writes(comparisons.where)
def _where(w: Writer, node: Any) -> str:
    condition, x, y = node.inputs
    made = node.outputs[0].aval.dtype
    return str(w.Where(w.typed(condition, dtypes.bool_), w.typed(x, made), w.typed(y, made)))


@writes(indexing.masked_fill)
def _masked_fill(w: Writer, node: Any) -> str:
    x, mask, value = node.inputs
    made = node.outputs[0].aval.dtype
    return str(w.Where(w.typed(mask, dtypes.bool_), w.typed(value, made), w.typed(x, made)))


@writes(copies.cast)
def _cast(w: Writer, node: Any) -> str:
    (x,) = node.inputs
    held, made = x.aval.dtype, node.outputs[0].aval.dtype
    if dtypes.COMPLEX in (held.category, made.category):
        raise UnsupportedOperatorError("complex numbers are not exported to ONNX")
    return w.cast(w.of(x), held, made)
