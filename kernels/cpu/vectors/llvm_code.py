"""Pieces of LLVM's code that the kernels' intrinsics are written with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

__all__ = ["call", "pointer", "shuffled", "spread"]

_WORD, _BYTE = ir.IntType(32), ir.IntType(8)


def call(builder: Any, name: str, result: Any, given: Any) -> Any:
    """The result of a function of LLVM's or of C's, by its name."""
    module = builder.module
    kind = ir.FunctionType(result, [value.type for value in given])
    return builder.call(module.globals.get(name) or ir.Function(module, kind, name), given)


def pointer(builder: Any, address: Any, kind: Any = _BYTE) -> Any:
    """An address as a place of numbers of ``kind``."""
    return builder.inttoptr(address, kind.as_pointer())


def spread(builder: Any, vector: Any, value: Any) -> Any:
    """``value`` in every lane of a vector of this type."""
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(_WORD, 0))
    return shuffled(builder, first, first, [0] * vector.count)


def shuffled(builder: Any, low: Any, high: Any, places: Sequence[int]) -> Any:
    """The elements at these places of two vectors, the second's counted on from the first's."""
    chosen = ir.Constant(ir.VectorType(_WORD, len(places)), [*places])
    return builder.shuffle_vector(low, high, chosen)
