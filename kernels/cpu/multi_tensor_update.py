"""Updates of all parameters of a model in one call.

Tensors are given by the addresses of their elements and their sizes (int64 arrays); all have one
element type and lie without gaps. What a step does to an element is of ``kernels.scalar.updates``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import carray, from_dtype, types
from numba.extending import intrinsic

from mindtorch.kernels.codegen.jit import entry_point, from_source, kernel
from mindtorch.kernels.scalar import updates

from .threads.thread_pool import get_num_threads, parallel_for
from .vectors.float_bits import fma


@intrinsic
def pointer32(context: Any, address: Any) -> Any:
    """An address as a pointer to float32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float32)(types.int64), generate


@intrinsic
def pointer64(context: Any, address: Any) -> Any:
    """An address as a pointer to float64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float64)(types.int64), generate


@kernel
def _counted(address: int) -> float:
    """Add one to a float32 step counter; what it is now."""
    step = carray(pointer32(address), 1)
    step[0] += np.float32(1.0)
    return np.float64(step[0])


@kernel
def _count(counters: Any, counts: Any) -> None:
    """Add one to each step counter; what they are now."""
    for t in range(counts.size):
        counts[t] = _counted(counters[t])


_STEP = """
def step(own, gradients, counts, sizes, start, stop, maximize, {settings}):
    sign = kind(-1.0) if maximize else kind(1.0)
    before = 0
    known = nan
    for t in range(sizes.size):
        skipped = max(start - before, 0)
        n, at = min(stop - before, sizes[t]) - skipped, skipped * {size}
        before += sizes[t]
        count = counts[t] if counts.size else counted(own[own.shape[0] - 1, t])
        if n <= 0:
            continue
        g = carray(pointer(gradients[t] + at), n)
        {arrays}
        if count != known:
            known = count
            {numbers}, = numbers(count, {settings})
        {rounded}
        for i in range(n):
            {elements}, = element({before}, {numbers})
"""  # numbers of a loop count from 0: numba does not make vectors of one that may begin anywhere


@functools.cache
def _step(update: updates.Update, kind: Any) -> Any:
    """The loop that makes ``update`` of all tensors, for an element type."""
    own, numbers = ["p", *update.state_names], update.number_names
    arrays = [f"{name} = carray(pointer(own[{k}, t] + at), n)" for k, name in enumerate(own)]
    source = _STEP.format(
        settings=", ".join(update.settings), size=np.dtype(kind).itemsize,
        arrays="; ".join(arrays), numbers=", ".join(f"{name}_" for name in numbers),
        rounded="; ".join(f"{name}_ = kind({name}_)" for name in numbers),
        elements=", ".join(f"{name}[i]" for name in own),
        before=", ".join([f"{own[0]}[i], g[i] * sign", *(f"{name}[i]" for name in own[1:])]),
    )  # fmt: skip
    names = {
        "kind": kind, "nan": np.nan, "carray": carray, "counted": _counted,
        "numbers": kernel(update.numbers),
        "pointer": pointer32 if kind is np.float32 else pointer64,
        "element": updates.with_operations(update, {"sqrt": np.sqrt, "fma": fma}, kernel),
    }  # fmt: skip
    return from_source(source, "step", names)


def _of_all(pointer: Any, kind: Any) -> dict[str, Any]:
    """What is done to all tensors of one element type."""

    @kernel(fastmath={"reassoc", "contract"})
    def squares(g_: Any, sizes: Any, norms: Any) -> None:
        for t in range(sizes.size):
            g = carray(pointer(g_[t]), sizes[t])
            total = 0.0
            start = 0
            while start < sizes[t]:
                part = kind(0)
                for i in range(start, min(start + 256, sizes[t])):
                    part += g[i] * g[i]
                total += part
                start += 256
            norms[t] = np.sqrt(total)

    @kernel
    def scale(g_: Any, sizes: Any, factor: float) -> None:
        for t in range(sizes.size):
            g = carray(pointer(g_[t]), sizes[t])
            for i in range(sizes[t]):
                g[i] = g[i] * kind(factor)

    @kernel
    def all_finite(g_: Any, sizes: Any) -> bool:
        for t in range(sizes.size):
            g = carray(pointer(g_[t]), sizes[t])
            bad = 0
            for i in range(sizes[t]):
                bad += 1 if g[i] - g[i] != 0 else 0
            if bad:
                return False
        return True

    return {"squares": squares, "scale": scale, "all_finite": all_finite}


@kernel
def _address(flat: Any) -> int:
    return flat.ctypes.data


_addresses: dict[Any, Callable[[Any], int]] = {}


def address(dtype: np.dtype[Any]) -> Callable[[Any], int]:
    """``f(flat)``: where a dense 1-D array of this type begins; 20 times as fast as numpy's."""
    found = _addresses.get(dtype)
    if found is None:
        array = types.Array(from_dtype(dtype), 1, "C")
        found = _addresses[dtype] = entry_point(_address, (array,))
    return found


_BY_TYPE = {
    np.dtype(np.float32): _of_all(pointer32, np.float32),
    np.dtype(np.float64): _of_all(pointer64, np.float64),
}


def update(name: str, dtype: Any) -> Any:
    """What is done to all tensors ("squares", "scale", "all_finite"), for an element type."""
    return _BY_TYPE[np.dtype(dtype)][name]


_SERIAL = 65536  # elements that one thread updates sooner than two
_LINE = 4096  # threads begin at multiples of so many elements, counted over all tensors
_integers, _counts = types.Array(types.int64, 1, "C"), types.Array(types.float64, 1, "C")
_table = types.Array(types.int64, 2, "C")


def group_update(update: updates.Update, dtype: Any) -> Callable[..., None]:
    """``f(total, own, gradients, counts, sizes, maximize, *settings)``: one step of all tensors.

    Args:
        total: how many elements the tensors have together.
        own: addresses, a column for each tensor: of parameters, of states, and of float32 step
            counters where ``counts`` is empty.
        gradients: addresses.
        counts: the number of each tensor's step, which begins with 1 (float64); empty where it is
            in the counters, which are counted up.
        sizes: elements of each tensor; each thread updates as many of all of them.
        maximize: whether gradients are negated.
        settings: the update's, float64.
    """
    signature = (
        _table, _integers, _counts, _integers, *[types.int64] * 3,
        *[types.float64] * len(update.settings),
    )  # fmt: skip
    loop = entry_point(_step(update, np.dtype(dtype).type), signature)

    def update_group(
        total: int, own: Any, gradients: Any, counts: Any, sizes: Any, *settings: Any
    ) -> None:
        if total < 2 * _SERIAL or get_num_threads() == 1:
            loop(own, gradients, counts, sizes, 0, total, *settings)
            return
        if not counts.size:
            counts = np.empty(len(sizes), np.float64)
            _count(own[-1], counts)

        def part(start: int, stop: int) -> None:
            loop(own, gradients, counts, sizes, start * _LINE, min(stop * _LINE, total), *settings)

        parallel_for(-(-total // _LINE), part)

    return update_group
