"""Rows turned into columns, as many rows as a vector has lanes, a line of memory of each."""

from __future__ import annotations

import functools
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .llvm_code import shuffled
from .simd import data_of, long_of

_CHUNK, _LINE = 16, 64  # bytes within which elements change places in one cycle; of memory


def turned_terms(dtype: Any) -> int:
    """How many numbers of each row :func:`turn_of` takes: a line of memory."""
    return int(_LINE // dtype.itemsize)


def _joined(builder: Any, parts: list[Any]) -> Any:
    """One vector of several, one after another."""
    while len(parts) > 1:
        places = range(2 * parts[0].type.count)
        parts = [
            shuffled(builder, a, b, places) for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]


def _turned(builder: Any, rows: list[Any]) -> list[Any]:
    """Blocks as wide as there are rows, 2 or 4, turned each for itself."""
    terms, width = len(rows), rows[0].type.count

    def mixed(a: Any, b: Any, places: tuple[tuple[int, int], ...]) -> Any:
        """Of ``a`` (0) and ``b`` (1) the elements at these places of each block."""
        numbers = [
            source * width + first + place
            for first in range(0, width, terms)
            for source, place in places
        ]
        return shuffled(builder, a, b, numbers)

    if terms == 2:
        return [mixed(rows[0], rows[1], ((0, i), (1, i))) for i in (0, 1)]
    low, high = ((0, 0), (1, 0), (0, 1), (1, 1)), ((0, 2), (1, 2), (0, 3), (1, 3))
    pairs = [[mixed(rows[i], rows[i + 1], half) for half in (low, high)] for i in (0, 2)]
    ends = ((0, 0), (0, 1), (1, 0), (1, 1)), ((0, 2), (0, 3), (1, 2), (1, 3))
    return [mixed(pairs[0][i], pairs[1][i], end) for i in (0, 1) for end in ends]


@functools.cache
def turn_of(width: int, dtype: Any) -> Any:
    """The kernel ``turn(out, out_at, out_pitch, x, x_at, x_pitch)`` for vectors of ``width``::

        out[out_at + q * out_pitch + j] = x[x_at + j * x_pitch + q]

    for ``width`` values of ``j`` and :func:`turned_terms` of ``q``.
    """
    terms, kind = _CHUNK // dtype.itemsize, numba.from_dtype(dtype)
    element = ir.FloatType() if kind == types.float32 else ir.DoubleType()

    @intrinsic
    def turn(
        context: Any, out: Any, out_at: Any, out_pitch: Any, x: Any, x_at: Any, x_pitch: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            target, source = (
                data_of(context, builder, signature.args[i], arguments[i], arguments[i + 1])
                for i in (0, 3)
            )

            def line(data: Any, pitch: Any, number: int, count: int) -> Any:
                place = builder.gep(data, [builder.mul(pitch, long_of(number))])
                return builder.bitcast(place, ir.VectorType(element, count).as_pointer())

            lines = [line(source, arguments[5], j, terms) for j in range(width)]
            for c in range(_LINE // _CHUNK):
                rows = []
                for i in range(terms):
                    places = [builder.gep(x, [long_of(c)]) for x in lines[i::terms]]
                    parts = [builder.load(place, align=dtype.itemsize) for place in places]
                    rows.append(_joined(builder, parts))
                for q, made in enumerate(_turned(builder, rows)):
                    place = line(target, arguments[2], c * terms + q, width)
                    builder.store(made, place, align=dtype.itemsize)
            return context.get_dummy_value()

        long = types.int64
        return types.void(out, long, long, x, long, long), generate

    return turn
