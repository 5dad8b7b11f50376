"""What kernels report of bad indices.

A kernel that meets an index out of range leaves its element out and writes 1 into a cell of the
device. The cell is looked at when elements are next read on the host, or at ``synchronize()``: the
error comes late, as CUDA's do, and nothing is read or written out of bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.errors import AcceleratorError

_cell: Any = None
_used = False


def cell() -> Any:
    """The cell, for a launch that may report."""
    global _cell, _used
    if _cell is None:
        from numba import cuda

        _cell = cuda.to_device(np.zeros(1, np.int64))
    _used = True
    return _cell


def reported() -> None:
    """Something was launched that may have reported."""
    global _used
    _used = _cell is not None


def check() -> None:
    """Raise what kernels have reported since the last check.

    Raises:
        AcceleratorError: an index was out of range.
    """
    global _used
    if not _used:
        return
    _used = False
    if _cell.copy_to_host()[0]:
        _cell.copy_to_device(np.zeros(1, np.int64))
        raise AcceleratorError(
            "CUDA error: device-side assert triggered: an index is out of range\nCUDA kernel "
            "errors might be asynchronously reported at some other API call, so the stacktrace "
            "below might be incorrect."
        )
