"""Register tiles of products of bfloat16 (AVX512-BF16): an instruction adds the products of 16
pairs of terms to sums in float32.

A *pair* is a word of two terms that follow each other. Columns of the result lie along the vectors;
a right operand's panel has its pairs of 16 columns side by side, a left operand's pairs are spread
over a vector from where they lie. The instruction counts numbers below the smallest normal one as
0, as PyTorch's products and those on matrix registers do.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mindtorch.kernels.codegen.target import extensions

from ..vectors.llvm_code import call, pointer, spread
from ..vectors.masked_vectors import MaskedVectors
from ..vectors.simd import long_of, loop, vector_bytes
from . import products
from .amx import turned
from .product_tile import switch_of_tiles, tile_shape

LANES, LINE = 16, 64  # words of a vector, and its bytes
ROWS, VECTORS = tile_shape(LINE)
_WORD, _SHORT, _FLOAT = ir.IntType(32), ir.IntType(16), ir.FloatType()
_WORDS, _SHORTS = ir.VectorType(_WORD, LANES), ir.VectorType(_SHORT, LANES)
_TERMS = ir.VectorType(_SHORT, 2 * LANES)


class _BFloat(ir.types._BaseFloatType):
    """LLVM's bfloat, which llvmlite has not."""

    null, intrinsic_name = "0.0", "bf16"

    def __str__(self) -> str:
        return "bfloat"


_BFloat._create_instance()
_PAIRS, _NARROW = ir.VectorType(_BFloat(), 2 * LANES), ir.VectorType(_BFloat(), LANES)


def available() -> bool:
    """Whether the processor has the instruction, and products of our own are used."""
    return bool(extensions().get("avx512bf16")) and vector_bytes() == LINE and products.enabled()


def _widened(builder: Any, shorts: Any) -> Any:
    """The float32 of bfloat16's bits."""
    words = builder.shl(builder.zext(shorts, _WORDS), ir.Constant(_WORDS, [16] * LANES))
    return builder.bitcast(words, ir.VectorType(_FLOAT, LANES))


def _load_some(builder: Any, address: Any, kind: Any, count: Any) -> Any:
    """The first ``count`` of bfloat16's bits, the others 0."""
    numbers = ir.Constant(ir.VectorType(count.type, kind.count), [*range(kind.count)])
    mask = builder.icmp_signed("<", numbers, spread(builder, numbers.type, count))
    given = [pointer(builder, address, kind), ir.Constant(_WORD, 2), mask, ir.Constant(kind, None)]
    return call(builder, f"llvm.masked.load.v{kind.count}i16.p0", kind, given)


class _Tile:
    """What the tiles of a call have in common."""

    def __init__(self, builder: Any, given: Any) -> None:
        self.builder = builder
        self.form = MaskedVectors(builder, types.float32, LANES)
        (self.across, self.count, self.odd, self.left, self.left_down, self.left_along, self.right,
         self.held, self.held_down, self.out, self.out_down, self.columns, self.bias,
         self.ends) = given  # fmt: skip

    def _plus(self, address: Any, step: Any, number: Any) -> Any:
        return self.builder.add(address, self.builder.mul(step, number))

    def _product(self, pair: Any, columns: list[Any], row: list[Any]) -> list[Any]:
        """A row of sums with a pair of terms more."""
        builder, name = self.builder, "llvm.x86.avx512bf16.dpbf16ps.512"
        pair = builder.bitcast(spread(builder, _WORDS, pair), _PAIRS)
        return [call(builder, name, self.form.kind, [s, pair, c])
                for s, c in zip(row, columns, strict=True)]  # fmt: skip

    def _columns(self, number: Any, vectors: int) -> list[Any]:
        at = self._plus(self.right, number, long_of(vectors * LINE))
        places = (self.builder.add(at, long_of(v * LINE)) for v in range(vectors))
        return [self.builder.load(pointer(self.builder, p, _PAIRS), align=LINE) for p in places]

    def write(self, rows: int, vectors: int) -> None:
        """The code of ``rows`` by ``vectors``."""
        builder, form = self.builder, self.form
        lines = [self._plus(self.left, self.left_down, long_of(i)) for i in range(rows)]

        def step(q: Any, sums: Any) -> Any:
            columns, along = self._columns(q, vectors), builder.mul(q, self.left_along)
            made = []
            for row, line in zip(sums, lines, strict=True):
                place = pointer(builder, builder.add(line, along), _WORD)
                made.append(self._product(builder.load(place, align=2), columns, row))
            return made

        held = [self._plus(self.held, self.held_down, long_of(i)) for i in range(rows)]
        begun = [[form.load(pointer(builder, builder.add(line, long_of(v * LINE)), _FLOAT))
                  for v in range(vectors)] for line in held]  # fmt: skip
        sums = form.sum_over(self.count, begun, step)
        sums = self._with_odd(sums, lines, vectors)
        with builder.if_else(builder.icmp_signed("!=", self.ends, long_of(0))) as (last, more):
            with last:
                self._round(sums, vectors)
            with more:
                for row, line in zip(sums, held, strict=True):
                    for v, value in enumerate(row):
                        at = builder.add(line, long_of(v * LINE))
                        form.store(value, pointer(builder, at, _FLOAT))

    def _with_odd(self, sums: Any, lines: Any, vectors: int) -> Any:
        """Sums with a last term that has no other beside it."""
        builder, along = self.builder, self.builder.mul(self.count, self.left_along)

        def step(_: Any, sums: Any) -> Any:
            columns, made = self._columns(self.count, vectors), []
            for row, line in zip(sums, lines, strict=True):
                term = builder.load(pointer(builder, builder.add(line, along), _SHORT), align=2)
                made.append(self._product(builder.zext(term, _WORD), columns, row))
            return made

        return self.form.sum_over(self.odd, sums, step)

    def _round(self, sums: Any, vectors: int) -> None:
        """Write the columns that there are, with what is added to a row."""
        builder, form = self.builder, self.form
        for v in range(vectors):
            count = builder.sub(self.columns, long_of(v * LANES))
            mask, offset = form.first_lanes(count), long_of(2 * v * LANES)
            bias = _load_some(builder, builder.add(self.bias, offset), _SHORTS, count)
            added = _widened(builder, bias)
            for i, row in enumerate(sums):
                near = call(builder, "llvm.x86.avx512bf16.cvtneps2bf16.512", _NARROW,
                            [builder.fadd(row[v], added)])  # fmt: skip
                at = builder.add(self._plus(self.out, self.out_down, long_of(i)), offset)
                given = [builder.bitcast(near, _SHORTS), pointer(builder, at, _SHORTS),
                         ir.Constant(_WORD, 2), mask]  # fmt: skip
                call(builder, "llvm.masked.store.v16i16.p0", ir.VoidType(), given)


@intrinsic
def tile(
    context: Any, down: Any, across: Any, count: Any, odd: Any, left: Any, left_down: Any,
    left_along: Any, right: Any, held: Any, held_down: Any, out: Any, out_down: Any, columns: Any,
    bias: Any, ends: Any,
) -> Any:  # fmt: skip
    """``down`` rows by ``across`` vectors of sums over ``count`` pairs, and a single term if
    ``odd``, which are added to float32 in ``held``.

    If ``ends``, the first ``columns`` of them plus ``bias`` are rounded to ``out``, else they are
    written to ``held``. All places are addresses, all steps in bytes; pairs of the right operand
    lie at cache lines.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = _Tile(builder, arguments[1:])
        switch_of_tiles(builder, *arguments[:2], ROWS, VECTORS, made.write)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 15), generate


@intrinsic
def pack_turned(
    context: Any, to: Any, pitch: Any, at: Any, line: Any, lines: Any, terms: Any, ahead: Any
) -> Any:
    """The pairs of up to 16 lines of up to 32 terms in order, ``line`` bytes apart: 16 rows of
    them, ``pitch`` bytes apart; 0 for what is not there. What lies ``ahead`` bytes from there is
    fetched meanwhile."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, pitch, at, line, lines, terms, ahead = arguments
        form = MaskedVectors(builder, types.float32, LANES)
        places = [builder.add(at, builder.mul(line, long_of(i))) for i in range(LANES)]
        whole = builder.and_(
            builder.icmp_signed(">=", lines, long_of(LANES)),
            builder.icmp_signed(">=", terms, long_of(2 * LANES)),
        )
        found: list[Any] = []
        with builder.if_else(whole) as (then, otherwise):
            with then:
                for place in places:
                    form.prefetch(pointer(builder, builder.add(place, ahead)))
                all_ = [builder.load(pointer(builder, p, _TERMS), align=2) for p in places]
                first = builder.block
            with otherwise:
                some = []
                for i, place in enumerate(places):
                    is_one = builder.icmp_signed(">", lines, long_of(i))
                    count = builder.select(is_one, terms, long_of(0))
                    some.append(_load_some(builder, place, _TERMS, count))
                second = builder.block
        for a, b in zip(all_, some, strict=True):
            row = builder.phi(_TERMS)
            row.add_incoming(a, first)
            row.add_incoming(b, second)
            found.append(row)
        for i, row in enumerate(turned(builder, [builder.bitcast(r, _WORDS) for r in found])):
            place = builder.add(to, builder.mul(pitch, long_of(i)))
            builder.store(row, pointer(builder, place, _WORDS), align=4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 7), generate


@functools.cache
def pack_pairs_of(whole: bool) -> Any:
    """``pack(to, at, count, down, ahead)`` writes the pairs of 16 lines that lie side by side: the
    first ``count`` of a term at ``at``, all if ``whole``, each with one ``down`` bytes from there,
    or with 0 where that is 0. What lies ``ahead`` bytes from both is fetched meanwhile."""

    @intrinsic
    def pack(context: Any, to: Any, at: Any, count: Any, down: Any, ahead: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            to, at, count, down, ahead = arguments
            form = MaskedVectors(builder, types.float32, LANES)
            there = builder.icmp_signed("!=", down, long_of(0))
            most = long_of(LANES) if whole else count
            made = []
            for place, number in (
                (at, most), (builder.add(at, down), builder.select(there, most, long_of(0)))
            ):  # fmt: skip
                form.prefetch(pointer(builder, builder.add(place, ahead)))
                if whole and place is at:
                    value = builder.load(pointer(builder, place, _SHORTS), align=2)
                else:
                    value = _load_some(builder, place, _SHORTS, number)
                made.append(builder.zext(value, _WORDS))
            high = builder.shl(made[1], ir.Constant(_WORDS, [16] * LANES))
            pair = builder.or_(made[0], high)
            builder.store(pair, pointer(builder, to, _WORDS), align=4)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5), generate

    return pack


def _copied(builder: Any, step: int, given: Any) -> Any:
    """What a step of :func:`copy_row_of` does."""
    to, source, begin, end, across = given
    lanes = 2 * LANES // step
    kind = ir.VectorType(_SHORT, lanes)

    def all_of(count: int, value: Any) -> Any:
        return spread(builder, ir.VectorType(_SHORT, count), builder.trunc(value, _SHORT))

    def between(count: int, low: Any, high: Any) -> Any:
        numbers = ir.Constant(ir.VectorType(_SHORT, count), [*range(count)])
        return builder.and_(
            builder.icmp_signed(">=", numbers, all_of(count, low)),
            builder.icmp_signed("<", numbers, all_of(count, high)),
        )

    def vector(i: Any, held: list[Any]) -> list[Any]:
        done = builder.mul(i, long_of(lanes))
        low, high = (builder.mul(builder.sub(x, done), long_of(step)) for x in (begin, end))
        mask = between(2 * LANES, low, high)
        place = pointer(builder, builder.add(source, builder.mul(i, long_of(LINE))), _TERMS)
        row = call(builder, "llvm.masked.load.v32i16.p0", _TERMS,
                   [place, ir.Constant(_WORD, 2), mask, ir.Constant(_TERMS, None)])  # fmt: skip
        if step > 1:
            picks = ir.Constant(ir.VectorType(_WORD, lanes), [*range(0, 2 * LANES, step)])
            row = builder.shuffle_vector(row, row, picks)
        place = pointer(builder, builder.add(to, builder.mul(done, long_of(2))), kind)
        mask = between(lanes, long_of(0), builder.sub(across, done))
        call(builder, f"llvm.masked.store.v{lanes}i16.p0", ir.VoidType(),
             [row, place, ir.Constant(_WORD, 2), mask])  # fmt: skip
        return []

    whole = builder.sdiv(builder.add(across, long_of(lanes - 1)), long_of(lanes))
    loop(builder, whole, [], vector)


@functools.cache
def copy_row_of(step: int) -> Any:
    """``copy(to, source, begin, end, across)`` writes a row of ``across`` numbers of 16 bits: those
    from ``begin`` to ``end`` are ``step`` (1 or 2) apart from ``source`` on, number 0's place; the
    others are 0, and their places are not read. Rows are shorter than 10,000."""

    @intrinsic
    def copy(context: Any, to: Any, source: Any, begin: Any, end: Any, across: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _copied(builder, step, arguments)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5), generate

    return copy


@intrinsic
def copy_shifted(
    context: Any, to: Any, source: Any, first: Any, last: Any, count: Any, pattern: Any
) -> Any:
    """Write ``count`` numbers of 16 bits: those from ``first`` to ``last`` whose bit is set in
    ``pattern``, which repeats after 32 of them, and 0 for the others, which are not read."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to, source, first, last, count, pattern = arguments
        lanes, bits = 2 * LANES, ir.VectorType(ir.IntType(1), 2 * LANES)

        def below(number: Any) -> Any:
            """Bits of the lanes before ``number``, which is at most as many as there are."""
            zero, most = long_of(0), long_of(lanes)
            number = builder.select(builder.icmp_signed("<", number, zero), zero, number)
            number = builder.select(builder.icmp_signed(">", number, most), most, number)
            return builder.sub(builder.shl(long_of(1), number), long_of(1))

        def mask(value: Any) -> Any:
            return builder.bitcast(builder.trunc(value, _WORD), bits)

        def vector(i: Any, held: list[Any]) -> list[Any]:
            done = builder.mul(i, long_of(lanes))
            low, high, there = (below(builder.sub(x, done)) for x in (first, last, count))
            taken = builder.and_(builder.and_(builder.not_(low), high), pattern)
            offset = builder.mul(i, long_of(LINE))
            align, nothing = ir.Constant(_WORD, 2), ir.Constant(_TERMS, None)
            place = pointer(builder, builder.add(source, offset), _TERMS)
            row = call(builder, "llvm.masked.load.v32i16.p0", _TERMS,
                       [place, align, mask(taken), nothing])  # fmt: skip
            place = pointer(builder, builder.add(to, offset), _TERMS)
            call(builder, "llvm.masked.store.v32i16.p0", ir.VoidType(),
                 [row, place, align, mask(there)])  # fmt: skip
            return []

        whole = builder.sdiv(builder.add(count, long_of(lanes - 1)), long_of(lanes))
        loop(builder, whole, [], vector)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6), generate
