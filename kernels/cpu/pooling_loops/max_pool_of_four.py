"""The largest of 2 by 2 elements, where such windows do not overlap, and its gradient."""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mindtorch.kernels.codegen.jit import kernel

from ..vectors.llvm_code import shuffled, spread
from ..vectors.simd import Vectors, data_of, long_of

_LONG, _WORD = ir.IntType(64), ir.IntType(32)


@functools.cache
def _largest(width: int, rectified: bool) -> Any:
    """``largest(out, places, to, x, at, pitch, first)`` for ``width`` places of a row of results.

    It looks at ``x[at + 2 * i]``, the element after it, and the two ``pitch`` further on, or
    at 0 where one is below that (``rectified``). ``out[to + i]`` becomes the first of them that is
    larger than those before it, or the last one that is NaN; ``places[to + i]`` (int64) where it
    is, counted so that ``x[at]`` is at ``first``.
    """

    @intrinsic
    def largest(
        context: Any, out: Any, places: Any, to: Any, x: Any, at: Any, pitch: Any, first: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args
            form = Vectors(builder, kinds[0].dtype, width)
            marks, steps = ir.VectorType(_LONG, width), ir.VectorType(_WORD, width)
            data = data_of(context, builder, kinds[3], arguments[3], arguments[4])
            pitch = arguments[5]
            held: Any = None
            held_steps = ir.Constant(steps, [0] * width)
            for row in range(2):
                here = builder.gep(data, [pitch]) if row else data
                low = form.load(here)
                high = form.load(builder.gep(here, [long_of(width)]))
                for column in range(2):
                    value = shuffled(builder, low, high, [*range(column, 2 * width, 2)])
                    if rectified:
                        below = builder.fcmp_ordered("<", value, form.zero)
                        value = builder.select(below, form.zero, value)
                    if held is None:
                        held = value
                        continue
                    number = ir.Constant(_WORD, column)
                    if row:
                        number = builder.add(builder.trunc(pitch, _WORD), number)
                    take = builder.or_(
                        builder.fcmp_ordered(">", value, held),
                        builder.fcmp_unordered("uno", value, value),
                    )
                    held = builder.select(take, value, held)
                    held_steps = builder.select(take, spread(builder, steps, number), held_steps)
            form.store(held, data_of(context, builder, kinds[0], arguments[0], arguments[2]))
            apart = ir.Constant(marks, [*range(0, 2 * width, 2)])
            where = builder.add(spread(builder, marks, arguments[6]), apart)
            where = builder.add(where, builder.zext(held_steps, marks))
            target = data_of(context, builder, kinds[1], arguments[1], arguments[2])
            builder.store(where, builder.bitcast(target, marks.as_pointer()), align=8)
            return context.get_dummy_value()

        long = types.int64
        return types.void(out, places, long, x, long, long, long), generate

    return largest


@functools.cache
def _spread(width: int) -> Any:
    """``spread(out, at, pitch, g, places, to, first)``, the other way: ``g[to + i]``, added to 0,
    to its place among the four, and 0 to the others. Whether all places are in their windows."""

    @intrinsic
    def spread_back(
        context: Any, out: Any, at: Any, pitch: Any, g: Any, places: Any, to: Any, first: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args
            form = Vectors(builder, kinds[0].dtype, width)
            marks = ir.VectorType(_LONG, width)
            value = form.load(data_of(context, builder, kinds[3], arguments[3], arguments[5]))
            value = builder.fadd(form.zero, value)
            where = data_of(context, builder, kinds[4], arguments[4], arguments[5])
            place = builder.load(builder.bitcast(where, marks.as_pointer()), align=8)
            apart = ir.Constant(marks, [*range(0, 2 * width, 2)])
            place = builder.sub(place, spread(builder, marks, arguments[6]))
            place = builder.sub(place, apart)
            data = data_of(context, builder, kinds[0], arguments[0], arguments[1])
            inside = ir.Constant(ir.VectorType(ir.IntType(1), width), [0] * width)
            for row in range(2):
                pair = []
                for column in range(2):
                    number: Any = long_of(column)
                    if row:
                        number = builder.add(arguments[2], number)
                    here = builder.icmp_signed("==", place, spread(builder, marks, number))
                    inside = builder.or_(inside, here)
                    pair.append(builder.select(here, value, form.zero))
                target = builder.gep(data, [arguments[2]]) if row else data
                order = [i // 2 + width * (i % 2) for i in range(2 * width)]
                for half in range(2):
                    part = shuffled(builder, *pair, order[half * width : (half + 1) * width])
                    form.store(part, builder.gep(target, [long_of(half * width)]))
            bits = builder.bitcast(inside, ir.IntType(width))
            whole = builder.icmp_unsigned("==", bits, ir.Constant(ir.IntType(width), -1))
            return builder.zext(whole, _LONG)

        long = types.int64
        return long(out, long, long, g, places, long, long), generate

    return spread_back


@functools.cache
def max_of_four(width: int, rectified: bool = False) -> Any:
    """The kernel for rows of ``width`` results or more; ``rectified``: of the input's ReLU."""
    largest = _largest(width, rectified)

    @kernel
    def max_of_four(
        out: Any, places: Any, x: Any, planes: int, height: int, breadth: int, rows: int,
        columns: int,
    ) -> None:  # fmt: skip
        """The last vectors of a row overlap."""
        for plane in range(planes):
            for row in range(rows):
                first = 2 * row * breadth
                at, to = plane * height * breadth + first, (plane * rows + row) * columns
                for begin in range(0, columns, width):
                    c = min(begin, columns - width)
                    largest(out, places, to + c, x, at + 2 * c, breadth, first + 2 * c)

    return max_of_four


@functools.cache
def spread_of_four(width: int) -> Any:
    """The kernel of the gradient of :func:`max_of_four`, which asks of arbitrary places whether
    they are in such windows."""
    spread_back = _spread(width)

    @kernel
    def spread_of_four(
        out: Any, g: Any, places: Any, planes: int, height: int, breadth: int, rows: int,
        columns: int,
    ) -> int:  # fmt: skip
        """0 where a place is not in its window: then ``out`` is of no use."""
        inside = 1
        for plane in range(planes):
            for row in range(rows):
                first = 2 * row * breadth
                at, to = plane * height * breadth + first, (plane * rows + row) * columns
                for begin in range(0, columns, width):
                    c = min(begin, columns - width)
                    inside &= spread_back(
                        out, at + 2 * c, breadth, g, places, to + c, first + 2 * c
                    )
                for i in range(2 * columns, breadth):
                    out[at + i] = 0
                    out[at + breadth + i] = 0
            end = (plane + 1) * height * breadth
            for i in range(end - (height - 2 * rows) * breadth, end):
                out[i] = 0
            if inside == 0:
                break
        return inside

    return spread_of_four
