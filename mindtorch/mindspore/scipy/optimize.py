"""Assignments of least cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.tensor import Tensor

__all__ = ["linear_sum_assignment"]


def linear_sum_assignment(
    cost_matrix: Any, maximize: bool, dimension_limit: Any = None
) -> tuple[Tensor, Tensor]:
    """The rows and columns, one of each, whose costs have the least sum; (rows, columns), int64.

    Args:
        cost_matrix: (rows, columns) of costs.
        maximize: the largest sum instead.
        dimension_limit: how many columns count, all when None; -1 stands for those left out.
    """
    from scipy import optimize

    costs = cost_matrix.asnumpy()
    if costs.ndim != 2:
        raise ValueError(f"cost_matrix should have two axes, but got shape {costs.shape}")
    limit = costs.shape[1] if dimension_limit is None else int(dimension_limit)
    rows, columns = optimize.linear_sum_assignment(costs[:, :limit], bool(maximize))
    spare = (0, min(costs.shape) - len(rows))
    made = (np.pad(v, spare, constant_values=-1).astype(np.int64) for v in (rows, columns))
    return Tensor(next(made)), Tensor(next(made))
