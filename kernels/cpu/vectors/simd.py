"""Vector code that LLVM would not find by itself: a register tile of a product, and a transpose.

The tile is the heart of convolution. Its left operand is never stored as a matrix: element
``[row, i]`` is ``source[bases[row] + offsets[i]]``, which says "pixel ``row`` at tap ``i``" of an
image, or "tap ``row`` at pixel ``i``", for any stride, dilation and number of axes.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mindtorch.kernels.codegen.target import features

from .llvm_code import call, shuffled, spread

_WORD = ir.IntType(32)
_LONG = ir.IntType(64)


def _word(value: int) -> Any:
    return ir.Constant(_WORD, value)


def long_of(value: int) -> Any:
    return ir.Constant(_LONG, value)


@functools.cache
def vector_bytes() -> int:
    """The width of this processor's vector registers."""
    has = features()
    if has.get("avx512f") and has.get("avx512vl"):
        return 64
    return 32 if has.get("avx2") and has.get("fma") else 16


def lanes(dtype: Any) -> int:
    """How many elements of ``dtype`` a vector register holds."""
    return vector_bytes() // np.dtype(dtype).itemsize


def tile_rows() -> int:
    """Rows of the tile two vectors wide: as many as registers for sums, and for pointers, allow."""
    return 8 if vector_bytes() == 64 else 6


def data_of(context: Any, builder: Any, kind: Any, array: Any, start: Any) -> Any:
    """A pointer to element ``start`` of a contiguous array."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [start])


def _real(dtype: Any) -> Any:
    return ir.FloatType() if dtype == types.float32 else ir.DoubleType()


def loop(builder: Any, count: Any, initial: list[Any], step: Any, name: str = "sum") -> list[Any]:
    """Registers ``initial``, renewed by ``step(i, registers)`` for each ``i < count``."""
    entry = builder.block
    body = builder.append_basic_block(f"{name}.body")
    done = builder.append_basic_block(f"{name}.done")
    builder.cbranch(builder.icmp_signed(">", count, long_of(0)), body, done)
    builder.position_at_end(body)
    i = builder.phi(_LONG)
    held = [builder.phi(value.type) for value in initial]
    renewed = step(i, held)
    following, last = builder.add(i, long_of(1)), builder.block
    i.add_incoming(long_of(0), entry)
    i.add_incoming(following, last)
    builder.cbranch(builder.icmp_signed("<", following, count), body, done)
    builder.position_at_end(done)
    found = []
    for begin, before, after in zip(initial, held, renewed, strict=True):
        total = builder.phi(begin.type)
        for value in (before, total):
            value.add_incoming(begin, entry)
            value.add_incoming(after, last)
        found.append(total)
    return found


class Vectors:
    """Instructions on vectors of ``width`` elements, at any address an element may have."""

    def __init__(self, builder: Any, dtype: Any, width: int) -> None:
        self.builder, self._width = builder, width
        self._vector = ir.VectorType(_real(dtype), width)
        self._align = 4 if dtype == types.float32 else 8
        name = f"llvm.fma.v{width}f{32 if dtype == types.float32 else 64}"
        self._fma = builder.module.globals.get(name) or ir.Function(
            builder.module, ir.FunctionType(self._vector, [self._vector] * 3), name
        )

    def load(self, place: Any) -> Any:
        typed = self.builder.bitcast(place, self._vector.as_pointer())
        return self.builder.load(typed, align=self._align)

    def load_every(self, place: Any, stride: int) -> Any:
        """The elements at ``place`` that are ``stride`` (1 or 2) apart."""
        return self.load(place) if stride == 1 else self.load_every_second(place)

    def load_every_second(self, place: Any) -> Any:
        """The elements at ``place`` that are 2 apart; one more than needed is read."""
        low = self.load(place)
        high = self.load(self.builder.gep(place, [long_of(self._width)]))
        even = [*range(0, 2 * self._width, 2)]
        return shuffled(self.builder, low, high, even)

    def store(self, value: Any, place: Any) -> None:
        typed = self.builder.bitcast(place, self._vector.as_pointer())
        self.builder.store(value, typed, align=self._align)

    def spread(self, value: Any) -> Any:
        """``value`` in every lane."""
        return spread(self.builder, self._vector, value)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        return self.builder.call(self._fma, [a, b, c])

    def constant(self, number: float) -> Any:
        """``number`` in every lane."""
        return ir.Constant(
            self._vector, [ir.Constant(self._vector.element, number)] * self._width
        )

    @property
    def zero(self) -> Any:
        return self.constant(0.0)

    def fold(self, vector: Any, step: Any) -> Any:
        """One element of a vector's, halves being put together by ``step``."""
        width = self._width
        while width > 1:
            width //= 2
            low, high = (
                shuffled(self.builder, vector, vector, part)
                for part in (range(width), range(width, 2 * width))
            )
            vector = step(high, low)
        return self.builder.extract_element(vector, _word(0))

    def sum_over(self, count: Any, initial: Any, step: Any) -> Any:
        """Rows of registers ``initial``, renewed by ``step(i, rows)`` for each ``i < count``."""

        def in_rows(registers: list[Any]) -> list[list[Any]]:
            given = iter(registers)
            return [[next(given) for _ in row] for row in initial]

        def renewed(i: Any, registers: list[Any]) -> list[Any]:
            return list(itertools.chain.from_iterable(step(i, in_rows(registers))))

        return in_rows(loop(self.builder, count, list(itertools.chain(*initial)), renewed))


@functools.cache
def tile_of(rows: int, vectors: int, width: int, each: bool = False) -> Any:
    """The kernel of a tile of ``rows`` by ``vectors`` vectors of ``width`` elements.

    ``tile(source, bases, base_at, offsets, offset_at, count, right, right_at, start, start_at,
    start_pitch, chained, out, out_at)`` computes, for each row and column::

        out[row, column] = start[row * start_pitch + column]
            + sum over i < count of source[bases[row] + offsets[i]] * right[i, column]

    ``right`` and ``out`` have ``vectors * width`` columns, one row after another. If ``chained``,
    terms are added to ``start`` one by one; if not, their sum is. If ``each``, a column has
    sources of its own, side by side: ``source[bases[row] + offsets[i] + column]``.
    """

    @intrinsic
    def tile(
        context: Any, source: Any, bases: Any, base_at: Any, offsets: Any, offset_at: Any,
        count: Any, right: Any, right_at: Any, start: Any, start_at: Any, start_pitch: Any,
        chained: Any, out: Any, out_at: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args
            data = {
                place: data_of(context, builder, kinds[place], arguments[place], begin)
                for place, begin in (
                    (0, long_of(0)), (1, arguments[2]), (3, arguments[4]), (6, arguments[7]),
                    (8, arguments[9]), (12, arguments[13]),
                )
            }  # fmt: skip
            form = Vectors(builder, kinds[0].dtype, width)
            over = range(vectors)
            lines = [
                builder.gep(data[0], [builder.load(builder.gep(data[1], [long_of(j)]))])
                for j in range(rows)
            ]

            def step(i: Any, sums: Any) -> Any:
                offset = builder.load(builder.gep(data[3], [i]))
                at = builder.mul(i, long_of(vectors * width))
                columns = [
                    form.load(builder.gep(data[6], [builder.add(at, long_of(v * width))]))
                    for v in over
                ]
                new = []
                for line, row in zip(lines, sums, strict=True):
                    at = builder.gep(line, [offset])
                    if each:
                        lefts = [form.load(builder.gep(at, [long_of(v * width)])) for v in over]
                    else:
                        lefts = [form.spread(builder.load(at))] * vectors
                    new.append([form.fma(*abc) for abc in zip(lefts, columns, row, strict=True)])
                return new

            chained = builder.icmp_signed("!=", arguments[11], long_of(0))

            def start(j: int, v: int) -> Any:
                place = builder.add(builder.mul(arguments[10], long_of(j)), long_of(v * width))
                return form.load(builder.gep(data[8], [place]))

            tiles = [[(j, v) for v in range(vectors)] for j in range(rows)]
            initial = [
                [builder.select(chained, start(j, v), form.zero) for j, v in row] for row in tiles
            ]
            sums = form.sum_over(arguments[5], initial, step)
            for j, v in itertools.chain(*tiles):
                total = sums[j][v]
                total = builder.select(chained, total, builder.fadd(total, start(j, v)))
                form.store(total, builder.gep(data[12], [long_of((j * vectors + v) * width)]))
            return context.get_dummy_value()

        long = types.int64
        signature = types.void(
            source, bases, long, offsets, long, long, right, long, start, long, long, long, out,
            long,
        )
        return signature, generate

    return tile


@functools.cache
def strip_of(rows: int, width: int, stride: int, chained: bool) -> Any:
    """The kernel of ``rows`` strips of two vectors, each of ``width`` pixels of a row.

    ``strip(source, at, other, offsets, offset_at, count, weight, weight_at, down, start, start_at,
    out, to, other_to, pitch)`` computes, for each row and column, and alike from ``other`` to
    ``other_to``::

        out[to + row * pitch + column] = start[row]
            + sum over i < count of
              weight[row * down + i] * source[at + offsets[i] + column * stride]

    terms being added to ``start`` one by one if ``chained``, else their sum is. ``stride`` is 1,
    or 2; then one element past the last one used is read.
    """

    @intrinsic
    def strip(
        context: Any, source: Any, at: Any, other: Any, offsets: Any, offset_at: Any, count: Any,
        weight: Any, weight_at: Any, down: Any, start: Any, start_at: Any, out: Any, to: Any,
        other_to: Any, pitch: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            def data(place: int, begin: Any) -> Any:
                return data_of(context, builder, signature.args[place], arguments[place], begin)

            form = Vectors(builder, signature.args[0].dtype, width)
            pixels = [data(0, arguments[1]), data(0, arguments[2])]
            offset_data = data(3, arguments[4])
            weight_data = data(6, arguments[7])
            start_data = data(9, arguments[10])
            targets = [data(11, arguments[12]), data(11, arguments[13])]
            lines = [
                builder.gep(weight_data, [builder.mul(arguments[8], long_of(j))])
                for j in range(rows)
            ]

            def step(i: Any, sums: Any) -> Any:
                offset = builder.load(builder.gep(offset_data, [i]))
                values = [form.load_every(builder.gep(p, [offset]), stride) for p in pixels]
                new = []
                for line, row in zip(lines, sums, strict=True):
                    spread = form.spread(builder.load(builder.gep(line, [i])))
                    new.append([form.fma(spread, p, s) for p, s in zip(values, row, strict=True)])
                return new

            starts = [
                form.spread(builder.load(builder.gep(start_data, [long_of(j)])))
                for j in range(rows)
            ]
            begun = [[first if chained else form.zero] * 2 for first in starts]
            sums = form.sum_over(arguments[5], begun, step)
            if not chained:
                sums = [
                    [builder.fadd(total, first) for total in row]
                    for row, first in zip(sums, starts, strict=True)
                ]
            for j in range(rows):
                down = builder.mul(arguments[14], long_of(j))
                for total, target in zip(sums[j], targets, strict=True):
                    form.store(total, builder.gep(target, [down]))
            return context.get_dummy_value()

        long = types.int64
        signature = types.void(
            source, long, long, offsets, long, long, weight, long, long, start, long, out, long,
            long, long,
        )
        return signature, generate

    return strip


@functools.cache
def lane_sums_of(width: int) -> Any:
    """The kernel of two sums over ``count`` vectors of ``width`` elements, lane by lane.

    ``lane_sums(out, a, b, at, count, shift)`` computes, for each lane, from element ``at`` on::

        out[lane] = sum over i < count of b[i * width + lane]
        out[width + lane] = sum over i < count of (a[i * width + lane] - shift) * b[...]

    terms being rounded and added one by one.
    """

    @intrinsic
    def lane_sums(
        context: Any, out: Any, a: Any, b: Any, at: Any, count: Any, shift: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            form = Vectors(builder, signature.args[0].dtype, width)
            left, right = (
                data_of(context, builder, signature.args[j], arguments[j], arguments[3])
                for j in (1, 2)
            )
            mean = form.spread(arguments[5])

            def step(i: Any, sums: Any) -> Any:
                place = [builder.mul(i, long_of(width))]
                g = form.load(builder.gep(right, place))
                d = builder.fsub(form.load(builder.gep(left, place)), mean)
                ((total, product),) = sums
                return [[builder.fadd(total, g), builder.fadd(product, builder.fmul(d, g))]]

            (sums,) = form.sum_over(arguments[4], [[form.zero, form.zero]], step)
            for j in range(2):
                target = data_of(
                    context, builder, signature.args[0], arguments[0], long_of(j * width)
                )
                form.store(sums[j], target)
            return context.get_dummy_value()

        long = types.int64
        return types.void(out, a, b, long, long, a.dtype), generate

    return lane_sums


def _transpose(context: Any, builder: Any, signature: Any, arguments: Any, lasts: Any) -> None:
    """Code for :func:`transpose_block`; ``lasts`` are the last rows of both, or None for 8 rows."""
    kinds = signature.args
    vector = ir.VectorType(_real(kinds[0].dtype), 8)
    align = 4 if kinds[0].dtype == types.float32 else 8
    target = data_of(context, builder, kinds[0], arguments[0], arguments[1])
    source = data_of(context, builder, kinds[3], arguments[3], arguments[4])

    def row(data: Any, pitch: Any, i: int, last: Any) -> Any:
        number = long_of(i)
        if last is not None:
            number = builder.select(builder.icmp_signed("<", number, last), number, last)
        return builder.bitcast(
            builder.gep(data, [builder.mul(pitch, number)]), vector.as_pointer()
        )

    def pick(a: Any, b: Any, places: list[int]) -> Any:
        return shuffled(builder, a, b, places)

    to_last, from_last = (None, None) if lasts is None else lasts
    rows = [
        builder.load(row(source, arguments[5], i, from_last), align=align) for i in range(8)
    ]
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
    made = {}
    for k in range(4):
        made[k] = pick(fours[k], fours[k + 4], [0, 1, 2, 3, 8, 9, 10, 11])
        made[k + 4] = pick(fours[k], fours[k + 4], [4, 5, 6, 7, 12, 13, 14, 15])
    for k in range(7, -1, -1):  # rows past the last one go to its place, before it does
        builder.store(made[k], row(target, arguments[2], k, to_last), align=align)


@intrinsic
def transpose_block(
    context: Any, out: Any, out_at: Any, out_pitch: Any, x: Any, x_at: Any, x_pitch: Any
) -> Any:
    """``out[j, i] = x[i, j]`` for a block of 8 by 8, from strided rows to strided rows."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _transpose(context, builder, signature, arguments, None)
        return context.get_dummy_value()

    long = types.int64
    return types.void(out, long, long, x, long, long), generate


@intrinsic
def transpose_part(
    context: Any, out: Any, out_at: Any, out_pitch: Any, x: Any, x_at: Any, x_pitch: Any,
    out_rows: Any, x_rows: Any,
) -> Any:  # fmt: skip
    """The same where ``out`` or ``x`` has fewer rows (1 to 8): x's last row stands for others."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lasts = [builder.sub(rows, long_of(1)) for rows in arguments[6:]]
        _transpose(context, builder, signature, arguments, lasts)
        return context.get_dummy_value()

    long = types.int64
    return types.void(out, long, long, x, long, long, long, long), generate


@intrinsic
def largest_of_many(context: Any, row: Any) -> Any:
    """The largest of a row of at least ``lanes`` elements; NaNs are passed over, or returned."""
    width, together = lanes(str(row.dtype)), 4

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        form = Vectors(builder, row.dtype, width)
        array = context.make_array(signature.args[0])(context, builder, arguments[0])

        def at(place: Any) -> Any:
            return form.load(builder.gep(array.data, [place]))

        def larger(value: Any, best: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", value, best), value, best)

        def blocks(i: Any, held: Any) -> Any:
            first = builder.mul(i, step)
            places = [builder.add(first, long_of(width * j)) for j in range(together)]
            return [[larger(at(p), b) for p, b in zip(places, held[0], strict=True)]]

        def rest(i: Any, held: Any) -> Any:
            return [[larger(at(builder.add(done, builder.mul(i, long_of(width)))), held[0][0])]]

        step = long_of(width * together)
        whole, begin = builder.udiv(array.nitems, step), at(long_of(0))
        (found,) = form.sum_over(whole, [[begin] * together], blocks)
        done = builder.mul(whole, step)
        count = builder.udiv(builder.sub(array.nitems, done), long_of(width))
        ((best,),) = form.sum_over(count, [[functools.reduce(larger, found)]], rest)
        best = larger(at(builder.sub(array.nitems, long_of(width))), best)
        return form.fold(best, larger)

    return row.dtype(row), generate


_CACHE_LINE, _FETCHED = 64, 256  # bytes; elements


@intrinsic
def prefetch(context: Any, array: Any, place: Any) -> Any:
    """Have 256 elements from ``place`` on, which need not be there, fetched meanwhile."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature.args[0], *arguments)
        for at in range(0, _FETCHED, _CACHE_LINE // np.dtype(str(array.dtype)).itemsize):
            line = builder.gep(data, [long_of(at)])
            given = [line, _word(0), _word(3), _word(1)]
            call(builder, "llvm.prefetch.p0", ir.VoidType(), given)
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


BLOCK = 8  # elements that keep_largest compares at once


@intrinsic
def keep_largest(
    context: Any, best: Any, taps: Any, values: Any, at: Any, pitch: Any, first: Any, last: Any
) -> Any:
    """The largest of ``best`` and some rows of values, for a block of elements from ``at`` on.

    Where row ``tap - first`` of ``values``, rows being ``pitch`` apart, is larger than all before
    or is NaN, it becomes ``best``, and ``taps`` (int64) becomes ``tap``, for taps up to ``last``.
    """
    # The sums stay in registers: a store of what was loaded or something else becomes a masked
    # store, which takes some processors tens of cycles.

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        element = kinds[0].dtype
        vector = ir.VectorType(context.get_data_type(element), BLOCK)
        marks = ir.VectorType(_LONG, BLOCK)
        align = context.get_abi_sizeof(vector.element)
        _, _, _, at, pitch, first, last = arguments

        def place(i: int, kind: Any, begin: Any) -> Any:
            data = data_of(context, builder, kinds[i], arguments[i], begin)
            return builder.bitcast(data, kind.as_pointer())

        def larger(value: Any, held: Any) -> Any:
            if not isinstance(element, types.Float):
                compare = builder.icmp_signed if element.signed else builder.icmp_unsigned
                return compare(">", value, held)
            is_nan = builder.fcmp_unordered("uno", value, value)
            return builder.or_(builder.fcmp_ordered(">", value, held), is_nan)

        initial = builder.load(place(0, vector, at), align=align)
        initial_taps = builder.load(place(1, marks, at), align=8)
        entry = builder.block
        body = builder.append_basic_block("largest.body")
        done = builder.append_basic_block("largest.done")
        builder.branch(body)
        builder.position_at_end(body)
        tap, held, held_taps = builder.phi(_LONG), builder.phi(vector), builder.phi(marks)
        row = builder.mul(builder.sub(tap, first), pitch)
        value = builder.load(place(2, vector, builder.add(at, row)), align=align)
        take = larger(value, held)
        number = spread(builder, marks, tap)
        new, new_taps = builder.select(take, value, held), builder.select(take, number, held_taps)
        following = builder.add(tap, long_of(1))
        for phi, before, after in (
            (tap, first, following), (held, initial, new), (held_taps, initial_taps, new_taps)
        ):  # fmt: skip
            phi.add_incoming(before, entry)
            phi.add_incoming(after, body)
        builder.cbranch(builder.icmp_signed("<", following, last), body, done)
        builder.position_at_end(done)
        builder.store(new, place(0, vector, at), align=align)
        builder.store(new_taps, place(1, marks, at), align=8)
        return context.get_dummy_value()

    long = types.int64
    return types.void(best, taps, values, long, long, long, long), generate
