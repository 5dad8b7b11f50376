"""Matrix products by cuBLAS.

    picture   one call of ``cublasGemmStridedBatchedEx`` for a whole batch; matrices that are
              transposed, and batches that repeat one matrix, are told to cuBLAS and not copied.
              What it is told of operands that lie in one way is found once
    memory    a workspace for each thread, device and stream; a copy of operands that lie otherwise
    sync      on this thread's stream; the calls may be captured in a CUDA graph
    sizes     each below 2^31. 16-bit floats are summed in float32 unless float16 sums are allowed

The functions are called by ``ctypes``: cupy's binding of them refuses to work while a stream is
captured, and makes its handle's workspace itself, which a graph would keep using.
"""

from __future__ import annotations

import ctypes
import functools
import math
import threading
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from mindtorch.kernels.support import precision

from . import arrays, memory, shared_library, streams
from .arrays import Array

# numbers of library_types.h and cublas_api.h: an element type, and the type of sums
_KINDS = {
    np.dtype(np.float32): 0, np.dtype(np.float64): 1, np.dtype(np.float16): 2,
    np.dtype(np.complex64): 4, np.dtype(np.complex128): 5, np.dtype(ml_dtypes.bfloat16): 14,
}  # fmt: skip
_SUMS_16F, _SUMS_32F, _SUMS_32F_TF32, _SUMS_64F = 64, 68, 77, 70
_AS_IT_LIES, _TURNED, _DEFAULT = 0, 1, -1
_MOST = (1 << 31) - 1
WORKSPACE = 32 << 20  # what NVIDIA recommends for Hopper
_MOST_SPACES = 8  # of the streams that were used last
_P, _I, _L, _S = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong, ctypes.c_size_t
_MATRIX = (_P, _I, _I, _L)  # address, type, pitch, step
_SIGNATURES = {
    "cublasCreate_v2": (_P,), "cublasSetStream_v2": (_P, _P),
    "cublasSetWorkspace_v2": (_P, _P, _S),
    "cublasGemmStridedBatchedEx": (
        _P, _I, _I, _I, _I, _I, _P, *_MATRIX, *_MATRIX, _P, *_MATRIX, _I, _I, _I
    ),
}  # fmt: skip


class CUBLASError(RuntimeError):
    """cuBLAS answers with a number that is not success."""


def checked(status: int) -> None:
    """Raise for an answer that is not success."""
    if status:
        raise CUBLASError(f"cuBLAS answers {status}")


@functools.cache
def library() -> Any:
    """The library with the types of its functions; None where it is not found, and in the
    simulator."""
    if streams.SIMULATED:
        return None
    files = ("libcublas.so.13", "libcublas.so.12")
    return shared_library.load("cublas", "*/lib/libcublas.so.1?", files, _SIGNATURES)


class _Handle:
    """cuBLAS's handle of one thread and device.

    Attributes:
        stream: on which it works now; -1 for none yet.
        spaces: the workspace of each stream.
    """

    def __init__(self, cublas: Any) -> None:
        self.value = shared_library.created(cublas.cublasCreate_v2, checked).value
        self.stream = -1
        self.spaces: dict[int, Any] = {}

    def use(self, cublas: Any, stream: int) -> None:
        """Work on a stream from now on."""
        if stream not in self.spaces:
            if len(self.spaces) == _MOST_SPACES:
                self.spaces.pop(next(iter(self.spaces)))
            self.spaces[stream] = memory.empty(WORKSPACE, np.uint8)
        checked(cublas.cublasSetStream_v2(self.value, stream))
        space = memory.pointer(self.spaces[stream])
        checked(cublas.cublasSetWorkspace_v2(self.value, space, WORKSPACE))
        self.stream = stream


_handles = threading.local()


def handle(cublas: Any) -> Any:
    """cuBLAS's handle of this thread and device, on its current stream."""
    made: dict[int, _Handle] = _handles.__dict__.setdefault("made", {})
    device, stream = streams.device(), streams.handle(streams.current())
    found = made.get(device)
    if found is None:
        found = made[device] = _Handle(cublas)
    if found.stream != stream:
        found.use(cublas, stream)
    return found.value


def _sums(dtype: Any, sums16: bool, tf32: bool) -> tuple[int, Any]:
    """(cuBLAS's number for how sums are made, the type of the factors of a product)."""
    if dtype in (np.float64, np.complex128):
        return _SUMS_64F, dtype
    if dtype == np.float16 and sums16:
        return _SUMS_16F, dtype
    whole = np.dtype(np.complex64 if dtype.kind == "c" else np.float32)
    return _SUMS_32F_TF32 if tf32 and dtype.itemsize > 2 else _SUMS_32F, whole


def knows(dtype: Any) -> bool:
    """Whether cuBLAS has products of a type."""
    return dtype in _KINDS


def fits(out: Array, a: Array, b: Array) -> bool:
    """Whether cuBLAS can make this product: of one type, or of 16-bit floats in float32."""
    sizes = (*out.shape[-2:], a.shape[-1], math.prod(out.shape[:-2]))
    wide = out.dtype == np.float32 and a.dtype.itemsize == 2
    same = a.dtype == b.dtype and (out.dtype == a.dtype or wide)
    return out.dense and same and knows(a.dtype) and max(sizes) <= _MOST


class Place(NamedTuple):
    """How matrices of one batch lie, as cuBLAS is told it: rows lie ``pitch`` apart where
    ``turned`` is 0, columns where it is 1; matrices ``step``. ``copied``: they are copied first,
    and lie so then."""

    turned: int
    pitch: int
    step: int
    copied: bool


def _step(shape: Any, strides: Any) -> int | None:
    """How far apart a batch's matrices lie; None where that is no single number."""
    step: int | None = None
    extent = 1
    for n, stride in reversed(list(zip(shape, strides, strict=True))):
        if n == 1:
            continue
        if step is None:
            step = stride
        elif stride != step * extent:
            return None
        extent *= n
    return 0 if step is None else step


def place(shape: Any, strides: Any) -> Place:
    """How a batch of matrices of this layout is given to cuBLAS."""
    (rows, columns), (down, across) = shape[-2:], strides[-2:]
    step = _step(shape[:-2], strides[:-2])
    if step is not None:
        if (across == 1 or columns == 1) and (down >= columns or rows == 1):
            return Place(_AS_IT_LIES, max(down if rows > 1 else 1, columns, 1), step, False)
        if (down == 1 or rows == 1) and (across >= rows or columns == 1):
            return Place(_TURNED, max(across if columns > 1 else 1, rows, 1), step, False)
    return Place(_AS_IT_LIES, max(columns, 1), rows * columns, True)


class Product:
    """``out = a @ b + before * out`` for operands of one layout.

    cuBLAS counts through columns first, so it is asked for ``out^T = b^T @ a^T``.
    """

    def __init__(self, out: Any, a: Any, b: Any, kinds: Any, before: int, how: Any) -> None:
        self.batch = tuple(out[:-2])
        m, n, k = out[-2], out[-1], a[0][-1]
        self.places = tuple(place(*_expanded(x, self.batch)) for x in (a, b))
        left, right = self.places
        sums, factor = _sums(kinds[0], *how)
        self._factors = np.ones(1, factor), np.full(1, before, factor)
        one, other = (x.ctypes.data for x in self._factors)
        kind, made = _KINDS[kinds[1]], _KINDS[kinds[0]]
        self._sizes = (right.turned, left.turned, n, m, k, one)
        self._right, self._left = (kind, right.pitch, right.step), (kind, left.pitch, left.step)
        self._rest = (made, n, m * n, math.prod(self.batch), sums, _DEFAULT)
        self._other = other

    def __call__(self, cublas: Any, out: Array, a: Array, b: Array) -> None:
        left, right = (
            _copied(x, self.batch) if p.copied else x.flat
            for x, p in zip((a, b), self.places, strict=True)
        )
        checked(cublas.cublasGemmStridedBatchedEx(
            handle(cublas), *self._sizes, memory.pointer(right), *self._right,
            memory.pointer(left), *self._left, self._other, memory.pointer(out.flat), *self._rest,
        ))  # fmt: skip


def _expanded(layout: Any, batch: tuple[int, ...]) -> tuple[Any, Any]:
    """The shape and strides of matrices, broadcast to ``batch``."""
    shape, strides = layout
    extra = len(batch) + 2 - len(shape)
    wide = (*batch, *shape[-2:])
    own = zip(shape, strides, wide[extra:], strict=True)
    return wide, (*[0] * extra, *[0 if n == 1 and m != 1 else s for n, s, m in own])


def _copied(x: Array, batch: tuple[int, ...]) -> Any:
    """The matrices of ``x``, broadcast to ``batch``, in order."""
    x = x.expand((*batch, *x.shape[-2:]))
    whole = arrays.empty(x.shape, x.dtype)
    arrays.assign(whole, x)
    return whole.flat


_product = functools.lru_cache(4096)(Product)


def multiply(cublas: Any, out: Array, a: Array, b: Array, before: int = 0) -> None:
    """``out = a @ b + before * out`` for dense ``out``, on this thread's stream.

    Raises:
        CUBLASError: cuBLAS refuses the types here.
    """
    product = _product(
        out.shape, (a.shape, a.strides), (b.shape, b.strides), (out.dtype, a.dtype), before,
        (precision.float16_sums, precision.tf32),
    )  # fmt: skip
    product(cublas, out, a, b)
