"""Causal masks by name: where the triangle lies when queries and keys differ in number."""

from __future__ import annotations

import enum
import warnings
from typing import Any, Self

import mindtorch.torch as torch
from mindtorch.engine import dtypes
from mindtorch.torch._tensor.tensor import Tensor

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Which corner the triangle of a mask begins at: that of the first or of the last places."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask for ``attn_mask`` of scaled_dot_product_attention; it holds no elements.

    Args:
        variant: the corner where the triangle begins.
        seq_len_q: how many queries there are.
        seq_len_kv: how many keys.
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Self:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        made: Self = super().__new__(cls)
        made.variant, made.seq_len_q, made.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant is CausalVariant.LOWER_RIGHT:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > "
                "seq_len_kv!",
                stacklevel=2,
            )
        return made

    def _materialize(self, device: Any = None) -> Any:
        lower = self.variant is CausalVariant.LOWER_RIGHT
        whole = torch.ones(self.seq_len_q, self.seq_len_kv, dtype=dtypes.bool_, device=device)
        return whole.tril(self.seq_len_kv - self.seq_len_q if lower else 0)

    def for_attention(self, is_causal: bool, device: Any) -> tuple[Any, bool]:
        """``attn_mask`` and ``is_causal`` for these queries: a mask only where it must be.

        Raises:
            ValueError: ``is_causal`` is set, too.
        """
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        if self.variant is CausalVariant.UPPER_LEFT or self.seq_len_q == self.seq_len_kv:
            return None, True
        return self._materialize(device), False

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return repr(self._materialize())


def causal_upper_left(*size: int) -> CausalBias:
    """``tril(ones(size))``: query ``i`` sees the keys up to ``i``, as with ``is_causal=True``.

    Args:
        size: how many queries and keys.
    """
    return _of_size(CausalVariant.UPPER_LEFT, "causal_upper_left", size)


def causal_lower_right(*size: int) -> CausalBias:
    """``tril(ones(size), diagonal=size[1] - size[0])``: the last query sees all keys.

    Args:
        size: how many queries and keys.
    """
    return _of_size(CausalVariant.LOWER_RIGHT, "causal_lower_right", size)


def _of_size(variant: CausalVariant, name: str, size: tuple[int, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return CausalBias(variant, *size)
