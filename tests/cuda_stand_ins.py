"""Stand-ins for cupy and cuBLAS, whose arrays are numpy's over the same memory, for the programs
that run in numba's simulator."""

from __future__ import annotations

import contextlib
import ctypes
import sys
import types
from typing import Any

import ml_dtypes
import numpy as np

from mindtorch.kernels.cuda import cublas, vendor

# what was called, in order
asked: list[str] = []


def _noted(name: str, function: Any) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        asked.append(name)
        return function(*args, **options)

    return call


def _array(shape: Any, dtype: Any, pointer: Any, strides: Any) -> Any:
    """numpy's array over the bytes at an address, as cupy's constructor makes one."""
    size = max(pointer[0][1] - pointer[1], 1)
    held = (ctypes.c_uint8 * size).from_address(pointer[0][0] + pointer[1])
    return np.ndarray(shape, dtype, held, 0, strides)


def _stand_in() -> Any:
    """A module with those names of cupy that are used here."""
    fake: Any = types.ModuleType("cupy")
    fake.__dict__.update({k: v for k, v in vars(np).items() if not k.startswith("__")})
    for part in ("linalg", "fft"):
        names = {n: _noted(f"{part}.{n}", f) for n, f in vars(getattr(np, part)).items()
                 if callable(f) and not isinstance(f, type)}  # fmt: skip
        setattr(fake, part, types.SimpleNamespace(**names, LinAlgError=np.linalg.LinAlgError))
    fake.ndarray = _array
    fake.cuda = types.SimpleNamespace(
        device=types.SimpleNamespace(get_cublas_handle=lambda: 7),
        UnownedMemory=lambda address, size, owner: (address, size),
        MemoryPointer=lambda memory, offset: (memory, offset),
        Stream=types.SimpleNamespace(null=contextlib.nullcontext()),
    )
    return fake


class _Cublas:
    """Products of matrices at addresses, by numpy: columns lie together, as cuBLAS counts."""

    def __init__(self) -> None:
        names = {0: "f4", 1: "f8", 2: "f2", 4: "c8", 5: "c16", 14: ml_dtypes.bfloat16}
        self.kinds: Any = {number: np.dtype(name).type for number, name in names.items()}

    def _matrices(
        self, address: int, kind: int, pitch: int, step: int, batch: int, rows: int, columns: int
    ) -> Any:
        dtype = np.dtype(self.kinds[kind])
        assert pitch >= rows and address % dtype.itemsize == 0
        size = (step * (batch - 1) + pitch * (columns - 1) + rows) * dtype.itemsize
        held = (ctypes.c_uint8 * size).from_address(address)
        strides = [s * dtype.itemsize for s in (step, 1, pitch)]
        return np.ndarray((batch, rows, columns), dtype, held, 0, strides)

    def gemmStridedBatchedEx(  # noqa: N802
        self, handle: int, turn_a: int, turn_b: int, m: int, n: int, k: int, one: int, a: int,
        kind_a: int, pitch_a: int, step_a: int, b: int, kind_b: int, pitch_b: int, step_b: int,
        other: int, c: int, kind: int, pitch: int, step: int, batch: int, how: int, algorithm: int,
    ) -> None:  # fmt: skip
        assert handle == 7 and kind_a == kind_b and kind in (kind_a, 0) and algorithm == -1
        asked.append(f"{np.dtype(self.kinds[kind]).name} {how}")
        factor = self.kinds[kind] if how in (64, 70) or kind == 4 else np.float32
        held = [memoryview((ctypes.c_uint8 * 16).from_address(x)) for x in (one, other)]
        alpha, beta = (np.frombuffer(each, factor, 1)[0] for each in held)
        left = self._matrices(a, kind_a, pitch_a, step_a, batch, *((k, m) if turn_a else (m, k)))
        right = self._matrices(b, kind_a, pitch_b, step_b, batch, *((n, k) if turn_b else (k, n)))
        wide = np.float64 if kind in (0, 1, 2, 14) else np.complex128
        left, right = (x.swapaxes(1, 2) if t else x
                       for x, t in ((left.astype(wide), turn_a), (right.astype(wide), turn_b)))
        out = self._matrices(c, kind, pitch, step, batch, m, n)
        out[...] = (alpha * (left @ right) + (beta * out.astype(wide) if beta else 0)).astype(
            out.dtype)  # fmt: skip


class WithCupy:
    """A block in which the stand-ins are cupy and cuBLAS."""

    changed: Any = vendor
    products: Any = cublas

    def __enter__(self) -> None:
        self.before = self.changed.library, self.products.binding
        library = _Cublas()
        self.products.binding = lambda: library
        fake, asking = _stand_in(), types.ModuleType("cupyx")
        asking.errstate = lambda linalg: contextlib.nullcontext()  # type: ignore[attr-defined]
        self.changed.library = lambda: fake
        self.changed._takes.cache_clear()
        sys.modules["cupyx"] = asking
        asked.clear()

    def __exit__(self, *error: Any) -> None:
        self.changed.library, self.products.binding = self.before
        self.changed._takes.cache_clear()
        del sys.modules["cupyx"]
