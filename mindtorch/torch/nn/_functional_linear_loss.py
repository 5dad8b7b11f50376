"""Cross entropy of a linear map's results."""

from __future__ import annotations

import math
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine import dtypes

from .._api.warn_caller import warn_caller
from ._functional_linear import linear
from ._functional_loss import cross_entropy

__all__ = ["linear_cross_entropy"]


def linear_cross_entropy(
    input: Any,  # noqa: A002
    linear_weight: Any,
    target: Any,
    *,
    linear_bias: Any = None,
    weight: Any = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Any:
    """The cross entropy of ``input @ linear_weight.T + linear_bias`` with ``target``.

    Args:
        input: (features) or (N, features).
        linear_weight: (C, d1, ..., dK, features).
        target: classes (N, d1, ..., dK), or probabilities (N, C, d1, ..., dK).
        linear_bias: (C, d1, ..., dK) or None.
        weight, reduction, label_smoothing: of :func:`cross_entropy`.
        ignore_index: a class that does not count; None is -100.
        options: a ``LinearCrossEntropyOptions``: go over the batch in chunks, and compute each
            chunk's logits again in the backward pass in place of keeping them.

    Raises:
        RuntimeError: for shapes that do not fit, or an ignored index with probabilities.
    """
    shape = _check_shapes(input, linear_weight, linear_bias)
    classes, further = linear_weight.shape[0], tuple(linear_weight.shape[1:-1])
    if ignore_index is not None and tuple(target.shape) == shape:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignore_index = -100 if ignore_index is None else ignore_index
    if options is not None:
        if _can_chunk(target, further, reduction, label_smoothing, linear_bias):
            return _chunked(
                input, linear_weight, target, linear_bias, weight, reduction, ignore_index, options
            )
    if further:
        linear_weight = linear_weight.reshape(math.prod(further, start=classes), -1)
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight, linear_bias)
    return cross_entropy(
        logits.reshape(shape) if further else logits, target, weight=weight,
        ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing,
    )  # fmt: skip


def _check_shapes(input: Any, weight: Any, bias: Any) -> tuple[int, ...]:  # noqa: A002
    """The logits' shape."""
    if not 1 <= input.dim() <= 2:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {weight.dim()}"
        )
    features = input.shape[-1]
    if features != weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{features} and {weight.shape[-1]}, respectively"
        )
    each = tuple(weight.shape[:-1])
    if bias is not None and tuple(bias.shape) != each:
        raise RuntimeError(f"expected linear_bias shape {each}, got {tuple(bias.shape)}")
    if len(each) > 1 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires "
            f"batched input, (N, {features}), got unbatched input with shape {tuple(input.shape)}"
        )
    return (*input.shape[:-1], *each)


def _can_chunk(
    target: Any, further: tuple[int, ...], reduction: str, smoothing: float, bias: Any
) -> bool:
    """Whether the chunked path does this; torch's warning when not."""
    indices = target.aval.dtype is dtypes.int64
    if not further and reduction in ("mean", "sum", "none") and smoothing == 0.0 and indices:
        return True
    warn_caller(
        "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in "
        "{'mean','sum','none'}, label_smoothing == 0, target.dtype == int64, out_features == (). "
        f"Got reduction={reduction!r}, label_smoothing={smoothing}, target.dtype={target.dtype}, "
        f"out_features={further}, tracing=False, "
        f"linear_bias.shape={None if bias is None else tuple(bias.shape)}.",
    )
    return False


def _chunked(
    input: Any, linear_weight: Any, target: Any, bias: Any, weight: Any, reduction: str,  # noqa: A002
    ignore_index: int, options: Any,
) -> Any:  # fmt: skip
    dtype = input.aval.dtype
    wide = options.type_between(dtype)
    rows = input.reshape(-1, input.shape[-1])
    targets = target.reshape(-1)
    scale = None if weight is None else weight.to(wide)

    def losses(part: Any, classes: Any, matrix: Any, offset: Any) -> Any:
        offset = None if offset is None else offset.to(wide)
        logits = linear(part.to(wide), matrix.to(wide), offset)
        return cross_entropy(
            logits, classes, weight=scale, ignore_index=ignore_index, reduction="none"
        )

    size = options.rows_at_once(rows.shape[0], rows.shape[1], linear_weight.shape[0], dtype)
    loss = torch.cat([
        torch.utils.checkpoint.checkpoint(
            losses, rows[i : i + size], targets[i : i + size], linear_weight, bias,
            use_reentrant=False,
        )
        for i in range(0, rows.shape[0], size)
    ])  # fmt: skip
    if reduction == "none":
        return loss.to(dtype).reshape(target.shape)
    total = loss.sum()
    if reduction == "mean":
        counted = targets != ignore_index
        if scale is None:
            total = total / counted.sum()
        else:
            total = total / (scale[targets.masked_fill(~counted, 0)] * counted).sum()
    return total.to(dtype)
