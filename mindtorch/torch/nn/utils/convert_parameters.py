"""Parameters as one vector, and back."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch

from ..._tensor.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Any) -> Any:
    """All parameters, flat, one after another."""
    listed = list(parameters)
    _check_devices(listed)
    return torch.cat([p.view(-1) for p in listed])


def _check_devices(parameters: list[Any]) -> None:
    if len({p.device for p in parameters}) > 1:
        raise TypeError(
            "Found two parameters on different devices, this is currently not supported."
        )


def vector_to_parameters(vec: Any, parameters: Any) -> None:
    """Make the parameters views of ``vec``'s parts."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start, listed = 0, list(parameters)
    _check_devices(listed)
    for p in listed:
        count = p.numel()
        p.data = vec[start : start + count].view_as(p).data
        start += count
