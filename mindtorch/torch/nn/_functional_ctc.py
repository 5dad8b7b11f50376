"""Connectionist temporal classification."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine.ops import ctc
from mindtorch.engine.tensor import Tensor, from_array
from mindtorch.engine.transforms.autocast import FULL

from .._api.publish import functional
from ._reduction import chosen_reduction

__all__ = ["ctc_loss"]

_WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


def _lengths(given: Any, name: str, batch: int, largest: int | None) -> Any:
    """The lengths as an array, checked: one for each sample, in range."""
    if isinstance(given, Tensor):
        if given.aval.dtype.np.kind not in "iu":
            raise RuntimeError(f"{name} must be integral")
        given = given.array()
    values = np.asarray(given)
    if values.dtype.kind not in "iu" and values.size:
        raise TypeError(f"ctc_loss(): {name} must be a tensor or a tuple of ints")
    values = values.astype(np.int64).reshape(-1)
    if values.size != batch:
        raise RuntimeError(f"{name} must be of size batch_size")
    for value in values:
        if value < 0:
            raise RuntimeError(
                f"Expected {name} to have value at least 0, but got value {value} {_WHERE}"
            )
        if largest is not None and value > largest:
            raise RuntimeError(
                f"Expected {name} to have value at most {largest}, but got value {value} {_WHERE}"
            )
    return values


def _check_targets(targets: Any, counts: Any) -> None:
    """Targets hold what their lengths say."""
    shape, batch = targets.aval.shape, counts.size
    if not 1 <= len(shape) <= 2:
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {len(shape)}-dimensional tensor for argument #2 "
            f"'targets' {_WHERE}"
        )
    expected = int(counts.sum()) if len(shape) == 1 else batch
    if shape[0] != expected:
        raise RuntimeError(
            f"Expected tensor to have size {expected} at dimension 0, but got size {shape[0]} for "
            f"argument #2 'targets' {_WHERE}"
        )
    if len(shape) == 2 and shape[1] < counts.max(initial=0):
        raise RuntimeError(
            f"Expected tensor to have size at least {counts.max()} at dimension 1, but got size "
            f"{shape[1]} for argument #2 'targets' {_WHERE}"
        )


@functional(autocast=FULL)
def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """-log of the probability of the targets, summed over all alignments with the steps.

    Args:
        log_probs: (T, N, C) or (T, C), log probabilities of each class at each step.
        targets: (N, S), or those of all samples one after another.
        input_lengths: steps of each sample, a tensor or a tuple.
        target_lengths: targets of each sample; ``mean`` divides each loss by it first.
        blank: the class that stands for no label.
        zero_infinity: losses that are infinite (too few steps) count 0, as do their gradients.
    """
    reduction = chosen_reduction(None, None, reduction)
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    single = log_probs.dim() != 3
    x = log_probs.unsqueeze(1) if single else log_probs
    if x.aval.ndim != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {x.aval.ndim}-dimensional tensor for argument "
            "#1 'log_probs' (while checking arguments for ctc_loss_allocate_outputs)"
        )
    steps, batch, classes = x.aval.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    lengths = _lengths(input_lengths, "input_lengths", batch, steps)
    counts = _lengths(target_lengths, "target_lengths", batch, None)
    _check_targets(targets, counts)
    loss = ctc.ctc_loss(
        x, targets.long(), from_array(lengths, x.aval.device),
        from_array(counts, x.aval.device), blank=blank,
        zero_infinity=bool(zero_infinity), longest=int(counts.max(initial=0)),
    )[0]  # fmt: skip
    if zero_infinity:
        loss = loss.masked_fill(loss == float("inf"), 0.0)
    if reduction == "mean":
        return (loss / from_array(np.maximum(counts, 1), x.aval.device).to(loss.dtype)).mean()
    if reduction == "sum":
        return loss.sum()
    return loss.squeeze(0) if single else loss
