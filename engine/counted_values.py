"""How often values occur, and between which they lie: what decides the shape of a result, or that
it is refused, and so is no op."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def loops() -> Any:
    """The kernels, loaded with numba when they are needed."""
    from mindtorch.kernels.cpu import counting

    return counting
