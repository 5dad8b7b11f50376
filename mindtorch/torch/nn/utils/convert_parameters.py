"""Parameters as one vector, and back."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch

from ..._tensor.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Any) -> Any:
    """All parameters, flat, one after another."""
    return torch.cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec: Any, parameters: Any) -> None:
    """Make the parameters views of ``vec``'s parts."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for p in parameters:
        count = p.numel()
        p.data = vec[start : start + count].view_as(p).data
        start += count
