"""Register tiles of matrix products, as LLVM's vectors, with operands at any strides.

    tiles    columns of the result lie along the vectors, the left operand's numbers are spread
    dots     terms of the sums lie along the vectors, which are added up in the end: for a left
             operand whose rows, and a right one whose columns lie in order, without packing
"""

from __future__ import annotations

import functools
import platform
from typing import Any

import numba
from numba import types
from numba.extending import intrinsic

from ..vectors.masked_vectors import MaskedVectors
from ..vectors.simd import data_of, long_of


def tile_shape(vector_bytes: int) -> tuple[int, int]:
    """Rows, and vectors of columns, of a tile that fits into registers: 32 of them, or 16."""
    many = vector_bytes == 64 or platform.machine().lower() in ("aarch64", "arm64")
    return (8, 3) if many else (6, 2)


HEIGHTS = (1, 2, 3, 4, 6, 8)  # rows that tiles may have: each more takes longer to compile


@functools.cache
def heights(rows: int) -> tuple[int, ...]:
    """Of how many rows the next tile is where so many are left, ``2 * rows`` for more: few tiles,
    none of them low."""
    allowed = [height for height in HEIGHTS if height <= rows]
    best: list[tuple[int, ...]] = [()]
    for left in range(1, 2 * rows):
        ways = [(h, *best[left - h]) for h in allowed if h <= left]
        best.append(min(ways, key=lambda way: (len(way), -min(way), -way[0])))
    return (0, *(way[0] for way in best[1:]), rows)


def dots_shape(width: int) -> tuple[int, int]:
    """Rows and columns of a tile of sums over vectors of ``width`` numbers: as many as fill one."""
    return {2: (1, 2), 4: (2, 2), 8: (2, 4), 16: (4, 4)}[width]


class _Tile:
    """What the tiles of a call have in common.

    Args:
        form: the vectors.
        given: the arguments.
    """

    def __init__(self, form: MaskedVectors, given: Any) -> None:
        self.form, self.builder, self.count = form, form.builder, given[2]
        self.left, self.left_down, self.left_along = self._place(given[3]), given[4], given[5]
        self.right, self.right_down = self._place(given[6]), given[7]
        self.out, self.out_down = self._place(given[8]), given[9]
        self.start, self.start_down = self._place(given[11]), given[12]
        self.later, self.factor = (given[13:15], given[15:17]), form.spread(given[17])
        self.ahead = self.builder.mul(self.right_down, long_of(8))
        width = form.width
        before = self.builder.mul(self.builder.sub(given[1], long_of(1)), long_of(width))
        lanes = self.builder.sub(given[10], before)
        self._mask = form.first_lanes(lanes)
        self._is_whole = self.builder.icmp_signed(">=", lanes, long_of(width))

    def _place(self, address: Any) -> Any:
        return self.builder.inttoptr(address, self.form.kind.element.as_pointer())

    def _loaded(self, line: Any, vectors: int) -> list[Any]:
        """Vectors of a line; of the last one the lanes that there are."""
        places = [self.form.at(line, v) for v in range(vectors)]
        last = self.form.load_some(places[-1], self._mask)
        return [*map(self.form.load, places[:-1]), last]

    def _store_last(self, value: Any, place: Any) -> None:
        """Write the last vector of a line."""
        if self.form.has_masks:
            self.form.store_some(value, place, self._mask)
            return
        with self.builder.if_else(self._is_whole) as (whole, some):
            with whole:
                self.form.store(value, place)
            with some:
                self.form.store_some(value, place, self._mask)

    def _line(self, data: Any, pitch: Any, number: int) -> Any:
        return self.builder.gep(data, [self.builder.mul(pitch, long_of(number))])

    def write(self, rows: int, vectors: int) -> None:
        """The code of ``rows`` by ``vectors``."""
        builder, form = self.builder, self.form
        lines = [self._line(self.left, self.left_down, i) for i in range(rows)]

        def step(q: Any, sums: Any) -> Any:
            right = builder.gep(self.right, [builder.mul(q, self.right_down)])
            columns = [form.load(form.at(right, v)) for v in range(vectors)]
            ahead = builder.gep(right, [self.ahead])
            for v in range(vectors):
                form.prefetch(form.at(ahead, v))
            for address, pitch in self.later:
                place = self._place(builder.add(address, builder.mul(q, pitch)))
                form.prefetch(place, cache=2)
            along = builder.mul(q, self.left_along)
            made = []
            for row, line in zip(sums, lines, strict=True):
                value = form.spread(builder.load(builder.gep(line, [along])))
                made.append([form.fma(value, c, s) for c, s in zip(columns, row, strict=True)])
            return made

        for i in range(rows):
            for v in range(vectors):
                form.prefetch(form.at(self._line(self.out, self.out_down, i), v), writes=True)
        sums = form.sum_over(self.count, [[form.zero] * vectors] * rows, step)
        for i, row in enumerate(sums):
            held = self._loaded(self._line(self.start, self.start_down, i), vectors)
            totals = [form.fma(s, self.factor, h) for h, s in zip(held, row, strict=True)]
            out = self._line(self.out, self.out_down, i)
            for v, total in enumerate(totals[:-1]):
                form.store(total, form.at(out, v))
            self._store_last(totals[-1], form.at(out, vectors - 1))


def switch_of_tiles(
    builder: Any, down: Any, across: Any, rows: int, vectors: int, write: Any, least: int = 1
) -> None:
    """Code for each height of :data:`HEIGHTS` from ``least`` to ``rows`` and number of vectors up
    to ``vectors``, which ``write(height, number)`` makes; ``down`` and ``across`` choose one."""
    end = builder.append_basic_block("tiles.end")
    number = builder.add(builder.mul(down, long_of(vectors + 1)), across)
    switch = builder.switch(number, end)
    for i in [height for height in HEIGHTS if least <= height <= rows]:
        for v in range(1, vectors + 1):
            block = builder.append_basic_block(f"tile.{i}.{v}")
            switch.add_case(long_of(i * (vectors + 1) + v), block)
            builder.position_at_end(block)
            write(i, v)
            builder.branch(end)
    builder.position_at_end(end)


@functools.cache
def tiles_of(rows: int, vectors: int, width: int, dtype: Any, least: int = 1) -> Any:
    """The kernel of all tiles of ``least`` to ``rows`` rows and up to ``vectors`` vectors of
    ``width`` numbers; rows are of :data:`HEIGHTS`.

    ``tile(down, across, count, left, left_down, left_along, right, right_down, out, out_down,
    columns, start, start_down, later, later_step, last, last_step, factor)`` computes for ``down``
    rows and ``across`` vectors, whole ones of the right operand and ``columns`` columns of others::

        out[i * out_down + j] = start[i * start_down + j] + factor * sum over q < count of
            left[i * left_down + q * left_along] * right[q * right_down + j]

    terms being added one by one, and ``start`` to their sum; ``factor`` is a power of two. With
    term ``q`` the lines of memory at ``later + q * later_step`` and ``last + q * last_step``, in
    bytes, are fetched into the second cache: what is read after this tile. Matrices are given by
    addresses: numba counts who holds an array at each step of a loop that names it: 5 % of the
    time.
    """
    kind = numba.from_dtype(dtype)

    @intrinsic
    def tile(
        context: Any, down: Any, across: Any, count: Any, left: Any, left_down: Any,
        left_along: Any, right: Any, right_down: Any, out: Any, out_down: Any, columns: Any,
        start: Any, start_down: Any, later: Any, later_step: Any, last: Any, last_step: Any,
        factor: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            made = _Tile(MaskedVectors(builder, kind, width), arguments)
            switch_of_tiles(builder, *arguments[:2], rows, vectors, made.write, least)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 17, kind), generate

    return tile


@functools.cache
def copy_lanes_of(width: int, whole: bool) -> Any:
    """The kernel that copies ``count`` numbers, of which the first ``width`` at most, and fills the
    vector up with zeros: ``copy(to, to_at, source, at, count, ahead)``; if ``whole``, there are as
    many. What lies ``ahead`` of them is fetched meanwhile."""

    @intrinsic
    def copy(
        context: Any, to: Any, to_at: Any, source: Any, at: Any, count: Any, ahead: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            form = MaskedVectors(builder, to.dtype, width)
            target, given = (
                data_of(context, builder, signature.args[i], arguments[i], arguments[i + 1])
                for i in (0, 2)
            )
            form.prefetch(builder.gep(given, [arguments[5]]))
            if whole:
                held = form.load(given)
            else:
                held = form.load_some(given, form.first_lanes(arguments[4]))
            form.store(held, target)
            return context.get_dummy_value()

        long = types.int64
        return types.void(to, long, source, long, long, long), generate

    return copy


@intrinsic
def address_of(context: Any, array: Any) -> Any:
    """Where an array lies."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = data_of(context, builder, signature.args[0], arguments[0], long_of(0))
        return builder.ptrtoint(data, long_of(0).type)

    return types.int64(array), generate


def _lines(builder: Any, data: Any, number: int, pitch: Any, count: Any) -> list[Any]:
    """Where ``number`` rows of an operand begin; the last of ``count`` stands for those beyond."""
    last = builder.sub(count, long_of(1))
    made = []
    for j in range(number):
        is_one = builder.icmp_signed("<", long_of(j), last)
        row = builder.select(is_one, long_of(j), last)
        made.append(builder.gep(data, [builder.mul(row, pitch)]))
    return made


@functools.cache
def dots_of(width: int) -> Any:
    """The kernel of a tile of sums over vectors of ``width`` terms.

    ``dots(out, left, left_at, left_down, down, right, right_at, right_across, across, count)``
    computes for each row and column of :func:`dots_shape`, one row after another::

        out[row, column] = sum over q < count of left[left_at + row * left_down + q]
            * right[right_at + column * right_across + q]

    lane by lane, the lanes being added up in pairs. Rows from ``down`` and columns from ``across``
    on are as the last ones before.
    """
    rows, columns = dots_shape(width)

    @intrinsic
    def dots(
        context: Any, out: Any, left: Any, left_at: Any, left_down: Any, down: Any, right: Any,
        right_at: Any, right_across: Any, across: Any, count: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            form = MaskedVectors(builder, left.dtype, width)
            count = arguments[9]

            def lines(i: int, number: int) -> list[Any]:
                data = data_of(context, builder, signature.args[i], arguments[i], arguments[i + 1])
                return _lines(builder, data, number, *arguments[i + 2 : i + 4])

            down, across = lines(1, rows), lines(5, columns)

            def added(at: Any, sums: Any, load: Any) -> Any:
                beside = [load(builder.gep(line, [at])) for line in across]
                made = []
                for row, line in zip(sums, down, strict=True):
                    value = load(builder.gep(line, [at]))
                    made.append([form.fma(value, b, s) for b, s in zip(beside, row, strict=True)])
                return made

            def step(i: Any, sums: Any) -> Any:
                return added(builder.mul(i, long_of(width)), sums, form.load)

            whole = builder.sdiv(count, long_of(width))
            sums = form.sum_over(whole, [[form.zero] * columns] * rows, step)
            done = builder.mul(whole, long_of(width))
            mask = form.first_lanes(builder.sub(count, done))
            sums = added(done, sums, lambda place: form.load_some(place, mask))
            total = form.lane_totals([s for row in sums for s in row])
            form.store(
                total, data_of(context, builder, signature.args[0], arguments[0], long_of(0))
            )
            return context.get_dummy_value()

        long = types.int64
        return types.void(
            out, left, long, long, long, right, long, long, long, long
        ), generate

    return dots
