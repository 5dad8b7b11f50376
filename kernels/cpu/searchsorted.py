"""Places of values in sorted rows, by halving in PyTorch's steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import entry_point, kernel

from .thread_pool import parallel_for
from .via_float32 import flat

_SERIAL = 1 << 14


@kernel
def _search(
    out: Any, edges: Any, values: Any, count: int, each: int, right: bool, first: int, last: int
) -> None:
    """``out[i]``: the first of the ``count`` edges of a row (all values' or of ``each``) that is
    not below, with ``right`` above, ``values[i]``; NaN is above all and nothing is above it."""
    for i in range(first, last):
        value = values[i]
        start = i // each * count if each else 0
        low, left = start, count
        while left > 0:
            half = left >> 1
            middle = edges[np.uint64(low + half)]
            beyond = not middle > value if right else not middle >= value
            low = low + half + 1 if beyond else low
            left = left - half - 1 if beyond else half
        out[i] = low - start


def places(out: Any, edges: Any, values: Any, right: bool) -> None:
    """Enter into ``out`` (int64, C order) where each of ``values`` belongs in ``edges``: one row,
    or one for each row of values."""
    kind = values.dtype.name
    search = entry_point(
        _search, f"void(int64[::1], {kind}[::1], {kind}[::1], int64, int64, boolean, int64, int64)"
    )
    count = edges.shape[-1]
    each = values.shape[-1] if edges.ndim > 1 else 0
    target, row, wanted = out.reshape(-1), flat(edges), flat(values)

    def part(first: int, last: int) -> None:
        search(target, row, wanted, count, each, right, first, last)

    parallel_for(wanted.size, part, _SERIAL)
