"""Antialiased resizing, and resizing of bytes, against PyTorch's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours

_SIZES = list(itertools.product([(13, 17), (1, 5), (8, 8)], [(7, 9), (20, 30), (13, 8)]))


def _both(x: Any, size: Any, **options: Any) -> tuple[Any, Any]:
    expected = torch.nn.functional.interpolate(torch.from_numpy(x), size, **options)
    found = ours.nn.functional.interpolate(ours.from_numpy(x), size, **options)
    assert str(found.dtype) == str(expected.dtype)
    return found.numpy(), expected.numpy()


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
def test_bytes_are_weighted_by_the_same_integers(mode: str) -> None:
    """PyTorch and Pillow compute images of bytes in fixed point: every bit can be had."""
    generator = np.random.default_rng(0)
    for old, new in _SIZES:
        x = generator.integers(0, 256, (2, 3, *old), dtype=np.uint8)
        for smooth, align in ((True, False), (True, True), (False, False), (False, True)):
            if mode == "lanczos" and (align or not smooth):
                continue
            found, expected = _both(x, new, mode=mode, antialias=smooth, align_corners=align)
            np.testing.assert_array_equal(found, expected, f"{old} {new} {smooth} {align}")


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_smoothed_images_agree_to_rounding(mode: str, kind: str) -> None:
    """Weights and sums of up to 40 terms are rounded in another order."""
    generator = np.random.default_rng(1)
    for old, new in _SIZES:
        x = generator.standard_normal((2, 3, *old)).astype(kind)
        found, expected = _both(x, new, mode=mode, antialias=True)
        bound = 40 * np.finfo(kind).eps * np.abs(x).max()
        assert np.abs(found - expected).max() <= bound, (old, new)


def test_scales_count_as_given_and_gradients_flow() -> None:
    """With scale_factor the spacing is its inverse, not the ratio of the lengths."""
    x = np.random.default_rng(2).standard_normal((1, 2, 9, 9))
    gradients = []
    for side in (torch, ours):
        leaf = side.from_numpy(x.copy()).requires_grad_()
        y = side.nn.functional.interpolate(leaf, scale_factor=0.4, mode="bicubic", antialias=True)
        (y * y).sum().backward()
        gradients.append(leaf.grad.numpy())
    assert np.abs(gradients[0] - gradients[1]).max() <= 1e-14


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "nearest", "antialias": True},
        {"mode": "lanczos"},
        {"mode": "lanczos", "antialias": True, "align_corners": True},
    ],
)
def test_modes_that_cannot_smooth_are_refused(options: dict[str, Any]) -> None:
    """The same texts."""
    for size in ((1, 1, 4, 4), (1, 1, 4)) if options["mode"] == "nearest" else ((1, 1, 4, 4),):
        with pytest.raises(ValueError) as expected:
            torch.nn.functional.interpolate(torch.zeros(size), 2, **options)
        with pytest.raises(ValueError) as found:
            ours.nn.functional.interpolate(ours.zeros(size), 2, **options)
        assert str(found.value) == str(expected.value)


def test_fractions_of_whole_numbers_are_added_to_floating_point_tensors() -> None:
    """`gray = r.mul(a).add_(g, alpha=b)` with bytes g: the sum's type decides about alpha."""
    for side in (torch, ours):
        n: Any = side.tensor([3, 4], dtype=side.uint8)
        assert side.ones(2).add_(n, alpha=0.5).tolist() == [2.5, 3.0]
        assert side.ones(2, dtype=side.float64).sub(n, alpha=0.1).tolist() == [0.7, 0.6]
        with pytest.raises(RuntimeError, match="argument alpha must not be a floating point"):
            n.add(n, alpha=0.5)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
def test_weights_of_float_images_are_torchs(mode: str, antialias: bool) -> None:
    """Places and weights are rounded in float32 as torch rounds them: exact weights would be 1e-5
    away. Smoothed sums of few have the order and bits of torch's loops, if these are for AVX2."""
    x = np.random.default_rng(0).random((1, 2, 41, 300), dtype=np.float32)
    fewer = antialias and torch.backends.cpu.get_cpu_capability() == "AVX2"
    for size in ((64, 333), (28, 200), (21, 97)):
        options = {"mode": mode, "antialias": antialias, "align_corners": False}
        found, expected = _both(x, size, **options)
        eps = float(np.finfo(np.float32).eps)
        np.testing.assert_allclose(found, expected, 0, 0 if fewer and size[0] > 21 else 8 * eps)


def test_an_image_smoothed_to_one_column_keeps_its_rows() -> None:
    """PyTorch 2.13 repeats the first row there; so the rows are held against those of two columns.
    A pixel that is not finite reaches no other than the few that cover it."""
    ramp = ours.arange(8.0).reshape(1, 1, 8, 1).expand(1, 1, 8, 6)
    resized = [
        ours.nn.functional.interpolate(ramp, (3, n), mode="bilinear", antialias=True)
        for n in (1, 2)
    ]
    np.testing.assert_allclose(resized[0][..., 0], resized[1][..., 0], rtol=1e-6)
    x = ours.zeros(1, 1, 4, 40)
    x[..., 20] = ours.inf
    found = ours.nn.functional.interpolate(x, (4, 24), mode="bicubic", antialias=True)
    assert not found.isnan().any() and found.isinf().sum() == 4 * 4


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(("shape", "size"), [((3,), 0), ((0,), 2), ((0, 3), 2), ((1, 2, 0), 2)])
def test_images_without_pixels_are_refused(mode: str, shape: Any, size: int) -> None:
    """There is nothing to take a pixel from: the same text, and no read beside the image."""
    name = mode if mode == "nearest" else ("linear", "bilinear", "trilinear")[len(shape) - 1]
    texts = []
    for side in (torch, ours):
        with pytest.raises(RuntimeError) as error:
            side.nn.functional.interpolate(side.zeros((1, 1, *shape)), size, mode=name)
        texts.append(str(error.value))
    assert texts[0] == texts[1]
    with pytest.raises(RuntimeError, match="data tensor expected but got"):
        ours.nn.functional.interpolate(ours.zeros((1, 0, *[2] * len(shape))), 3, mode=name)


@pytest.mark.parametrize(("mode", "spatial"), [("nearest", 1), ("bicubic", 2), ("trilinear", 3)])
def test_resized_images_have_torchs_gradients_of_both_orders(mode: str, spatial: int) -> None:
    """Also where an axis shrinks, so that some elements belong to no new one or to many."""
    x = np.random.default_rng(3).standard_normal((2, 2, 7, 4, 5)[: spatial + 2])
    found = []
    for side in (torch, ours):
        leaf: Any = side.from_numpy(x.copy()).requires_grad_()
        y: Any = side.nn.functional.interpolate(leaf, (3, 9, 5)[:spatial], mode=mode)
        (slope,) = side.autograd.grad((y**3).sum(), leaf, create_graph=True)
        (second,) = side.autograd.grad((slope**2).sum(), leaf)
        found.append((slope.detach().numpy(), second.numpy()))
    for expected, got in zip(*found, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)
