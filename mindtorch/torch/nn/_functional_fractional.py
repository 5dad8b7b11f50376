"""Fractional max pooling: windows at pseudo-random places."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import mindtorch.torch as torch
from mindtorch.engine.autograd import tape
from mindtorch.engine.dtype_support import refuse_kinds
from mindtorch.engine.tensor import from_array
from mindtorch.engine.transforms.autocast import FULL

from .._api.publish import functional

__all__ = [
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
]  # fmt: skip

_AXES = ("time", "height", "width")


def _window_starts(samples: Any, length: int, count: int, size: int) -> Any:
    """``[..., count]``: where the windows of an axis begin, in the samples' own arithmetic."""
    kind = samples.dtype.type
    starts = np.full((*samples.shape, count), length - size, np.int64)
    if count > 1:
        step = kind(length - size) / kind(count - 1)
        first = (samples * step).astype(np.int64)[..., None]
        places = np.arange(count - 1, dtype=samples.dtype) + samples[..., None]
        starts[..., :-1] = (places * step).astype(np.int64) - first
    return starts


def _places(samples: Any, sizes: Any, counts: Any, kernel: Any) -> Any:
    """``[N, C, *counts, *kernel]``: the flat index of every element of every window.

    The last axis takes the first sample in two dimensions, the last one in three, as in PyTorch.
    """
    axes = len(sizes)
    flat: Any = 0
    for i in range(axes):
        sample = samples[..., axes - 1 - i if axes == 2 else i]
        starts = _window_starts(sample, sizes[i], counts[i], kernel[i])
        axis = starts[..., None] + np.arange(kernel[i])
        shape = [*axis.shape[:2], *[1] * (2 * axes)]
        shape[2 + i], shape[2 + axes + i] = counts[i], kernel[i]
        flat = flat * sizes[i] + axis.reshape(shape)
    return flat


def _tuple(value: Any, axes: int) -> tuple[int, ...]:
    return (value,) * axes if isinstance(value, int) else tuple(value)


def _check(x: Any, kernel: Any, counts: Any, samples: Any, axes: int) -> None:
    name = f"fractional_max_pool{axes}d" + ("()" if axes == 2 else "_out()")
    shape = x.shape
    for i in range(x.dim() - axes - 1, x.dim()):
        if shape[i] == 0:
            raise RuntimeError(
                f"{name}: Expected input to have non-zero size for non-batch dimensions, but got"
                f"{list(shape)} with dimension {i} being empty."
            )
    for length, count, size, axis in zip(
        shape[-axes:], counts, kernel, _AXES[3 - axes :], strict=True
    ):
        if count + size - 1 > length:
            raise RuntimeError(
                f"{name}: pool {axis} {size} too large relative to input {axis} {length}"
            )
    if samples.dtype != x.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.shape[0] < (1 if x.dim() == axes + 1 else x.shape[0]):
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != x.shape[-axes - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != axes:
        raise RuntimeError(
            f"Expect _random_samples.size(2) equals to {axes}; got {samples.size(2)}."
        )


def _pool(
    axes: int, x: Any, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Any
) -> tuple[Any, Any]:
    """The largest element of each window, and its flat index within the channel."""
    name = f"fractional_max_pool{axes}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratios = (output_ratio,) * axes if isinstance(output_ratio, float) else output_ratio
        if len(ratios) != axes:
            raise ValueError(
                f"{name} requires output_ratio to either be a single Int or tuple of Ints."
            )
        output_size = tuple(
            int(n * r) for n, r in zip(x.shape[-axes:], ratios, strict=True)
        )
    kernel, counts = _tuple(kernel_size, axes), _tuple(output_size, axes)
    for given, what in ((kernel, "kernel_size"), (counts, "output_size")):
        if len(given) != axes:
            raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of Ints")
    batched = x.dim() == axes + 2
    if samples is None:
        samples = torch.rand(x.shape[0] if batched else 1, x.shape[-axes - 1], axes, dtype=x.dtype)
    _check(x, kernel, counts, samples, axes)
    refuse_kinds(f"{name}_out_frame", x.aval, "bool whole complex")
    whole = x if batched else x.unsqueeze(0)
    values = samples.array()[: whole.shape[0]]
    places = _places(values, whole.shape[2:], counts, kernel)
    outer = tuple(whole.shape[:2])
    window = math.prod(kernel)
    flat = from_array(
        np.ascontiguousarray(places.reshape(*outer, math.prod(counts) * window)),
        whole.aval.device,
    )
    windows = whole.reshape(*outer, math.prod(whole.shape[2:])).gather(2, flat)
    windows = windows.reshape(*outer, *counts, window)
    best, which = windows.max(-1)
    indices = flat.reshape(windows.shape).gather(-1, which.unsqueeze(-1)).squeeze(-1)
    if not batched:
        best, indices = best.squeeze(0), indices.squeeze(0)
    return tape.named(best, f"FractionalMaxPool{axes}DBackward0"), indices


def fractional_max_pool2d_with_indices(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,  # noqa: A002
    return_indices: bool = False, _random_samples: Any = None,
) -> Any:  # fmt: skip
    """:func:`fractional_max_pool2d`, and where in the channel each maximum was."""
    return _pool(2, input, kernel_size, output_size, output_ratio, _random_samples)


@functional(autocast=FULL)
def fractional_max_pool2d(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,  # noqa: A002
    return_indices: bool = False, _random_samples: Any = None,
) -> Any:  # fmt: skip
    """The maxima of windows that begin at pseudo-random places, in ascending order.

    Window i of an axis begins at ``int((i + u) a) - int(u a)``, the last one at the end, where
    a = (length - kernel) / (count - 1) and u is a random number for each sample and channel.

    Args:
        output_size: how many windows each axis has; or ``output_ratio``, a share of its length.
        _random_samples: the numbers u, (N, C, axes), instead of drawn ones.
    """
    found = _pool(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]


def fractional_max_pool3d_with_indices(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,  # noqa: A002
    return_indices: bool = False, _random_samples: Any = None,
) -> Any:  # fmt: skip
    """:func:`fractional_max_pool3d`, and where in the channel each maximum was."""
    return _pool(3, input, kernel_size, output_size, output_ratio, _random_samples)


@functional(autocast=FULL)
def fractional_max_pool3d(
    input: Any, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,  # noqa: A002
    return_indices: bool = False, _random_samples: Any = None,
) -> Any:  # fmt: skip
    """:func:`fractional_max_pool2d` with three axes."""
    found = _pool(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]
