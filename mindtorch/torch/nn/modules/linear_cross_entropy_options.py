"""How :func:`torch.nn.functional.linear_cross_entropy` goes over its batch in chunks."""

from __future__ import annotations

import dataclasses
from typing import Any

from mindtorch.engine import dtypes

__all__ = ["LinearCrossEntropyOptions"]

_POLICIES = ("auto", "accurate", "balanced", "compact")
_HALVES = (dtypes.float16, dtypes.bfloat16)
_TYPES = (None, *_HALVES, dtypes.float32, dtypes.float64)


@dataclasses.dataclass(slots=True, frozen=True)
class LinearCrossEntropyOptions:
    """Settings of the chunked path, which never holds all logits at once.

    Args:
        allow_retain_graph: in torch, whether a second backward pass may follow. Here gradients
            are computed anew in each pass, so it is always possible.
        batch_chunk_size: rows of a chunk; None for all.
        chunking_method: None, "auto", or "aspect_ratio:N", which takes the power of two at or above
            rows / ceil(classes / features), divided by N.
        acc_policy: "auto", "accurate", "balanced" or "compact". Torch's policies differ in how
            much is kept in ``acc_dtype``; here everything between input and result is.
        acc_dtype: the type to compute in; None is float32 for half types under "auto", else the
            input's type.

    Raises:
        ValueError: for a setting that is none of these.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, _, factor = self.chunking_method.partition(":")
            digits = factor if ":" in self.chunking_method else "1"
            if name != "aspect_ratio" or not digits.isdigit() or int(digits) == 0:
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        if self.acc_dtype not in _TYPES:
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, "
                f"torch.float64}}, got {self.acc_dtype!r}. Pass acc_dtype=None to let the op pick "
                "automatically."
            )

    def rows_at_once(self, rows: int, features: int, classes: int, dtype: Any) -> int:
        """The size of a chunk."""
        method, size = self.chunking_method, self.batch_chunk_size
        if method == "auto":
            method = "aspect_ratio" if dtype in _HALVES else "aspect_ratio:2"
            method = None if size is not None else method
        if method is None:
            return min(size or rows, rows)
        factor = int(method.partition(":")[2] or 1)
        target = -(-rows // -(-classes // features))
        chosen = min((1 << (target - 1).bit_length()) // factor, rows)
        if size is not None and size != chosen:
            raise ValueError(
                f"batch_chunk_size (={size}) and chunking_method ('{method}') give different "
                f"chunk sizes ({size} vs {chosen}); pass only one."
            )
        return max(1, chosen)

    def type_between(self, dtype: Any) -> Any:
        """The type to compute in."""
        if self.acc_dtype is not None:
            return self.acc_dtype
        return dtypes.float32 if dtype in _HALVES and self.acc_policy == "auto" else dtype
