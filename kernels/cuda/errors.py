"""What kernels report of bad indices.

A kernel that meets an index out of range leaves its element out and writes 1 into a cell of the
device. The cell is looked at when elements are next read on the host, or at ``synchronize()``: the
error comes late, as CUDA's do, and nothing is read or written out of bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.support.errors import AcceleratorError

from . import streams
from .driver_errors import LATE
from .driver_errors import raised_as_torchs as raised_as_torchs

_cells: dict[int, Any] = {}  # by device
_used: set[int] = set()


def cell() -> Any:
    """The current device's cell, for a launch that may report."""
    device = streams.device()
    if device not in _cells:
        from numba import cuda

        _cells[device] = cuda.to_device(np.zeros(1, np.int64))
    _used.add(device)
    return _cells[device]


def reported() -> None:
    """Something was launched that may have reported."""
    _used.update(_cells)


def check() -> None:
    """Raise what kernels have reported since the last check.

    Raises:
        AcceleratorError: an index was out of range.
    """
    if not _used:
        return
    bad = False
    while _used:
        device = _used.pop()
        with streams.on(device):
            if raised_as_torchs(_cells[device].copy_to_host)[0]:
                _cells[device].copy_to_device(np.zeros(1, np.int64))
                bad = True
    if bad:
        raise AcceleratorError(
            "CUDA error: device-side assert triggered: an index is out of range\n" + LATE
        )
