"""The tiled product that matrix products and convolutions share.

    picture   small products: one thread for each result. Others: a block of T x T threads makes T x
              T results: a tile of rows i and columns j (grid x, which alone may be large), of
              product z (grid y). It walks the inner axis T at a time
    memory    two tiles of T x T elements in shared memory, of the left and of the right operand,
              each padded by a column against bank conflicts
    sync      after a pair of tiles is loaded, and after it is used
    sizes     any: what lies outside counts as 0. T is 16

An operand is source text that gives an element from its row and column: a matrix by strides, or an
image read as the columns of its windows, which are never written down ("implicit").
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from . import launch
from .fast_division import divisor, divisors, over, three
from .reduction import numba_type

TILE = 2 if launch.SIMULATED else 16
_GRID = 65535
_SMALL = 4096
_SIMULATED = 64


def _by_thread(work: int) -> bool:
    """Whether one thread makes a result by itself: small products, for which tiles cost more than
    they save. In the simulator it is the larger ones, since a barrier there costs milliseconds."""
    return work > _SIMULATED if launch.SIMULATED else work < _SMALL


class Product(NamedTuple):
    """The two kernels of one product: ``(batch, m, k, n, by_across, *names)``, by the divisor of
    tiles in a row; and ``(results, batch, m, k, n, by_m, by_n, *names)``."""

    tiled: Any
    by_thread: Any


@functools.cache
def kernel(names: str, setup: str, left: str, right: str, store: str, dtype: Any) -> Product:
    """The kernels of a product.

    Args:
        names: further arguments, separated by commas.
        setup: statements that use the product's number ``z``.
        left, right: statements that set ``value`` from (``i``, ``p``) and from (``p``, ``j``).
        store: statements that write ``total`` for (``i``, ``j``).
        dtype: in which products are made and added.
    """

    def lines(text: str, depth: int) -> str:
        return "".join("    " * depth + line + "\n" for line in text.strip("\n").split("\n"))

    source = (
        f"def product(batch, m, k, n, by_across, {names}):\n"
        "    a_ = cuda.shared.array((TILE, PITCH), KIND)\n"
        "    b_ = cuda.shared.array((TILE, PITCH), KIND)\n"
        "    column = cuda.threadIdx.x\n    row = cuda.threadIdx.y\n"
        "    across = (n + TILE - 1) // TILE\n"
        "    down = over(cuda.blockIdx.x, by_across)\n    i = down * TILE + row\n"
        "    j = (cuda.blockIdx.x - down * across) * TILE + column\n"
        "    z = cuda.blockIdx.y\n    while z < batch:\n"
        + lines(setup, 2)
        + "        total = A(0)\n        for step in range((k + TILE - 1) // TILE):\n"
        "            p = step * TILE + column\n            value = A(0)\n"
        "            if i < m and p < k:\n" + lines(left, 4)
        + "            a_[row, column] = value\n"
        "            p = step * TILE + row\n            value = A(0)\n"
        "            if p < k and j < n:\n" + lines(right, 4)
        + "            b_[row, column] = value\n"
        "            cuda.syncthreads()\n            for q in range(TILE):\n"
        "                total += a_[row, q] * b_[q, column]\n            cuda.syncthreads()\n"
        "        if i < m and j < n:\n" + lines(store, 3) + "        z += cuda.gridDim.y\n"
    )
    alone = (
        f"def product(count, batch, m, k, n, by_m, by_n, {names}):\n"
        "    r = cuda.grid(1)\n    while r < count:\n"
        "        z, i, j = three(r, m, n, by_m, by_n)\n"
        + lines(setup, 2)
        + "        total = A(0)\n        for p in range(k):\n            value = A(0)\n"
        + lines(left, 3)
        + "            first = value\n            value = A(0)\n"
        + lines(right, 3)
        + "            total += first * value\n"
        + lines(store, 2)
        + "        r = following(r, count)\n"
    )
    space = {"A": dtype.type, "KIND": numba_type(dtype), "TILE": TILE, "PITCH": TILE + 1,
             "np": np, "over": over, "three": three}  # fmt: skip
    return Product(*[launch.from_source(text, "product", space) for text in (source, alone)])


def run(function: Product, batch: int, m: int, k: int, n: int, *arguments: Any) -> None:
    """Launch a product of :func:`kernel`."""
    if _by_thread(batch * m * k * n):
        count = batch * m * n
        launch.each(function.by_thread, count, batch, m, k, n, *divisors(count, m, n), *arguments)
        return
    across = -(-n // TILE)
    tiles = -(-m // TILE) * across
    launch.tiles(function.tiled, (tiles, min(batch, _GRID)), (TILE, TILE), batch, m, k, n,
                 divisor(across, tiles), *arguments)  # fmt: skip
