"""Euclidean norms in PyTorch's order of additions.

    rows      squares of a row are added lane by lane, 8 float32 or 4 float64 at a time; then the
              lanes in turn, then the squares of what is left: four rounded, the others not
    others    one square after another

Products are rounded before they are added but for those last ones.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from mindtorch.kernels.codegen.jit import bound, entry_point, kernel

from ..vectors.float_bits import fma
from ..vectors.simd import Vectors, data_of, long_of, loop
from ..vectors.simd_sums import WIDTHS
from .cascade_sum import merged_axes, result_strides

_TOGETHER = 4  # rows whose sums are made at a time: one alone waits for each addition


@functools.cache
def _squares_of(width: int, rows: int) -> Any:
    """The kernel of the lanes of ``rows`` sums of squares, each of ``count`` vectors.

    ``squares(sums, x, at, pitch, count)``: row ``r`` begins at ``at + r * pitch``, its lanes come
    to ``sums[r * width:]``.
    """

    @intrinsic
    def squares(context: Any, sums: Any, x: Any, at: Any, pitch: Any, count: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args
            form = Vectors(builder, kinds[1].dtype, width)
            target = data_of(context, builder, kinds[0], arguments[0], long_of(0))
            source = data_of(context, builder, kinds[1], arguments[1], arguments[2])
            lines = [
                builder.gep(source, [builder.mul(arguments[3], long_of(r))]) for r in range(rows)
            ]

            def step(i: Any, held: Any) -> Any:
                place = [builder.mul(i, long_of(width))]
                values = [form.load(builder.gep(line, place)) for line in lines]
                return [
                    builder.fadd(h, builder.fmul(v, v)) for h, v in zip(held, values, strict=True)
                ]

            for r, total in enumerate(loop(builder, arguments[4], [form.zero] * rows, step)):
                form.store(total, builder.gep(target, [long_of(r * width)]))
            return context.get_dummy_value()

        long = types.int64
        return types.void(sums, x, long, long, long), generate

    return squares


@functools.cache
def _rows_of(dtype: Any) -> Any:
    width, zero = WIDTHS[dtype], dtype.type(0)
    several, one = _squares_of(width, _TOGETHER), _squares_of(width, 1)

    @kernel
    def rows(out: Any, x: Any, pitch: int, n: int) -> None:
        sums = np.empty(_TOGETHER * width, dtype)
        vectors = n // width
        fours = vectors * width + (n - vectors * width) // 4 * 4
        j = 0
        while j < out.size:
            count = _TOGETHER if j + _TOGETHER <= out.size else 1
            if count == 1:
                one(sums, x, j * pitch, pitch, vectors)
            else:
                several(sums, x, j * pitch, pitch, vectors)
            for r in range(count):
                at, total = (j + r) * pitch, zero
                for k in range(r * width, (r + 1) * width):
                    total += sums[k]
                for k in range(at + vectors * width, at + fours):
                    total += x[k] * x[k]
                for k in range(at + fours, at + n):
                    total = fma(x[k], x[k], total)
                out[j + r] = np.sqrt(total)
            j += count

    return rows


@kernel
def _one_by_one(
    out: Any, x: Any, n: int, s: int, m: int, t: int, many: int, ahead: int
) -> None:
    """``many`` times ``m`` results of ``n`` squares each, which are ``s`` apart."""
    for q in range(many):
        made, first = out[q * m : q * m + m], q * ahead
        if t == 1:
            made[:] = 0
            for i in range(n):
                row = x[first + i * s : first + i * s + m]
                for j in range(m):
                    made[j] += row[j] * row[j]
            for j in range(m):
                made[j] = np.sqrt(made[j])
            continue
        for j in range(m):
            total = x.dtype.type(0)
            for i in range(n):
                value = x[first + j * t + i * s]
                total += value * value
            made[j] = np.sqrt(total)


def plan(out: Any, x: Any, axis: tuple[int, ...]) -> Callable[..., None] | None:
    """``run(out, x)`` on flat arrays; None for other types, and several axes that do not merge."""
    if x.dtype not in WIDTHS or out.dtype != x.dtype or 0 in x.shape:
        return None
    axes = merged_axes(x.shape, result_strides(x.shape, axis), x.strides)
    if len(axes) > 3 or axes[0][1] != 0 or any(n > 1 and a == 0 for n, a, _ in axes[1:]):
        return None
    (n, _, s), (m, _, t), (many, _, ahead) = [*axes, [1, 0, 0]][:3]
    array = f"{x.dtype.name}[::1]"
    if s == 1 and many == 1:
        numbers: tuple[int, ...] = (t, n)
        run = entry_point(_rows_of(x.dtype), f"void({array}, {array}, int64, int64)")
    elif s != 1:
        numbers = (n, s, m, t, many, ahead)
        run = entry_point(_one_by_one, f"void({array}, {array}{', int64' * 6})")
    else:
        return None
    return bound(lambda target, source: run(target, source, *numbers), run, *numbers)
