"""Losses with MindSpore's names, arguments and reductions."""

from __future__ import annotations

from typing import Any

from ..common.tensor import F, as_tensor, t
from ..ops import losses
from .cell import Cell

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "DiceLoss",
    "HuberLoss", "KLDivLoss", "L1Loss", "LossBase", "MAELoss", "MSELoss", "NLLLoss", "RMSELoss",
    "SmoothL1Loss", "SoftMarginLoss", "SoftmaxCrossEntropyWithLogits",
]  # fmt: skip


class LossBase(Cell):
    """The base of losses: ``get_loss`` weighs and reduces what a subclass computes.

    Args:
        reduction: "mean", "sum" or "none".
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(
                f"For '{type(self).__name__}', the 'reduction' must be in ['mean', 'sum', 'none'], "
                f"but got {reduction!r}."
            )
        self.reduction = reduction
        self.reduce = reduction != "none"
        self.average = reduction == "mean"

    def get_axis(self, x: Any) -> tuple[int, ...]:
        """All axes of ``x``."""
        return tuple(range(x.aval.ndim))

    def get_loss(self, x: Any, weights: Any = 1.0) -> Any:
        """``x`` times ``weights``, reduced."""
        x = x * weights
        if self.reduction == "none":
            return x
        return x.mean() if self.average else x.sum()

    def construct(self, logits: Any, labels: Any) -> Any:
        raise NotImplementedError


class L1Loss(LossBase):
    """|logits - labels|."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return self.get_loss(t.abs(logits - labels))


class MSELoss(LossBase):
    """(logits - labels)^2."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return self.get_loss(t.square(logits - labels))


class MAELoss(L1Loss):
    """The mean of |logits - labels|."""


class RMSELoss(LossBase):
    """The square root of the mean of (logits - labels)^2."""

    def __init__(self) -> None:
        super().__init__("mean")

    def construct(self, logits: Any, labels: Any) -> Any:
        return t.sqrt(self.get_loss(t.square(logits - labels)))


class SmoothL1Loss(LossBase):
    """d^2 / (2 beta) where |d| < beta, else |d| - beta / 2."""

    def __init__(self, beta: float = 1.0, reduction: str = "none") -> None:
        super().__init__(reduction)
        if beta <= 0:
            raise ValueError(f"For 'SmoothL1Loss', the 'beta' must be positive, but got {beta}.")
        self.beta = beta

    def construct(self, logits: Any, labels: Any) -> Any:
        return F.smooth_l1_loss(logits, labels, reduction=self.reduction, beta=self.beta)


class HuberLoss(LossBase):
    """d^2 / 2 where |d| < delta, else delta (|d| - delta / 2)."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def construct(self, logits: Any, labels: Any) -> Any:
        return F.huber_loss(logits, labels, reduction=self.reduction, delta=self.delta)


class SoftMarginLoss(LossBase):
    """log(1 + exp(-labels logits))."""

    def construct(self, logits: Any, labels: Any) -> Any:
        return F.soft_margin_loss(logits, labels, reduction=self.reduction)


class SoftmaxCrossEntropyWithLogits(LossBase):
    """-sum(labels log softmax(logits)) over the classes.

    Args:
        sparse: labels are class numbers and not rows of probabilities.
    """

    def __init__(self, sparse: bool = False, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.sparse = sparse

    def construct(self, logits: Any, labels: Any) -> Any:
        if self.sparse:
            return F.cross_entropy(logits, labels.long(), reduction=self.reduction)
        if labels.aval.shape != logits.aval.shape:
            raise ValueError(
                "For 'SoftmaxCrossEntropyWithLogits', the shapes of logits and labels should be "
                f"the same without sparse, but got {logits.aval.shape} and {labels.aval.shape}."
            )
        return F.cross_entropy(logits, labels.to(logits.dtype), reduction=self.reduction)


class CrossEntropyLoss(LossBase):
    """The cross entropy of class numbers or probabilities, with softmax."""

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, ignore_index
        self.label_smoothing = label_smoothing

    def construct(self, logits: Any, labels: Any) -> Any:
        if not labels.is_floating_point():
            labels = labels.long()
        return F.cross_entropy(
            logits, labels, self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )  # fmt: skip


class NLLLoss(LossBase):
    """Minus the logarithm of the labelled class's probability."""

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.weight, self.ignore_index = weight, ignore_index

    def construct(self, logits: Any, labels: Any) -> Any:
        return F.nll_loss(
            logits, labels.long(), self.weight, ignore_index=self.ignore_index,
            reduction=self.reduction,
        )  # fmt: skip


class BCELoss(LossBase):
    """-(y log p + (1 - y) log(1 - p))."""

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits: Any, labels: Any) -> Any:
        return F.binary_cross_entropy(logits, labels, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(LossBase):
    """:class:`BCELoss` of the sigmoid."""

    def __init__(
        self, reduction: str = "mean", weight: Any = None, pos_weight: Any = None
    ) -> None:
        super().__init__(reduction)
        self.weight, self.pos_weight = weight, pos_weight

    def construct(self, logits: Any, labels: Any) -> Any:
        return F.binary_cross_entropy_with_logits(
            logits, labels, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class KLDivLoss(LossBase):
    """labels (log labels - logits), where logits are logarithms of probabilities.

    Args:
        reduction: also "batchmean": the sum over the number of examples.
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__("sum" if reduction == "batchmean" else reduction)
        self.reduction = reduction

    def construct(self, logits: Any, labels: Any) -> Any:
        return losses.kl_div(logits, labels, self.reduction)


class CosineEmbeddingLoss(LossBase):
    """1 - cos for pairs labelled 1, max(0, cos - margin) for those labelled -1."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits_x1: Any, logits_x2: Any, labels: Any) -> Any:  # type: ignore[override]
        return F.cosine_embedding_loss(
            logits_x1, logits_x2, labels, margin=self.margin, reduction=self.reduction
        )


class DiceLoss(LossBase):
    """1 - 2 sum(p y) / (sum(p^2) + sum(y^2) + smooth)."""

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        self.smooth = smooth

    def construct(self, logits: Any, label: Any) -> Any:
        common = (logits * label).sum()
        union = t.square(logits).sum() + t.square(as_tensor(label)).sum()
        return 1 - 2 * common / (union + self.smooth)
