"""Updates of all parameters of a model in one call.

Tensors are given by the addresses of their elements and their sizes (int64 arrays); all have one
element type and lie without gaps. Arithmetic is done element by element in the order in which torch
does it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import carray, from_dtype, types
from numba.extending import intrinsic

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .thread_pool import get_num_threads, parallel_for


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


def _loops(pointer: Any, kind: Any) -> dict[str, Any]:
    """The updates for one element type.

    Numbers of a loop count from 0: numba does not make vectors of one that may begin anywhere.
    """
    size = np.dtype(kind).itemsize

    @kernel(fastmath={"contract"})
    def sgd(
        own: Any, g_: Any, fresh: Any, sizes: Any, start: int, stop: int, lr: float,
        momentum: float, dampening: float, decay: float, nesterov: int, maximize: int,
    ) -> None:  # fmt: skip
        rate, weight = kind(-lr), kind(decay)
        keep, take = kind(momentum), kind(1.0 - dampening)
        sign = kind(-1.0) if maximize else kind(1.0)
        before = 0
        for t in range(sizes.size):
            skipped = max(start - before, 0)
            n, at = min(stop - before, sizes[t]) - skipped, skipped * size
            before += sizes[t]
            if n <= 0:
                continue
            p, g = carray(pointer(own[0, t] + at), n), carray(pointer(g_[t] + at), n)
            if momentum == 0.0:
                for i in range(n):
                    d = g[i] * sign
                    d = d + weight * p[i] if decay != 0.0 else d
                    p[i] = p[i] + rate * d
                continue
            m = carray(pointer(own[1, t] + at), n)
            first = fresh[t] != 0
            for i in range(n):
                d = g[i] * sign
                d = d + weight * p[i] if decay != 0.0 else d
                b = d if first else m[i] * keep + d * take
                m[i] = b
                d = d + keep * b if nesterov else b
                p[i] = p[i] + rate * d

    @kernel
    def adam(
        own: Any, g_: Any, counts: Any, sizes: Any, start: int, stop: int, lr: float,
        beta1: float, beta2: float, eps: float, decay: float, decoupled: int, amsgrad: int,
        maximize: int,
    ) -> None:  # fmt: skip
        small = kind(eps)
        blend, keep, take = kind(1.0 - beta1), kind(beta2), kind(1.0 - beta2)
        shrink, weight = kind(1.0 - lr * decay), kind(decay)
        sign = kind(-1.0) if maximize else kind(1.0)
        before = 0
        for t in range(sizes.size):
            skipped = max(start - before, 0)
            n, at = min(stop - before, sizes[t]) - skipped, skipped * size
            before += sizes[t]
            step = counts[t] if counts.size else _counted(own[own.shape[0] - 1, t])
            if n <= 0:
                continue
            p, g = carray(pointer(own[0, t] + at), n), carray(pointer(g_[t] + at), n)
            m, v = carray(pointer(own[1, t] + at), n), carray(pointer(own[2, t] + at), n)
            correction = 1.0 - beta1**step
            rate = kind(-(lr / correction))
            root = kind((1.0 - beta2**step) ** 0.5)
            if amsgrad:
                w = carray(pointer(own[3, t] + at), n)
                for i in range(n):
                    d = g[i] * sign
                    x = p[i]
                    if decay != 0.0:
                        if decoupled:
                            x = x * shrink
                        else:
                            d = d + weight * x
                    a = m[i] + blend * (d - m[i])
                    b = v[i] * keep + take * d * d
                    top = w[i] if w[i] > b else b
                    m[i] = a
                    v[i] = b
                    w[i] = top
                    p[i] = x + rate * (a / (np.sqrt(top) / root + small))
                continue
            for i in range(n):
                d = g[i] * sign
                x = p[i]
                if decay != 0.0:
                    if decoupled:
                        x = x * shrink
                    else:
                        d = d + weight * x
                a = m[i] + blend * (d - m[i])
                b = v[i] * keep + take * d * d
                m[i] = a
                v[i] = b
                p[i] = x + rate * (a / (np.sqrt(b) / root + small))

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

    return {
        "sgd": sgd, "adam": adam, "squares": squares, "scale": scale, "all_finite": all_finite,
    }  # fmt: skip


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
    np.dtype(np.float32): _loops(pointer32, np.float32),
    np.dtype(np.float64): _loops(pointer64, np.float64),
}


def update(name: str, dtype: Any) -> Any:
    """What is done to all tensors ("squares", "scale", "all_finite"), for an element type."""
    return _BY_TYPE[np.dtype(dtype)][name]


_SERIAL = 65536  # elements that one thread updates sooner than two
_LINE = 4096  # threads begin at multiples of so many elements, counted over all tensors
_integers, _counts = types.Array(types.int64, 1, "C"), types.Array(types.float64, 1, "C")
_table = types.Array(types.int64, 2, "C")
_NUMBERS = {
    "sgd": (*[types.float64] * 4, *[types.int64] * 2),
    "adam": (*[types.float64] * 5, *[types.int64] * 3),
}


def group_update(name: str, dtype: Any) -> Callable[..., None]:
    """``f(total, own, gradients, more, sizes, *numbers)``: one step of "sgd" or "adam".

    Args:
        total: how many elements the tensors have together.
        own: addresses, a column for each tensor: of parameters, "sgd": momentum buffers; "adam":
            both means, with amsgrad the largest second ones, and float32 step counters.
        gradients: addresses.
        more: "sgd": which buffers are new (int64); "adam": the number of each tensor's step
            (float64), empty where it is in the counters, which are counted up.
        sizes: elements of each tensor; each thread updates as many of all of them.
        numbers: the settings, as the loops name them.
    """
    arrays = (_table, _integers, _integers if name == "sgd" else _counts, _integers)
    signature = (*arrays, types.int64, types.int64, *_NUMBERS[name])
    loop = entry_point(_BY_TYPE[np.dtype(dtype)][name], signature)

    def update_group(
        total: int, own: Any, gradients: Any, more: Any, sizes: Any, *numbers: Any
    ) -> None:
        if total < 2 * _SERIAL or get_num_threads() == 1:
            loop(own, gradients, more, sizes, 0, total, *numbers)
            return
        if name == "adam" and not more.size:
            more = np.empty(len(sizes), np.float64)
            _count(own[-1], more)

        def part(start: int, stop: int) -> None:
            loop(own, gradients, more, sizes, start * _LINE, min(stop * _LINE, total), *numbers)

        parallel_for(-(-total // _LINE), part)

    return update_group
