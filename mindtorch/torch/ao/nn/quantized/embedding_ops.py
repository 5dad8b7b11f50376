"""Quantised embeddings."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import nn
from mindtorch.torch._quantized._creation import _empty_per_channel_affine_quantized
from mindtorch.torch.ao.nn import qat as nnqat

from ._shared import quantize_weight, weight_observer

__all__ = ["Embedding", "EmbeddingBag", "EmbeddingPackedParams"]

ops: Any = torch.ops.quantized


def _empty(rows: int, columns: int) -> Any:
    return _empty_per_channel_affine_quantized(
        [rows, columns], scales=torch.ones(rows), zero_points=torch.zeros(rows), axis=0,
        dtype=torch.quint8,
    )  # fmt: skip


class EmbeddingPackedParams(nn.Module):
    """The weight of an embedding.

    Args:
        num_embeddings, embedding_dim: rows and columns.
        dtype: torch.quint8.

    Raises:
        NotImplementedError: another type.
    """

    _version = 1

    def __init__(
        self, num_embeddings: int, embedding_dim: int, dtype: Any = torch.quint8
    ) -> None:
        super().__init__()
        self.dtype = dtype
        if dtype != torch.quint8:
            raise NotImplementedError(
                "Unsupported dtype on quantized embedding! mindtorch has quint8. Got dtype: "
                f"{dtype}"
            )
        self.set_weight(_empty(num_embeddings, embedding_dim))

    def set_weight(self, weight: Any) -> None:
        """Take another weight."""
        self._packed_weight = ops.embedding_bag_prepack(weight)

    def _weight(self) -> Any:
        return self._packed_weight.weight

    def forward(self, x: Any) -> Any:
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_weight"] = self._weight()

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *args: Any
    ) -> None:
        self.dtype = state_dict.pop(prefix + "dtype")
        self.set_weight(state_dict.pop(prefix + "_packed_weight"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *args)

    def __repr__(self) -> str:
        return repr(self._weight())


class Embedding(nn.Module):
    """Rows of a quantised weight, as numbers.

    Args:
        num_embeddings, embedding_dim: rows and columns.
        padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse: of training; not used.
        dtype: torch.quint8.
    """

    _version = 1
    _FLOAT: Any = (nn.Embedding,)
    _TRAINED: Any = (nnqat.Embedding,)

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
        sparse: bool = False, _weight: Any = None, dtype: Any = torch.quint8,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.dtype = dtype
        self._packed_params = EmbeddingPackedParams(num_embeddings, embedding_dim, dtype)
        if _weight is not None:
            if list(_weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError(
                    "Shape of weight does not match num_embeddings and embedding_dim: expected "
                    f"{[num_embeddings, embedding_dim]}, got {list(_weight.shape)}"
                )
            self._packed_params.set_weight(_weight)

    def forward(self, indices: Any) -> Any:
        return ops.embedding_byte(self._packed_params._packed_weight, indices)

    def _get_name(self) -> str:
        return "QuantizedEmbedding"

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def extra_repr(self) -> str:
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, "
            f"dtype={self._packed_params.dtype}, qscheme={self.weight().qscheme()}"
        )

    def set_weight(self, w: Any) -> None:
        """Take another weight."""
        self._packed_params.set_weight(w)

    def weight(self) -> Any:
        """The weight, a quantised tensor."""
        return self._packed_params._weight()

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for an embedding.

        Args:
            mod: an embedding with a ``qconfig``, or one of quantisation-aware training.

        Raises:
            AssertionError: another class of module, or a configuration without a scale for each
                row.
        """
        observer = getattr(mod, "weight_fake_quant", None)
        allowed = cls._FLOAT if observer is None else cls._TRAINED
        if type(mod) not in allowed:
            raise AssertionError(
                f"nnq.{cls.__name__}.from_float only works for {allowed[0].__name__}"
            )
        if observer is None:
            observer = weight_observer(mod)
        if observer.qscheme != torch.per_channel_affine_float_qparams:
            raise AssertionError(
                "Embedding quantization is only supported with float_qparams_weight_only_qconfig."
            )
        observer(mod.weight)
        made = cls(mod.num_embeddings, mod.embedding_dim)
        made.set_weight(quantize_weight(mod.weight.float(), observer))
        return made


class EmbeddingBag(Embedding):
    """Sums of rows of a quantised weight.

    Args:
        num_embeddings, embedding_dim: rows and columns.
        mode: "sum".
        include_last_offset: as torch.nn.EmbeddingBag has it.
        max_norm, norm_type, scale_grad_by_freq, sparse: of training; not used.
        dtype: torch.quint8.
    """

    _FLOAT = (nn.EmbeddingBag,)
    _TRAINED = (nnqat.EmbeddingBag,)

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "sum",
        sparse: bool = False, _weight: Any = None, include_last_offset: bool = False,
        dtype: Any = torch.quint8,
    ) -> None:  # fmt: skip
        super().__init__(num_embeddings, embedding_dim, _weight=_weight, dtype=dtype)
        self.mode, self.include_last_offset = mode, include_last_offset
        self.pruned_weights = False

    def forward(
        self, indices: Any, offsets: Any = None, per_sample_weights: Any = None,
        compressed_indices_mapping: Any = None,
    ) -> Any:  # fmt: skip
        return ops.embedding_bag_byte(
            self._packed_params._packed_weight, indices, offsets, False, 0, self.pruned_weights,
            per_sample_weights, compressed_indices_mapping, self.include_last_offset,
        )  # fmt: skip

    def _get_name(self) -> str:
        return "QuantizedEmbeddingBag"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        made = super().from_float(mod, use_precomputed_fake_quant)
        made.mode, made.include_last_offset = mod.mode, mod.include_last_offset
        return made
