"""Rows of a quantised embedding."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes

from ..nn import functional as F  # noqa: N812
from ._tensor import QuantizedTensor

__all__ = ["PackedEmbedding"]


class PackedEmbedding:
    """The weight (rows, columns) of an embedding, with a scale and a zero point for each row.

    Attributes:
        weight: of quint8, by rows with floating zero points.
    """

    def __init__(self, weight: Any) -> None:
        if not isinstance(weight, QuantizedTensor) or weight.aval.dtype is not dtypes.quint8:
            raise RuntimeError(
                "Expect embedding_bag weights to be quint8; quint4x2 is not available in mindtorch"
            )
        self.weight = weight
        self._numbers = weight.dequantize()

    def rows(self, indices: Any) -> Any:
        """The numbers of the rows that are named."""
        return F.embedding(indices, self._numbers)

    def sums(self, indices: Any, offsets: Any, weights: Any, last: bool) -> Any:
        """The sums of the rows of each bag."""
        return F.embedding_bag(
            indices, self._numbers, offsets, mode="sum", per_sample_weights=weights,
            include_last_offset=last,
        )  # fmt: skip
