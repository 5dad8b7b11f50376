"""Sums over a row: 256 terms at a time in the row's type and any order, these in float64."""

from __future__ import annotations

from typing import Any

from mindtorch.kernels.codegen.jit import kernel

from ..vectors.simd import prefetch

_FEW = 64  # elements at the end of a row that are not worth fetching 256

@kernel(fastmath={"reassoc", "contract"})
def row_sum(row: Any) -> Any:
    result = 0.0
    start = 0
    while start < row.size:
        part = row[start : start + 256]
        partial = row.dtype.type(0)
        for i in range(part.size):
            partial += part[i]
        result += partial
        start += 256
    return result


@kernel(fastmath={"reassoc", "contract"})
def row_deviation(row: Any, mean: Any) -> Any:
    """The sum of squared deviations from ``mean``; what lies two rows on is fetched."""
    result = 0.0
    start = 0
    while start < row.size:
        part = row[start : start + 256]
        if part.size == 256 or (start and part.size > _FEW):
            prefetch(row, 2 * row.size + start)
        partial = row.dtype.type(0)
        for i in range(part.size):
            d = part[i] - mean
            partial += d * d
        result += partial
        start += 256
    return result


@kernel(fastmath={"reassoc", "contract"})
def row_product(a: Any, b: Any, shift: Any) -> Any:
    """The sum of ``a * (b - shift)``."""
    result = 0.0
    start = 0
    while start < a.size:
        first, second = a[start : start + 256], b[start : start + 256]
        partial = a.dtype.type(0)
        for i in range(first.size):
            partial += first[i] * (second[i] - shift)
        result += partial
        start += 256
    return result


@kernel(fastmath={"reassoc", "contract"})
def row_triple(a: Any, w: Any, b: Any, shift: Any) -> Any:
    """The sum of ``a * w * (b - shift)``."""
    result = 0.0
    start = 0
    while start < a.size:
        first, second, third = (
            a[start : start + 256],
            w[start : start + 256],
            b[start : start + 256],
        )
        partial = a.dtype.type(0)
        for i in range(first.size):
            partial += first[i] * second[i] * (third[i] - shift)
        result += partial
        start += 256
    return result


@kernel(fastmath={"reassoc", "contract"})
def slope_sums(g: Any, w: Any, x: Any, shift: Any) -> Any:
    """The sums of ``g * w`` and of ``g * w * (x - shift)``; what lies two rows on is fetched."""
    total, product = 0.0, 0.0
    zero = g.dtype.type(0)
    start = 0
    while start < g.size:
        slope, row, factor = g[start : start + 256], x[start : start + 256], w[start : start + 256]
        if slope.size == 256 or (start and slope.size > _FEW):
            prefetch(g, 2 * g.size + start)
            prefetch(x, 2 * g.size + start)
        first, second = zero, zero
        for i in range(slope.size):
            part = slope[i] * factor[i]
            first += part
            second += part * (row[i] - shift)
        total += first
        product += second
        start += 256
    return total, product
