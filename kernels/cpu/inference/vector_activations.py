"""Activations on vectors in registers, for the tiles of inference (:mod:`.packed_tile`).

They differ from the scalar functions' results by some units in the last place of the largest
number: one polynomial gives ``2^r`` for a rest of at most a half, and a quotient is an estimate
that one step of Newton's improves, where the processor has one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ..vectors.llvm_code import call
from ..vectors.simd import Vectors, vector_bytes

__all__ = ["ACTIVATIONS"]

_Activation = Callable[[Vectors, Any], Any]

_WORD = ir.IntType(32)
_LOG2_E = 1.4426950408889634
_LEAST = -87.0  # exp of less is nothing beside the other numbers
# 1.5 * 2^23: adding it leaves a whole number in the low bits
_ROUNDER, _ROUNDER_BITS = 12582912.0, 0x4B400000
# 2^r - 1 in powers of r from the first on, |r| <= 1/2, relative error 1.6e-7
_POWERS = (
    0.6931470036506653, 0.24022242426872253, 0.05550733581185341, 0.009671512991189957,
    0.001326472731307149,
)  # fmt: skip


def _least(floats: Vectors, x: Any, bound: float) -> Any:
    """The larger of a number and a bound; NaN stays."""
    builder, low = floats.builder, floats.constant(bound)
    return builder.select(builder.fcmp_ordered("<", x, low), low, x)


def _most(floats: Vectors, x: Any, bound: float) -> Any:
    builder, high = floats.builder, floats.constant(bound)
    return builder.select(builder.fcmp_ordered(">", x, high), high, x)


def _power_of_two(floats: Vectors, y: Any) -> Any:
    """2^y for y between -126 and 126."""
    builder = floats.builder
    words = ir.VectorType(_WORD, y.type.count)

    def whole(number: int) -> Any:
        return ir.Constant(words, [number] * y.type.count)

    shifted = builder.fadd(y, floats.constant(_ROUNDER))
    rest = builder.fsub(y, builder.fsub(shifted, floats.constant(_ROUNDER)))
    total = floats.constant(_POWERS[-1])
    for coefficient in (*_POWERS[-2::-1], 1.0):
        total = floats.fma(total, rest, floats.constant(coefficient))
    count = builder.sub(builder.bitcast(shifted, words), whole(_ROUNDER_BITS - 127))
    return builder.fmul(total, builder.bitcast(builder.shl(count, whole(23)), y.type))


def _inverse(floats: Vectors, x: Any) -> Any:
    builder = floats.builder
    if vector_bytes() < 64:
        return builder.fdiv(floats.constant(1.0), x)
    name, mask = f"llvm.x86.avx512.rcp14.ps.{32 * x.type.count}", ir.IntType(max(8, x.type.count))
    first = call(builder, name, x.type, [x, x, ir.Constant(mask, -1)])
    error = floats.fma(builder.fneg(x), first, floats.constant(1.0))
    return floats.fma(first, error, first)


def _part(floats: Vectors, x: Any) -> Any:
    """``1 / (1 + exp(-x))`` for x that are not below :data:`_LEAST`."""
    exponent = _least(floats, floats.builder.fmul(x, floats.constant(-_LOG2_E)), -126.0)
    power = _power_of_two(floats, exponent)
    return _inverse(floats, floats.builder.fadd(power, floats.constant(1.0)))


# by the scalar functions' names
ACTIVATIONS: dict[str, _Activation] = {}


def _named(function: _Activation) -> _Activation:
    ACTIVATIONS[function.__name__.removeprefix("_")] = function
    return function


@_named
def _sigmoid(floats: Vectors, x: Any) -> Any:
    return _part(floats, _least(floats, x, _LEAST))


@_named
def _silu(floats: Vectors, x: Any) -> Any:
    x = _least(floats, x, _LEAST)
    return floats.builder.fmul(x, _part(floats, x))


def _sixths(floats: Vectors, x: Any) -> Any:
    return _most(floats, _least(floats, floats.builder.fadd(x, floats.constant(3.0)), 0.0), 6.0)


@_named
def _hardsigmoid(floats: Vectors, x: Any) -> Any:
    return floats.builder.fmul(_sixths(floats, x), floats.constant(1 / 6))


@_named
def _hardswish(floats: Vectors, x: Any) -> Any:
    return floats.builder.fmul(x, _hardsigmoid(floats, x))
