"""Intel's matrix registers (AMX): eight tiles of 16 rows of 64 bytes, products of bfloat16 summed
in float32, and float32 as sums of bfloat16 parts.

A *step* is 32 lines by 32 terms of an operand: for each part two tiles of 16 rows by 16 *pairs* of
bfloat16, term ``j`` with term ``16 + j``. Rows of the left operand's tiles are lines, words in them
pairs; rows of the right one's are pairs, words in them lines (columns of the result).

A float32 is the sum of three bfloat16, each what the ones before left, rounded: 24 bits. Of the
nine products of parts six matter, ``PRODUCTS``; the others are below 2 ** -25 of a term.
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mindtorch.kernels.codegen.target import extensions

from ..vectors.llvm_code import call, pointer
from ..vectors.masked_vectors import MaskedVectors
from ..vectors.simd import long_of, loop, vector_bytes
from . import products

LINES, TERMS = 32, 32  # of a step
_TILE, _ROW, _PITCH = 1024, 64, 128  # bytes of a tile, of its row, of a row of 32 results
_PRCTL, _ASK, _TILE_DATA = 158, 0x1023, 18  # a call of Linux on x86-64: to be given tiles' data
# (part of the left operand, part of the right one): each has a part of the one before
PRODUCTS: dict[int, tuple[tuple[int, int], ...]] = {
    1: ((0, 0),),
    3: ((1, 1), (0, 1), (0, 2), (0, 0), (1, 0), (2, 0)),
}
_WORD, _SHORT, _BYTE, _FLOAT = ir.IntType(32), ir.IntType(16), ir.IntType(8), ir.FloatType()
_WORDS, _FLOATS = ir.VectorType(_WORD, 16), ir.VectorType(_FLOAT, 16)
_HALF, _UPPER, _MAGNITUDE = 0x8000, 0xFFFF0000, 0x7FFFFFFF


def enabled() -> bool:
    """Whether matrix registers may be used: neither ``MINDTORCH_AMX`` nor ``MINDTORCH_PRODUCTS`` is
    0."""
    return products.enabled() and os.environ.get("MINDTORCH_AMX", "1") != "0"


def available() -> bool:
    """Whether this process has matrix registers and may use them."""
    return enabled() and _permitted()


@functools.cache
def _permitted() -> bool:
    """Whether the processor has them and the system gives them to this process, once for all of its
    threads."""
    has = extensions()
    if not (has.get("amx-tile") and has.get("amx-bf16")) or vector_bytes() != 64:
        return False
    return ctypes.CDLL(None).syscall(_PRCTL, _ASK, _TILE_DATA) == 0


def step_bytes(parts: int) -> int:
    """Of one step of an operand of so many parts."""
    return parts * 2 * _TILE


def _words(value: int) -> Any:
    return ir.Constant(_WORDS, [value] * 16)


@intrinsic
def configure(context: Any) -> Any:
    """Give this thread eight tiles of 16 rows of 64 bytes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # palette 1; then from byte 16 on rows' bytes, from byte 48 on numbers of rows
        data = [1] + [0] * 15 + [_ROW, 0] * 8 + [0] * 16 + [16] * 8 + [0] * 8
        kind = ir.ArrayType(_BYTE, _ROW)
        name = "amx.configuration"
        known = builder.module.globals.get(name)
        if known is None:
            known = ir.GlobalVariable(builder.module, kind, name)
            known.initializer = ir.Constant(kind, data)
            known.global_constant, known.linkage, known.align = True, "internal", _ROW
        place = builder.bitcast(known, _BYTE.as_pointer())
        call(builder, "llvm.x86.ldtilecfg", ir.VoidType(), [place])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def release(context: Any) -> Any:
    """Give the tiles back, so that the system need not keep them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        call(builder, "llvm.x86.tilerelease", ir.VoidType(), [])
        return context.get_dummy_value()

    return types.void(), generate


class _Block:
    """The code of one block of results: ``rows`` by ``columns`` tiles, sums in tiles 0 to 3, the
    left operand in 4 and 5, the right one in 6 and 7."""

    def __init__(self, builder: Any, given: Any, parts: int, rows: int, columns: int) -> None:
        self.builder, self.parts, self.rows, self.columns = builder, parts, rows, columns
        self.steps, self.left, self.right, *self.results = given

    def _number(self, value: int) -> Any:
        return ir.Constant(_BYTE, value)

    def _move(self, what: str, number: int, at: Any, pitch: Any) -> None:
        given = [self._number(number), pointer(self.builder, at), pitch]
        call(self.builder, f"llvm.x86.tile{what}64", ir.VoidType(), given)

    def _load(self, number: int, at: Any, offset: int) -> None:
        self._move("loadd", number, self.builder.add(at, long_of(offset)), long_of(_ROW))

    def _multiply(self, i: int, j: int) -> None:
        numbers = [self._number(n) for n in (2 * i + j, 4 + i, 6 + j)]
        call(self.builder, "llvm.x86.tdpbf16ps", ir.VoidType(), numbers)

    def _fetch(self, number: Any) -> None:
        """Have some lines of the result fetched meanwhile, all of them within four steps."""
        *_, out, pitch = self.results
        flags = [ir.Constant(_WORD, value) for value in (1, 3, 1)]  # to write, to stay, data
        for i in range(8):
            row = self.builder.add(self.builder.mul(number, long_of(8)), long_of(i))
            row = self.builder.and_(row, long_of(16 * self.rows - 1))
            at = self.builder.add(out, self.builder.mul(row, pitch))
            for j in range(self.columns):
                place = pointer(self.builder, self.builder.add(at, long_of(j * _ROW)))
                call(self.builder, "llvm.prefetch.p0", ir.VoidType(), [place, *flags])

    def _step(self, number: Any, held: Any) -> list[Any]:
        self._fetch(number)
        begin = self.builder.mul(number, long_of(step_bytes(self.parts)))
        left, right = (self.builder.add(x, begin) for x in (self.left, self.right))
        before = (-1, -1)
        for a, b in PRODUCTS[self.parts]:
            for i in range(self.rows if a != before[0] else 0):
                self._load(4 + i, left, (2 * a + i) * _TILE)
            for j in range(self.columns if b != before[1] else 0):
                self._load(6 + j, right, (2 * b + j) * _TILE)
            for i in range(self.rows):
                for j in range(self.columns):
                    self._multiply(i, j)
            before = a, b
        return []

    def _move_results(self, what: str, begin: Any, pitch: Any) -> None:
        down = self.builder.mul(pitch, long_of(16))
        for i in range(self.rows):
            for j in range(self.columns):
                at = self.builder.add(begin, long_of(j * _ROW))
                at = self.builder.add(at, down) if i else at
                self._move(what, 2 * i + j, at, pitch)

    def write(self) -> None:
        start, start_pitch, out, pitch = self.results
        self._move_results("loadd", start, start_pitch)
        loop(self.builder, self.steps, [], self._step, f"amx.{self.rows}.{self.columns}")
        self._move_results("stored", out, pitch)


@functools.cache
def block_of(parts: int) -> Any:
    """The kernel of a block: ``block(rows, columns, steps, left, right, start, start_pitch, out,
    pitch)`` writes ``rows`` by ``columns`` tiles (1 or 2) of ``start + left @ right``, float32.

    All are given by addresses, pitches in bytes; packed operands have :func:`step_bytes` for each
    step.
    """

    @intrinsic
    def block(
        context: Any, rows: Any, columns: Any, steps: Any, left: Any, right: Any, start: Any,
        start_pitch: Any, out: Any, pitch: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            end = builder.append_basic_block("amx.end")
            number = builder.add(builder.mul(arguments[0], long_of(2)), arguments[1])
            switch = builder.switch(number, end)
            for i in (1, 2):
                for j in (1, 2):
                    here = builder.append_basic_block(f"amx.{i}.{j}")
                    switch.add_case(long_of(2 * i + j), here)
                    builder.position_at_end(here)
                    _Block(builder, arguments[2:], parts, i, j).write()
                    builder.branch(end)
            builder.position_at_end(end)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 9), generate

    return block


class _Lanes:
    """Vectors of 16 numbers of an operand, as words.

    Args:
        form: vectors of 16 words.
        wide: whether numbers are float32; else they are bfloat16.
    """

    def __init__(self, form: MaskedVectors, wide: bool) -> None:
        self.form, self.builder, self.wide = form, form.builder, wide
        self.element = _FLOAT if wide else _SHORT
        self.kind = ir.VectorType(self.element, 16)

    def _words_of(self, value: Any) -> Any:
        """float32's bits; bfloat16's, as the float32 they stand for."""
        if self.wide:
            return self.builder.bitcast(value, _WORDS)
        return self.builder.shl(self.builder.zext(value, _WORDS), _words(16))

    def load(self, address: Any) -> Any:
        place = pointer(self.builder, address, self.kind)
        return self._words_of(self.builder.load(place, align=self.element_bytes))

    @property
    def element_bytes(self) -> int:
        return 4 if self.wide else 2

    def load_some(self, address: Any, count: Any) -> Any:
        """The first ``count`` of them, the others 0."""
        name = f"llvm.masked.load.v16{'f32' if self.wide else 'i16'}.p0"
        place = pointer(self.builder, address, self.kind)
        align = ir.Constant(_WORD, self.element_bytes)
        zero = ir.Constant(self.kind, None)
        given = [place, align, self.form.first_lanes(count), zero]
        return self._words_of(call(self.builder, name, self.kind, given))


def parts_of(builder: Any, words: Any, parts: int) -> list[Any]:
    """float32's bits as those of bfloat16 parts, in the upper halves of words."""
    found, left = [], words
    for number in range(parts):
        exact = number == 2  # no bits are left below the third part
        near = left if exact else builder.add(left, _words(_HALF))
        part = builder.and_(near, _words(_UPPER))
        found.append(part)
        if number + 1 < parts:
            rest = builder.fsub(builder.bitcast(left, _FLOATS), builder.bitcast(part, _FLOATS))
            left = builder.bitcast(rest, _WORDS)
    return found


@functools.cache
def split_of(parts: int, wide: bool) -> Any:
    """The kernel that makes 16 pairs: ``split(out, first, count, second, others, ahead, largest)``
    writes the parts of ``count`` numbers at address ``first``, each with one of ``others`` at
    ``second``; parts are two tiles apart. What lies ``ahead`` bytes from there is fetched
    meanwhile, and ``largest`` is where 16 words have the largest magnitudes so far.

    Args:
        parts: 3 for float32, 1 for bfloat16.
        wide: whether numbers are float32.
    """

    @intrinsic
    def split(
        context: Any, out: Any, first: Any, count: Any, second: Any, others: Any, ahead: Any,
        largest: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            out, first, count, second, others, ahead, largest = arguments
            flags = [ir.Constant(_WORD, value) for value in (0, 3, 1)]  # to read, to stay, data
            for address in (first, second):
                place = pointer(builder, builder.add(address, ahead))
                call(builder, "llvm.prefetch.p0", ir.VoidType(), [place, *flags])
            lanes = _Lanes(MaskedVectors(builder, types.float32, 16), wide)
            full = long_of(16)
            is_whole = builder.and_(
                builder.icmp_signed(">=", count, full), builder.icmp_signed(">=", others, full)
            )
            with builder.if_else(is_whole) as (then, otherwise):
                with then:
                    whole = [lanes.load(first), lanes.load(second)]
                    whole_block = builder.block
                with otherwise:
                    some = [lanes.load_some(first, count), lanes.load_some(second, others)]
                    some_block = builder.block
            made = []
            for a, b in zip(whole, some, strict=True):
                value = builder.phi(_WORDS)
                value.add_incoming(a, whole_block)
                value.add_incoming(b, some_block)
                made.append(value)
            low, high = (parts_of(builder, words, parts) for words in made)
            for number, (a, b) in enumerate(zip(low, high, strict=True)):
                pair = builder.or_(builder.lshr(a, _words(16)), b)
                at = builder.add(out, long_of(number * 2 * _TILE))
                builder.store(pair, pointer(builder, at, _WORDS), align=_ROW)
            if wide:
                place = pointer(builder, largest, _WORDS)
                most = builder.load(place, align=_ROW)
                for words in made:
                    size = builder.and_(words, _words(_MAGNITUDE))
                    most = call(builder, "llvm.umax.v16i32", _WORDS, [most, size])
                builder.store(most, place, align=_ROW)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 7), generate

    return split


def turned(builder: Any, rows: list[Any]) -> list[Any]:
    """16 vectors of 16 words with rows and columns exchanged."""
    rows = [*rows]
    for apart in (1, 2, 4, 8):
        for i in range(16):
            if i & apart:
                continue
            a, b = rows[i], rows[i + apart]
            picks = (
                [lane if not lane & apart else 16 + lane - apart for lane in range(16)],
                [lane + apart if not lane & apart else 16 + lane for lane in range(16)],
            )
            rows[i], rows[i + apart] = (
                builder.shuffle_vector(a, b, ir.Constant(_WORDS, pick)) for pick in picks
            )
    return rows


@intrinsic
def turn_tile(context: Any, tile: Any) -> Any:
    """Exchange rows and words of a packed tile at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        places = [
            pointer(builder, builder.add(arguments[0], long_of(i * _ROW)), _WORDS)
            for i in range(16)
        ]
        rows = turned(builder, [builder.load(place, align=_ROW) for place in places])
        for row, place in zip(rows, places, strict=True):
            builder.store(row, place, align=_ROW)
        return context.get_dummy_value()

    return types.void(types.int64), generate


def _rounded(builder: Any, words: Any) -> Any:
    """float32's bits as bfloat16, to the nearest, ties to even; what is no number stays none."""
    odd = builder.and_(builder.lshr(words, _words(16)), _words(1))
    near = builder.add(words, builder.add(odd, _words(_HALF - 1)))
    is_none = builder.icmp_unsigned(
        ">", builder.and_(words, _words(_MAGNITUDE)), _words(0x7F800000)
    )
    none = builder.or_(words, _words(0x00400000))
    near = builder.select(is_none, none, near)
    return builder.trunc(builder.lshr(near, _words(16)), ir.VectorType(_SHORT, 16))


@functools.cache
def add_of(wide: bool) -> Any:
    """The kernel that finishes a block: ``add(rows, columns, block, start, start_pitch, out,
    pitch)`` writes ``start + block``, for up to 32 rows and columns; pitches in bytes.

    Args:
        wide: whether ``start`` and ``out`` are float32; else they are bfloat16.
    """

    @intrinsic
    def add(
        context: Any, rows: Any, columns: Any, block: Any, start: Any, start_pitch: Any, out: Any,
        pitch: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rows, columns, block, start, start_pitch, out, pitch = arguments
            form = MaskedVectors(builder, types.float32, 16)
            lanes = _Lanes(form, wide)
            counts = [columns, builder.sub(columns, long_of(16))]
            masks = [form.first_lanes(count) for count in counts]

            def row(i: Any, held: Any) -> list[Any]:
                begin, target = (
                    builder.add(x, builder.mul(i, step))
                    for x, step in ((start, start_pitch), (out, pitch))
                )
                line = builder.add(block, builder.mul(i, long_of(_PITCH)))
                for half, (count, mask) in enumerate(zip(counts, masks, strict=True)):
                    at = builder.add(line, long_of(half * _ROW))
                    made = builder.load(pointer(builder, at, _FLOATS), align=_ROW)
                    offset = long_of(16 * half * lanes.element_bytes)
                    given = lanes.load_some(builder.add(begin, offset), count)
                    total = builder.fadd(builder.bitcast(given, _FLOATS), made)
                    place = pointer(builder, builder.add(target, offset), lanes.kind)
                    if not wide:
                        total = _rounded(builder, builder.bitcast(total, _WORDS))
                    name = f"llvm.masked.store.v16{'f32' if wide else 'i16'}.p0"
                    align = ir.Constant(_WORD, lanes.element_bytes)
                    call(builder, name, ir.VoidType(), [total, place, align, mask])
                return []

            loop(builder, rows, [], row, "amx.add")
            return context.get_dummy_value()

        return types.void(*[types.int64] * 7), generate

    return add
