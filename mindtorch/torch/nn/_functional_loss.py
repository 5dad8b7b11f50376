"""Losses.

All take ``reduction``: "none" gives the loss of each sample (or element), "mean" and "sum" one
number. ``size_average`` and ``reduce`` are the older spelling of it; each warns, and together they
win over ``reduction``. A ``reduction`` of another name raises ValueError.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.aval import broadcast_shapes
from mindtorch.engine.call_cache.call_cache import cached
from mindtorch.engine.counted_values import loops as counting
from mindtorch.engine.dispatch import state
from mindtorch.engine.dtype_support import refuse_kinds, require_floats
from mindtorch.engine.ops import comparison as comparisons
from mindtorch.engine.ops import elementwise as pointwise
from mindtorch.engine.ops import elementwise_special as special
from mindtorch.engine.ops import loss as ops
from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import constant
from mindtorch.engine.transforms import autocast as casts
from mindtorch.engine.transforms import vmap
from mindtorch.engine.transforms.autocast import FULL

from .._api.arguments import require_tensor
from .._api.kernel_signatures import Kernel
from .._api.publish import functional
from .._api.warn_caller import warn_caller
from ._functional_activation import log_softmax, logsigmoid
from ._half import in_float32
from ._reduction import chosen_reduction, reduced, refuse_cast

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy",
    "gaussian_nll_loss", "huber_loss", "kl_div", "l1_loss", "mse_loss",
    "multilabel_soft_margin_loss", "nll_loss", "poisson_nll_loss", "smooth_l1_loss",
    "soft_margin_loss",
]  # fmt: skip

_SIZES = "target.size input.size weight.size"  # what torch's functions ask for first
_loss = functools.partial(functional, cacheable=True, autocast=FULL, autocast_cuda=FULL)


def _flat_classes(input: Any, target: Any) -> tuple[Any, Any]:  # noqa: A002
    """``(N, C, *)`` and ``(N, *)`` from what torch takes; errors where the shapes differ."""
    x, t = input.aval, target.aval
    if x.ndim == 1:
        if t.ndim > 1 or t.size != 1:
            if t.ndim == 1:
                raise ValueError(
                    f"For 1D input, 1D target must have size 1, but got target size: {t.size}"
                )
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        return movement.unsqueeze(input, axis=0), movement.reshape(target, (1,))
    if x.shape[0] != t.shape[0] if t.ndim else True:
        raise ValueError(
            f"Expected input batch_size ({x.shape[0]}) to match target batch_size "
            f"({t.shape[0] if t.ndim else 0})."
        )
    if x.ndim == 2 and t.ndim != 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if x.ndim > 2 and t.shape[1:] != x.shape[2:]:
        if x.ndim == 4:
            if t.ndim != 3:
                raise RuntimeError(
                    "only batches of spatial targets supported (3D tensors) but got targets of "
                    f"dimension: {t.ndim}"
                )
            raise RuntimeError(
                f"size mismatch (got input: {list(x.shape)} , target: {list(t.shape)}"
            )
        raise RuntimeError(
            f"Expected target size {[x.shape[0], *x.shape[2:]]}, got {list(t.shape)}"
        )
    return input, target


def _target_weights(target: Any, weight: Any, ignore_index: int, like: Any) -> Any:
    """The weight of each target, 0 where it is ignored."""
    keep = target != ignore_index
    if weight is None:
        return keep.to(like.dtype)
    return weight[target.long() * keep] * keep.to(like.dtype)


@functional(
    autocast=FULL, autocast_cuda=FULL,
    kernel=Kernel("nll_loss_nd", "input target weight reduction ignore_index"),
)  # fmt: skip
def nll_loss(
    input: Any,  # noqa: A002
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """-weight[t] * input[t] for each sample, ``input`` holding logs of probabilities.

    The mean is weighed: the sum over samples divided by the sum of their targets' weights.

    Args:
        input: (N, C), (N, C, *) or (C,).
        target: a class for each sample, (N,), (N, *) or one number.
        weight: (C,), a factor for each class, of the input's type.
        ignore_index: a class whose samples count nothing.

    Raises:
        ValueError: where the batches of ``input`` and ``target`` differ.
        RuntimeError: for other shapes that do not fit, and a weight of another type.
        IndexError: for a class out of range.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    # the mean is not weighed where no class is ignored: the only thing that elements decide
    plain = reduction == "mean" and weight is None and not state.interpreters and (
        b"\1" not in (target.array() == ignore_index).tobytes()
    )
    return _nll(input, target, weight, ignore_index, reduction, plain)


@cached
def _nll(
    input: Any, target: Any, weight: Any, ignore_index: int, reduction: str, plain: bool  # noqa: A002
) -> Any:
    """:func:`nll_loss`; ``plain``: the mean of as many as there are samples."""
    if input.dim() < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {input.dim()})")
    if weight is not None and weight.aval.dtype is not input.aval.dtype:
        names = [dtypes.scalar_type_name(v.aval.dtype) for v in (input, weight)]
        raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")
    single = input.dim() == 1 and target.dim() == 0
    name = "NllLoss2DBackward0" if input.dim() > 2 else "NllLossBackward0"
    x, t = _flat_classes(input, target)
    loss = ops.nll(x, t, weight, ignore_index=ignore_index)
    if plain:
        return tape.named(loss.mean(), name)
    if reduction == "mean":
        total = _target_weights(t, weight, ignore_index, loss).sum()
        return tape.named(loss.sum() / total, name)
    if reduction == "sum":
        return tape.named(loss.sum(), name)
    return loss.squeeze(0) if single else loss


@_loss(kernel=Kernel(
    "cross_entropy_loss", "input target weight reduction ignore_index label_smoothing"
))  # fmt: skip
def cross_entropy(
    input: Any,  # noqa: A002
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """-weight[t] * log softmax(input)[t] for each sample.

    A target of probabilities p gives -sum over classes of weight * p * log softmax(input). The mean
    over classes as targets is weighed: divided by the sum of their weights.

    Args:
        input: scores, (N, C), (N, C, *) or (C,).
        target: a class for each sample, (N,), (N, *) or one number; or probabilities of the
            input's shape.
        weight: (C,), a factor for each class.
        ignore_index: a class whose samples count nothing; not with probabilities.
        label_smoothing: the share of the target, 0 to 1, that is spread over all classes.

    Raises:
        ValueError: where the batches of ``input`` and ``target`` differ.
        RuntimeError: for other shapes that do not fit, integers as probabilities, and a smoothing
            outside of 0 to 1.
        IndexError: for a class out of range.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    label_smoothing = max(label_smoothing, 0.0)
    if not label_smoothing <= 1.0:
        raise RuntimeError(
            f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}"
        )
    axis = 0 if input.dim() == 1 else 1
    if input.aval.shape == target.aval.shape:
        if target.aval.dtype.category != dtypes.FLOAT:
            raise RuntimeError(
                "Expected floating point type for target with class probabilities, got "
                f"{dtypes.scalar_type_name(target.aval.dtype)}"
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing, axis)
    single = input.dim() == 1 and target.dim() == 0
    x, t = _flat_classes(input, target)
    loss = ops.cross_entropy(
        x, t, weight, ignore_index=ignore_index, reduction=reduction,
        smoothing=float(label_smoothing),
    )[0]  # fmt: skip
    return loss.squeeze(0) if single and reduction == "none" else loss


def _over_classes(weight: Any, ndim: int, axis: int) -> Any:
    return weight.view([-1 if i == axis else 1 for i in range(ndim)])


def _soft_cross_entropy(
    x: Any, target: Any, weight: Any, reduction: str, smoothing: float, axis: int
) -> Any:
    classes = x.aval.shape[axis]
    if smoothing > 0:
        target = target * (1 - smoothing) + smoothing / classes
    product = log_softmax(x, axis) * target
    if weight is not None:
        product = product * _over_classes(weight, x.dim(), axis)
    if reduction == "mean":
        mean = -product.sum() / _count(x.numel(), classes)
        return tape.named(mean, "DivBackward1")
    return -product.sum() if reduction == "sum" else -product.sum(axis)


def _count(numbers: int, classes: int) -> float:
    """How many rows ``numbers`` are, nan where there are none and no classes."""
    return numbers / classes if classes else math.nan


def _sizes(x: Any) -> Any:
    """The shape of a tensor, MindSpore's too, whose ``size`` is a number."""
    return x.size() if callable(x.size) else x.shape


def _of_one_size(input: Any, target: Any, weight: Any = None) -> tuple[Any, Any]:  # noqa: A002
    """Both in their common size, before types are promoted; a warning where they differ."""
    if differ := _sizes(target) != _sizes(input):
        warn_caller(
            f"Using a target size ({_sizes(target)}) that is different to the input size "
            f"({_sizes(input)}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
        )
    shape = broadcast_shapes(input.aval.shape, target.aval.shape) if differ else ()
    if weight is not None and weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    if not differ:
        return input, target
    return movement.expand(input, shape=shape), movement.expand(target, shape=shape)


def _weighed(loss: Any, weight: Any, reduction: str) -> Any:
    if weight is not None:
        loss = loss * weight
        if reduction == "mean":
            return loss.sum() / weight.expand_as(loss).sum()
    return reduced(loss, reduction)


def _promoted(input: Any, target: Any, kernel: str) -> Any:  # noqa: A002
    """``input``; whole numbers in the type that they have with ``target``'s, which has to be one
    of floating-point numbers."""
    refuse_kinds(kernel, input.aval, "complex")
    refuse_kinds(kernel, target.aval, "complex")
    if input.aval.dtype.category >= dtypes.FLOAT:
        return input
    dtype = dtypes.promote(input.aval.dtype, target.aval.dtype)
    require_floats(target.aval, kernel)
    return movement.cast(input, dtype=dtype)


@_loss(kernel=Kernel("mse_loss", "input", _SIZES))
def mse_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean", weight: Any = None,
) -> Any:  # fmt: skip
    """(input - target) ** 2.

    Args:
        input, target: of one shape; shapes that broadcast are taken with a warning.
        weight: a factor for each element; the mean is then divided by its sum.
    """
    input, target = _of_one_size(input, target, weight)  # noqa: A001
    reduction = chosen_reduction(size_average, reduce, reduction)
    input = _promoted(input, target, "mse_cpu")  # noqa: A001
    loss = _weighed(pointwise.square(pointwise.subtract(input, target)), weight, reduction)
    return loss if weight is not None else tape.named(loss, "MseLossBackward0")


@_loss(kernel=Kernel("l1_loss", "input", _SIZES))
def l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean", weight: Any = None,
) -> Any:  # fmt: skip
    """abs(input - target).

    Args:
        input, target: of one shape; shapes that broadcast are taken with a warning.
        weight: a factor for each element; the mean is then divided by its sum.
    """
    input, target = _of_one_size(input, target, weight)  # noqa: A001
    reduction = chosen_reduction(size_average, reduce, reduction)
    return _weighed(pointwise.absolute(pointwise.subtract(input, target)), weight, reduction)


@_loss()
def smooth_l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean", beta: float = 1.0,
) -> Any:  # fmt: skip
    """d**2 / (2 beta) where d = abs(input - target) < beta, else d - beta / 2.

    Args:
        input, target: of one shape; shapes that broadcast are taken with a warning.
        beta: where the parabola ends; with 0 this is :func:`l1_loss`. Negative: RuntimeError.
    """
    input, target = _of_one_size(input, target)  # noqa: A001
    reduction = chosen_reduction(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return reduced((input - target).abs(), reduction)
    input = _promoted(input, target, "smooth_l1_cpu")  # noqa: A001
    loss = reduced(ops.smooth_l1(input, target, constant(float(beta))), reduction)
    return tape.named(loss, "SmoothL1LossBackward0")


@_loss(around=in_float32)
def huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None  # noqa: A002
) -> Any:
    """d**2 / 2 where d = abs(input - target) <= delta, else delta * (d - delta / 2).

    Args:
        input, target: of one shape; shapes that broadcast are taken with a warning.
        delta: where the parabola ends. Not positive: RuntimeError.
        weight: a factor for each element; the mean stays that of all elements.
    """
    input, target = _of_one_size(input, target, weight)  # noqa: A001
    reduction = chosen_reduction(None, None, reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if input.aval.dtype.category < dtypes.FLOAT <= target.aval.dtype.category:
        refuse_cast(target.aval.dtype, input.aval.dtype)
    require_floats(input.aval, "huber_cpu")
    loss = ops.huber(input, target, constant(float(delta)))
    if weight is not None:
        return reduced(loss.to(input.dtype) * weight, reduction)
    return tape.named(reduced(loss.to(input.dtype), reduction), "HuberLossBackward0")


@_loss(kernel=Kernel("kl_div", "input target reduction log_target="))
def kl_div(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean", log_target: bool = False,
) -> Any:  # fmt: skip
    """target * (log(target) - input), the divergence of two distributions, element by element.

    Args:
        input: logs of probabilities.
        target: probabilities, or their logs with ``log_target``; of a shape that broadcasts.
        reduction: "batchmean" divides the sum by the first axis, as the definition has it; "mean"
            divides by the number of elements, and warns.

    Raises:
        RuntimeError: for integers.
    """
    if size_average is not None or reduce is not None:
        reduction = chosen_reduction(size_average, reduce, reduction)
    elif reduction == "mean":
        warn_caller(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next "
            "major release.",
        )
    if input.aval.dtype.category < dtypes.FLOAT or target.aval.dtype.category < dtypes.FLOAT:
        raise RuntimeError("kl_div: Integral inputs not supported.")
    if input.aval.dtype.is_complex or target.aval.dtype.is_complex:
        raise RuntimeError("kl_div: Complex inputs not supported.")
    if log_target:
        loss = target.exp() * (target - input)
    else:
        loss = target.xlogy(target) - target * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.dim() else loss.sum()
    return reduced(loss, chosen_reduction(None, None, reduction))


_UNSAFE = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using "
    "torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)


@functional(autocast=FULL, kernel=Kernel("binary_cross_entropy", "input target weight", _SIZES))
def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """-(t log(x) + (1 - t) log(1 - x)), logs not below -100.

    Args:
        input: x, probabilities.
        target: t, of the input's shape and type.
        weight: a factor for each element, of a shape that broadcasts.

    Raises:
        ValueError: for another shape of the target.
        RuntimeError: for another type of it, and an x or t outside of 0 to 1.
        NotImplementedError: for integers.
    """
    if casts.state.cuda.enabled and getattr(input, "is_cuda", False):
        raise RuntimeError(_UNSAFE)  # its gradient overflows in float16
    reduction = chosen_reduction(size_average, reduce, reduction)
    if target.aval.shape != input.aval.shape:
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}) is deprecated. Please ensure they have the same size."
        )
    if target.aval.dtype is not input.aval.dtype:
        raise RuntimeError(
            f"Found dtype {dtypes.scalar_type_name(target.aval.dtype)} but expected "
            f"{dtypes.scalar_type_name(input.aval.dtype)}"
        )
    require_floats(input.aval, "binary_cross_entropy")
    for name, each in (("input", input), ("target", target)):
        if not (each.is_meta or counting().lie_within(vmap.values_of_all(each), 0, 1)):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    loss = special.binary_cross_entropy(input, target)
    loss = reduced(loss if weight is None else loss * weight, reduction)
    return tape.named(loss, "BinaryCrossEntropyBackward0")


@_loss(around=in_float32, kernel=Kernel(
    "binary_cross_entropy_with_logits", "input target weight pos_weight reduction",
    "target.size input.size",
))  # fmt: skip
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean", pos_weight: Any = None,
) -> Any:  # fmt: skip
    """:func:`binary_cross_entropy` of sigmoid(input), without its loss of precision.

    The result has the target's type, to which PyTorch rounds at each step.

    Args:
        input: scores, any numbers.
        target: of the input's shape.
        weight: a factor for each element, of a shape that broadcasts.
        pos_weight: a factor for the term of the target's ones, of a shape that broadcasts.

    Raises:
        ValueError: for another shape of the target.
        RuntimeError: for a target of truth values or integers.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    if weight is not None:
        require_tensor(weight, "binary_cross_entropy_with_logits", "weight", 3)
    if pos_weight is not None:
        require_tensor(pos_weight, "binary_cross_entropy_with_logits", "pos_weight", 4)
    if target.aval.shape != input.aval.shape:
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        )
    logs = logsigmoid(input)
    if target.aval.dtype.category < input.aval.dtype.category:
        if target.aval.dtype.category == dtypes.BOOL:
            target - target  # torch's error for a difference of truth values
        refuse_cast(input.aval.dtype, target.aval.dtype)
    kind = target.dtype
    if pos_weight is not None:
        logs = (logs * ((pos_weight - 1) * target + 1)).to(logs.dtype)
    loss = (((1 - target) * input).to(kind) - logs).to(kind)
    loss = reduced(loss if weight is None else (loss * weight).to(kind), reduction)
    return tape.named(loss, "BinaryCrossEntropyWithLogitsBackward0")


@_loss(
    kernel=Kernel("poisson_nll_loss", "input target log_input full eps"), around=in_float32
)  # fmt: skip
def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, size_average: Any = None,  # noqa: A002
    eps: float = 1e-8, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """exp(x) - t x, or x - t log(x + eps) without ``log_input``.

    Args:
        input: x, the log of the expected count, or the count itself without ``log_input``.
        target: t, counts, of a shape that broadcasts.
        full: add Stirling's t log(t) - t + log(2 pi t) / 2 where t > 1.
        eps: keeps the logarithm away from 0.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    for flag in (log_input, full):
        if not isinstance(flag, bool):
            raise TypeError("log_input and full must be bool")
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6,  # noqa: A002
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """(log(var) + (input - target)**2 / var) / 2, ``var`` not below ``eps``.

    Args:
        input, target: means and samples, of one shape.
        var: one number, or of the input's shape, or of that without its last axis or with 1 there.
        full: add log(2 pi) / 2.
        eps: the least variance; the gradient passes as if it were not there.

    Raises:
        ValueError: for a negative variance, another shape of it, and an unknown reduction.
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * input.new_ones(input.shape)
    elif (vmap.known_values(var, vmap.BRANCH) < 0).any():
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        else:
            pairs = zip(input.shape, var.shape, strict=False)
            others = [n for m, n in pairs if m != n]
            if input.dim() != var.dim() or others != [1]:
                raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    raised = var.detach() * 0 + eps - var.detach() + var
    clamped = comparisons.where(var.detach() < eps, raised, var)
    loss = 0.5 * (clamped.log() + (input - target) ** 2 / clamped)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


@functional(
    autocast=FULL, autocast_cuda=FULL, kernel=Kernel("soft_margin_loss", "input target"),
    around=in_float32,
)  # fmt: skip
def soft_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"  # noqa: A002
) -> Any:
    """log(1 + exp(-target * input)).

    Args:
        input: scores.
        target: 1 or -1 for each element. One that requires a gradient: RuntimeError.
    """
    if state.grad_enabled and target.requires_grad:
        raise RuntimeError(
            "The function 'soft_margin_loss' is not differentiable with respect to argument "
            "'target'. This input cannot have requires_grad True."
        )
    reduction = chosen_reduction(size_average, reduce, reduction)
    kind = dtypes.promote(input.aval.dtype, target.aval.dtype)
    kind = kind if kind.category >= dtypes.FLOAT else dtypes.default
    if kind.category > input.aval.dtype.category:
        refuse_cast(kind, input.aval.dtype)
    shape = tuple(broadcast_shapes(input.aval.shape, target.aval.shape))
    if shape != input.aval.shape:
        raise RuntimeError(
            f"output with shape {list(input.aval.shape)} doesn't match the broadcast shape "
            f"{list(shape)}"
        )
    loss = reduced((input * -target.to(input.dtype)).exp().log1p(), reduction)
    return tape.named(loss, "SoftMarginLossBackward0")


@functional(cacheable=True)
def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """The mean over classes of -(t log sigmoid(x) + (1 - t) log sigmoid(-x)).

    Args:
        input: x, scores, (N, C) or (C,).
        target: t, 1 for each class that applies and 0 for the others, of the input's shape.
        weight: (C,), a factor for each class.
    """
    reduction = chosen_reduction(size_average, reduce, reduction)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    classes = input.shape[-1]
    return reduced(loss.sum(input.dim() - 1) / classes, reduction)
