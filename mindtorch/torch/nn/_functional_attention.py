"""Attention."""

from __future__ import annotations

import math
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine import dtypes
from mindtorch.engine.ops import attention as ops
from mindtorch.engine.transforms.autocast import LOWER

from .._api.publish import functional
from .._api.warn_caller import warn_caller
from ..backends.cuda import attention_choices as kernels
from ._functional_activation import softmax
from ._functional_dropout import dropout
from ._functional_linear import linear
from ._functional_padding import pad

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


def _barred_ahead(mask: Any, query: Any, key: Any, fused: bool) -> Any:
    """A mask that also bars the keys that come after a query, where PyTorch has a kernel for it.

    Raises:
        RuntimeError: it has none.
    """
    if not fused or mask.requires_grad:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True"
        )
    sizes = query.shape[-2], key.shape[-2]
    seen = torch.ones(sizes, dtype=torch.bool, device=query.device).tril()
    if mask.aval.dtype is dtypes.bool_:
        return mask.logical_and(seen)
    return mask.masked_fill(seen.logical_not(), -math.inf)


def _check_types(query: Any, key: Any, value: Any, mask: Any) -> None:
    """torch's errors for element types that do not fit each other."""
    kinds = [x.aval.dtype for x in (query, key, value)]
    if not kinds[0] is kinds[1] is kinds[2]:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: {} "
            "key.dtype: {} and value.dtype: {} instead.".format(*map(dtypes.c_name, kinds))
        )
    if mask is not None and mask.aval.dtype not in (
        dtypes.bool_, dtypes.float32, kinds[0]
    ):  # fmt: skip
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            "attn_mask.dtype: {} and  query.dtype: {} instead.".format(
                *map(dtypes.c_name, (mask.aval.dtype, kinds[0]))
            )
        )


@functional(cacheable=True, autocast=LOWER, autocast_cuda=LOWER, explained=True)
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """softmax(scale q k^T + mask) v, over the last two axes.

    Args:
        attn_mask: added to the scores, or bool: True where a query may look.
        is_causal: a query sees the keys up to its own place.
        scale: 1 / sqrt(E) unless given.
        enable_gqa: key and value have fewer heads, each shared by several of the query's.
        dropout_p: the chance of a weight to be zeroed.
    """
    if hasattr(attn_mask, "for_attention"):  # a CausalBias
        attn_mask, is_causal = attn_mask.for_attention(is_causal, query.aval.device)
    if attn_mask is not None and is_causal:
        fused = query.dim() == 4 and not dropout_p and kernels["flash"]
        attn_mask, is_causal = _barred_ahead(attn_mask, query, key, fused), False
    if not (kernels["math"] or kernels["flash"]):
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found. This is likely due to "
            "turning off both the math kernel and the fused kernels."
        )
    if not kernels["math"] and (query.dim() != 4 or dropout_p):
        raise RuntimeError("No available kernel.  Aborting execution.")
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    _check_types(query, key, value, attn_mask)
    if enable_gqa:
        key, value = (_for_each_head(x, query.shape[-3]) for x in (key, value))
    factor = 1 / math.sqrt(query.shape[-1] or math.nan) if scale is None else float(scale)
    mask = attn_mask
    if mask is not None and mask.aval.dtype is dtypes.bool_:
        mask = query.new_zeros(mask.shape).masked_fill(mask.logical_not(), -math.inf)
    if query.aval.dtype in (dtypes.float16, dtypes.bfloat16):
        wide = None if mask is None else mask.float()
        result = _attended(
            query.float(), key.float(), value.float(), wide, dropout_p, is_causal, factor
        )
        return result.to(query.dtype)
    return _attended(query, key, value, mask, dropout_p, is_causal, factor)


def _attended(
    query: Any, key: Any, value: Any, mask: Any, dropout_p: float, is_causal: bool, factor: float
) -> Any:
    """The attention in the type of its inputs; ``mask`` is added to the scores."""
    if dropout_p == 0 and _fits_fused(query, key, value, mask):
        return ops.attention(query, key, value, mask, scale=factor, causal=bool(is_causal))[0]
    weights = ops.weights(query, key, mask, scale=factor, causal=bool(is_causal))
    if dropout_p:
        if not 0 <= dropout_p <= 1:
            raise RuntimeError(
                f"dropout probability has to be between 0 and 1, but got {dropout_p}"
            )
        weights = dropout(weights, dropout_p)
    return weights.matmul(value)


def _for_each_head(x: Any, heads: int) -> Any:
    """Keys or values, each head repeated for the query's heads that share it."""
    if heads % x.shape[-3]:
        raise RuntimeError(
            "Number of heads in key and value must divide the number of heads in "
        )
    return x.repeat_interleave(heads // x.shape[-3], -3)


def _fits_fused(query: Any, key: Any, value: Any, mask: Any) -> bool:
    """Whether the kernel without a matrix of weights takes these inputs."""
    if query.aval.dtype not in (dtypes.float32, dtypes.float64) or query.dim() < 3:
        return False
    if not query.aval.dtype is key.aval.dtype is value.aval.dtype:
        return False
    if not query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        return False
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        return False
    scores = (*query.shape[:-1], key.shape[-2])
    if 0 in scores:
        return False
    wide = scores if mask is None else (1,) * (len(scores) - mask.dim()) + tuple(mask.shape)
    return len(wide) == len(scores) and all(
        m in (1, n) for m, n in zip(wide, scores, strict=True)
    )


def _canonical_mask(
    mask: Any, mask_name: str, other_type: Any, other_name: str, target_type: Any,
    check_other: bool = True,
) -> Any:  # fmt: skip
    """A mask that is added: -inf where one of bools bars."""
    if mask is None:
        return None
    is_bool = mask.aval.dtype is dtypes.bool_
    if not is_bool and mask.aval.dtype.category != dtypes.FLOAT:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and other_type is not mask.dtype:
        warn_caller(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type "
            "for both instead."
        )
    if not is_bool:
        return mask
    return mask.new_zeros(mask.shape, dtype=target_type).masked_fill(mask, -math.inf)


def _none_or_dtype(input: Any) -> Any:  # noqa: A002
    if input is not None and not hasattr(input, "aval"):
        raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")
    return None if input is None else input.dtype


def _projected(
    query: Any, key: Any, value: Any, weights: Any, bias: Any
) -> tuple[Any, Any, Any]:
    """The three inputs through their rows of one weight, or through weights of their own."""
    if not isinstance(weights, tuple):
        if query is key and key is value:
            return linear(query, weights, bias).chunk(3, -1)
        weights = weights.chunk(3)
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    inputs = (query, key, value)
    q, k, v = (linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True))
    return q, k, v


def _is_batched(query: Any, key: Any, value: Any) -> bool:
    """Whether there is an axis of examples; torch's error where the three have not the same."""
    axes = query.dim()
    if axes not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {axes}-D query tensor"
        )
    if key.dim() != axes or value.dim() != axes:
        raise AssertionError(
            f"For {'batched' if axes == 3 else 'unbatched'} ({axes}-D) `query`, expected `key` and "
            f"`value` to be {axes}-D but found {key.dim()}-D and {value.dim()}-D tensors "
            "respectively"
        )
    return axes == 3


def _check_mask_axes(query: Any, key: Any, padding: Any, mask: Any, heads: int) -> None:
    """torch's errors for masks that have not the axes that the query's ask for."""
    axes = query.dim()
    start = f"For {'batched' if axes == 3 else 'unbatched'} ({axes}-D) `query`, expected "
    if padding is not None and padding.dim() != axes - 1:
        raise AssertionError(
            f"{start}`key_padding_mask` to be `None` or {axes - 1}-D but found {padding.dim()}-D "
            "tensor instead"
        )
    if mask is None:
        return
    if mask.dim() not in (2, 3):
        raise AssertionError(
            f"{start}`attn_mask` to be `None`, 2-D or 3-D but found {mask.dim()}-D tensor instead"
        )
    wanted = (heads, query.shape[0], key.shape[0])
    if axes == 2 and mask.dim() == 3 and mask.shape != wanted:
        raise AssertionError(f"Expected `attn_mask` shape to be {wanted} but got {mask.shape}")


def _check_shapes(key: Any, value: Any, apart: bool) -> None:
    """torch's error for a key and a value of two shapes; ``apart``: their widths may differ."""
    if not apart:
        raise AssertionError(f"key shape {key} does not match value shape {value}")
    if key[:2] != value[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {key[:2]} do not match value's {value[:2]}"
        )


def multi_head_attention_forward(
    query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int, in_proj_weight: Any,
    in_proj_bias: Any, bias_k: Any, bias_v: Any, add_zero_attn: bool, dropout_p: float,
    out_proj_weight: Any, out_proj_bias: Any, training: bool = True, key_padding_mask: Any = None,
    need_weights: bool = True, attn_mask: Any = None, use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None, k_proj_weight: Any = None, v_proj_weight: Any = None,
    static_k: Any = None, static_v: Any = None, average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """Attention in ``num_heads`` parts: softmax(q k^T / sqrt(size) + masks) v of each, joined.

    Args:
        query: (L, N, E), or (L, E) without a batch.
        key, value: (S, N, their widths), or without N.
        embed_dim_to_check: E, of which each part has E / num_heads.
        in_proj_weight, in_proj_bias: (3 E, E) and (3 E,), one below the other for query, key and
            value; with ``use_separate_proj_weight`` the weights are ``q_proj_weight``,
            ``k_proj_weight`` and ``v_proj_weight``.
        bias_k, bias_v: (1, 1, E), one more key and value for all examples.
        add_zero_attn: one more key and value of zeros.
        dropout_p: the share of attention weights that is dropped while ``training``.
        out_proj_weight, out_proj_bias: (E, E) and (E,), applied to the joined parts.
        key_padding_mask: (N, S), True (or -inf) at keys to be left out.
        need_weights: compute the attention weights; without, the faster fused kernel runs.
        attn_mask: (L, S) or (N * num_heads, L, S), True (or -inf) where attention is barred.
        static_k, static_v: (N * num_heads, S, E / num_heads), in place of projected ones.
        average_attn_weights: give the mean over the parts, not those of each.
        is_causal: a hint that ``attn_mask``, which must be given, is causal.

    Returns:
        the output, of the query's shape; the attention weights, (N, L, S) or (N, num_heads, L, S),
        None unless ``need_weights``.
    """
    batched = _is_batched(query, key, value)
    if attn_mask is not None or key_padding_mask is not None:
        _check_mask_axes(query, key, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same = query is key and key is value
        query = query.unsqueeze(1)
        key, value = (query, query) if same else (key.unsqueeze(1), value.unsqueeze(1))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    if width != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}"
        )
    if key.aval.shape != value.aval.shape:
        _check_shapes(key.shape, value.shape, use_separate_proj_weight)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    weights = in_proj_weight
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    q, k, v = _projected(query, key, value, weights, in_proj_bias)
    if attn_mask is not None:
        _check_mask(attn_mask, (length, key.shape[0]), batch * num_heads)
    attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", q.dtype)
    padding = _canonical_mask(key_padding_mask, "key_padding_mask", None, "", q.dtype)
    if bias_k is not None:
        k, v = _with_biases((k, v), (bias_k, bias_v), (static_k, static_v), batch)
        attn_mask, padding = _for_one_key_more(attn_mask), _for_one_key_more(padding)
    size = width // num_heads
    q = q.reshape(length, batch, num_heads, size).permute(1, 2, 0, 3)
    k = _heads("static_k", static_k, k, (batch, num_heads, size))
    v = _heads("static_v", static_v, v, (batch, num_heads, size))
    if add_zero_attn:
        k, v = pad(k, (0, 0, 0, 1)), pad(v, (0, 0, 0, 1))
        attn_mask, padding = _for_one_key_more(attn_mask), _for_one_key_more(padding)
    if padding is not None:
        _check_padding(padding.shape, (batch, k.shape[2]))
    mask = _merged(attn_mask, padding, batch, num_heads)
    out, attention = _attend(q, k, v, mask, dropout_p if training else 0.0, need_weights)
    out = out.permute(2, 0, 1, 3).reshape(length * batch, width)
    out = linear(out, out_proj_weight, out_proj_bias).reshape(length, batch, width)
    if attention is not None and average_attn_weights:
        attention = attention.mean(1)
    if not batched:
        out = out.squeeze(1)
        attention = None if attention is None else attention.squeeze(0)
    return out, attention


def _with_biases(pair: Any, biases: Any, statics: Any, batch: int) -> tuple[Any, Any]:
    """Keys and values with one more of each."""
    for name, static in zip(("key", "value"), statics, strict=True):
        if static is not None:
            raise AssertionError(f"bias cannot be added to static {name}.")
    k, v = (torch.cat([x, b.repeat(1, batch, 1)]) for x, b in zip(pair, biases, strict=True))
    return k, v


def _for_one_key_more(mask: Any) -> Any:
    return None if mask is None else pad(mask, (0, 1))


def _attend(
    q: Any, k: Any, v: Any, mask: Any, dropped: float, need_weights: bool
) -> tuple[Any, Any]:
    """The parts' outputs, and the weights where they are needed."""
    if not need_weights:
        return scaled_dot_product_attention(q, k, v, mask, dropped), None
    attention = softmax(_scores(q * math.sqrt(1.0 / q.shape[-1]), k, mask), -1)
    if dropped > 0:
        attention = dropout(attention, dropped)
    return attention.matmul(v), attention


def _heads(name: str, static: Any, x: Any, sizes: tuple[int, int, int]) -> Any:
    """``x`` of (S, N, E), or the static one of (N * heads, S, size), as (N, heads, S, size)."""
    batch, heads, size = sizes
    if static is None:
        return x.reshape(x.shape[0], batch, heads, size).permute(1, 2, 0, 3)
    for place, wanted in ((0, batch * heads), (2, size)):
        if static.shape[place] != wanted:
            raise AssertionError(
                f"expecting {name}.size({place}) of {wanted}, but got {static.size(place)}"
            )
    return static.reshape(batch, heads, static.shape[1], size)


def _scores(q: Any, k: Any, mask: Any) -> Any:
    """``q k^T + mask``, rounded once."""
    if mask is None:
        return q.matmul(k.transpose(-2, -1))
    if q.aval.dtype in (dtypes.float16, dtypes.bfloat16) and mask.dtype == q.dtype:
        return _scores(q.float(), k.float(), mask.float()).to(q.dtype)
    return q.matmul(k.transpose(-2, -1)) + mask


def _check_mask(mask: Any, lengths: tuple[int, int], count: int) -> None:
    """A mask has a place for each query and key, and perhaps each head of each example."""
    if mask.dim() not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    wanted = lengths if mask.dim() == 2 else (count, *lengths)
    if tuple(mask.shape) != wanted:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {wanted}."
        )


def _check_padding(shape: Any, expected: tuple[int, int]) -> None:
    for axis in (0, 1):
        if shape[axis] != expected[axis]:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{axis}] to be {expected[axis]}, but got "
                f"{shape[axis]}"
            )


def _merged(attn_mask: Any, padding: Any, batch: int, heads: int) -> Any:
    """One mask, added to scores (N, H, L, S)."""
    if attn_mask is not None and attn_mask.dim() == 3:
        attn_mask = attn_mask.reshape(batch, heads, *attn_mask.shape[1:])
    if padding is None:
        return attn_mask
    padding = padding.reshape(batch, 1, 1, padding.shape[-1])
    return padding if attn_mask is None else attn_mask + padding
