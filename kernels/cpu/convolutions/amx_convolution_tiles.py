"""Tiles of convolution on matrix registers (:mod:`..matrix_products.amx`), by addresses: operands
of float32 as three bfloat16 parts, rows at any distance.

Of a left operand a tile has 16 rows of 32 terms in order, of a right one 16 pairs of terms, side by
side, of 16 columns. A tile adds 32 terms of a sum at a time, from 0. What is too small for a
normal float32 counts as 0: products of parts, of which those below 1e-31 begin to lose the smaller
ones. An infinity becomes NaN, so that who calls looks for what is not finite.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..matrix_products.amx import PRODUCTS, parts_of
from ..vectors.llvm_code import call, pointer, shuffled, spread
from ..vectors.masked_vectors import MaskedVectors
from ..vectors.simd import long_of, loop

ROWS, TERMS, COLUMNS = 16, 32, 16  # of a tile: rows, terms of a sum, columns
TILE = 1024  # bytes
PARTS = 3
_VOID = ir.VoidType()
_LONG, _WORD, _BYTE, _HALF = ir.IntType(64), ir.IntType(32), ir.IntType(8), ir.IntType(16)
_WIDTH = 16  # floats of a vector
_INFINITE = 0x7F800000  # the exponent of what is not finite


def _register(number: int) -> Any:
    return ir.Constant(_BYTE, number)


def _spread(builder: Any, value: Any) -> Any:
    """``value`` in every lane."""
    return spread(builder, ir.VectorType(value.type, _WIDTH), value)


class _Operand:
    """Where the tiles of an operand lie."""

    def __init__(self, builder: Any, given: list[Any], first: int, tiles: int) -> None:
        self.builder, self.first, self.tiles = builder, first, tiles
        self.at, table, self.part, self.tile, self.down = given
        self.table = pointer(builder, table, _LONG)
        self.held: int | None = None
        self.here: Any = None

    def step(self, k: Any) -> None:
        """Go to step ``k``."""
        offset = self.builder.load(self.builder.gep(self.table, [k]))
        self.here, self.held = self.builder.add(self.at, offset), None

    def hold(self, part: int) -> None:
        """Load the tiles of a part, if they are not there."""
        if self.held == part:
            return
        self.held, builder = part, self.builder
        begin = builder.add(self.here, builder.mul(self.part, long_of(part)))
        for t in range(self.tiles):
            place = builder.add(begin, builder.mul(self.tile, long_of(t)))
            given = [_register(self.first + t), pointer(builder, place), self.down]
            call(builder, "llvm.x86.tileloadd64", _VOID, given)


@intrinsic
def multiply(
    context: Any, down: Any, across: Any, left: Any, left_table: Any, left_part: Any,
    left_tile: Any, left_down: Any, right: Any, right_table: Any, right_part: Any,
    right_tile: Any, right_down: Any, steps: Any, out: Any, out_down: Any, scratch: Any,
    begins: Any,
) -> Any:  # fmt: skip
    """``down`` by ``across`` tiles of a product, each 1 or 2, by addresses.

    Tile ``t`` of part ``p`` of an operand's step ``k`` lies at
    ``left + left_table[k] + p * left_part + t * left_tile``, its rows ``left_down`` bytes apart.
    The sum is written to ``out``, or added to it if not ``begins``, by way of ``scratch``.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        end = builder.append_basic_block("multiply.end")
        number = builder.add(builder.mul(arguments[0], long_of(3)), arguments[1])
        switch = builder.switch(number, end)
        for i, j in itertools.product((1, 2), (1, 2)):
            block = builder.append_basic_block(f"multiply.{i}.{j}")
            switch.add_case(long_of(3 * i + j), block)
            builder.position_at_end(block)
            _multiply(builder, i, j, list(arguments[2:]))
            builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 17), generate


def _multiply(builder: Any, down: int, across: int, given: list[Any]) -> None:
    a = _Operand(builder, given[:5], 4, down)
    b = _Operand(builder, given[5:10], 6, across)
    steps, out, pitch, scratch, begins = given[10:]
    for t in range(4):
        call(builder, "llvm.x86.tilezero", _VOID, [_register(t)])

    def step(k: Any, held: list[Any]) -> list[Any]:
        a.step(k)
        b.step(k)
        for p, q in PRODUCTS[PARTS]:
            a.hold(p)
            b.hold(q)
            for i, j in itertools.product(range(down), range(across)):
                registers = [_register(n) for n in (2 * i + j, 4 + i, 6 + j)]
                call(builder, "llvm.x86.tdpbf16ps", _VOID, registers)
        return []

    loop(builder, steps, [], step)
    with builder.if_else(builder.icmp_signed("!=", begins, long_of(0))) as (new, more):
        with new:
            _store(builder, down, across, out, pitch)
        with more:
            _store(builder, down, across, scratch, long_of(64 * across))
            _add(builder, down, across, out, pitch, scratch)


def _store(builder: Any, down: int, across: int, out: Any, pitch: Any) -> None:
    for i in range(down):
        row = builder.add(out, builder.mul(pitch, long_of(ROWS * i)))
        for j in range(across):
            place = pointer(builder, builder.add(row, long_of(64 * j)))
            given = [_register(2 * i + j), place, pitch]
            call(builder, "llvm.x86.tilestored64", _VOID, given)


def _add(builder: Any, down: int, across: int, out: Any, pitch: Any, scratch: Any) -> None:
    form = MaskedVectors(builder, types.float32, _WIDTH)
    element = ir.FloatType()

    def row(i: Any, held: list[Any]) -> list[Any]:
        to = pointer(builder, builder.add(out, builder.mul(pitch, i)), element)
        source = builder.add(scratch, builder.mul(long_of(64 * across), i))
        source = pointer(builder, source, element)
        for j in range(across):
            place = form.at(to, j)
            form.store(builder.fadd(form.load(place), form.load(form.at(source, j))), place)
        return []

    loop(builder, long_of(ROWS * down), [], row)


class _Split:
    """Vectors of floats as three parts."""

    def __init__(self, builder: Any) -> None:
        self.builder, self.form = builder, MaskedVectors(builder, types.float32, _WIDTH)
        self.words = ir.VectorType(_WORD, _WIDTH)
        self.halves = ir.VectorType(_HALF, 2 * _WIDTH)

    def all(self, number: int) -> Any:
        return ir.Constant(self.words, [number] * _WIDTH)

    def parts(self, value: Any) -> list[Any]:
        """Words whose upper halves are the parts."""
        return parts_of(self.builder, self.builder.bitcast(value, self.words), PARTS)

    def side_by_side(self, a: Any, b: Any) -> Any:
        """The parts of 32 numbers in order."""
        a, b = (self.builder.bitcast(x, self.halves) for x in (a, b))
        return shuffled(self.builder, a, b, range(1, 64, 2))

    def in_pairs(self, a: Any, b: Any) -> Any:
        """Those of 16 pairs, a number of ``a`` first."""
        low = self.builder.lshr(a, self.all(16))
        return self.builder.or_(low, self.builder.and_(b, self.all(0xFFFF0000)))

    def store(self, value: Any, address: Any) -> None:
        self.builder.store(value, pointer(self.builder, address, value.type), align=1)


@functools.cache
def split_of(kind: str, step: int = 1) -> Any:
    """The kernel that splits rows of numbers.

    "pairs": ``split(to, part, a, b, count)``: of two rows, ``b``'s address being 0 for zeros, a
    number of each side by side: ``count`` words of 4 bytes, and what lies in the last vector behind
    them, are written for each part, ``part`` bytes apart.
    "row": ``split(to, part, a, apart, count)``: ``count`` numbers in order, of 2 bytes; 0 follow up
    to a multiple of 32. They are ``apart`` bytes from each other if ``step`` is 0.

    Numbers are ``step`` apart in the rows; addresses and ``part`` are in bytes.
    """

    @intrinsic
    def split(context: Any, to: Any, part: Any, a: Any, b: Any, count: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = _Split(builder)
            write = _pairs if kind == "pairs" else _row
            write(code, step, *arguments)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5), generate

    return split


def _loaded(code: _Split, step: int, address: Any, begin: Any, count: Any, apart: Any) -> Any:
    """The numbers of a row from ``begin`` on, of ``count``; 0 behind them."""
    builder, form = code.builder, code.form
    mask = form.first_lanes(builder.sub(count, begin))
    if step == 1:
        place = builder.add(address, builder.mul(begin, long_of(4)))
        return form.load_some(pointer(builder, place, ir.FloatType()), mask)
    apart = long_of(4 * step) if step else apart
    first = ir.Constant(ir.VectorType(_LONG, _WIDTH), [*range(_WIDTH)])
    numbers = builder.add(_spread(builder, begin), first)
    places = builder.add(_spread(builder, address), builder.mul(numbers, _spread(builder, apart)))
    pointers = builder.inttoptr(places, ir.VectorType(ir.FloatType().as_pointer(), _WIDTH))
    given = [pointers, ir.Constant(_WORD, 4), mask, form.zero]
    name = f"llvm.masked.gather.v{_WIDTH}f32.v{_WIDTH}p0"
    return call(builder, name, form.kind, given)


def _pairs(code: _Split, step: int, to: Any, part: Any, a: Any, b: Any, count: Any) -> None:
    builder = code.builder
    is_there = builder.icmp_signed("!=", b, long_of(0))
    source, its_count = builder.select(is_there, b, a), builder.select(is_there, count, long_of(0))

    def vector(i: Any, held: list[Any]) -> list[Any]:
        begin = builder.mul(i, long_of(_WIDTH))
        first = code.parts(_loaded(code, step, a, begin, count, None))
        second = code.parts(_loaded(code, step, source, begin, its_count, None))
        place = builder.add(to, builder.mul(i, long_of(4 * _WIDTH)))
        for x, y in zip(first, second, strict=True):
            code.store(code.in_pairs(x, y), place)
            place = builder.add(place, part)
        return []

    whole = builder.sdiv(builder.add(count, long_of(_WIDTH - 1)), long_of(_WIDTH))
    loop(builder, whole, [], vector)


def _row(code: _Split, step: int, to: Any, part: Any, a: Any, apart: Any, count: Any) -> None:
    builder = code.builder

    def vector(i: Any, held: list[Any]) -> list[Any]:
        begin = builder.mul(i, long_of(2 * _WIDTH))
        second = builder.add(begin, long_of(_WIDTH))
        low, high = (code.parts(_loaded(code, step, a, at, count, apart)) for at in (begin, second))
        place = builder.add(to, builder.mul(i, long_of(4 * _WIDTH)))
        for x, y in zip(low, high, strict=True):
            code.store(code.side_by_side(x, y), place)
            place = builder.add(place, part)
        return []

    whole = builder.sdiv(builder.add(count, long_of(2 * _WIDTH - 1)), long_of(2 * _WIDTH))
    loop(builder, whole, [], vector)


@intrinsic
def write_plane(
    context: Any, to: Any, to_down: Any, source: Any, source_down: Any, rows: Any, count: Any,
    added: Any, step: Any,
) -> Any:  # fmt: skip
    """Rows of ``count`` numbers plus ``added``, ``step`` apart where they go; by addresses.

    Returns the largest exponent among them, as it stands in a float's bits.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        form = MaskedVectors(builder, types.float32, _WIDTH)
        zero = ir.Constant(ir.VectorType(_WORD, _WIDTH), [0] * _WIDTH)
        offset = _spread(builder, arguments[6])

        def larger(a: Any, b: Any) -> Any:
            return builder.select(builder.icmp_unsigned(">", a, b), a, b)

        def row(i: Any, held: list[Any]) -> list[Any]:
            to, source = (
                builder.add(arguments[n], builder.mul(arguments[n + 1], i)) for n in (0, 2)
            )

            def vector(v: Any, held: list[Any]) -> list[Any]:
                begin = builder.mul(v, long_of(4 * _WIDTH))
                mask = form.first_lanes(builder.sub(arguments[5], builder.mul(v, long_of(_WIDTH))))
                place = pointer(builder, builder.add(source, begin), ir.FloatType())
                value = builder.fadd(form.load(place), offset)
                target = builder.add(to, builder.mul(begin, arguments[7]))
                _store_apart(builder, form, value, target, arguments[7], mask)
                exponents = ir.Constant(zero.type, [_INFINITE] * _WIDTH)
                bits = builder.and_(builder.bitcast(value, zero.type), exponents)
                return [larger(held[0], builder.select(mask, bits, zero))]

            whole = builder.add(arguments[5], long_of(_WIDTH - 1))
            return loop(builder, builder.sdiv(whole, long_of(_WIDTH)), held, vector, "vectors")

        (worst,) = loop(builder, arguments[4], [zero], row, "rows")
        return form.fold(worst, larger)

    return types.int32(*[types.int64] * 6, types.float32, types.int64), generate


def _store_apart(builder: Any, form: Any, value: Any, address: Any, step: Any, mask: Any) -> None:
    """Write the lanes in ``mask``, ``step`` numbers apart."""
    with builder.if_else(builder.icmp_signed("==", step, long_of(1))) as (in_order, others):
        with in_order:
            form.store_some(value, pointer(builder, address, ir.FloatType()), mask)
        with others:
            lanes = ir.Constant(ir.VectorType(_LONG, _WIDTH), [4 * n for n in range(_WIDTH)])
            every = builder.mul(lanes, _spread(builder, step))
            places = builder.add(_spread(builder, address), every)
            kind = ir.VectorType(ir.FloatType().as_pointer(), _WIDTH)
            given = [value, builder.inttoptr(places, kind), ir.Constant(_WORD, 4), mask]
            call(builder, f"llvm.masked.scatter.v{_WIDTH}f32.v{_WIDTH}p0", _VOID, given)
