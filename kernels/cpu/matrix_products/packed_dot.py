"""Sums of products along rows of bytes that are not packed, in registers."""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..inference.packed_tile import Tile, byte_form
from ..vectors.simd import long_of, loop, vector_bytes

__all__ = ["dot_code"]

_WORD = ir.IntType(32)


@functools.cache
def dot_code(rows: int, channels: int, form: str = "") -> Any:
    """The kernel of some sums of products along rows of bytes that are not packed.

    ``dot(sums, x, weight, size)``: ``sums[j * channels + o]``, int32 at an address, is the sum of
    ``x[j * size + k] * weight[o * size + k]``, unsigned times signed. ``size`` is a multiple of a
    vector's bytes.

    Args:
        form: of products of bytes; this processor's where it is empty.
    """

    used = form or byte_form()  # a name of the kernel's file

    @intrinsic
    def dot(context: Any, sums: Any, x: Any, weight: Any, size: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            to, left, right, length = arguments
            code = Tile(builder, {}, (rows, 1, vector_bytes() // 4), "bytes", used)
            lines = [builder.add(left, builder.mul(length, long_of(j))) for j in range(rows)]
            others = [builder.add(right, builder.mul(length, long_of(o))) for o in range(channels)]

            def step(i: Any, held: list[Any]) -> list[Any]:
                at = builder.mul(i, long_of(vector_bytes()))
                weights = [code.byte_weights(code.load(builder.add(line, at), code.vector, 1))
                           for line in others]  # fmt: skip
                made = []
                for j, line in enumerate(lines):
                    values = code.byte_parts(code.load(builder.add(line, at), code.vector, 1))
                    for o, each in enumerate(weights):
                        made.append(code.byte_product(held[j * channels + o], values, each))
                return made

            zero = code.constant(0, code.word_vector)
            count = builder.udiv(length, long_of(vector_bytes()))
            made = loop(builder, count, [zero] * (rows * channels), step, "bytes")
            for i, vector in enumerate(made):
                name = f"llvm.vector.reduce.add.v{code.width}i32"
                builder.store(code.call(name, _WORD, vector),
                              code.pointer(code.plus(to, 4 * i), _WORD), align=4)  # fmt: skip
            return context.get_dummy_value()

        return types.void(*[types.int64] * 4), generate

    return dot
