"""Losses with MindSpore's names and arguments."""

from __future__ import annotations

from typing import Any

from ..common.tensor import F, t


def cross_entropy(
    input: Any, target: Any, weight: Any = None, ignore_index: int = -100,  # noqa: A002
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """The cross entropy of class numbers or probabilities, with softmax."""
    labels = target if target.is_floating_point() else target.long()
    return F.cross_entropy(
        input, labels, weight, ignore_index=ignore_index, reduction=reduction,
        label_smoothing=label_smoothing,
    )  # fmt: skip


def nll_loss(
    inputs: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    """Minus the logarithm of the labelled class's probability."""
    return F.nll_loss(
        inputs, target.long(), weight, ignore_index=ignore_index, reduction=reduction
    )


def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Any:  # noqa: A002
    """(input - target)^2."""
    return F.mse_loss(input, target, reduction=reduction)


def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Any:  # noqa: A002
    """|input - target|."""
    return F.l1_loss(input, target, reduction=reduction)


def smooth_l1_loss(input: Any, target: Any, beta: float = 1.0, reduction: str = "none") -> Any:  # noqa: A002
    """d^2 / (2 beta) where |d| < beta, else |d| - beta / 2."""
    return F.smooth_l1_loss(input, target, reduction=reduction, beta=beta)


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:  # noqa: A002
    """d^2 / 2 where |d| < delta, else delta (|d| - delta / 2)."""
    return F.huber_loss(input, target, reduction=reduction, delta=delta)


def binary_cross_entropy(
    logits: Any, labels: Any, weight: Any = None, reduction: str = "mean"
) -> Any:
    """-(y log p + (1 - y) log(1 - p))."""
    return F.binary_cross_entropy(logits, labels, weight, reduction=reduction)


def binary_cross_entropy_with_logits(
    logits: Any, label: Any, weight: Any = None, pos_weight: Any = None, reduction: str = "mean"
) -> Any:
    """:func:`binary_cross_entropy` of the sigmoid."""
    return F.binary_cross_entropy_with_logits(
        logits, label, weight, reduction=reduction, pos_weight=pos_weight
    )


def kl_div(logits: Any, labels: Any, reduction: str = "mean") -> Any:
    """labels (log labels - logits)."""
    loss = F.kl_div(logits, labels, reduction="sum" if reduction == "batchmean" else "none")
    if reduction == "batchmean":
        return loss / logits.aval.shape[0]
    return loss if reduction == "none" else t.mean(loss) if reduction == "mean" else t.sum(loss)

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "huber_loss",
    "kl_div", "l1_loss", "mse_loss", "nll_loss", "smooth_l1_loss",
]  # fmt: skip
