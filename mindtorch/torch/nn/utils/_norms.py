"""What weight and spectral normalisation share."""

from __future__ import annotations

from typing import Any

from .. import functional as F  # noqa: N812
from ..modules.conv import _ConvTransposeNd


def norm_except_axis(v: Any, axis: int) -> Any:
    """The Euclidean norm over all axes but one, with ones in their place; -1: over all."""
    if axis == -1:
        return v.norm(2)
    others = [i for i in range(v.dim()) if i != axis]
    return v.norm(2, dim=others, keepdim=True) if others else v.abs()


def scaled(v: Any, g: Any, axis: int) -> Any:
    """g v / |v|, the norm taken over all axes but one."""
    return v * (g / norm_except_axis(v, axis))


def as_matrix(weight: Any, axis: int) -> Any:
    """(size of the axis, everything else)."""
    if axis != 0:
        weight = weight.permute(axis, *(i for i in range(weight.dim()) if i != axis))
    return weight.reshape(weight.shape[0], -1)


def unit(vector: Any, eps: float) -> Any:
    return F.normalize(vector, dim=0, eps=eps)


def spectral_axis(module: Any, given: int | None) -> int:
    """The axis of outputs: 1 in transposed convolutions, else 0."""
    return given if given is not None else int(isinstance(module, _ConvTransposeNd))
