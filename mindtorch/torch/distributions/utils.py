"""What distributions share: broadcasting of arguments, probabilities and their logarithms."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch.nn import functional as F  # noqa: N812

__all__ = [
    "broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs",
    "probs_to_logits", "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip

euler_constant = 0.5772156649015328606


def is_tensor(value: Any) -> bool:
    return isinstance(value, EngineTensor)


def is_number(value: Any) -> bool:
    return isinstance(value, numbers.Number) and not is_tensor(value)


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """Tensors of one common shape; numbers take the type of the first tensor.

    Raises:
        ValueError: for what is neither a tensor nor a number.
    """
    if not all(is_tensor(v) or is_number(v) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects "
            "implementing __torch_function__."
        )
    dtype = next((v.dtype for v in values if is_tensor(v)), torch.get_default_dtype())
    tensors = [v if is_tensor(v) else torch.tensor(v, dtype=dtype) for v in values]
    return tuple(torch.broadcast_tensors(*tensors))


def standard_normal(shape: Any, dtype: Any, device: Any) -> Any:
    return torch.empty(shape, dtype=dtype, device=device).normal_()


def sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last ``dim`` axes."""
    if dim == 0:
        return value
    return value.reshape((*value.shape[:-dim], -1)).sum(-1)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """sigmoid(logits), or softmax over the last axis."""
    return torch.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def clamp_probs(probs: Any) -> Any:
    """``probs`` at least one rounding unit away from 0 and 1."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """log(p), or log(p / (1 - p)), of clamped probabilities."""
    inner = clamp_probs(probs)
    return inner.log() - (-inner).log1p() if is_binary else inner.log()


class lazy_property:  # noqa: N801
    """A property that is computed when first read, with gradients, and kept."""

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def _lower_mask(n: int, diag: int) -> Any:
    places = torch.arange(n)
    return places < places.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The lower triangle up to the diagonal ``diag``, row after row, as a vector."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _lower_mask(n, diag)]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """The matrix of which :func:`tril_matrix_to_vec` gives ``vec``, zero elsewhere."""
    size, shift = vec.shape[-1], 1 + 2 * diag
    n = (-shift + (shift**2 + 8 * size + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > torch.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {size} which cannot be expressed as the lower "
            "triangular part of a square D x D matrix."
        )
    rows = round(n)
    result = vec.new_zeros((*vec.shape[:-1], rows, rows))
    result[..., _lower_mask(rows, diag)] = vec
    return result


# by torch's names
_standard_normal = standard_normal
_sum_rightmost = sum_rightmost
