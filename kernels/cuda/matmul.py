"""Matrix products for CUDA: cuBLAS through cupy where it is installed, else the tiled product.

    picture, memory, sync, sizes    see ``gemm``; operands are read by their strides, so transposes
              and broadcast batches are not copied
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import gemm, library_calls, memory
from .arrays import Array
from .elementwise import plan
from .via_float32 import in_float32, optional

_NAMES = "out, a, b, bias, at_a, at_b, a0, a1, b0, b1, biased"
_SETUP = "base_a = at_a[z]\nbase_b = at_b[z]"
_LEFT = "value = A(a[base_a + i * a0 + p * a1])"
_RIGHT = "value = A(b[base_b + p * b0 + j * b1])"
_STORE = "if biased:\n    total += bias[j]\nout[(z * m + i) * n + j] = total"


def _offsets(x: Any, batch: tuple[int, ...]) -> Any:
    """Where each matrix of the batch begins in ``x``, on the device."""
    whole = x.expand((*batch, *x.shape[-2:]))
    places = np.zeros(batch, np.int64)
    for axis, (n, s) in enumerate(zip(batch, whole.strides[: len(batch)], strict=True)):
        shape = [-1 if i == axis else 1 for i in range(len(batch))]
        places += (np.arange(n, dtype=np.int64) * s).reshape(shape)
    return memory.from_host(places.reshape(-1))


def _product(out: Any, a: Any, b: Any, bias: Any = None) -> None:
    """``out = a @ b + bias`` for any strides; ``out`` is dense."""
    batch = out.shape[:-2]
    m, n, k = out.shape[-2], out.shape[-1], a.shape[-1]
    accumulator = out.dtype if out.dtype.kind in "fc" else np.dtype(np.int64)
    kernel = gemm.kernel(_NAMES, _SETUP, _LEFT, _RIGHT, _STORE, accumulator)
    gemm.run(
        kernel, math.prod(batch), m, k, n, out, a, b, optional(bias, out.dtype),
        _offsets(a, batch), _offsets(b, batch), *a.strides[-2:], *b.strides[-2:],
        int(bias is not None),
    )  # fmt: skip


_product_of_half = in_float32(_product)


def matmul(out: Any, a: Any, b: Any) -> None:
    """``out = a @ b`` on the last two axes, the others broadcast; both have at least two axes."""
    if out.size and not library_calls.matmul(out, a, b):
        _product_of_half(out, a, b)


def linear(out: Any, x: Any, weight: Any, bias: Any = None) -> None:
    """``out = x @ weight.T + bias``; ``x`` may have any number of leading axes, or none."""
    if not out.size:
        return
    rows = x if x.ndim == 2 else x.reshape(-1, x.shape[-1])
    target, turned = Array(out.flat, (rows.shape[0], weight.shape[0])), weight.permute((1, 0))
    if library_calls.matmul(target, rows, turned):
        if bias is not None:
            given = bias.expand(target.shape)
            run = plan("add", (target,), (target, given), target.dtype)
            run(target.flat, target.flat, given.flat)
        return
    _product_of_half(target, rows, turned, bias)
