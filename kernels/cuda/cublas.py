"""Matrix products by cuBLAS, called through cupy's binding of it.

    picture   one call of ``gemmStridedBatchedEx`` for a whole batch; matrices that are transposed,
              and batches that repeat one matrix, are told to cuBLAS and not copied
    memory    what cuBLAS keeps with cupy's handle; a copy of operands that lie otherwise
    sync      on this thread's stream
    sizes     each below 2^31. 16-bit floats are summed in float32 unless float16 sums are allowed
"""

from __future__ import annotations

import functools
import importlib
import math
from typing import Any, NamedTuple

import numpy as np

from mindtorch.kernels.support import precision

from . import arrays, memory
from .arrays import Array

# numbers of library_types.h and cublas_api.h: an element type, and the type of sums
_KINDS = {"float32": 0, "float64": 1, "float16": 2, "complex64": 4, "complex128": 5, "bfloat16": 14}
_SUMS_16F, _SUMS_32F, _SUMS_32F_TF32, _SUMS_64F = 64, 68, 77, 70
_AS_IT_LIES, _TURNED, _DEFAULT = 0, 1, -1
_MOST = (1 << 31) - 1


@functools.cache
def binding() -> Any:
    """cupy's functions of cuBLAS."""
    return importlib.import_module("cupy_backends.cuda.libs.cublas")


def handle(cupy: Any) -> int:
    """cuBLAS's handle of this thread and device."""
    return int(cupy.cuda.device.get_cublas_handle())


class Matrices(NamedTuple):
    """Matrices of one batch as cuBLAS takes them: rows lie ``pitch`` apart where ``turned`` is 0,
    columns where it is 1."""

    array: Array
    turned: int
    pitch: int
    step: int


def _step(x: Array) -> int | None:
    """How far apart a batch's matrices lie; None where that is no single number."""
    step: int | None = None
    extent = 1
    for n, stride in reversed(list(zip(x.shape[:-2], x.strides[:-2], strict=True))):
        if n == 1:
            continue
        if step is None:
            step = stride
        elif stride != step * extent:
            return None
        extent *= n
    return 0 if step is None else step


def matrices(x: Array, batch: tuple[int, ...]) -> Matrices:
    """The matrices of ``x``, broadcast to ``batch``; copied where cuBLAS cannot read them so."""
    x = x.expand((*batch, *x.shape[-2:]))
    (rows, columns), (down, across) = x.shape[-2:], x.strides[-2:]
    step = _step(x)
    if step is not None:
        if (across == 1 or columns == 1) and (down >= columns or rows == 1):
            return Matrices(x, _AS_IT_LIES, max(down if rows > 1 else 1, columns, 1), step)
        if (down == 1 or rows == 1) and (across >= rows or columns == 1):
            return Matrices(x, _TURNED, max(across if columns > 1 else 1, rows, 1), step)
    whole = arrays.empty(x.shape, x.dtype)
    arrays.assign(whole, x)
    return Matrices(whole, _AS_IT_LIES, max(columns, 1), rows * columns)


def _sums(dtype: Any) -> tuple[int, Any]:
    """(cuBLAS's number for how sums are made, the type of the factors of a product)."""
    if dtype.name in ("float64", "complex128"):
        return _SUMS_64F, dtype
    if dtype.name == "float16" and precision.float16_sums:
        return _SUMS_16F, dtype
    whole = np.dtype(np.complex64 if dtype.kind == "c" else np.float32)
    tf32 = precision.tf32 and dtype.itemsize > 2
    return _SUMS_32F_TF32 if tf32 else _SUMS_32F, whole


def knows(dtype: Any) -> bool:
    """Whether cuBLAS has products of a type."""
    return dtype.name in _KINDS


def fits(out: Array, a: Array, b: Array) -> bool:
    """Whether cuBLAS can make this product: of one type, or of 16-bit floats in float32."""
    sizes = (*out.shape[-2:], a.shape[-1], math.prod(out.shape[:-2]))
    wide = out.dtype == np.float32 and a.dtype.itemsize == 2
    same = a.dtype == b.dtype and (out.dtype == a.dtype or wide)
    return out.dense and same and knows(a.dtype) and max(sizes) <= _MOST


def multiply(cupy: Any, out: Array, a: Array, b: Array, before: int = 0) -> None:
    """``out = a @ b + before * out`` for dense ``out``; cupy's stream is this thread's.

    cuBLAS counts through columns first, so it is asked for ``out^T = b^T @ a^T``.
    """
    m, n, k, batch = out.shape[-2], out.shape[-1], a.shape[-1], tuple(out.shape[:-2])
    left, right = matrices(a, batch), matrices(b, batch)
    kind, made = _KINDS[a.dtype.name], _KINDS[out.dtype.name]
    how, factor = _sums(out.dtype)
    one, other = np.ones(1, factor), np.full(1, before, factor)
    binding().gemmStridedBatchedEx(
        handle(cupy), right.turned, left.turned, n, m, k, one.ctypes.data,
        memory.pointer(right.array.flat), kind, right.pitch, right.step,
        memory.pointer(left.array.flat), kind, left.pitch, left.step,
        other.ctypes.data, memory.pointer(out.flat), made, n, m * n, math.prod(batch), how,
        _DEFAULT,
    )  # fmt: skip
