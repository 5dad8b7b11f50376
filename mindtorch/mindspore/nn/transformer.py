"""Attention and Transformers with MindSpore's names, arguments and initial values."""

from __future__ import annotations

import copy
from typing import Any

from mindtorch.engine import dtypes

from ..common.initializer import XavierUniform, initializer
from ..common.parameter import Parameter
from ..common.tensor import F, t
from .basic import Dense, Dropout
from .cell import Cell, CellList
from .normalization import LayerNorm

__all__ = [
    "MultiheadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer",
    "TransformerEncoder", "TransformerEncoderLayer",
]  # fmt: skip


class MultiheadAttention(Cell):
    """softmax(q k^T / sqrt(d)) v in several heads, between projections.

    Args:
        embed_dim, num_heads: the width, and into how many heads it is divided.
        dropout: of the attention's weights, in training.
        add_bias_kv, add_zero_attn: one more key and value: trained, or zeros.
        kdim, vdim: widths of keys and values.
        batch_first: inputs are (N, L, E), else (L, N, E).

    ``cell(query, key, value)`` returns (result, weights or None).
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, has_bias: bool = True,
        add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
        vdim: int | None = None, batch_first: bool = False, dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(
                "The init argument 'embed_dim' must be divisible by 'num_heads'."
            )
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.add_zero_attn, self.batch_first = add_zero_attn, batch_first
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim

        def weight(rows: int, columns: int) -> Any:
            return Parameter(initializer(XavierUniform(), (rows, columns), dtype))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = weight(3 * embed_dim, embed_dim)
        else:
            self.q_proj_weight = weight(embed_dim, embed_dim)
            self.k_proj_weight = weight(embed_dim, self.kdim)
            self.v_proj_weight = weight(embed_dim, self.vdim)
        self.in_proj_bias = (
            Parameter(initializer("zeros", (3 * embed_dim,), dtype)) if has_bias else None
        )
        self.out_proj = Dense(
            embed_dim, embed_dim, bias_init="zeros", has_bias=has_bias, dtype=dtype
        )
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            self.bias_k = Parameter(initializer("xavier_normal", (1, 1, embed_dim), dtype))
            self.bias_v = Parameter(initializer("xavier_normal", (1, 1, embed_dim), dtype))

    def construct(
        self, query: Any, key: Any, value: Any, key_padding_mask: Any = None,
        need_weights: bool = True, attn_mask: Any = None, average_attn_weights: bool = True,
    ) -> Any:  # fmt: skip
        """Attention of ``query`` to ``key``; masks are True where it is not paid."""
        batched = query.aval.ndim == 3
        if self.batch_first and batched:
            query, key, value = (t.transpose(x, 0, 1) for x in (query, key, value))
        separate = {}
        if not self._qkv_same_embed_dim:
            names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
            separate = {"use_separate_proj_weight": True, **{n: getattr(self, n) for n in names}}
        result, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads,
            self.in_proj_weight if self._qkv_same_embed_dim else None, self.in_proj_bias,
            self.bias_k, self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight,
            self.out_proj.bias if self.out_proj.has_bias else None, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            average_attn_weights=average_attn_weights, **separate,
        )  # fmt: skip
        if self.batch_first and batched:
            result = t.transpose(result, 0, 1)
        return result, weights


def _activation(given: Any) -> Any:
    if given == "relu":
        return F.relu
    if given == "gelu":
        return F.gelu
    if isinstance(given, str) or not callable(given):
        raise ValueError(
            f"The activation must be relu/gelu, Cell instance or function, but get {given}."
        )
    return given


class _Layer(Cell):
    """What the layers of encoder and decoder have in common."""

    norms = 2

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Any = "relu", layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, batch_first=batch_first, dtype=dtype
        )
        if self.norms == 3:
            self.multihead_attn = MultiheadAttention(
                d_model, nhead, dropout, batch_first=batch_first, dtype=dtype
            )
        self.dense1 = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dropout = Dropout(p=dropout)
        self.dense2 = Dense(dim_feedforward, d_model, dtype=dtype)
        self.norm_first = norm_first
        for place in range(1, self.norms + 1):
            norm = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
            setattr(self, f"norm{place}", norm)
            setattr(self, f"dropout{place}", Dropout(p=dropout))
        self.activation = _activation(activation)

    def _attended(self, x: Any, mask: Any, padding: Any) -> Any:
        found = self.self_attn(
            x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False
        )
        return self.dropout1(found[0])

    def _fed(self, x: Any, dropout: Any) -> Any:
        return dropout(self.dense2(self.dropout(self.activation(self.dense1(x)))))


class TransformerEncoderLayer(_Layer):
    """Attention to itself, then a small network, each added to its input and normalized."""

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Any:
        x = src
        if self.norm_first:
            x = x + self._attended(self.norm1(x), src_mask, src_key_padding_mask)
            return x + self._fed(self.norm2(x), self.dropout2)
        x = self.norm1(x + self._attended(x, src_mask, src_key_padding_mask))
        return self.norm2(x + self._fed(x, self.dropout2))


class TransformerDecoderLayer(_Layer):
    """An encoder layer with attention to the encoder's results in its middle."""

    norms = 3

    def _looked_up(self, x: Any, memory: Any, mask: Any, padding: Any) -> Any:
        found = self.multihead_attn(
            x, memory, memory, attn_mask=mask, key_padding_mask=padding, need_weights=False
        )
        return self.dropout2(found[0])

    def construct(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None,
        tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
    ) -> Any:  # fmt: skip
        x, other = tgt, (memory, memory_mask, memory_key_padding_mask)
        if self.norm_first:
            x = x + self._attended(self.norm1(x), tgt_mask, tgt_key_padding_mask)
            x = x + self._looked_up(self.norm2(x), *other)
            return x + self._fed(self.norm3(x), self.dropout3)
        x = self.norm1(x + self._attended(x, tgt_mask, tgt_key_padding_mask))
        x = self.norm2(x + self._looked_up(x, *other))
        return self.norm3(x + self._fed(x, self.dropout3))


def _copies(layer: Any, count: int) -> Any:
    return CellList([copy.deepcopy(layer) for _ in range(count)])


class TransformerEncoder(Cell):
    """Layers one after another, each a copy of ``encoder_layer``."""

    def __init__(self, encoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers, self.num_layers = _copies(encoder_layer, num_layers), num_layers
        self.norm = norm

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Any:
        for layer in self.layers:
            src = layer(src, src_mask, src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Cell):
    """Layers one after another, each a copy of ``decoder_layer``."""

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers, self.num_layers = _copies(decoder_layer, num_layers), num_layers
        self.norm = norm

    def construct(self, tgt: Any, memory: Any, *masks: Any, **named: Any) -> Any:
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, **named)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Cell):
    """An encoder and a decoder.

    Args:
        custom_encoder, custom_decoder: used in their place.
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6,
        num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Any = "relu", custom_encoder: Any = None, custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False,
        dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        shared = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
                  norm_first, dtype)  # fmt: skip

        def norm() -> Any:
            return LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*shared), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*shared), num_decoder_layers, norm()
        )
        for parameter in self.get_parameters():
            if parameter.aval.ndim > 1:
                parameter.set_data(initializer("xavier_uniform", parameter.aval.shape, dtype))
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def construct(
        self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None,
        memory_mask: Any = None, src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Any:  # fmt: skip
        axis = 0 if self.batch_first else 1
        if src.aval.ndim == 3 and src.aval.shape[axis] != tgt.aval.shape[axis]:
            raise ValueError("The number of batch size for 'src' and 'tgt' must be equal.")
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        )
