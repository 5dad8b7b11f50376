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

from ..processor import mkl_kernels
from ..vectors.float_bits import bits_float, choose, float_bits, magnitude, with_sign

_CELLS = 1024  # of [0, 1); each has a Taylor polynomial about its middle
_COVERED = 992  # beyond these the polynomials are too short
_TERMS = 6
_SERIES = tuple(math.sqrt(math.pi) / 2 * c for c in (1, math.pi / 12, 7 * math.pi**2 / 480))
_SURE = 1e-10  # how far a polynomial may be from the value
_BLOCK = 1024
_BUCKET = 10  # bits of a float that are below those by which a list is divided
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


@kernel(noalias=True)
def _polynomial_values(
    out: Any, values: Any, doubts: Any, x: Any, coefficients: Any, doubt: float
) -> None:
    """The values of a block, rounded, and where these are in doubt: near 0, from the cells that are
    not covered on, and where the value lies so near to the middle of two neighbours that MKL may
    take the other one."""
    for i in range(out.size):
        size = np.float64(magnitude(x[i]))
        inside = (size >= 1 / _CELLS) & (size < _COVERED / _CELLS)
        kept = choose(inside, size, 0.5)
        cell = np.int64(kept * _CELLS)
        t = kept - (np.float64(cell) + 0.5) / _CELLS
        at = np.uint64(cell * _TERMS)
        value = coefficients[at + np.uint64(_TERMS - 1)]
        for power in range(_TERMS - 2, -1, -1):
            value = value * t + coefficients[at + np.uint64(power)]
        nearest = np.float32(value * (1 + doubt))
        out[i] = with_sign(nearest, x[i])
        values[i] = value
        doubts[i] = (not inside) | (nearest != np.float32(value * (1 - doubt)))


@kernel
def _is_rounded_away(bits: Any, known: Any, starts: Any) -> bool:
    bucket = np.uint32(bits) >> np.uint32(_BUCKET)
    found = False
    for i in range(starts[bucket], starts[bucket + np.uint32(1)]):
        found |= known[i] == bits
    return found


@kernel
def _by_polynomials(
    out: Any, x: Any, coefficients: Any, left: Any, kept: Any, doubt: float, known: Any, starts: Any
) -> int:
    """Values rounded as MKL's, and the places and inputs that are left: near 1, and where it needs
    more than the polynomials to say which neighbour is nearest. The result may be ``x`` itself."""
    values, doubts = np.empty(_BLOCK, np.float64), np.empty(_BLOCK, np.uint8)
    copy = np.empty(_BLOCK, np.float32)
    count = 0
    for first in range(0, x.size, _BLOCK):
        result = out[first : first + _BLOCK]
        part = copy[: result.size]
        for i in range(part.size):
            part[i] = x[first + i]
        held, flags = values[: part.size], doubts[: part.size]
        _polynomial_values(result, held, flags, part, coefficients, doubt)
        for i in range(part.size):
            if flags[i] == 0:
                continue
            size = magnitude(part[i])
            if not size <= 1:  # scipy would take a microsecond to say so
                result[i] = with_sign(np.float32(np.nan), part[i])
                continue
            value, error = held[i], _SURE
            if size < 1 / _CELLS:  # the series, whose next term is less than a double tells
                z, error = np.float64(size) * size, 1e-15
                series = _SERIES[0] + z * (_SERIES[1] + z * _SERIES[2])
                value = size * series
            nearest = np.float32(value)
            sure = np.float32(value * (1 + error)) == np.float32(value * (1 - error))
            if not sure or size >= _COVERED / _CELLS:
                left[count], kept[count] = first + i, part[i]
                count += 1
                continue
            if _is_rounded_away(float_bits(size), known, starts):
                step = np.int32(1 if value > nearest else -1)
                nearest = bits_float(np.int32(float_bits(nearest) + step))
            result[i] = with_sign(nearest, part[i])
    return count


@functools.cache
def _rounded_away(kernels: str) -> Any:
    """The bits of the inputs whose result these kernels of MKL round to the farther neighbour."""
    packed = Path(__file__).with_name(f"erfinv_roundings_{kernels}.xz").read_bytes()
    return np.cumsum(np.frombuffer(lzma.decompress(packed), "<u4"), dtype=np.uint32)


@functools.cache
def _buckets(kernels: str) -> Any:
    """Where in :func:`_rounded_away` bits begin whose upper ones are each number."""
    ends = np.arange((0x3F800000 >> _BUCKET) + 2, dtype=np.uint32) << np.uint32(_BUCKET)
    return _rounded_away(kernels).searchsorted(ends).astype(np.int32)


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


@functools.cache
def _loop(kernels: str) -> tuple[Any, ...]:
    """The compiled loop, and what it takes besides arrays."""
    run = entry_point(
        _by_polynomials,
        "int64(float32[::1], float32[::1], float64[::1], int64[::1], float32[::1], float64, "
        "uint32[::1], int32[::1])",
    )
    return run, _polynomials(), _DOUBT[kernels], _rounded_away(kernels), _buckets(kernels)


def erfinv32(out: Any, x: Any, kernels: str | None = None) -> None:
    """The inverse of erf of float32 numbers, 1-d and contiguous, as these kernels of MKL round it.

    kernels: "sse", "avx2" or "avx512"; those that MKL takes on this processor if None.
    """
    kernels = kernels or mkl_kernels()
    run, coefficients, doubt, *known = _loop(kernels)
    left, kept = np.empty(x.size, np.int64), np.empty(x.size, np.float32)
    count = run(out, x, coefficients, left, kept, doubt, *known)
    if count:
        out[left[:count]] = _rounded_as_mkl(kept[:count], kernels)
