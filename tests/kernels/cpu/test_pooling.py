"""Pooling kernels against torch, over windows, strides, paddings and dilations."""

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

from mindtorch.kernels.cpu import pooling as kernels

F: Any = torch.nn.functional

# input, window, stride, padding, dilation
CASES: dict[str, Any] = {
    "two by two": ((2, 3, 8, 10), (2, 2), (2, 2), (0, 0), (1, 1)),
    "two by two, a rest": ((2, 3, 9, 11), (2, 2), (2, 2), (0, 0), (1, 1)),
    "two by two, vectors that overlap": ((2, 3, 7, 39), (2, 2), (2, 2), (0, 0), (1, 1)),
    "three by three, overlapping": ((2, 3, 13, 12), (3, 3), (2, 2), (1, 1), (1, 1)),
    "wide": ((1, 2, 7, 40), (1, 5), (1, 3), (0, 2), (1, 1)),
    "dilation": ((2, 2, 12, 11), (3, 2), (2, 1), (1, 1), (2, 3)),
    "line": ((3, 2, 21), (4,), (3,), (2,), (1,)),
    "volume": ((2, 2, 6, 5, 7), (2, 3, 2), (2, 1, 2), (1, 1, 0), (1, 1, 2)),
    "one window": ((2, 2, 4, 4), (4, 4), (4, 4), (0, 0), (1, 1)),
}


def made(shape: Any, dtype: Any = np.float32) -> Any:
    """Few values, so that windows have ties: the first one counts."""
    values = np.random.default_rng(0).integers(-4, 5, shape)
    return (values / 4).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_max_pool_takes_the_first_of_the_largest(name: str, ceil_mode: bool, dtype: Any) -> None:
    """Values and places decide where gradients go; ceil_mode adds windows that reach outside."""
    shape, *window = CASES[name]
    x = made(shape, np.float64).astype(dtype) if dtype is not np.int64 else (
        made(shape, np.float64) * 4
    ).astype(dtype)
    function = getattr(F, f"max_pool{len(shape) - 2}d")
    values, places = function(
        torch.from_numpy(x), *window, ceil_mode=ceil_mode, return_indices=True
    )
    outs = np.empty(values.shape, dtype), np.empty(values.shape, np.int64)
    names = ("kernel_size", "stride", "padding", "dilation")
    kernels.max_pool(outs, x, **dict(zip(names, window, strict=True)))
    np.testing.assert_array_equal(outs[0], values.numpy())
    np.testing.assert_array_equal(outs[1], places.numpy())


@pytest.mark.parametrize(
    "name", ["two by two", "two by two, vectors that overlap", "three by three, overlapping"]
)
def test_nan_is_the_largest(name: str) -> None:
    """torch lets NaN win, and of several the last one seen: both loops must agree with it."""
    shape, *window = CASES[name]
    x = made(shape)
    x[0, 0, 2, 2] = x[0, 0, 3, 3] = x[1, 1, 0, 0] = x[1, 2, 5] = x[1, 0, 0, -2:] = np.nan
    x[1, 0, 4] = -np.inf
    values, places = F.max_pool2d(torch.from_numpy(x), *window, return_indices=True)
    outs = np.empty(values.shape, np.float32), np.empty(values.shape, np.int64)
    names = ("kernel_size", "stride", "padding", "dilation")
    kernels.max_pool(outs, x, **dict(zip(names, window, strict=True)))
    np.testing.assert_array_equal(outs[0], values.numpy())
    np.testing.assert_array_equal(outs[1], places.numpy())


@pytest.mark.parametrize("name", CASES)
def test_max_pool_gradient_adds_at_the_places(name: str) -> None:
    """Overlapping windows may have one largest element in common."""
    shape, *window = CASES[name]
    x = torch.from_numpy(made(shape, np.float64)).requires_grad_()
    function = getattr(F, f"max_pool{len(shape) - 2}d")
    values, places = function(x, *window, return_indices=True)
    g = np.random.default_rng(1).standard_normal(values.shape)
    values.backward(torch.from_numpy(g))
    assert x.grad is not None
    out = np.full(shape, np.nan)
    kernels.max_pool_gradient(out, g, places.numpy())
    np.testing.assert_allclose(out, x.grad.numpy(), rtol=1e-14, atol=1e-15)


AVERAGES = [
    (name, ceil_mode, include, divisor)
    for name, ceil_mode, include in itertools.product(CASES, (False, True), (False, True))
    for divisor in ((None, 3) if len(CASES[name][0]) > 3 else (None,))
]


@pytest.mark.parametrize(("name", "ceil_mode", "include", "divisor"), AVERAGES)
def test_avg_pool_and_its_gradient_divide_as_torch_does(
    name: str, ceil_mode: bool, include: bool, divisor: int | None
) -> None:
    """The divisor counts padding or not, but never what ceil_mode adds beyond it."""
    shape, *window = CASES[name]
    window = window[:3]
    x = np.random.default_rng(0).standard_normal(shape)
    given = torch.from_numpy(x).requires_grad_()
    function = getattr(F, f"avg_pool{len(shape) - 2}d")
    more = () if divisor is None else (divisor,)
    values = function(given, *window, ceil_mode, include, *more)
    g = np.random.default_rng(1).standard_normal(values.shape)
    values.backward(torch.from_numpy(g))
    assert given.grad is not None
    params = dict(zip(("kernel_size", "stride", "padding"), window, strict=True))
    params |= {"count_include_pad": include, "divisor_override": divisor}
    out, back = np.full(values.shape, np.nan), np.full(shape, np.nan)
    kernels.avg_pool(out, x, **params)
    kernels.avg_pool_gradient(back, g, **params)
    np.testing.assert_allclose(out, values.detach().numpy(), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(back, given.grad.numpy(), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(
    ("shape", "size"),
    [((2, 3, 9, 7), (4, 3)), ((2, 3, 4, 4), (1, 1)), ((1, 2, 3, 3), (5, 7)), ((2, 2, 13), (5,)),
     ((2, 2, 5, 6, 7), (2, 4, 3))],
)  # fmt: skip
def test_adaptive_windows_are_those_of_torch(shape: Any, size: Any) -> None:
    """Windows may overlap, or repeat where the result is larger than the input."""
    x = np.random.default_rng(0).standard_normal(shape)
    given = torch.from_numpy(x).requires_grad_()
    means = getattr(F, f"adaptive_avg_pool{len(size)}d")(given, size)
    g = np.random.default_rng(1).standard_normal(means.shape)
    means.backward(torch.from_numpy(g))
    assert given.grad is not None
    out, back = np.full(means.shape, np.nan), np.full(shape, np.nan)
    kernels.adaptive_avg_pool(out, x)
    kernels.adaptive_avg_pool_gradient(back, g)
    np.testing.assert_allclose(out, means.detach().numpy(), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(back, given.grad.numpy(), rtol=1e-13, atol=1e-14)
    function = getattr(F, f"adaptive_max_pool{len(size)}d")
    values, places = function(torch.from_numpy(x), size, return_indices=True)
    outs = np.empty(values.shape), np.empty(values.shape, np.int64)
    kernels.adaptive_max_pool(outs, x)
    np.testing.assert_array_equal(outs[0], values.numpy())
    np.testing.assert_array_equal(outs[1], places.numpy())


def test_operands_may_have_any_strides() -> None:
    """The engine hands over views, such as channels-last images."""
    shape, *window = CASES["three by three, overlapping"]
    x = made(shape)
    values, places = F.max_pool2d(torch.from_numpy(x), *window, return_indices=True)
    view = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    outs = np.empty(values.shape, np.float32), np.empty(values.shape, np.int64)
    names = ("kernel_size", "stride", "padding", "dilation")
    kernels.max_pool(outs, view, **dict(zip(names, window, strict=True)))
    np.testing.assert_array_equal(outs[0], values.numpy())
    np.testing.assert_array_equal(outs[1], places.numpy())


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_types_are_averaged_in_float32(dtype: Any) -> None:
    """A mean rounds once."""
    shape, *window = CASES["three by three, overlapping"]
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    size = F.avg_pool2d(torch.zeros(shape), *window[:3]).shape
    out, wide = np.empty(size, dtype), np.empty(size, np.float32)
    params = dict(zip(("kernel_size", "stride", "padding"), window[:3], strict=True))
    params |= {"count_include_pad": True, "divisor_override": None}
    kernels.avg_pool(out, x, **params)
    kernels.avg_pool(wide, x.astype(np.float32), **params)
    np.testing.assert_array_equal(out, wide.astype(dtype))


def test_the_gradient_of_no_images_is_empty() -> None:
    """An empty batch is a batch."""
    out = np.empty((0, 3, 8, 8), np.float32)
    kernels.max_pool_gradient(
        out, np.empty((0, 3, 4, 4), np.float32), np.empty((0, 3, 4, 4), np.int64)
    )
    assert out.shape == (0, 3, 8, 8)
