"""Vector code for sums in a fixed order: rows added to rows of lanes."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .simd import Vectors, data_of, long_of, loop

WIDTHS = {np.dtype(np.float32): 8, np.dtype(np.float64): 4}  # lanes of PyTorch's sums, anywhere
_KINDS = {"float16": types.float32, "bfloat16": types.float32, "float32": types.float32,
          "float64": types.float64}  # fmt: skip


def _widened(builder: Any, element: str, place: Any, width: int) -> Any:
    """``width`` elements of 16 bits at ``place`` as float32."""
    word = ir.VectorType(ir.IntType(16), width)
    loaded = builder.load(builder.bitcast(place, word.as_pointer()), align=2)
    result = ir.VectorType(ir.FloatType(), width)
    if element == "float16":
        return builder.fpext(
            builder.bitcast(loaded, ir.VectorType(ir.HalfType(), width)), result
        )
    long = ir.VectorType(ir.IntType(32), width)
    shift = ir.Constant(long, [16] * width)
    return builder.bitcast(builder.shl(builder.zext(loaded, long), shift), result)


def _loader(builder: Any, form: Vectors, element: str, width: int, paired: bool) -> Any:
    """What reads a vector at a place: its elements, or those of two vectors added."""

    def one(place: Any) -> Any:
        if element in ("float32", "float64"):
            return form.load(place)
        return _widened(builder, element, place, width)

    def pair(place: Any) -> Any:
        return builder.fadd(one(place), one(builder.gep(place, [long_of(width)])))

    return pair if paired else one


class _Rows:
    """Rows of vectors that are ``pitch`` apart; a row's vectors are ``apart``."""

    def __init__(
        self, builder: Any, element: str, vectors: int, width: int, paired: bool, pitch: Any,
        apart: Any,
    ) -> None:  # fmt: skip
        self.form = Vectors(builder, _KINDS[element], width)
        self._load = _loader(builder, self.form, element, width, paired)
        self._builder, self._pitch, self._vectors = builder, pitch, vectors
        self._apart = [builder.mul(apart, long_of(v)) for v in range(vectors)]

    def added(self, source: Any, count: Any, initial: Any = None) -> list[Any]:
        """The sums of ``count`` rows from ``source`` on, added to ``initial``."""
        builder = self._builder
        sources = [builder.gep(source, [apart]) for apart in self._apart]

        def step(i: Any, held: Any) -> Any:
            place = [builder.mul(i, self._pitch)]
            return [
                builder.fadd(total, self._load(builder.gep(origin, place)))
                for total, origin in zip(held, sources, strict=True)
            ]

        return loop(builder, count, initial or [self.form.zero] * self._vectors, step)


@functools.cache
def rows_adder(
    element: str, vectors: int, width: int, blocks: bool = False, paired: bool = False
) -> Any:
    """The kernel that adds rows of ``vectors`` vectors of ``width`` elements, lane by lane.

    ``add(sums, to, onto, x, at, pitch, apart, count, many)`` computes, for each vector and lane::

        sums[to + vector * width + lane] = (sums[...] if onto else 0)
            + sum over i < count of x[at + i * pitch + vector * apart + lane]

    one row after another, or if ``blocks``, the sums of ``many`` blocks of ``count`` rows, each
    block from zero on. If ``paired``, a vector is the sum of two, of ``2 * width`` elements that
    lie side by side. ``x`` has the bits of 16-bit floats.
    """

    @intrinsic
    def add(
        context: Any, sums: Any, to: Any, onto: Any, x: Any, at: Any, pitch: Any, apart: Any,
        count: Any, many: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args
            target = data_of(context, builder, kinds[0], arguments[0], arguments[1])
            source = data_of(context, builder, kinds[3], arguments[3], arguments[4])
            pitch, count = arguments[5], arguments[7]
            rows = _Rows(builder, element, vectors, width, paired, pitch, arguments[6])
            targets = [builder.gep(target, [long_of(v * width)]) for v in range(vectors)]
            held = [
                builder.select(arguments[2], rows.form.load(t), rows.form.zero) for t in targets
            ]
            if blocks:
                size = builder.mul(pitch, count)

                def block(k: Any, totals: Any) -> Any:
                    own = rows.added(builder.gep(source, [builder.mul(k, size)]), count)
                    return [builder.fadd(a, b) for a, b in zip(totals, own, strict=True)]

                found = loop(builder, arguments[8], held, block)
            else:
                found = rows.added(source, count, held)
            for total, place in zip(found, targets, strict=True):
                rows.form.store(total, place)
            return context.get_dummy_value()

        long = types.int64
        signature = types.void(sums, long, types.boolean, x, long, long, long, long, long)
        return signature, generate

    return add


@functools.cache
def level_carrier(wide: str, lanes: int) -> Any:
    """The kernel that adds ``lanes`` sums at ``at`` to as many behind them, and sets them to 0."""

    @intrinsic
    def carry(context: Any, sums: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            form = Vectors(builder, _KINDS[wide], lanes)
            source = data_of(context, builder, signature.args[0], *arguments)
            target = builder.gep(source, [long_of(lanes)])
            form.store(builder.fadd(form.load(target), form.load(source)), target)
            form.store(form.zero, source)
            return context.get_dummy_value()

        return types.void(sums, types.int64), generate

    return carry


@functools.cache
def level_clearer(wide: str, count: int) -> Any:
    """The kernel that sets ``count`` numbers at ``at`` to 0."""

    @intrinsic
    def clear(context: Any, sums: Any, at: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            form = Vectors(builder, _KINDS[wide], count)
            form.store(form.zero, data_of(context, builder, signature.args[0], *arguments))
            return context.get_dummy_value()

        return types.void(sums, types.int64), generate

    return clear


@functools.cache
def short_row(element: str, width: int, paired: bool = False) -> Any:
    """The kernel of the sum of fewer than 1024 vectors, by blocks of 64, without memory.

    ``total(x, at, pitch, size, start)`` is ``start`` and then the lanes of the sum of ``size``
    vectors, ``pitch`` apart, one after another.
    """

    @intrinsic
    def total(context: Any, x: Any, at: Any, pitch: Any, size: Any, start: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            source = data_of(context, builder, signature.args[0], arguments[0], arguments[1])
            pitch, size = arguments[2], arguments[3]
            wide = builder.mul(pitch, long_of(4))
            quarters = _Rows(builder, element, 4, width, paired, wide, pitch)
            stride = builder.mul(wide, long_of(16))

            def block(k: Any, totals: Any) -> Any:
                own = quarters.added(builder.gep(source, [builder.mul(k, stride)]), long_of(16))
                return [builder.fadd(a, b) for a, b in zip(totals, own, strict=True)]

            blocks, fours = builder.lshr(size, long_of(6)), builder.lshr(size, long_of(2))
            levels = loop(builder, blocks, [quarters.form.zero] * 4, block)
            behind = builder.gep(source, [builder.mul(blocks, stride)])
            sums = quarters.added(behind, builder.and_(fours, long_of(15)))
            sums = [builder.fadd(a, b) for a, b in zip(sums, levels, strict=True)]
            single = _Rows(builder, element, 1, width, paired, pitch, pitch)
            behind = builder.gep(source, [builder.mul(fours, wide)])
            (held,) = single.added(behind, builder.and_(size, long_of(3)), [sums[0]])
            for other in sums[1:]:
                held = builder.fadd(held, other)
            result = arguments[4]
            for lane in range(width):
                place = ir.Constant(ir.IntType(32), lane)
                result = builder.fadd(result, builder.extract_element(held, place))
            return result

        long = types.int64
        kind = _KINDS[element]
        signature: Any = kind
        return signature(x, long, long, long, kind), generate

    return total
