"""Vectors some of whose lanes are read and written, and sums of lanes."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

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

    def _intrinsic(self, name: str, result: Any, given: list[Any]) -> Any:
        kind = ir.FunctionType(result, [value.type for value in given])
        known = self.builder.module.globals.get(name)
        return self.builder.call(known or ir.Function(self.builder.module, kind, name), given)

    def at(self, data: Any, number: int) -> Any:
        """The place of vector ``number`` from ``data`` on."""
        return self.builder.gep(data, [long_of(number * self.width)])

    def prefetch(self, place: Any) -> None:
        """Have the cache line of a place fetched meanwhile."""
        flags = [ir.Constant(_WORD, value) for value in (0, 3, 1)]  # to read, to stay, data
        self._intrinsic("llvm.prefetch.p0", ir.VoidType(), [place, *flags])

    def first_lanes(self, count: Any) -> Any:
        """A mask of the first ``count`` lanes."""
        numbers = ir.Constant(ir.VectorType(count.type, self.width), [*range(self.width)])
        nothing = ir.Constant(numbers.type, ir.Undefined)
        one = self.builder.insert_element(nothing, count, ir.Constant(_WORD, 0))
        zeros = ir.Constant(ir.VectorType(_WORD, self.width), [0] * self.width)
        return self.builder.icmp_signed("<", numbers, self.builder.shuffle_vector(one, one, zeros))

    def _masked(self, what: str) -> tuple[str, Any]:
        """The name of an intrinsic, and how places are aligned."""
        name = f"llvm.masked.{what}.v{self.width}f{8 * self._bytes}.p0"
        return name, ir.Constant(_WORD, self._bytes)

    def load_some(self, place: Any, mask: Any) -> Any:
        """The elements of lanes in ``mask``, else 0; others are not read."""
        typed = self.builder.bitcast(place, self.kind.as_pointer())
        name, align = self._masked("load")
        return self._intrinsic(name, self.kind, [typed, align, mask, self.zero])

    def store_some(self, value: Any, place: Any, mask: Any) -> None:
        """Write lanes in ``mask``; others stay as they are."""
        typed = self.builder.bitcast(place, self.kind.as_pointer())
        name, align = self._masked("store")
        self._intrinsic(name, ir.VoidType(), [value, typed, align, mask])

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
