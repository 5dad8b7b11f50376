"""What broadcasting and promotion of an input mean for its gradient."""

from __future__ import annotations

from typing import Any

from ..ops.complex import real
from ..ops.movement import cast
from ..ops.reduction import sum_to
from ..tensor import Tensor


def unbroadcast(gradient: Tensor, target: Any) -> Tensor:
    """``gradient`` with the shape and dtype of ``target``, the aval of the input it is of."""
    if gradient.aval.dtype.is_complex and not target.dtype.is_complex:
        gradient = real(gradient)
    if gradient.aval.shape != target.shape:
        gradient = sum_to(gradient, target.shape)
    if gradient.aval.dtype is not target.dtype:
        gradient = cast(gradient, dtype=target.dtype)
    return gradient
