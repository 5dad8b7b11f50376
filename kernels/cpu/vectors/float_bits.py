"""Intrinsics on the bits of numbers: reinterpretation, 16-bit floats, fused multiply-add."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_FLOAT = ir.FloatType()
_HALF = ir.HalfType()


@intrinsic
def float_bits(context: Any, x: Any) -> Any:
    """The bits of a float32 as an int32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


@intrinsic
def bits_float(context: Any, x: Any) -> Any:
    """The float32 whose bits are the low 32 of an integer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = arguments[0]
        if signature.args[0].bitwidth > 32:
            value = builder.trunc(value, ir.IntType(32))
        return builder.bitcast(value, _FLOAT)

    return types.float32(x), generate


@intrinsic
def load_half(context: Any, x: Any) -> Any:
    """The float32 of float16 bits (a uint16)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fpext(builder.bitcast(arguments[0], _HALF), _FLOAT)

    return types.float32(types.uint16), generate


@intrinsic
def store_half(context: Any, x: Any) -> Any:
    """The float16 bits (a uint16) nearest to a float32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.fptrunc(arguments[0], _HALF), ir.IntType(16))

    return types.uint16(types.float32), generate


@intrinsic
def load_bfloat16(context: Any, x: Any) -> Any:
    """The float32 of bfloat16 bits (a uint16)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = builder.zext(arguments[0], ir.IntType(32))
        return builder.bitcast(builder.shl(wide, ir.Constant(ir.IntType(32), 16)), _FLOAT)

    return types.float32(types.uint16), generate


@intrinsic
def store_bfloat16(context: Any, x: Any) -> Any:
    """The bfloat16 bits (a uint16) nearest to a float32, ties to even; NaN stays NaN."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(32)
        bits = builder.bitcast(arguments[0], word)
        odd = builder.and_(builder.lshr(bits, ir.Constant(word, 16)), ir.Constant(word, 1))
        rounded = builder.add(bits, builder.add(odd, ir.Constant(word, 0x7FFF)))
        is_nan = builder.fcmp_unordered("uno", arguments[0], arguments[0])
        chosen = builder.select(is_nan, ir.Constant(word, 0x7FC00000), rounded)
        return builder.trunc(builder.lshr(chosen, ir.Constant(word, 16)), ir.IntType(16))

    return types.uint16(types.float32), generate


@intrinsic
def double_bits(context: Any, x: Any) -> Any:
    """The bits of a float64 as an int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def bits_double(context: Any, x: Any) -> Any:
    """The float64 whose bits are those of an int64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def fma(context: Any, a: Any, b: Any, c: Any) -> Any:
    """``a * b + c``, rounded once; all of the type of ``a``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return a(a, a, a), generate


def _unary(name: str) -> Any:
    """LLVM's intrinsic function of one floating-point number, which it knows to make a vector."""

    @intrinsic
    def function(context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = arguments[0].type
            return builder.call(builder.module.declare_intrinsic(name, [kind]), arguments)

        return x(x), generate

    return function


nearest = _unary("llvm.rint")
magnitude = _unary("llvm.fabs")


def _binary(name: str) -> Any:
    """LLVM's intrinsic function of two floating-point numbers."""

    @intrinsic
    def function(context: Any, x: Any, y: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = arguments[0].type
            form = ir.FunctionType(kind, [kind, kind])
            return builder.call(builder.module.declare_intrinsic(name, [kind], form), arguments)

        return x(x, x), generate

    return function


# NaN when either is. A comparison and a choice would become a masked store, slow on AMD.
greater = _binary("llvm.maximum")
lesser = _binary("llvm.minimum")
# the first with the sign of the second
with_sign = _binary("llvm.copysign")


@intrinsic
def choose(context: Any, condition: Any, x: Any, y: Any) -> Any:
    """``x if condition else y``, both computed. Never a branch."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return x(types.boolean, x, x), generate


@intrinsic
def add_any_order(context: Any, x: Any, y: Any) -> Any:
    """``x + y`` as a step of a sum whose terms may be added in any order, so by vectors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(*arguments, flags=("reassoc",))

    return x(x, x), generate
