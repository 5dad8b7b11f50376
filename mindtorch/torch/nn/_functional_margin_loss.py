"""Losses that ask for a margin between scores or distances.

All take ``reduction``: "none" gives the loss of each sample (or element), "mean" and "sum" one
number. ``size_average`` and ``reduce`` are the older spelling of it; each warns, and together they
win over ``reduction``. A ``reduction`` of another name raises ValueError.
"""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.dtype_support import refuse_kinds
from mindtorch.engine.ops import comparison as comparisons
from mindtorch.engine.ops import elementwise as pointwise
from mindtorch.engine.transforms import vmap
from mindtorch.engine.transforms.autocast import FULL

from .._api.kernel_signatures import Kernel
from .._api.meta_kernels import lacks_elements
from .._api.publish import functional
from ._functional_linear import pairwise_distance
from ._reduction import chosen_reduction, reduced

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


@functional(cacheable=True, autocast=FULL, autocast_cuda=FULL)
def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, -target * (input1 - input2) + margin).

    Args:
        input1, input2: scores to compare.
        target: 1 where the first should be greater, -1 where the second should.
        margin: by how much.

    Raises:
        RuntimeError: where the three have different numbers of axes.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return reduced((-target * (input1 - input2) + float(margin)).clamp_min(0), reduction)


@functional(
    cacheable=True, autocast=FULL, autocast_cuda=FULL,
    kernel=Kernel("hinge_embedding_loss", "input target margin"),
)  # fmt: skip
def hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """x where target is 1, max(0, margin - x) where it is -1.

    Args:
        input: x, distances.
        target: 1 or -1 for each, of a shape that broadcasts.
        margin: beyond it, a distance of a target of -1 costs nothing.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    zeros = input.new_zeros(())
    pull = comparisons.where(target != 1, (input.new_full((), margin) - input).clamp_min(0), zeros)
    push = comparisons.where(target != -1, input, zeros)
    return reduced(pull + push, reduction)


@functional(
    cacheable=True, autocast=FULL, autocast_cuda=FULL,
    kernel=Kernel("cosine_embedding_loss", "input1 input2 target margin"),
)  # fmt: skip
def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """1 - cos where target is 1, max(0, cos - margin) where it is -1.

    Args:
        input1, input2: vectors, (N, D) or (D,); cos is that of the angle between them.
        target: 1 or -1 for each pair, (N,) or one number.
        margin: the cosine that dissimilar vectors may have.

    Raises:
        RuntimeError: for other numbers of axes.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    axis = target.dim()
    if axis > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not input1.dim() == input2.dim() == axis + 1:
        raise RuntimeError(
            f"{axis}D target tensor expects {axis + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    dot = (input1 * input2).sum(axis)
    first, second = ((x * x).sum(axis) + 1e-12 for x in (input1, input2))
    cosine = dot / (first * second).sqrt()
    zeros = cosine.new_zeros(())
    loss = comparisons.where(target == 1, 1 - cosine, zeros) + comparisons.where(
        target == -1, (cosine - margin).clamp_min(0), zeros
    )
    return reduced(loss, reduction)


def _check_triplet(anchor: Any, positive: Any, negative: Any) -> None:
    a, p, n = anchor.dim(), positive.dim(), negative.dim()
    if not a == p == n:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {a}D, positive {p}D, and negative {n}D inputs"
        )


@functional(
    cacheable=True, autocast=FULL, autocast_cuda=FULL,
    kernel=Kernel("triplet_margin_loss", "anchor positive negative margin p eps swap"),
)  # fmt: skip
def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2,
    eps: float = 1e-6, swap: bool = False, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, |anchor - positive| - |anchor - negative| + margin).

    Args:
        anchor, positive, negative: vectors, (N, D) or (D,).
        margin: by how much the negative must be further away; not positive: ValueError.
        p, eps: those of :func:`pairwise_distance`, which measures.
        swap: measure the negative's distance from the positive where that is less.

    Raises:
        RuntimeError: where the three have different numbers of axes.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_triplet(anchor, positive, negative)
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = pointwise.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced((margin + near - far).clamp_min(0), reduction)


def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *, distance_function: Any = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Any:  # fmt: skip
    """:func:`triplet_margin_loss` with any distance.

    Args:
        anchor, positive, negative: what ``distance_function`` takes, of as many axes.
        distance_function: of two tensors; :func:`pairwise_distance` where it is None.
        margin, swap: as in :func:`triplet_margin_loss`.
    """
    reduction = chosen_reduction(None, None, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_triplet(anchor, positive, negative)
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = pointwise.minimum(far, distance(positive, negative))
    return reduced((near - far + margin).clamp_min(0), reduction)


def _margin_rows(x: Any) -> tuple[int, int]:
    """(samples, classes) of a margin loss's input; torch's error for other shapes."""
    shape = x.aval.shape
    if len(shape) > 2 or (shape and shape[-1] == 0):
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(shape)}"
        )
    rows, classes = (1, 1, *shape)[-2:]
    return rows, classes


def _require_type(tensor: Any, dtype: Any) -> None:
    if tensor.aval.dtype is not dtype:
        raise RuntimeError(
            f"expected scalar type {dtypes.scalar_type_name(dtype)} but found "
            f"{dtypes.scalar_type_name(tensor.aval.dtype)}"
        )


def _require_within(target: Any, low: int, high: int, message: str) -> None:
    """Raise where a class is out of range; a graph's gather does that when it runs."""
    if not vmap.is_known(target) or lacks_elements(target):
        return
    places = vmap.values_of_all(target)
    if ((places < low) | (places >= high)).any():
        raise RuntimeError(message)


def _check_multi_margin(x: Any, target: Any, weight: Any) -> tuple[int, int]:
    """torch's checks, in its order; (samples, classes)."""
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    rows, classes = _margin_rows(x)
    t = target.aval
    if t.ndim > 1 or t.size != rows:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{rows}], but got {list(t.shape)}. Input "
            f"has shape {list(x.aval.shape)}."
        )
    if weight is not None and weight.aval.size != classes:
        raise RuntimeError(
            f"inconsistent weight size, expected {classes} but got {list(weight.aval.shape)}"
        )
    _require_type(target, dtypes.int64)
    if weight is not None:
        _require_type(weight, x.aval.dtype)
    _require_within(target, 0, classes, "target out of range")
    return rows, classes


def _positive(gap: Any) -> Any:
    """What is above 0, else 0: nan is not above it."""
    return torch.where(gap > 0, gap, 0)


@functional(
    cacheable=True, autocast=FULL, autocast_cuda=FULL,
    kernel=Kernel("multi_margin_loss", "input target p margin weight"),
)  # fmt: skip
def multi_margin_loss(
    input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None,  # noqa: A002
    size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """sum over i != t of max(0, margin - x[t] + x[i]) ** p / classes.

    Args:
        input: x, (N, classes), (classes,) or one number.
        target: t, (N,) or one class.
        p: 1 or 2; another raises ValueError.
        margin: by how much the score of the target should be the greatest.
        weight: (classes,), a factor for the samples of each class.

    Raises:
        RuntimeError: for shapes that do not fit and a target out of range.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    rows, classes = _check_multi_margin(input, target, weight)
    refuse_kinds("multi_margin_loss_cpu_kernel", input.aval, "bool whole short complex")
    x = input.reshape(rows, classes)
    t = target.reshape(rows, 1)
    terms = _positive(margin - x.gather(1, t) + x)
    if p == 2:
        terms = terms * terms
    if weight is not None:
        terms = terms * weight[t.reshape(-1)].unsqueeze(1)
    loss = terms.scatter(1, t, 0.0).sum(1) / classes
    found = reduced(loss if target.dim() else loss.squeeze(0), reduction)
    return tape.named(found, "MultiMarginLossBackward0")


@functional(
    autocast=FULL, autocast_cuda=FULL, kernel=Kernel("multilabel_margin_loss", "input target"),
)  # fmt: skip
def multilabel_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"  # noqa: A002
) -> Any:
    """sum over true i, other j of max(0, 1 - x[i] + x[j]) / classes.

    Args:
        input: x, (N, classes) or (classes,).
        target: integers of the input's shape: the true classes, then -1, then anything.

    Raises:
        RuntimeError: for shapes that do not fit and a target out of range.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    rows, classes = _margin_rows(input)
    shape, given = input.aval.shape, target.aval.shape
    if given != shape if len(shape) == 2 else len(given) > 1 or target.aval.size != classes:
        raise RuntimeError(
            f"inconsistent target size: {list(given)} for input of size: {list(shape)}"
        )
    _require_type(target, dtypes.int64)
    _require_within(target, -1, classes, "argument #2 'target' is out of range")
    x, t = input.reshape(rows, classes), target.reshape(rows, classes)
    refuse_kinds("multilabel_margin_loss_forward_out_frame", x.aval, "bool whole short complex")
    listed = ((t < 0).long().cumsum(1) == 0)
    safe = t.clamp(min=0)
    named = torch.arange(classes)
    true = ((safe.unsqueeze(2) == named) & listed.unsqueeze(2)).any(1)
    gap = 1 - x.gather(1, safe).unsqueeze(2) + x.unsqueeze(1)
    counted = listed.unsqueeze(2) & ~true.unsqueeze(1)
    loss = torch.where(counted, _positive(gap), 0).sum((1, 2)) / classes
    found = reduced(loss if len(shape) == 2 else loss.squeeze(0), reduction)
    return tape.named(found, "MultilabelMarginLossBackward0")
