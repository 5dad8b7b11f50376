"""grid_sample and affine_grid against real torch."""

import importlib
import re
import warnings
from typing import Any

import numpy as np
import pytest

from mindtorch import torch as ours
from mindtorch.torch.nn import functional as our_functional

torch: Any = pytest.importorskip("torch")

RANDOM = np.random.default_rng(0)


def run(library: Any, image: np.ndarray, grid: np.ndarray, **options: Any) -> list[np.ndarray]:
    """The samples, and the gradients of image and grid against fixed weights."""
    functional = importlib.import_module(f"{library.__name__}.nn.functional")
    tensors = [library.tensor(each, requires_grad=True) for each in (image, grid)]
    output = functional.grid_sample(*tensors, **options)
    weights = np.cos(np.arange(output.numel())).reshape(tuple(output.shape))
    (output * library.tensor(weights)).sum().backward()
    return [each.detach().numpy() for each in (output, *(tensor.grad for tensor in tensors))]


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize(
    ("mode", "dimensions"),
    [("bilinear", 2), ("nearest", 2), ("bicubic", 2), ("bilinear", 3), ("nearest", 3)],
)
def test_samples_and_gradients_are_torchs(
    mode: str, dimensions: int, padding: str, align: bool
) -> None:
    """Also far outside the image, where padding decides."""
    image = RANDOM.normal(size=(2, 3, *(4, 5, 3)[:dimensions]))
    grid = RANDOM.uniform(-2.5, 2.5, size=(2, *(3, 6, 2)[:dimensions], dimensions))
    options = {"mode": mode, "padding_mode": padding, "align_corners": align}
    for found, expected in zip(
        run(ours, image, grid, **options), run(torch, image, grid, **options), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 1, 3), (2, 1, 3, 2, 4)])
def test_affine_grids_are_torchs(size: tuple[int, ...], align: bool) -> None:
    """One row of pixels is the case in which torch steps aside, and says so."""
    spatial = len(size) - 2
    theta = RANDOM.normal(size=(2, spatial, spatial + 1))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        expected = torch.nn.functional.affine_grid(torch.tensor(theta), size, align_corners=align)
        found = our_functional.affine_grid(ours.tensor(theta), size, align_corners=align)
    texts = [str(each.message) for each in said]
    assert texts == ([texts[0]] * 2 if align and 1 in size[2:] else [])
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("shapes", "options"),
    [
        (((1, 1, 2, 2), (2, 1, 1, 2)), {}),
        (((1, 1, 2, 2), (1, 1, 1, 3)), {}),
        (((1, 2, 2), (1, 1, 2)), {}),
        (((1, 1, 2, 2), (1, 1, 2)), {}),
        (((1, 1, 2, 2, 2), (1, 1, 1, 1, 3)), {"mode": "bicubic"}),
        (((1, 1, 2, 2), (1, 1, 1, 2)), {"mode": "linear"}),
        (((1, 1, 2, 2), (1, 1, 1, 2)), {"padding_mode": "wrap"}),
    ],
)
def test_mistakes_are_refused_as_in_torch(shapes: Any, options: dict[str, Any]) -> None:
    """The same exception with the same text."""
    image, grid = (np.zeros(shape) for shape in shapes)
    with pytest.raises((RuntimeError, ValueError)) as expected:
        run(torch, image, grid, align_corners=False, **options)
    with pytest.raises(expected.type, match=f"^{re.escape(str(expected.value))}$"):
        run(ours, image, grid, align_corners=False, **options)


def test_the_default_of_align_corners_is_warned_of() -> None:
    """torch warns, since the default has changed once."""
    with pytest.warns(UserWarning, match="Default grid_sample and affine_grid behavior"):
        our_functional.grid_sample(ours.zeros(1, 1, 2, 2), ours.zeros(1, 1, 1, 2))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_second_derivatives_are_those_of_differences(mode: str) -> None:
    """Weights differentiated once and twice by the grid; PyTorch has none of these."""
    image = ours.tensor(RANDOM.normal(size=(2, 2, 4, 5)), requires_grad=True)
    grid = ours.tensor(RANDOM.uniform(-1.2, 1.2, size=(2, 1, 3, 2)), requires_grad=True)

    def squares(x: Any, places: Any) -> Any:
        sampled: Any = our_functional.grid_sample(x, places, mode, "border", align_corners=False)
        return sampled**2

    assert ours.autograd.gradgradcheck(squares, (image, grid))


def test_examples_are_sampled_together_under_vmap() -> None:
    """Images with a batch of grids, and gradients where the grid is common to all."""
    images: Any = ours.tensor(RANDOM.normal(size=(3, 1, 2, 4, 5)))
    grids: Any = ours.tensor(RANDOM.uniform(-1, 1, size=(3, 1, 2, 3, 2)))

    def sample(x: Any, grid: Any) -> Any:
        return our_functional.grid_sample(x, grid, align_corners=True)

    singly = [sample(x, grid) for x, grid in zip(images, grids, strict=True)]
    assert ours.func.vmap(sample)(images, grids).equal(ours.stack(singly))
    slope: Any = ours.func.grad(lambda x, grid: (sample(x, grid) ** 2).sum())
    together = ours.func.vmap(slope, in_dims=(0, None))(images, grids[0])
    assert together.equal(ours.stack([slope(x, grids[0]) for x in images]))


def test_types_that_differ_and_images_without_pixels_are_refused() -> None:
    """With torch's text."""
    for library in (torch, ours):
        sample = library.nn.functional.grid_sample
        place = library.zeros(1, 1, 1, 2)
        with pytest.raises(RuntimeError, match="expected scalar type Double but found Float"):
            sample(library.ones(1, 1, 2, 2, dtype=library.float64), place, align_corners=False)
        with pytest.raises(RuntimeError, match="with dimension 2 being empty"):
            sample(library.ones(1, 1, 0, 2), place, align_corners=False)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_places_that_are_no_numbers_in_volumes(padding: str) -> None:
    """They are outside, or at the end of the axis; their indices were out of bounds."""
    image = np.arange(1, 28, dtype=np.float32).reshape(1, 1, 3, 3, 3)
    grid = np.full((1, 1, 1, 4, 3), 0.25, np.float32)
    grid[0, 0, 0, :3, 0] = np.nan, np.inf, -np.inf
    for mode in ("bilinear", "nearest"):
        options = {"mode": mode, "padding_mode": padding, "align_corners": False}
        expected, found = (run(library, image, grid, **options) for library in (torch, ours))
        for a, b in zip(expected[: 3 if padding == "zeros" else 1], found, strict=False):
            np.testing.assert_allclose(b, a, 1e-5, 1e-6)
