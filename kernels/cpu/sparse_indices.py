"""Lists of places of sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel


@kernel
def _merge(first: Any, second: Any, from_first: Any, from_second: Any) -> int:
    """Merge two lists of keys as if each were in order; an equal pair that meets becomes one.

    Args:
        from_first, from_second: for each result the position in that list, or -1.

    Returns:
        how many results there are.
    """
    i, j, count = 0, 0, 0
    while i < first.size or j < second.size:
        take_first = j >= second.size or (i < first.size and first[i] <= second[j])
        take_second = i >= first.size or (j < second.size and second[j] <= first[i])
        from_first[count] = i if take_first else -1
        from_second[count] = j if take_second else -1
        i += take_first
        j += take_second
        count += 1
    return count


def merge_keys(outs: Any, first: Any, second: Any) -> None:
    """:func:`_merge` of arrays of any layout."""
    from_first, from_second, count = outs
    first, second = np.ascontiguousarray(first), np.ascontiguousarray(second)
    count[...] = _merge(first, second, from_first, from_second)
