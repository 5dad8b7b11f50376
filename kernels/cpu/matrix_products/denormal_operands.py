"""Products of matrices that hold numbers below the smallest normal one.

Intel's processors take some 150 cycles for a multiplication with such a number: gradients of a
softmax over many classes hold enough of them to make a product ten times as long. The left operand
is multiplied by 2 ** 24 while it is packed, and each sum by 2 ** -24: every product and every
rounding are the same, but those of sums that are as small themselves, which are rounded once.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from ..vectors.float_bits import bits_float, float_bits
from .product_shapes import Matrix

BACK = 2.0**-24  # what sums are multiplied by
_PLACES = 24  # by which numbers' exponents grow
_INFINITE = 0x7F800000  # the bits of infinity
_SMALLEST = 1 << 23  # the bits of the smallest normal number
_LEAST = 1 << 26  # multiplications of a product that is looked at
_LINE = 16  # numbers that are looked at side by side
_EACH = 1 << 22  # multiplications for which one line is looked at
_SHARE = 2000  # one such number among so many makes a product longer than scaling does


@functools.cache
def scale_of(dtype: Any) -> Any:
    """``scale(x)`` multiplies the numbers of a flat array by 2 ** 24, without multiplying one that
    is below the smallest normal number; what is too large becomes infinite. Only for float32."""
    if dtype != np.float32:

        @kernel
        def nothing(x: Any) -> None:
            return

        return nothing

    largest = (255 - _PLACES) << 23
    step = np.float32(2.0 ** (_PLACES - 149))

    @kernel
    def scale(x: Any) -> None:
        for i in range(x.size):
            bits = float_bits(x[i])
            size = bits & np.int32(0x7FFFFFFF)
            low = float_bits(np.float32(size) * step)
            high = size + np.int32(_PLACES << 23)
            if size >= np.int32(largest):
                high = np.int32(_INFINITE)
            if size < np.int32(_SMALLEST):
                high = low
            x[i] = bits_float(high | (bits ^ size))

    return scale


@kernel
def _all_finite(x: Any) -> bool:
    most = np.int32(0)
    for i in range(x.size):
        most = max(most, np.int32(float_bits(x[i]) & np.int32(0x7FFFFFFF)))
    return bool(most < np.int32(_INFINITE))


def all_finite(x: Any) -> bool:
    """Whether no element of a flat array of float32 is infinite or NaN."""
    return bool(entry_point(_all_finite, "boolean(float32[::1])")(x))


@kernel
def _denormals(x: Any, rows: int, terms: int, down: int, along: int, lines: int) -> int:
    """How many of some numbers of a matrix are below the smallest normal one, but not 0; none where
    the processor takes them for 0."""
    smallest = bits_float(np.int32(_SMALLEST))
    found, inner, pitch = 0, min(terms, _LINE), along
    across, far = terms - inner + 1, rows
    if down == 1:
        inner, pitch, across, far = min(rows, _LINE), 1, terms, rows - min(rows, _LINE) + 1
    for line in range(lines):
        at = line * across // lines * along + line * 7919 % far * down
        for j in range(inner):
            value = abs(x[at + j * pitch])
            found += 0 < value < smallest
    return found


def may_gain(dtype: Any, size: tuple[int, int, int], batch: Any, start: Any) -> bool:
    """Whether a product is long enough to look at its left operand."""
    m, n, k = size
    return dtype == np.float32 and batch is None and start is None and m * n * k >= _LEAST


def has_denormals(x: Any, size: tuple[int, int, int], a: Matrix) -> bool:
    """Whether the left operand holds so many numbers below the smallest normal one that they take
    longer than scaling all. Some lines are looked at: more of them for a longer product."""
    m, n, k = size
    lines = max(m * n * k // _EACH, 16)
    count = entry_point(_denormals, "int64(float32[::1], int64, int64, int64, int64, int64)")
    return bool(count(x, m, k, a.down, a.across, lines) * _SHARE > lines * _LINE)
