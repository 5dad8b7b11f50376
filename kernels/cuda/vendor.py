"""Vendor libraries through cupy: cuBLAS for matrix products.

cupy is chosen because machines with GPUs have its wheels and because its arrays take an address
and strides as they are. Everything here answers None or False without it.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import ml_dtypes
import numpy as np

from . import arrays, graphs, memory, streams

_FLOATS = ("float16", "bfloat16", "float32", "float64")


@functools.cache
def library() -> Any:
    """cupy; None where it is not installed, and in the simulator."""
    return memory._cupy()


@functools.cache
def _takes(name: str) -> bool:
    """Whether cupy multiplies matrices of this type, which it is asked to once."""
    if library() is None or name not in _FLOATS:
        return False
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    try:
        _multiply(*[view(arrays.empty((2, 2), dtype)) for _ in range(3)])
    except Exception as error:
        if name != "bfloat16":  # which cupy knows from version 14 on
            warnings.warn(
                f"cupy multiplies no {name} here, our own product does: {error}", stacklevel=2
            )
        return False
    return True


def view(array: Any) -> Any:
    """A cupy array over the memory of an ``Array``."""
    cupy = library()
    flat = array.flat
    owned = cupy.cuda.UnownedMemory(memory.pointer(flat), max(flat.nbytes, 1), flat)
    pointer = cupy.cuda.MemoryPointer(owned, 0)
    strides = tuple(s * flat.dtype.itemsize for s in array.strides)
    return cupy.ndarray(array.shape, flat.dtype, pointer, strides)


def matmul(out: Any, a: Any, b: Any) -> bool:
    """``out = a @ b`` by cuBLAS; False where it cannot."""
    if not out.dense or not _takes(out.dtype.name) or a.dtype != out.dtype or b.dtype != out.dtype:
        return False
    graphs.issue(lambda: _multiply(view(a), view(b), view(out)))
    return True


def _multiply(a: Any, b: Any, out: Any) -> None:
    cupy = library()
    with streams.of_cupy(cupy):
        cupy.matmul(a, b, out=out)
