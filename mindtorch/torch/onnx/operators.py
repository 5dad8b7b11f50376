"""Operators that only matter to an export, done as what they are."""

from __future__ import annotations

from typing import Any

from mindtorch import torch

__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]


def shape_as_tensor(x: Any) -> Any:
    """The shape of `x` as a tensor of int64."""
    return torch.tensor(tuple(x.shape), dtype=torch.int64)


def reshape_from_tensor_shape(x: Any, shape: Any) -> Any:
    """`x` in the shape that a tensor holds."""
    return x.reshape(shape.tolist())
