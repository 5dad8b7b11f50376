"""Vectors some of whose lanes are read and written, and sums of lanes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from .llvm_code import call, spread
from .simd import Vectors, long_of

_WORD = ir.IntType(32)


class MaskedVectors(Vectors):
    """Instructions on vectors of ``width`` floats, and on the first lanes of these."""

    def __init__(self, builder: Any, dtype: Any, width: int) -> None:
        super().__init__(builder, dtype, width)
        self.width, self.kind = width, self.zero.type
        self._bytes = 4 if isinstance(self.kind.element, ir.FloatType) else 8
        # others write some lanes ten times as slowly as all
        self.has_masks = width * self._bytes == 64

    def at(self, data: Any, number: int) -> Any:
        """The place of vector ``number`` from ``data`` on."""
        return self.builder.gep(data, [long_of(number * self.width)])

    def prefetch(self, place: Any, cache: int = 1, writes: bool = False) -> None:
        """Have the line of memory of a place fetched meanwhile, to be written if ``writes``."""
        flags = [ir.Constant(_WORD, value) for value in (int(writes), 4 - cache, 1)]  # 1: data
        call(self.builder, "llvm.prefetch.p0", ir.VoidType(), [place, *flags])

    def first_lanes(self, count: Any) -> Any:
        """A mask of the first ``count`` lanes."""
        numbers = ir.Constant(ir.VectorType(count.type, self.width), [*range(self.width)])
        return self.builder.icmp_signed("<", numbers, spread(self.builder, numbers.type, count))

    def _masked(self, what: str) -> tuple[str, Any]:
        """The name of an intrinsic, and how places are aligned."""
        name = f"llvm.masked.{what}.v{self.width}f{8 * self._bytes}.p0"
        return name, ir.Constant(_WORD, self._bytes)

    def load_some(self, place: Any, mask: Any) -> Any:
        """The elements of lanes in ``mask``, else 0; others are not read."""
        typed = self.builder.bitcast(place, self.kind.as_pointer())
        name, align = self._masked("load")
        return call(self.builder, name, self.kind, [typed, align, mask, self.zero])

    def store_some(self, value: Any, place: Any, mask: Any) -> None:
        """Write lanes in ``mask``; others stay as they are."""
        typed = self.builder.bitcast(place, self.kind.as_pointer())
        name, align = self._masked("store")
        call(self.builder, name, ir.VoidType(), [value, typed, align, mask])

    def lane_totals(self, vectors: list[Any]) -> Any:
        """The sums of the lanes of as many vectors as one has lanes, in one vector."""
        width, block = self.width, 1
        kind = ir.VectorType(_WORD, width)
        while len(vectors) > 1:
            low, high = (
                ir.Constant(kind, [
                    lane + source * width
                    for at in range(first, width, 2 * block)
                    for source in (0, 1)
                    for lane in range(at, at + block)
                ])
                for first in (0, block)
            )  # fmt: skip
            vectors = [
                self.builder.fadd(
                    self.builder.shuffle_vector(a, b, low), self.builder.shuffle_vector(a, b, high)
                )
                for a, b in zip(vectors[::2], vectors[1::2], strict=True)
            ]
            block *= 2
        return vectors[0]
