"""Pooling by p-norms, and the inverse of max pooling."""

from __future__ import annotations

import math
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.dtype_support import refuse_kinds
from mindtorch.engine.ops import activations as activation_ops
from mindtorch.engine.ops import elementwise as pointwise
from mindtorch.engine.ops import pooling as ops
from mindtorch.engine.tensor import constant as c
from mindtorch.engine.transforms.autocast import FULL

from .._api.arguments import require_tensor
from .._api.meta_kernels import lacks_elements
from .._api.publish import FUNCTIONAL, functional
from ._functional_pooling import (
    ints_of_axes,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    with_batch,
    without_batch,
)

__all__ = [
    "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip

_INFINITE = (float("inf"), -float("inf"))


def _lp_pool(
    spatial: int, x: Any, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: bool
) -> Any:
    """(sum of x ** p) ** (1 / p) over each window: the mean times the window's size.

    For an infinite p it is the largest, or with a minus the smallest, of their sizes.
    """
    if spatial == 1 and isinstance(kernel_size, (tuple, list)) and len(kernel_size) == 1:
        kind = type(kernel_size).__name__
        raise TypeError(f"mul(): argument 'other' (position 1) must be Tensor, not {kind}")
    if isinstance(norm_type, float) and norm_type in _INFINITE:
        pool = (max_pool1d, max_pool2d, max_pool3d)[spatial - 1]
        sizes, least = pointwise.absolute(x), norm_type < 0
        sizes = pointwise.negative(sizes) if least else sizes
        largest = pool(sizes, kernel_size, stride, 0, 1, ceil_mode)
        return pointwise.negative(largest) if least else largest
    powers = x.pow(norm_type)
    mean = FUNCTIONAL[f"avg_pool{spatial}d"](powers, kernel_size, stride, 0, ceil_mode)
    sizes = kernel_size if isinstance(kernel_size, (tuple, list)) else [kernel_size] * spatial
    count = math.prod(map(int, sizes * spatial if len(sizes) == 1 else sizes))
    root = 1.0 / norm_type
    positive = pointwise.multiply(
        pointwise.sign(mean), activation_ops.relu(pointwise.absolute(mean))
    )
    return pointwise.multiply(positive, c(float(count))).pow(root)


@functional(cacheable=True)
def lp_pool1d(
    input: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False  # noqa: A002
) -> Any:
    """(sum of x ** p) ** (1 / p) over each window of (N, C, L).

    Args:
        input: x, (N, C, L) or (C, L).
        norm_type: p.
        kernel_size, stride, ceil_mode: as in :func:`avg_pool1d`.
    """
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


@functional(cacheable=True)
def lp_pool2d(
    input: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False  # noqa: A002
) -> Any:
    """(sum of x ** p) ** (1 / p) over each window of (N, C, H, W).

    Args:
        input: x, (N, C, H, W) or (C, H, W).
        norm_type: p.
        kernel_size, stride, ceil_mode: as in :func:`avg_pool2d`.
    """
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False  # noqa: A002
) -> Any:
    """(sum of x ** p) ** (1 / p) over each window of (N, C, D, H, W).

    Args:
        input: x, (N, C, D, H, W) or (C, D, H, W).
        norm_type: p.
        kernel_size, stride, ceil_mode: as in :func:`avg_pool3d`.
    """
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


def _unpool_size(
    x: Any, kernel: Any, stride: Any, padding: Any, output_size: Any
) -> tuple[int, ...]:
    spatial = len(kernel)
    default = tuple(
        (n - 1) * s + k - 2 * p
        for n, s, k, p in zip(x.aval.shape[-spatial:], stride, kernel, padding, strict=True)
    )
    if output_size is None:
        return default
    wanted = output_size
    if len(wanted) == spatial + 2:
        wanted = wanted[2:]
    if len(wanted) != spatial:
        raise ValueError(
            "output_size should be a sequence containing "
            f"{spatial} or {spatial + 2} elements, but it has a length of '{len(wanted)}'"
        )
    for d in range(spatial):
        low, high = default[d] - stride[d], default[d] + stride[d]
        if not low < wanted[d] < high:
            raise ValueError(
                f'invalid output_size "{wanted}" (dim {d} must be between {low} and {high})'
            )
    return tuple(wanted)


def _unpool(
    spatial: int, x: Any, indices: Any, kernel_size: Any, stride: Any, padding: Any,
    output_size: Any,
) -> Any:  # fmt: skip
    name = f"max_unpool{spatial}d"
    x.size()  # which torch asks for first
    if spatial > 1:
        require_tensor(indices, name, "indices", 2)
    kernel = ints_of_axes(kernel_size, spatial, "kernel_size", name)
    strides = kernel if stride is None else ints_of_axes(stride, spatial, "stride", name)
    pads = ints_of_axes(padding, spatial, "padding", name)
    if indices.aval.shape != x.aval.shape:
        more = [1] if spatial == 1 else []  # torch pools with one more axis, of length 1
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({[*x.aval.shape, *more]}) but got indices tensor with shape: "
            f"{[*indices.aval.shape, *more]}"
        )
    size = _unpool_size(x, kernel, strides, pads, output_size)
    if indices.aval.dtype is not dtypes.int64:
        found = f" but got: {dtypes.scalar_type_name(indices.aval.dtype)}" if spatial < 3 else ""
        raise RuntimeError(f"elements in indices should be type int64{found}")
    line = spatial == 1  # torch adds an axis to signals
    x, batched = with_batch(
        x, spatial,
        f"Input to max_unpooling{spatial + line}d should be a {spatial + 1 + line}d or "
        f"{spatial + 2 + line}d Tensor, but got a tensor with {x.aval.ndim + line} dimensions.",
    )  # fmt: skip
    indices, _ = with_batch(indices, spatial, "indices and input have different ranks")
    refuse_kinds(f"max_unpool{max(spatial, 2)}d", x.aval, "bool whole complex")
    count = 1
    for n in size:
        count *= n
    places = None if lacks_elements(indices) else indices.array()
    wrong = None if places is None else places[(places < 0) | (places >= count)]
    if wrong is not None and wrong.size:
        volume = "x".join(map(str, (*size, 1) if spatial == 1 else size))
        raise RuntimeError(
            f"Found an invalid max index: {wrong[-1]} (output volumes are of size {volume})"
        )
    shape = (*x.aval.shape[:2], *size)
    return without_batch(ops.unpool(x, indices, shape=shape), batched)


def max_unpool1d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,  # noqa: A002
    output_size: Any = None,
) -> Any:  # fmt: skip
    """The inverse of max_pool1d: elements at their places, zeros elsewhere.

    Args:
        input: what was pooled, (N, C, L) or (C, L).
        indices: int64 of the same shape, as ``max_pool1d(..., return_indices=True)`` gives them.
        kernel_size, stride, padding: those of the pooling.
        output_size: the lengths of the result, which the pooling's arguments tell only to within a
            stride; (length - 1) stride + kernel - 2 padding where it is None.

    Raises:
        ValueError: for an ``output_size`` that such a pooling does not have.
        RuntimeError: for other indices.
    """
    found = _unpool(1, input, indices, kernel_size, stride, padding, output_size)
    return tape.named(found, "SqueezeBackward1")


@functional(autocast=FULL)
def max_unpool2d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,  # noqa: A002
    output_size: Any = None,
) -> Any:  # fmt: skip
    """The inverse of max_pool2d: elements at their places, zeros elsewhere.

    Args:
        input: what was pooled, (N, C, H, W) or (C, H, W).
        indices: int64 of the same shape, as ``max_pool2d(..., return_indices=True)`` gives them.
        kernel_size, stride, padding: those of the pooling.
        output_size: the lengths of the result, which the pooling's arguments tell only to within a
            stride; (length - 1) stride + kernel - 2 padding where it is None.

    Raises:
        ValueError: for an ``output_size`` that such a pooling does not have.
        RuntimeError: for other indices.
    """
    found = _unpool(2, input, indices, kernel_size, stride, padding, output_size)
    return tape.named(found, "MaxUnpool2DBackward0")


@functional(autocast=FULL)
def max_unpool3d(
    input: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,  # noqa: A002
    output_size: Any = None,
) -> Any:  # fmt: skip
    """The inverse of max_pool3d: elements at their places, zeros elsewhere.

    Args:
        input: what was pooled, (N, C, D, H, W) or (C, D, H, W).
        indices: int64 of the same shape, as ``max_pool3d(..., return_indices=True)`` gives them.
        kernel_size, stride, padding: those of the pooling.
        output_size: the lengths of the result, which the pooling's arguments tell only to within a
            stride; (length - 1) stride + kernel - 2 padding where it is None.

    Raises:
        ValueError: for an ``output_size`` that such a pooling does not have.
        RuntimeError: for other indices.
    """
    found = _unpool(3, input, indices, kernel_size, stride, padding, output_size)
    return tape.named(found, "MaxUnpool3DBackward0")
