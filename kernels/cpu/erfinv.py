"""The inverse of the error function, with PyTorch's bits in float32.

PyTorch calls Intel's MKL, which takes other kernels, and so rounds otherwise, on other processors.
"""

from __future__ import annotations

import functools
import lzma
import math
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .processor import mkl_kernels

_CELLS = 1024  # of [0, 1); each has a Taylor polynomial about its middle
_COVERED = 992  # beyond these the polynomials are too short
_TERMS = 6
# how far MKL's value may lie beyond the middle of two neighbours, and the polynomials' 1e-11
_DOUBT = {"sse": 2.5e-10, "avx2": 2.5e-10, "avx512": 3e-9}


@functools.cache
def _polynomials() -> Any:
    """(cell, power): coefficients of erfinv(middle + t), good to 1e-11 within the cell.

    The n-th derivative is ``P_n(y) d**n`` where y is the value and d the first derivative, with
    ``P_1 = 1`` and ``P_(n+1) = P_n' + 2 n y P_n``.
    """
    import scipy.special

    y = scipy.special.erfinv((np.arange(_COVERED) + 0.5) / _CELLS)
    slope = math.sqrt(math.pi) / 2 * np.exp(y * y)
    columns, factor = [y], np.polynomial.Polynomial([1.0])
    line = np.polynomial.Polynomial([0.0, 2.0])
    for n in range(1, _TERMS):
        columns.append(factor(y) * slope**n / math.factorial(n))
        factor = factor.deriv() + n * line * factor
    return np.ascontiguousarray(np.stack(columns, 1).reshape(-1))


@kernel
def _by_polynomials(out: Any, x: Any, coefficients: Any, left: Any, doubt: float) -> int:
    """Rounded values, and the places that are left: near 0, near 1, and where the value lies so
    near to the middle of two neighbours that MKL may take the other one."""
    count = 0
    for i in range(x.size):
        size = abs(np.float64(x[i]))
        if 1 / _CELLS <= size < _COVERED / _CELLS:
            cell = int(size * _CELLS)
            t = size - (cell + 0.5) / _CELLS
            value = 0.0
            for power in range(_TERMS - 1, -1, -1):
                value = value * t + coefficients[cell * _TERMS + power]
            nearest = np.float32(value * (1 + doubt))
            if nearest == np.float32(value * (1 - doubt)):
                out[i] = nearest if x[i] > 0 else -nearest
                continue
        elif size > 1:  # scipy would take a microsecond to say so
            out[i] = math.copysign(np.nan, x[i])
            continue
        left[count] = i
        count += 1
    return count


@functools.cache
def _rounded_away(kernels: str) -> Any:
    """The bits of the inputs whose result these kernels of MKL round to the farther neighbour."""
    packed = Path(__file__).with_name(f"erfinv_roundings_{kernels}.xz").read_bytes()
    return np.cumsum(np.frombuffer(lzma.decompress(packed), "<u4"), dtype=np.uint32)


def _rounded_as_mkl(x: Any, kernels: str) -> Any:
    """erfinv in float32, as Intel's MKL (in PyTorch) rounds it where its list says so.

    The lists hold inputs from 2**-12 to 1, and the multiples of 2**-24 below: what draws give.
    """
    import scipy.special

    exact = scipy.special.erfinv(x.astype(np.float64))
    nearest = exact.astype(np.float32)
    farther = np.nextafter(nearest, np.where(exact > nearest, np.inf, -np.inf).astype(np.float32))
    bits, known = np.abs(x).view(np.uint32), _rounded_away(kernels)
    at = np.minimum(known.searchsorted(bits), known.size - 1)
    away = known[at] == bits
    return np.copysign(np.where(away, farther, nearest), x)


def erfinv32(out: Any, x: Any, kernels: str | None = None) -> None:
    """The inverse of erf of float32 numbers, 1-d and contiguous, as these kernels of MKL round it.

    kernels: "sse", "avx2" or "avx512"; those that MKL takes on this processor if None.
    """
    kernels = kernels or mkl_kernels()
    left = np.empty(x.size, np.int64)
    numbers = "float32[::1], float32[::1], float64[::1], int64[::1], float64"
    run = entry_point(_by_polynomials, f"int64({numbers})")
    places = left[: run(out, x, _polynomials(), left, _DOUBT[kernels])]
    if places.size:
        out[places] = _rounded_as_mkl(x[places], kernels)
