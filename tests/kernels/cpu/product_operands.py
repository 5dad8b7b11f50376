"""Operands of products for tests of their kernels, and how far a product is from float64's."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine.op import Layout

ORDERS = ("nn", "nt", "tn", "tt")
# rows, columns and terms around the sizes of tiles, steps and blocks
SIZES = [(1, 1, 1), (16, 16, 32), (17, 15, 31), (32, 32, 385), (33, 100, 70), (70, 700, 800),
         (5, 31, 33)]  # fmt: skip


def matrix(rows: int, columns: int, letter: str, kind: Any, batch: Any = ()) -> Any:
    x = np.random.default_rng(rows + columns).standard_normal((*batch, rows, columns)).astype(kind)
    if letter == "t":
        return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
    return x


def layout(x: Any) -> Layout:
    return Layout(x.shape, tuple(n // x.itemsize for n in x.strides), x.dtype)


def errors(found: Any, a: Any, b: Any, bias: Any = 0) -> Any:
    """Differences from float64's sums in units of the sums of magnitudes."""
    wide = [np.asarray(x, np.float64) for x in (a, b, bias)]
    exact, size = wide[0] @ wide[1] + wide[2], abs(wide[0]) @ abs(wide[1]) + abs(wide[2])
    return abs(np.asarray(found, np.float64) - exact) / size
