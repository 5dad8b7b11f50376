"""Functions of networks with MindSpore's names and arguments: layers, activations, pooling.

:mod:`.function` has them among its own.
"""

from __future__ import annotations

from typing import Any

from ..common._adopting import F, t
from . import _padding

__all__ = [
    "avg_pool2d", "bias_add", "conv1d", "conv2d", "conv3d", "dense", "dropout", "embedding",
    "gelu", "l2_normalize", "leaky_relu", "log_softmax", "max_pool2d", "softmax",
]  # fmt: skip


def softmax(input: Any, axis: int = -1, *, dtype: Any = None) -> Any:  # noqa: A002
    """exp(x) over its sum along ``axis``."""
    return F.softmax(input, axis, dtype=dtype)


def log_softmax(logits: Any, axis: int = -1) -> Any:
    """The logarithm of the softmax."""
    return F.log_softmax(logits, axis)


def gelu(input: Any, approximate: str = "none") -> Any:  # noqa: A002
    """x times the normal distribution function; "tanh" approximates it."""
    return F.gelu(input, approximate=approximate)


def leaky_relu(input: Any, alpha: float = 0.2) -> Any:  # noqa: A002
    """x where positive, else ``alpha`` x."""
    return F.leaky_relu(input, alpha)


def dropout(input: Any, p: float = 0.5, training: bool = True, seed: int | None = None) -> Any:  # noqa: A002
    """Zero each element with probability ``p`` and divide the others by 1 - p."""
    if seed is not None:
        raise ValueError("dropout(seed=...): masks come from the common generator (set_seed)")
    return F.dropout(input, p, training)


def dense(input: Any, weight: Any, bias: Any = None) -> Any:  # noqa: A002
    """x W^T + b."""
    return F.linear(input, weight, bias)


def bias_add(input_x: Any, bias: Any) -> Any:
    """``bias`` added along axis 1."""
    return input_x + t.reshape(bias, (-1,) + (1,) * (input_x.aval.ndim - 2))


def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None,  # noqa: A002
    norm_type: float = 2.0, scale_grad_by_freq: bool = False,
) -> Any:  # fmt: skip
    """Rows of ``weight`` at indices."""
    return F.embedding(input.long(), weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)


def _convolve(axes: int, args: Any) -> Any:
    x, weight, bias, stride, pad_mode, padding, dilation, groups = args
    owner = f"conv{axes}d"
    mode = _padding.check_pad_mode(owner, pad_mode, padding)
    stride = _padding.spread(owner, "stride", stride, axes)
    dilation = _padding.spread(owner, "d", dilation, axes)
    kernel, sizes = weight.aval.shape[2:], x.aval.shape[2:]
    given = _padding.explicit(owner, padding, axes)
    ends = _padding.before_and_after(mode, sizes, kernel, stride, dilation, given)
    x = F.pad(x, [n for pair in reversed(ends) for n in pair])
    return getattr(F, owner)(x, weight, bias, stride, 0, dilation, groups)


def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, pad_mode: str = "valid",  # noqa: A002
    padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """Cross-correlation with MindSpore's pad modes."""
    return _convolve(1, (input, weight, bias, stride, pad_mode, padding, dilation, groups))


def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, pad_mode: str = "valid",  # noqa: A002
    padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """Cross-correlation with MindSpore's pad modes."""
    return _convolve(2, (input, weight, bias, stride, pad_mode, padding, dilation, groups))


def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, pad_mode: str = "valid",  # noqa: A002
    padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> Any:  # fmt: skip
    """Cross-correlation with MindSpore's pad modes."""
    return _convolve(3, (input, weight, bias, stride, pad_mode, padding, dilation, groups))


def max_pool2d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
    return_indices: bool = False, ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window."""
    return F.max_pool2d(x, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def avg_pool2d(
    input_x: Any, kernel_size: Any = 1, stride: Any = 1, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int = 0,
) -> Any:  # fmt: skip
    """The mean of each window."""
    divisor = divisor_override or None
    return F.avg_pool2d(
        input_x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor
    )


def l2_normalize(input_x: Any, axis: int = 0, epsilon: float = 1e-4) -> Any:
    """x / sqrt(max(sum(x^2), epsilon)) along ``axis``."""
    total = t.sum(t.square(input_x), axis, keepdim=True)
    return input_x / t.sqrt(t.clamp(total, min=epsilon))
