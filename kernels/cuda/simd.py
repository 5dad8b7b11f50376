"""Neighbouring elements read and written together: up to 16 bytes by one instruction.

``at`` is the place of the first of them; its address is a multiple of all their bytes, which
launches see to. The last elements of an array, too few for a vector, are read and written one by
one: :func:`few` and :func:`store_few`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .launch import SIMULATED, device

BYTES = 16
_MOST = 8


def width(sizes: list[int]) -> int:
    """How many elements a thread takes whose operands have elements of these many bytes."""
    return max(min(BYTES // max(sizes), _MOST), 1)


@functools.cache
def functions(count: int) -> dict[str, Callable[..., Any]]:
    """``vector``, ``few``, ``store_vector`` and ``store_few`` for ``count`` elements."""
    whole = _simulated(count) if SIMULATED else _intrinsics(count)
    names = [f"v{k}" for k in range(count)]
    parts = [f"x[at + U({k}) if at + U({k}) < last else last]" for k in range(count)]
    text = f"def few(x, at, last):\n    return ({', '.join(parts)})\n"
    text += f"def store_few(x, at, last, values):\n    {', '.join(names)} = values\n"
    for k, name in enumerate(names):
        text += f"    if at + U({k}) <= last:\n        x[at + U({k})] = {name}\n"
    scope: dict[str, Any] = {"U": np.uint64}
    exec(compile(text, f"<vectors of {count}>", "exec"), scope)
    return {**whole, **{name: device(scope[name]) for name in ("few", "store_few")}}


def _simulated(count: int) -> dict[str, Callable[..., Any]]:
    def vector(x: Any, at: Any) -> Any:
        assert int(at) % count == 0
        return tuple(x[int(at) + k] for k in range(count))

    def store_vector(x: Any, at: Any, values: Any) -> None:
        assert int(at) % count == 0
        for k, value in enumerate(values):
            x[int(at) + k] = value

    return {"vector": vector, "store_vector": store_vector}


def _intrinsics(count: int) -> dict[str, Callable[..., Any]]:
    from llvmlite import ir
    from numba.core import cgutils, types  # of one name whatever was imported: it is in digests
    from numba.cuda.extending import intrinsic

    word = ir.IntType(32)

    def place(context: Any, builder: Any, array: Any, given: Any, at: Any) -> tuple[Any, Any, int]:
        """The element's type, the address as one of registers, and how many elements one holds.

        Short elements are taken out of registers by shifts: a vector of eight shorts would be
        read by two instructions.
        """
        element = context.get_value_type(array.dtype)
        size = context.get_abi_sizeof(element)
        packed = 4 // size if size * count > 4 and size < 4 else 1
        data = cgutils.create_struct_proxy(array)(context, builder, value=given).data
        kind = ir.VectorType(word if packed > 1 else element, count // packed)
        address = builder.bitcast(builder.gep(data, [at]), ir.PointerType(kind))
        return element, address, packed

    def size_of(context: Any, element: Any) -> int:
        return int(context.get_abi_sizeof(element)) * count

    @intrinsic
    def vector(context: Any, x: Any, at: Any) -> Any:
        """``count`` elements of ``x`` from place ``at`` on."""

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            element, address, packed = place(context, builder, x, *arguments)
            found = builder.load(address, align=size_of(context, element))
            parts = [builder.extract_element(found, word(k)) for k in range(count // packed)]
            if packed > 1:
                short = ir.IntType(32 // packed)
                parts = [builder.trunc(builder.lshr(part, word(short.width * k)), short)
                         for part in parts for k in range(packed)]  # fmt: skip
                parts = [builder.bitcast(part, element) for part in parts]
            return context.make_tuple(builder, signature.return_type, parts)

        return types.UniTuple(x.dtype, count)(x, types.uint64), code

    @intrinsic
    def store_vector(context: Any, x: Any, at: Any, values: Any) -> Any:
        """Write ``count`` values to ``x`` from place ``at`` on."""

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            element, address, packed = place(context, builder, x, *arguments[:2])
            parts = [
                context.cast(builder, builder.extract_value(arguments[2], k), given, x.dtype)
                for k, given in enumerate(values.types)
            ]
            if packed > 1:
                short = ir.IntType(32 // packed)
                parts = [builder.zext(builder.bitcast(part, short), word) for part in parts]
                parts = [builder.shl(part, word(short.width * (k % packed)))
                         for k, part in enumerate(parts)]  # fmt: skip
                parts = [functools.reduce(builder.or_, parts[k : k + packed])
                         for k in range(0, count, packed)]  # fmt: skip
            made = ir.Constant(address.type.pointee, ir.Undefined)
            for k, part in enumerate(parts):
                made = builder.insert_element(made, part, word(k))
            builder.store(made, address, align=size_of(context, element))
            return context.get_dummy_value()

        return types.void(x, types.uint64, values), code

    return {"vector": vector, "store_vector": store_vector}
