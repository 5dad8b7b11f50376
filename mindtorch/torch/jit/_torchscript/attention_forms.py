"""The operators that torch's transformer layers take in eval mode without gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.engine import dtypes

from ... import nested
from ...functions.linear_algebra import matmul
from ...nn import functional as F  # noqa: N812

__all__ = ["ATTENTION"]

_CAUSAL, _PADDING = 0, 1  # the kinds of masks: of places, of padded keys; others are of all axes


def _shaped(mask: Any, mask_type: int | None) -> Any:
    """The mask, to be broadcast against (batch, heads, queries, keys)."""
    if mask_type == _CAUSAL:
        return mask.reshape([1, 1, *mask.shape[-2:]])
    if mask_type == _PADDING:
        return mask.reshape([mask.shape[0], 1, 1, mask.shape[1]])
    return mask if mask.ndim == 4 else mask.unsqueeze(1)


def _weights(q: Any, k: Any, mask: Any, mask_type: int | None) -> Any:
    """softmax(q k' / sqrt(d)), and 0 where the mask is True."""
    scores = matmul(q, k.transpose(-2, -1)) / q.shape[-1] ** 0.5
    if mask is not None:
        shaped = _shaped(mask, mask_type)
        is_bool = shaped.dtype is dtypes.bool_
        scores = scores.masked_fill(shaped, float("-inf")) if is_bool else scores + shaped
    return F.softmax(scores, -1)


def _native_multi_head_attention(
    query: Any, key: Any, value: Any, embed_dim: int, num_head: int, qkv_weight: Any,
    qkv_bias: Any, proj_weight: Any, proj_bias: Any, mask: Any = None, need_weights: bool = True,
    average_attn_weights: bool = True, mask_type: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Attention of several heads, and its weights if they are asked for."""
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    heads = []
    for x, weight, bias in zip((query, key, value), weights, biases, strict=True):
        projected = F.linear(x, weight, bias)
        heads.append(projected.unflatten(-1, [num_head, embed_dim // num_head]).transpose(1, 2))
    found = _weights(heads[0], heads[1], mask, mask_type)
    made = matmul(found, heads[2]).transpose(1, 2).flatten(2)
    made = F.linear(made, proj_weight, proj_bias)
    if not need_weights:
        return made, made.new_zeros([0])
    return made, found.mean(1) if average_attn_weights else found


def _transformer_encoder_layer_fwd(
    src: Any, embed_dim: int, num_heads: int, qkv_weight: Any, qkv_bias: Any, proj_weight: Any,
    proj_bias: Any, use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Any,
    norm_bias_1: Any, norm_weight_2: Any, norm_bias_2: Any, ffn_weight_1: Any, ffn_bias_1: Any,
    ffn_weight_2: Any, ffn_bias_2: Any, mask: Any = None, mask_type: int | None = None,
) -> Any:  # fmt: skip
    """One layer of a transformer's encoder; of a nested tensor, on each of its parts."""
    first, second = (norm_weight_1, norm_bias_1), (norm_weight_2, norm_bias_2)

    def attend(x: Any) -> Any:
        return _native_multi_head_attention(
            x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask,
            False, True, mask_type,
        )[0]  # fmt: skip

    def feed(x: Any) -> Any:
        inner = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(inner) if use_gelu else F.relu(inner), ffn_weight_2, ffn_bias_2)

    def normed(x: Any, norm: tuple[Any, Any]) -> Any:
        return F.layer_norm(x, [embed_dim], *norm, eps)

    def layer(x: Any) -> Any:
        if norm_first:
            x = x + attend(normed(x, first))
            return x + feed(normed(x, second))
        x = normed(x + attend(x), first)
        return normed(x + feed(x), second)

    if src.is_nested:
        parts = [layer(part.unsqueeze(0)).squeeze(0) for part in src.unbind()]
        return nested.as_nested_tensor(parts)
    return layer(src)


def _nested_tensor_from_mask(t: Any, mask: Any, mask_check: bool = True) -> Any:
    """The rows of each example where the mask is True."""
    if mask_check and not _left_aligned(t, mask):
        raise RuntimeError(
            "Expected mask to be left-aligned, but it is not: the True values of a row come first"
        )
    return nested.as_nested_tensor([t[i][mask[i]] for i in range(t.shape[0])])


def _left_aligned(t: Any, mask: Any) -> bool:
    return bool((mask[:, 1:] <= mask[:, :-1]).all())


def _padded(x: Any, padding: float, output_size: Any = None) -> Any:
    return nested.to_padded_tensor(x, padding, output_size)


ATTENTION: dict[str, Callable[..., Any]] = {
    "_native_multi_head_attention": _native_multi_head_attention,
    "_transformer_encoder_layer_fwd": _transformer_encoder_layer_fwd,
    "_nested_tensor_from_mask": _nested_tensor_from_mask,
    "_nested_tensor_from_mask_left_aligned": _left_aligned,
    "to_padded_tensor": _padded,
    "nested_to_padded_tensor": _padded,
}  # fmt: skip
