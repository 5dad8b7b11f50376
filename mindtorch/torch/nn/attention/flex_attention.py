"""Attention whose scores a function changes, with masks that say which blocks count."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import mindtorch.torch as _namespace
from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons

from ._block_mask import (
    DEFAULT_BLOCK,
    WHOLE,
    BlockMask,
    and_masks,
    noop_mask,
    or_masks,
    ordered_blocks,
    over_indices,
    sliced,
)

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

torch: Any = _namespace
_DEFAULT_SPARSE_BLOCK_SIZE = DEFAULT_BLOCK


class AuxRequest(NamedTuple):
    """What :func:`flex_attention` returns besides its output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """(b, h, q) logarithms of the sums of exponentials, and largest scores; None if not asked."""

    lse: Any = None
    max_scores: Any = None


def _takes_scores(function: Callable[..., Any]) -> bool:
    required = [
        p for p in inspect.signature(function).parameters.values()
        if p.default is inspect.Parameter.empty
    ]  # fmt: skip
    if len(required) not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {len(required)}")
    return len(required) == 5


def create_mask(
    mod_fn: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
    device: Any = None,
) -> Any:  # fmt: skip
    """(B, H, Q_LEN, KV_LEN) of bool: where ``mod_fn(b, h, q, kv)`` is true, or where
    ``mod_fn(score, b, h, q, kv)`` does not make a score minus infinity."""
    device = device or "cpu"
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    ranges = [torch.arange(n, device=device) for n in sizes]
    if not _takes_scores(mod_fn):
        return over_indices(mod_fn, False)(*ranges)
    scores = over_indices(mod_fn, True)(torch.zeros(sizes, device=device), *ranges)
    return ~torch.isneginf(scores)


def create_block_mask(
    mask_mod: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
    device: Any = None, BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK,
    _compile: bool = False, separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
) -> BlockMask:  # fmt: skip
    """The blocks in which ``mask_mod(b, h, q, kv)`` is true somewhere.

    Args:
        B, H: sizes of the batch and of heads; None where the mask is the same for all.
        separate_full_blocks: blocks that it is true in everywhere are listed by themselves.
        compute_dq_write_order: raises; it orders the writes of a CUDA kernel.
    """
    if _compile:
        warnings.warn(
            "_compile flag on create_block_mask is deprecated; use torch.compile on the function",
            DeprecationWarning,
            stacklevel=2,
        )
    if compute_dq_write_order:
        raise NotImplementedError("create_block_mask(compute_dq_write_order=True) is for CUDA")
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    rows, columns = (-(-n // s) for n, s in zip((Q_LEN, KV_LEN), size, strict=True))
    padded = torch.nn.functional.pad(
        mask, (0, columns * size[1] - KV_LEN, 0, rows * size[0] - Q_LEN)
    )
    blocks = padded.view(*mask.shape[:2], rows, size[0], columns, size[1])
    count = blocks.sum(dim=(3, 5))
    full = (count == size[0] * size[1]) & separate_full_blocks
    whole: Any = ordered_blocks(full) if separate_full_blocks else (None, None)
    partial: Any = ordered_blocks((count > 0) & ~full)
    return BlockMask.from_kv_blocks(
        partial[0], partial[1], whole[0], whole[1], size, mask_mod, (Q_LEN, KV_LEN)
    )


def _check(query: Any, key: Any, value: Any, enable_gqa: bool) -> None:
    if query.is_nested or key.is_nested or value.is_nested:
        raise NotImplementedError("flex_attention does not support NestedTensor inputs")
    if query.size(-1) != key.size(-1):
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got "
            f"E={query.size(-1)} and E={key.size(-1)}."
        )
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    heads, own = query.size(1), key.size(1)
    if not enable_gqa and heads != own:
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got "
            f"Hq={heads} and Hkv={own}. Try setting enable_gqa=True for GQA."
        )
    if enable_gqa and heads % own:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={heads} and Hkv={own}."
        )


def _check_mask(query: Any, key: Any, mask: BlockMask | None) -> None:
    if mask is None:
        if query.size(0) != key.size(0):
            raise ValueError(
                "Expect query and key/value to have the same batch size, or non-none block_mask, "
                f"but got block_mask=None, Bq={query.size(0)}, and Bkv={key.size(0)}."
            )
        return
    if mask.mask_mod is sliced:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    sizes = (query.size(-2), key.size(-2))
    if mask.BLOCK_SIZE[0] >= WHOLE or sizes == mask.seq_lengths:
        return
    given = (
        f"block_mask was created for block_mask.shape={mask.shape} but got q_len={sizes[0]} and "
        f"kv_len={sizes[1]}. "
    )
    if sizes[0] > mask.seq_lengths[0] or sizes[1] > mask.seq_lengths[1]:
        raise ValueError(
            given + "As the block mask was created for a smaller length than you're using it for, "
            "you likely need to create a new block mask."
        )
    raise ValueError(
        given + "As the block mask was created for a larger length than you're using it for, you "
        "can either 1. create a new block mask with the correct length, or 2. 'adjust' the "
        "existing block mask to the correct length by calling block_mask._adjust(q_len, kv_len). "
        "This essentially 'crops' the block mask to the upper left corner, which does not work "
        "for all mask_mods!"
    )


def flex_attention(
    query: Any, key: Any, value: Any, score_mod: Callable[..., Any] | None = None,
    block_mask: BlockMask | None = None, scale: float | None = None, enable_gqa: bool = False,
    return_lse: bool = False, kernel_options: dict[str, Any] | None = None, *,
    return_aux: AuxRequest | None = None,
) -> Any:  # fmt: skip
    """``softmax(score_mod(scale q k^T)) v`` over the scores that ``block_mask`` wants.

    Args:
        query: (b, h, q, e); key: (b, h, kv, e); value: (b, h, kv, n).
        score_mod: (score, b, h, q index, kv index) -> score, of one score.
        scale: 1 / sqrt(e) where it is None.
        enable_gqa: key and value have fewer heads, each for several of query's.
        return_lse: return (output, lse); ``return_aux`` asks for more.
        kernel_options: how torch's kernels on a GPU are tuned; changes no value.

    Rows of which no score counts give zeros. Unlike torch's, it has gradients on the CPU.
    """
    _check(query, key, value, enable_gqa)
    _check_mask(query, key, block_mask)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
            "return_aux=AuxRequest(lse=True) instead."
        )
    if return_lse:
        warnings.warn(
            "return_lse is deprecated and will be removed in v2.10. Please use "
            "return_aux=AuxRequest(lse=True) instead.",
            FutureWarning,
            stacklevel=2,
        )
    groups = query.size(1) // key.size(1)
    if groups > 1:
        key, value = (x.repeat_interleave(groups, 1) for x in (key, value))
    scores = _scores(query, key, score_mod, block_mask, scale)
    largest = scores.amax(-1, keepdim=True)
    empty = largest == -math.inf
    weights = scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)
    output = weights.to(query.dtype) @ value
    if return_lse:
        return output, scores.logsumexp(-1)
    if return_aux is None:
        return output
    return output, AuxOutput(
        scores.logsumexp(-1) if return_aux.lse else None,
        largest.squeeze(-1) if return_aux.max_scores else None,
    )


def _scores(query: Any, key: Any, score_mod: Any, mask: Any, scale: float | None) -> Any:
    """(b, h, q, kv), in float32 at least; minus infinity where they do not count."""
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = (query @ key.transpose(-2, -1)).to(wide)
    scores = scores * (query.size(-1) ** -0.5 if scale is None else scale)
    sizes, device = tuple(scores.shape), scores.device
    if score_mod is not None:
        ranges = [torch.arange(n, device=device) for n in sizes]
        scores = over_indices(score_mod, True)(scores, *ranges)
    if mask is None:
        return scores
    return scores.masked_fill(~mask.wanted(sizes, device), -math.inf)


_give_reasons(globals())
