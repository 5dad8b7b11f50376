"""The register tile of inference: some pixels by some channels of a convolution or a product.

Numbers of all channels of a pixel lie side by side, in whole words of 4 bytes. What is multiplied
is found by a table: for each tap of the window and each row of the tile the byte where the pixel
begins. One pixel before the image stands for those outside of it. So a convolution of any stride,
padding and dilation, and a product of matrices, is the same loop. Weights are packed in panels as
wide as a tile, ``[panel][tap][word][channel]``.

Eight-bit numbers are four to a word, unsigned times signed, and summed in 32 bits. Three forms of
that instruction give the same integers: "vnni" (one instruction), "pairs" (16-bit products of two,
which no sum of two exceeds), and "plain".
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mindtorch.kernels.codegen.target import extensions

from ..vectors.llvm_code import call, pointer, spread
from ..vectors.simd import Vectors, long_of, loop, tile_rows, vector_bytes
from .vector_activations import ACTIVATIONS

_WORD, _LONG, _BYTE, _HALF = ir.IntType(32), ir.IntType(64), ir.IntType(8), ir.IntType(16)
_FLOAT = ir.FloatType()

ARGUMENTS = (
    "places", "taps", "run", "x", "weights", "start", "bias", "factor", "add",
    "add_pitch", "out", "out_pitch", "bytes", "bytes_pitch", "after", "row",
)  # fmt: skip
NUMBERS = ("low", "high", "inverse", "origin")
_AHEAD = 4096  # bytes from the weights that are read to those that are asked for
PITCH = 8  # pixels have a multiple of so many channels
POOLED = 4  # rows that stand together where only the largest of them is stored
# what "after" asks for: nothing, the largest of every four rows, or an activation
POOL, FIRST_ACTIVATION = 1, 2


@functools.cache
def byte_form() -> str:
    """How this processor multiplies bytes: "vnni", "pairs" or "plain"."""
    has = extensions()
    if has.get("avxvnni") or (has.get("avx512vnni") and has.get("avx512vl")):
        return "vnni"
    if vector_bytes() == 64:
        return "pairs" if has.get("avx512bw") else "plain"
    return "pairs" if has.get("sse2") else "plain"


def pools() -> bool:
    """Whether tiles of all rows are made of windows of four pixels."""
    return tile_rows() % POOLED == 0


def panel_widths() -> tuple[tuple[int, int], ...]:
    """(vectors, lanes) of the panels that there are, the narrowest first."""
    lanes = vector_bytes() // 4
    most = 3 if vector_bytes() == 64 else 2
    narrow = ((1, lanes // 2),) if lanes > PITCH else ()
    return (*narrow, *((v, lanes) for v in range(1, most + 1)))


class Tile:
    """The code of one tile."""

    def __init__(self, builder: Any, values: dict[str, Any], shape: Any, kind: str, form: str):
        self.builder, self.of, self.kind, self.form = builder, values, kind, form
        self.rows, self.vectors, self.width = shape
        self.floats = Vectors(builder, types.float32, self.width)
        self.word_vector = ir.VectorType(_WORD, self.width)
        self.is_float = kind in ("float", "depthwise", "largest")
        self.vector = ir.VectorType(_FLOAT, self.width) if self.is_float else self.word_vector

    # --- memory ---

    def pointer(self, address: Any, kind: Any) -> Any:
        return pointer(self.builder, address, kind)

    def load(self, address: Any, kind: Any, align: int = 4) -> Any:
        return self.builder.load(self.pointer(address, kind), align=align)

    def plus(self, address: Any, count: int) -> Any:
        return self.builder.add(address, long_of(count)) if count else address

    def prefetch(self, address: Any) -> None:
        """Ask for what is soon read, which may lie beyond the weights."""
        flags = [ir.Constant(_WORD, n) for n in (0, 3, 1)]
        self.call("llvm.prefetch.p0", ir.VoidType(), self.pointer(address, _BYTE), *flags)

    def spread(self, value: Any, kind: Any) -> Any:
        return spread(self.builder, kind, value)

    def constant(self, number: int, kind: Any) -> Any:
        return ir.Constant(kind, [number] * kind.count)

    def call(self, name: str, kind: Any, *arguments: Any) -> Any:
        return call(self.builder, name, kind, arguments)

    # --- the sums ---

    def byte_weights(self, held: Any) -> list[Any]:
        """What one vector of words with four signed bytes each is multiplied as."""
        if self.form == "vnni":
            return [held]
        builder = self.builder
        if self.form == "pairs":
            halves = ir.VectorType(_HALF, 2 * self.width)
            both = builder.bitcast(held, halves)
            eight = self.constant(8, halves)
            return [builder.ashr(builder.shl(both, eight), eight), builder.ashr(both, eight)]
        top = self.constant(24, self.word_vector)
        return [
            builder.ashr(builder.shl(held, self.constant(24 - 8 * k, self.word_vector)), top)
            for k in range(4)
        ]

    def byte_values(self, word: Any) -> list[Any]:
        """The same for a word of four unsigned bytes, in every lane."""
        return [self.spread(part, self.word_vector) for part in self.byte_parts(word)]

    def byte_parts(self, words: Any) -> list[Any]:
        """What a word of four unsigned bytes, or a vector of words, is multiplied as."""
        if self.form == "vnni":
            return [words]

        def of(number: int) -> Any:
            return ir.Constant(words.type, number) if words.type == _WORD else self.constant(
                number, words.type
            )

        builder = self.builder
        if self.form == "pairs":
            mask, eight = of(0x00FF00FF), of(8)
            return [builder.and_(words, mask), builder.and_(builder.lshr(words, eight), mask)]
        return [builder.and_(builder.lshr(words, of(8 * k)), of(255)) for k in range(4)]

    def byte_product(self, total: Any, values: list[Any], weights: list[Any]) -> Any:
        builder, kind = self.builder, self.word_vector
        if self.form == "vnni":
            many = ir.VectorType(_BYTE, 4 * self.width)
            return self.call(
                f"llvm.x86.avx512.vpdpbusd.{32 * self.width}", kind, total,
                builder.bitcast(values[0], many), builder.bitcast(weights[0], many),
            )  # fmt: skip
        if self.form == "plain":
            for a, b in zip(values, weights, strict=True):
                total = builder.add(total, builder.mul(a, b))
            return total
        for a, b in zip(values, weights, strict=True):
            total = builder.add(total, self.pairs(a, b))
        return total

    def lines(self, tap: Any, count: int) -> list[Any]:
        """The addresses of the rows' pixels for a tap."""
        builder, of = self.builder, self.of
        at = builder.add(of["places"], builder.mul(tap, long_of(4 * tile_rows())))
        made = []
        for j in range(count):
            distance = builder.sext(self.load(self.plus(at, 4 * j), _WORD), _LONG)
            made.append(builder.add(of["x"], distance))
        return made

    def products(self, lines: list[Any], at: Any, right: Any, sums: list[Any]) -> list[Any]:
        """Sums and the products of one word of each row; ``at`` in bytes, ``right`` its weights."""
        builder, across = self.builder, self.vectors
        held = [
            self.load(self.plus(right, 4 * v * self.width), self.vector) for v in range(across)
        ]
        for v in range(across):
            self.prefetch(self.plus(right, _AHEAD + 4 * v * self.width))
        made = []
        expanded = held if self.is_float else [self.byte_weights(h) for h in held]
        for j, line in enumerate(lines):
            value = self.load(builder.add(line, at), _FLOAT if self.is_float else _WORD)
            many = self.spread(value, self.vector) if self.is_float else self.byte_values(value)
            for v in range(across):
                total = sums[j * across + v]
                if self.is_float:
                    made.append(self.floats.fma(many, expanded[v], total))
                else:
                    made.append(self.byte_product(total, many, expanded[v]))
        return made

    def depthwise(self, lines: list[Any], right: Any, sums: list[Any]) -> list[Any]:
        """Sums and the products of one tap, where each channel has its own weight."""
        builder, made = self.builder, []
        held = [
            self.load(self.plus(right, 4 * v * self.width), self.vector)
            for v in range(self.vectors)
        ]
        for j, line in enumerate(lines):
            for v in range(self.vectors):
                total = sums[j * self.vectors + v]
                if self.is_float:
                    value = self.load(self.plus(line, 4 * v * self.width), self.vector)
                    made.append(self.floats.fma(value, held[v], total))
                else:
                    few = ir.VectorType(_BYTE, self.width)
                    value = self.load(self.plus(line, v * self.width), few, 1)
                    value = builder.zext(value, self.word_vector)
                    made.append(self.word_product(total, value, held[v]))
        return made

    def word_product(self, total: Any, value: Any, weight: Any) -> Any:
        """The sum and products of words of at most 15 bits: the products of their lower halves,
        since the upper ones of values are 0."""
        builder, kind = self.builder, self.word_vector
        if self.form == "vnni":
            halves = ir.VectorType(_HALF, 2 * self.width)
            name = f"llvm.x86.avx512.vpdpwssd.{32 * self.width}"
            return self.call(
                name, kind, total, builder.bitcast(value, halves), builder.bitcast(weight, halves)
            )
        if self.form == "plain":
            return builder.add(total, builder.mul(value, weight))
        return builder.add(total, self.pairs(value, weight))

    def pairs(self, a: Any, b: Any) -> Any:
        """The products of halves of words, and the sum of two."""
        halves = ir.VectorType(_HALF, 2 * self.width)
        name = {4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}[self.width]
        builder = self.builder
        return self.call(f"llvm.x86.{name}", self.word_vector, builder.bitcast(a, halves),
                         builder.bitcast(b, halves))  # fmt: skip

    def larger(self, best: Any, value: Any) -> Any:
        """The larger of two vectors' numbers; NaN if one is."""
        builder = self.builder
        if self.is_float:
            keep = builder.fcmp_ordered(">=", best, value)
            keep = builder.or_(keep, builder.fcmp_unordered("uno", best, best))
        else:
            keep = builder.icmp_signed(">=", best, value)
        return builder.select(keep, best, value)

    def largest(self, lines: list[Any], held: list[Any]) -> list[Any]:
        """The larger of what is held and a tap's number."""
        builder, made = self.builder, []
        for j, line in enumerate(lines):
            for v in range(self.vectors):
                if self.is_float:
                    value = self.load(self.plus(line, 4 * v * self.width), self.vector)
                else:
                    few = ir.VectorType(_BYTE, self.width)
                    value = self.load(self.plus(line, v * self.width), few, 1)
                    value = builder.zext(value, self.word_vector)
                made.append(self.larger(held[j * self.vectors + v], value))
        return made

    def pooled(self, sums: list[Any]) -> list[Any]:
        """The largest of every four rows."""
        across, made = self.vectors, []
        for j in range(0, self.rows, POOLED):
            for v in range(across):
                rows = [sums[(j + k) * across + v] for k in range(POOLED)]
                made.append(functools.reduce(self.larger, rows))
        return made

    def sums(self) -> list[Any]:
        """The rows' sums over all taps, or the largest numbers of these."""
        builder, of = self.builder, self.of
        panel = 4 * self.vectors * self.width
        starts = [
            self.load(self.plus(of["start"], 4 * v * self.width), self.vector)
            for v in range(self.vectors)
        ]
        initial = starts * self.rows
        if self.kind.startswith("largest"):
            return loop(self.builder, of["taps"], initial, lambda tap, held: self.largest(
                self.lines(tap, self.rows), held
            ), "taps")  # fmt: skip
        if self.kind in ("depthwise", "depthwise bytes"):
            return loop(self.builder, of["taps"], initial, lambda tap, held: self.depthwise(
                self.lines(tap, self.rows),
                builder.add(of["weights"], builder.mul(tap, long_of(panel))), held,
            ), "taps")  # fmt: skip
        if self.rows == 1:
            return self.sums_apart(initial, panel, 4)
        if not self.is_float and self.vectors == 1 and vector_bytes() == 64:
            return self.sums_apart(initial, panel, 2)

        def each_tap(tap: Any, held: list[Any]) -> list[Any]:
            lines = self.lines(tap, self.rows)
            whole = builder.mul(builder.mul(tap, of["run"]), long_of(panel))
            right = builder.add(of["weights"], whole)
            return loop(self.builder, of["run"], held, lambda i, inner: self.products(
                lines, builder.mul(i, long_of(4)),
                builder.add(right, builder.mul(i, long_of(panel))), inner,
            ), "run")  # fmt: skip

        return loop(self.builder, of["taps"], initial, each_tap, "taps")

    def sums_apart(self, initial: list[Any], panel: int, apart: int) -> list[Any]:
        """Of few sums: every second or fourth word has its own, so that none waits for another."""
        builder, of = self.builder, self.of
        zero = self.floats.zero if self.is_float else self.constant(0, self.word_vector)
        first = [*initial, *[zero] * (len(initial) * (apart - 1))]
        size = len(initial)

        def each_tap(tap: Any, held: list[Any]) -> list[Any]:
            lines = self.lines(tap, self.rows)
            whole = builder.mul(builder.mul(tap, of["run"]), long_of(panel))
            right = builder.add(of["weights"], whole)

            def several(i: Any, inner: list[Any]) -> list[Any]:
                made = []
                for k in range(apart):
                    word = builder.add(builder.mul(i, long_of(apart)), long_of(k))
                    made += self.products(
                        lines, builder.mul(word, long_of(4)),
                        builder.add(right, builder.mul(word, long_of(panel))),
                        inner[k * size : (k + 1) * size],
                    )  # fmt: skip
                return made

            count = builder.udiv(of["run"], long_of(apart))
            held = loop(self.builder, count, held, several, "run")
            done = builder.mul(count, long_of(apart))

            def rest(i: Any, inner: list[Any]) -> list[Any]:
                word = builder.add(done, i)
                return self.products(
                    lines, builder.mul(word, long_of(4)),
                    builder.add(right, builder.mul(word, long_of(panel))), inner,
                )  # fmt: skip

            few = loop(self.builder, builder.sub(of["run"], done), held[:size], rest, "rest")
            return [*few, *held[size:]]

        held = loop(self.builder, of["taps"], first, each_tap, "taps")
        plus = builder.fadd if self.is_float else builder.add
        parts = [held[k * size : (k + 1) * size] for k in range(apart)]
        while len(parts) > 1:
            parts = [
                [plus(a, b) for a, b in zip(*parts[k : k + 2], strict=True)]
                for k in range(0, len(parts), 2)
            ]
        return parts[0]

    # --- the results ---

    def limited(self, value: Any, low: Any, high: Any) -> Any:
        """Between two numbers; NaN stays."""
        builder = self.builder
        value = builder.select(builder.fcmp_ordered("<", value, low), low, value)
        return builder.select(builder.fcmp_ordered(">", value, high), high, value)

    def end(self, sums: list[Any]) -> None:
        """Store results of all rows, or of the largest of every four, or through an activation."""
        if self.kind.startswith("largest"):
            self.finish(sums)
            return
        of = self.of["after"]
        self.unless(of, 0, lambda: self.finish(sums), lambda: self.end_with(sums))

    def end_with(self, sums: list[Any]) -> None:
        if pools() and self.kind in ("float", "bytes") and self.rows % POOLED == 0:
            self.unless(
                self.of["after"], POOL, lambda: self.finish(self.pooled(sums), adds=False),
                lambda: self.activate(sums),
            )
        else:
            self.activate(sums)

    def unless(self, value: Any, number: int, act: Any, other: Any) -> None:
        """``act()`` where a value is a number, else ``other()``."""
        builder = self.builder
        equal, differs, ended = (builder.append_basic_block(n) for n in ("equal", "other", "ended"))
        builder.cbranch(builder.icmp_signed("==", value, long_of(number)), equal, differs)
        for block, write in ((equal, act), (differs, other)):
            builder.position_at_end(block)
            write()
            builder.branch(ended)
        builder.position_at_end(ended)

    def activate(self, sums: list[Any]) -> None:
        """Store results through an activation, row by row: code for all rows at once would be
        long."""
        builder, of = self.builder, self.of
        made = self.scaled(sums)
        with builder.goto_entry_block():
            held = builder.alloca(ir.ArrayType(made[0].type, len(made)))
        for i, value in enumerate(made):
            builder.store(value, builder.gep(held, [long_of(0), long_of(i)]), align=4)
        blocks = [builder.append_basic_block(name) for name in ACTIVATIONS]
        ended = builder.append_basic_block("activated")
        choice = builder.switch(of["after"], ended)
        for number, block in enumerate(blocks):
            choice.add_case(long_of(FIRST_ACTIVATION + number), block)
        for block, activation in zip(blocks, ACTIVATIONS.values(), strict=True):
            builder.position_at_end(block)
            loop(builder, long_of(self.rows), [], functools.partial(self.row, held, activation))
            builder.branch(ended)
        builder.position_at_end(ended)

    def row(self, held: Any, activation: Any, j: Any, _: Any) -> list[Any]:
        """One row of :meth:`activate`."""
        builder, of = self.builder, self.of
        made = []
        for v in range(self.vectors):
            at = builder.add(builder.mul(j, long_of(self.vectors)), long_of(v))
            value = builder.load(builder.gep(held, [long_of(0), at]), align=4)
            made.append(activation(self.floats, value))
        line = builder.add(of["row"], j)

        def store(name: str, act: Any) -> None:
            self.when(of[name], lambda: act(
                builder.add(of[name], builder.mul(line, of[f"{name}_pitch"])), made
            ))  # fmt: skip

        store("out", self.store_line)
        store("bytes", self.store_line_of_bytes)
        return []

    def scaled(self, sums: list[Any]) -> list[Any]:
        """Sums as floats: those of bytes times a factor, and a bias."""
        builder, of = self.builder, self.of
        if self.is_float:
            return sums
        floats, made = ir.VectorType(_FLOAT, self.width), []
        for j, total in enumerate(sums):
            at = 4 * (j % self.vectors) * self.width
            factor = self.load(self.plus(of["factor"], at), floats)
            bias = self.load(self.plus(of["bias"], at), floats)
            value = builder.fmul(builder.sitofp(total, floats), factor)
            made.append(builder.fadd(value, bias))
        return made

    def finish(self, sums: list[Any], adds: bool = True) -> None:
        """Scale, add, limit and store."""
        of = self.of
        floats = ir.VectorType(_FLOAT, self.width)
        low, high = self.spread(of["low"], floats), self.spread(of["high"], floats)
        sums = self.scaled(sums)
        sums = self.with_added(sums, floats) if adds else sums
        made = [self.limited(value, low, high) for value in sums]
        self.when(of["out"], lambda: self.store(made, "out", self.store_line))
        self.when(of["bytes"], lambda: self.store(made, "bytes", self.store_line_of_bytes))

    def lines_of(self, base: Any, pitch: Any, rows: int) -> list[Any]:
        """Where each row's numbers are."""
        builder, of = self.builder, self.of
        made = [builder.add(base, builder.mul(of["row"], pitch))]
        for _ in range(1, rows):
            made.append(builder.add(made[-1], pitch))
        return made

    def with_added(self, sums: list[Any], floats: Any) -> list[Any]:
        """Sums and what is added to them, unless its address is 0."""
        builder, of = self.builder, self.of
        before = builder.block
        inside, done = builder.append_basic_block("add"), builder.append_basic_block("added")
        builder.cbranch(builder.icmp_signed("!=", of["add"], long_of(0)), inside, done)
        builder.position_at_end(inside)
        added = []
        for j, line in enumerate(self.lines_of(of["add"], of["add_pitch"], self.rows)):
            for v in range(self.vectors):
                other = self.load(self.plus(line, 4 * v * self.width), floats)
                added.append(builder.fadd(sums[j * self.vectors + v], other))
        builder.branch(done)
        builder.position_at_end(done)
        made = []
        for first, second in zip(sums, added, strict=True):
            value = builder.phi(floats)
            value.add_incoming(first, before)
            value.add_incoming(second, inside)
            made.append(value)
        return made

    def when(self, address: Any, act: Any) -> None:
        """Do something unless an address is 0."""
        builder = self.builder
        inside, done = builder.append_basic_block("store"), builder.append_basic_block("stored")
        builder.cbranch(builder.icmp_signed("!=", address, long_of(0)), inside, done)
        builder.position_at_end(inside)
        act()
        builder.branch(done)
        builder.position_at_end(done)

    def store(self, made: list[Any], name: str, line: Any) -> None:
        """Store all rows."""
        of, across = self.of, self.vectors
        rows = len(made) // across
        for j, to in enumerate(self.lines_of(of[name], of[f"{name}_pitch"], rows)):
            line(to, made[j * across : (j + 1) * across])

    def store_line(self, to: Any, made: list[Any]) -> None:
        for v, value in enumerate(made):
            place = self.pointer(self.plus(to, 4 * v * self.width), value.type)
            self.builder.store(value, place, align=4)

    def store_line_of_bytes(self, to: Any, made: list[Any]) -> None:
        builder, of = self.builder, self.of
        floats = ir.VectorType(_FLOAT, self.width)
        inverse, origin = self.spread(of["inverse"], floats), self.spread(of["origin"], floats)
        least, most = self.floats.constant(0.0), self.floats.constant(255.0)
        for v, given in enumerate(made):
            value = builder.fmul(given, inverse)
            value = self.call(f"llvm.rint.v{self.width}f32", floats, value)
            value = builder.fadd(value, origin)
            # what is not greater than 0 is 0, NaN too
            value = builder.select(builder.fcmp_ordered(">", value, least), value, least)
            value = builder.select(builder.fcmp_ordered("<", value, most), value, most)
            few = ir.VectorType(_BYTE, self.width)
            value = builder.trunc(builder.fptosi(value, self.word_vector), few)
            place = self.pointer(self.plus(to, v * self.width), few)
            builder.store(value, place, align=1)


@functools.cache
def tile_code(kind: str, rows: int, vectors: int, width: int, form: str = "") -> Any:
    """The kernel of one tile; its arguments are :data:`ARGUMENTS` (int64: addresses in bytes, and
    counts) and :data:`NUMBERS` (float32).

    For rows from ``row`` on and each channel::

        total = start[channel] + sum over taps and words of pixel * weight
        value = total (floats), or total * factor[channel] + bias[channel] (bytes)
        value = min(max(value + add[row], low), high)           nothing is added if ``add`` is 0
        out[row] = value                                     unless ``out`` is 0
        bytes[row] = min(max(rint(value * inverse) + origin, 0), 255)   unless ``bytes`` is 0

    With ``after``, nothing is added: the largest of every four rows is one row of the results
    (floats and bytes, where :func:`pools`), or an activation takes the place of the limits.

    Args:
        kind: "float", "bytes", "depthwise" or "depthwise bytes"; "largest" or "largest bytes":
            the largest number takes the place of the sum.
        form: of products of bytes; this processor's where it is empty.
    """

    used = form or byte_form()  # a name of the kernel's file

    @intrinsic
    def tile(
        context: Any, places: Any, taps: Any, run: Any, x: Any, weights: Any, start: Any,
         bias: Any, factor: Any, add: Any, add_pitch: Any, out: Any, out_pitch: Any,
        bytes_: Any, bytes_pitch: Any, after: Any, row: Any, low: Any, high: Any,
        inverse: Any, origin: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            values = dict(zip((*ARGUMENTS, *NUMBERS), arguments, strict=True))
            code = Tile(builder, values, (rows, vectors, width), kind, used)
            code.end(code.sums())
            return context.get_dummy_value()

        whole, real = [types.int64] * len(ARGUMENTS), [types.float32] * len(NUMBERS)
        return types.void(*whole, *real), generate

    return tile
