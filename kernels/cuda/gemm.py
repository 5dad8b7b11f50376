"""The tiled product that matrix products and convolutions share.

    picture   a block of T x T threads makes T x T results: rows i (grid x), columns j (grid y), of
              product z (grid z). It walks the inner axis T at a time
    memory    two tiles of T x T elements in shared memory, of the left and of the right operand,
              each padded by a column against bank conflicts
    sync      after a pair of tiles is loaded, and after it is used
    sizes     any: what lies outside counts as 0. T is 16

An operand is source text that gives an element from its row and column: a matrix by strides, or an
image read as the columns of its windows, which are never written down ("implicit").
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from . import launch
from .reduction import _numba_type

TILE = 2 if launch.SIMULATED else 16
_GRID = 65535


@functools.cache
def kernel(names: str, setup: str, left: str, right: str, store: str, dtype: Any) -> Any:
    """A kernel ``(batch, m, k, n, *names)``.

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
        f"def product(batch, m, k, n, {names}):\n"
        "    a_ = cuda.shared.array((TILE, TILE + 1), KIND)\n"
        "    b_ = cuda.shared.array((TILE, TILE + 1), KIND)\n"
        "    column = cuda.threadIdx.x\n    row = cuda.threadIdx.y\n"
        "    i = cuda.blockIdx.x * TILE + row\n    j = cuda.blockIdx.y * TILE + column\n"
        "    z = cuda.blockIdx.z\n    while z < batch:\n"
        + lines(setup, 2)
        + "        total = A(0)\n        for step in range((k + TILE - 1) // TILE):\n"
        "            p = step * TILE + column\n            value = A(0)\n"
        "            if i < m and p < k:\n" + lines(left, 4) + "            a_[row, column] = value\n"
        "            p = step * TILE + row\n            value = A(0)\n"
        "            if p < k and j < n:\n" + lines(right, 4) + "            b_[row, column] = value\n"
        "            cuda.syncthreads()\n            for q in range(TILE):\n"
        "                total += a_[row, q] * b_[q, column]\n            cuda.syncthreads()\n"
        "        if i < m and j < n:\n" + lines(store, 3) + "        z += cuda.gridDim.z\n"
    )
    space = {"A": dtype.type, "KIND": _numba_type(dtype), "TILE": TILE, "np": np}
    return launch.from_source(source, "product", space)


def run(function: Any, batch: int, m: int, k: int, n: int, *arguments: Any) -> None:
    """Launch a kernel of :func:`kernel`."""
    if -(-n // TILE) > _GRID:
        raise NotImplementedError(f"a product with {n} columns")
    grid = (-(-m // TILE), -(-n // TILE), min(batch, _GRID))
    launch.tiles(function, grid, (TILE, TILE), batch, m, k, n, *arguments)
