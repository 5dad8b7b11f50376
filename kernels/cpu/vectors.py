"""Vector code that LLVM would not find by itself: a register tile of a product, and a transpose.

The tile is the heart of convolution. Its left operand is never stored as a matrix: element
``[row, i]`` is ``source[bases[row] + offsets[i]]``, which says "pixel ``row`` at tap ``i``" of an
image, or "tap ``row`` at pixel ``i``", for any stride, dilation and number of axes.
"""

from __future__ import annotations

import functools
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_WORD = ir.IntType(32)


@functools.cache
def vector_bytes() -> int:
    """The width of this processor's vector registers."""
    try:
        features = llvmlite.binding.get_host_cpu_features()
    except RuntimeError:
        return 16
    if features.get("avx512f") and features.get("avx512vl"):
        return 64
    return 32 if features.get("avx2") and features.get("fma") else 16


def lanes(dtype: Any) -> int:
    """How many elements of ``dtype`` a vector register holds."""
    return vector_bytes() // np.dtype(dtype).itemsize


def tile_rows() -> int:
    """Rows of the tile two vectors wide: as many as registers for sums, and for pointers, allow."""
    return 8 if vector_bytes() == 64 else 6


def _data(context: Any, builder: Any, kind: Any, array: Any, start: Any) -> Any:
    """A pointer to element ``start`` of a contiguous array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [start])


def _real(dtype: Any) -> Any:
    return ir.FloatType() if dtype == types.float32 else ir.DoubleType()


@functools.cache
def tile_of(rows: int, vectors: int, width: int) -> Any:
    """The kernel of a tile of ``rows`` by ``vectors`` vectors of ``width`` elements.

    ``tile(source, bases, base_at, offsets, offset_at, count, right, right_at, start, start_at,
    start_pitch, out, out_at)`` computes, for each row and column::

        out[row, column] = start[row * start_pitch + column]
            + sum over i < count of source[bases[row] + offsets[i]] * right[i, column]

    ``right`` and ``out`` have ``vectors * width`` columns, one row after another.
    """

    @intrinsic
    def tile(
        context: Any, source: Any, bases: Any, base_at: Any, offsets: Any, offset_at: Any,
        count: Any, right: Any, right_at: Any, start: Any, start_at: Any, start_pitch: Any,
        out: Any, out_at: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args
            real = _real(kinds[0].dtype)
            vector = ir.VectorType(real, width)
            align = 4 if kinds[0].dtype == types.float32 else 8
            long = ir.IntType(64)

            def pointer(place: int, at: Any) -> Any:
                return _data(context, builder, kinds[place], arguments[place], at)

            def load(place: Any) -> Any:
                return builder.load(builder.bitcast(place, vector.as_pointer()), align=align)

            source_data = pointer(0, ir.Constant(long, 0))
            base_data = pointer(1, arguments[2])
            offset_data = pointer(3, arguments[4])
            right_data = pointer(6, arguments[7])
            start_data, out_data = pointer(8, arguments[9]), pointer(11, arguments[12])
            lines = [
                builder.gep(
                    source_data, [builder.load(builder.gep(base_data, [ir.Constant(long, j)]))]
                )
                for j in range(rows)
            ]
            fma = builder.module.globals.get(_fma_name(vector)) or ir.Function(
                builder.module, ir.FunctionType(vector, [vector] * 3), _fma_name(vector)
            )
            zero = ir.Constant(vector, [ir.Constant(real, 0.0)] * width)
            entry = builder.block
            body = builder.append_basic_block("tile.body")
            done = builder.append_basic_block("tile.done")
            some = builder.icmp_signed(">", arguments[5], ir.Constant(long, 0))
            builder.cbranch(some, body, done)
            builder.position_at_end(body)
            i = builder.phi(long)
            sums = [[builder.phi(vector) for _ in range(vectors)] for _ in range(rows)]
            i.add_incoming(ir.Constant(long, 0), entry)
            offset = builder.load(builder.gep(offset_data, [i]))
            at = builder.mul(i, ir.Constant(long, vectors * width))
            columns = [
                load(builder.gep(right_data, [builder.add(at, ir.Constant(long, v * width))]))
                for v in range(vectors)
            ]
            new = []
            for j in range(rows):
                value = builder.load(builder.gep(lines[j], [offset]))
                single = builder.insert_element(
                    ir.Constant(vector, ir.Undefined), value, ir.Constant(_WORD, 0)
                )
                spread = builder.shuffle_vector(
                    single, single, ir.Constant(ir.VectorType(_WORD, width), [0] * width)
                )
                new.append([builder.call(fma, [spread, c, s])
                            for c, s in zip(columns, sums[j], strict=True)])
            following = builder.add(i, ir.Constant(long, 1))
            i.add_incoming(following, body)
            for j in range(rows):
                for v in range(vectors):
                    sums[j][v].add_incoming(zero, entry)
                    sums[j][v].add_incoming(new[j][v], body)
            builder.cbranch(
                builder.icmp_signed("<", following, arguments[5]), body, done
            )
            builder.position_at_end(done)
            for j in range(rows):
                for v in range(vectors):
                    total = builder.phi(vector)
                    total.add_incoming(zero, entry)
                    total.add_incoming(new[j][v], body)
                    new[j][v] = total
            for j in range(rows):
                row = builder.mul(arguments[10], ir.Constant(long, j))
                for v in range(vectors):
                    place = builder.add(row, ir.Constant(long, v * width))
                    initial = load(builder.gep(start_data, [place]))
                    target = builder.gep(
                        out_data, [ir.Constant(long, (j * vectors + v) * width)]
                    )
                    builder.store(
                        builder.fadd(new[j][v], initial),
                        builder.bitcast(target, vector.as_pointer()), align=align,
                    )
            return context.get_dummy_value()

        long = types.int64
        signature = types.void(
            source, bases, long, offsets, long, long, right, long, start, long, long, out, long
        )
        return signature, generate

    return tile


def _fma_name(vector: Any) -> str:
    return f"llvm.fma.v{vector.count}f{32 if isinstance(vector.element, ir.FloatType) else 64}"


@intrinsic
def transpose_block(
    context: Any, out: Any, out_at: Any, out_pitch: Any, x: Any, x_at: Any, x_pitch: Any
) -> Any:
    """``out[j, i] = x[i, j]`` for a block of 8 by 8, from strided rows to strided rows."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        vector = ir.VectorType(_real(kinds[0].dtype), 8)
        align = 4 if kinds[0].dtype == types.float32 else 8
        long = ir.IntType(64)
        source = _data(context, builder, kinds[3], arguments[3], arguments[4])
        target = _data(context, builder, kinds[0], arguments[0], arguments[1])

        def row(data: Any, pitch: Any, i: int) -> Any:
            at = builder.mul(pitch, ir.Constant(long, i))
            return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())

        def pick(a: Any, b: Any, places: list[int]) -> Any:
            return builder.shuffle_vector(
                a, b, ir.Constant(ir.VectorType(_WORD, 8), places)
            )

        rows = [builder.load(row(source, arguments[5], i), align=align) for i in range(8)]
        pairs = []
        for i in range(0, 8, 2):
            pairs.append(pick(rows[i], rows[i + 1], [0, 8, 1, 9, 4, 12, 5, 13]))
            pairs.append(pick(rows[i], rows[i + 1], [2, 10, 3, 11, 6, 14, 7, 15]))
        fours = []
        for half in (0, 4):
            for k in (0, 1):
                a, b = pairs[half + k], pairs[half + 2 + k]
                fours.append(pick(a, b, [0, 1, 8, 9, 4, 5, 12, 13]))
                fours.append(pick(a, b, [2, 3, 10, 11, 6, 7, 14, 15]))
        for k in range(4):
            low = pick(fours[k], fours[k + 4], [0, 1, 2, 3, 8, 9, 10, 11])
            high = pick(fours[k], fours[k + 4], [4, 5, 6, 7, 12, 13, 14, 15])
            builder.store(low, row(target, arguments[2], k), align=align)
            builder.store(high, row(target, arguments[2], k + 4), align=align)
        return context.get_dummy_value()

    long = types.int64
    return types.void(out, long, long, x, long, long), generate
