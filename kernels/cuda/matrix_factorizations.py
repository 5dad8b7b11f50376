"""Factors of matrices for CUDA: cuSOLVER through cupy where it is installed.

    picture   see ``vendor``; the order of rows that exchanges make: one thread for each matrix
    memory    no shared memory
    sync      none
    sizes     any number of matrices
LU and LDL with their pivots, reflectors and eigenvalues of matrices that are not Hermitian are
LAPACK's on the host: cupy has no functions of theirs that answer as torch's do.
"""

from __future__ import annotations

from typing import Any

from mindtorch.kernels.cpu import matrix_factorizations as on_cpu

from . import arrays, launch
from .launch import cuda
from .library_calls import through_library

qr = through_library(on_cpu.qr)
pinv = through_library(on_cpu.pinv)
eigh = through_library(on_cpu.eigh)
svd = through_library(on_cpu.svd)


@launch.kernel
def _exchanged(count: int, out: Any, pivots: Any, exchanges: int, size: int) -> None:
    b = cuda.grid(1)
    while b < count:
        for i in range(size):
            out[b * size + i] = i
        for i in range(exchanges):
            j = pivots[b * exchanges + i] - 1
            here = out[b * size + i]
            out[b * size + i] = out[b * size + j]
            out[b * size + j] = here
        b = launch.following(b, count)


def permutation(out: Any, pivots: Any, *, size: int, check: str) -> None:
    """The order of rows that exchanging row ``i`` with row ``pivots[i] - 1`` one by one gives; the
    pivots are few, and looked at on the host."""
    on_cpu.check_pivots(arrays.download(pivots), size, check)
    count = out.size // max(size, 1)
    launch.each(_exchanged, count, out, arrays.dense(pivots), pivots.shape[-1], size)
