"""Matrix products for CUDA.

    picture   a block of 16 x 16 threads makes a tile of 16 x 16 results of one matrix of the batch
    (grid z) memory    two tiles of 16 x 16 elements, of ``a`` and of ``b``, in shared memory
    sync      after a pair of tiles is loaded, and after it is used
    sizes     any; places outside of the matrices count as 0
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, float32, float64

TILE = 16


def _make(kind: Any) -> Any:
    @cuda.jit
    def product(out: Any, a: Any, b: Any, bias: Any) -> None:
        left = cuda.shared.array((TILE, TILE), kind)
        right = cuda.shared.array((TILE, TILE), kind)
        column, row = cuda.threadIdx.x, cuda.threadIdx.y
        j = cuda.blockIdx.x * TILE + column
        i = cuda.blockIdx.y * TILE + row
        z = cuda.blockIdx.z
        m, k, n = a.shape[1], a.shape[2], b.shape[2]
        total = bias[j] if bias.size > 0 and j < n else out.dtype.type(0)
        for step in range((k + TILE - 1) // TILE):
            at = step * TILE
            left[row, column] = a[z, i, at + column] if i < m and at + column < k else 0
            right[row, column] = b[z, at + row, j] if at + row < k and j < n else 0
            cuda.syncthreads()
            for p in range(TILE):
                total += left[row, p] * right[p, column]
            cuda.syncthreads()
        if i < m and j < n:
            out[z, i, j] = total

    return product


_BY_TYPE = {np.dtype(np.float32): _make(float32), np.dtype(np.float64): _make(float64)}


def _launch(out: Any, a: Any, b: Any, bias: Any) -> None:
    if out.dtype not in _BY_TYPE:
        raise NotImplementedError(f"matmul for {out.dtype} is not implemented on CUDA")
    if out.size == 0:
        return
    batch, m, n = out.shape
    grid = (-(-n // TILE), -(-m // TILE), batch)
    _BY_TYPE[out.dtype][grid, (TILE, TILE)](out, a, b, bias)


def matmul(out: Any, a: Any, b: Any) -> None:
    """``out = a @ b`` on the last two axes of device arrays with the same leading axes."""
    none = cuda.device_array(0, out.dtype)
    _launch(*[_batched(x, 2) for x in (out, a, b)], none)


def linear(out: Any, x: Any, weight: Any, bias: Any = None) -> None:
    """``out = x @ weight.T + bias``."""
    given = cuda.device_array(0, out.dtype) if bias is None else bias
    rows, target = _batched(_batched(x, 1), 2), _batched(_batched(out, 1), 2)
    _launch(target, rows, _batched(weight.T, 2), given)


def _batched(x: Any, kept: int) -> Any:
    """``x`` with all axes but the last ``kept`` made one."""
    shape = tuple(int(n) for n in x.shape)
    lead = int(np.prod(shape[: len(shape) - kept]))
    if len(shape) == kept + 1:
        return x
    if len(shape) == kept and not x.is_c_contiguous():
        x = cuda.to_device(np.ascontiguousarray(x.copy_to_host()))
    return x.reshape(lead, *shape[len(shape) - kept :])
