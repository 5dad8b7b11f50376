"""Sampling an image at places that a grid says: grid_sample and affine_grid."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch.engine import dtypes, even_steps
from mindtorch.engine.autograd import tape
from mindtorch.engine.devices.device import cpu
from mindtorch.engine.dtype_support import require_floats
from mindtorch.engine.ops import sampling
from mindtorch.engine.tensor import places_of
from mindtorch.engine.transforms.autocast import FULL, WIDEST

from .._api.kernel_signatures import Kernel, number_of
from .._api.publish import functional
from .._api.warn_caller import warn_caller

__all__ = [
    "GRID_SAMPLE_INTERPOLATION_MODES", "GRID_SAMPLE_PADDING_MODES", "affine_grid", "grid_sample",
]  # fmt: skip

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}
CUBIC = -0.75


def _warn_of_default(name: str) -> None:
    warn_caller(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
        "1.3.0. Please specify align_corners=True if the old behavior is desired. See the "
        f"documentation of {name} for details.",
    )


def _check_modes(mode: str, padding_mode: str) -> None:
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )


def _check(x: Any, grid: Any, mode: str) -> None:
    sizes = f"input with sizes {list(x.shape)} and grid with sizes {list(grid.shape)}"
    if x.shape[0] != grid.shape[0]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got {sizes}"
        )
    if grid.shape[-1] != x.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {x.ndim - 2} in last dimension, but got "
            f"grid with sizes {list(grid.shape)}"
        )
    if x.ndim not in (4, 5) or x.ndim != grid.ndim:
        raise RuntimeError(
            f"grid_sampler(): expected {5 if x.ndim == 5 else 4}D input and grid with same number "
            f"of dimensions, but got {sizes}"
        )
    for axis, size in enumerate(x.shape[2:], 2):
        if size <= 0:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input "
                f"has sizes {list(x.shape)} with dimension {axis} being empty"
            )
    if mode == "bicubic" and x.ndim != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


def _reflect(place: Any, twice_low: int, twice_high: int) -> Any:
    """`place` mirrored at low and high, as often as it takes."""
    if twice_low == twice_high:
        return place * 0
    low, span = twice_low / 2, (twice_high - twice_low) / 2
    distance = (place - low).abs()
    beyond = distance.fmod(span)
    even = (distance / span).floor().fmod(2) == 0
    return (beyond + low).where(even, span - beyond + low)


def _pad_place(place: Any, size: int, padding_mode: str, align: bool) -> Any:
    """A place in pixels, moved into the image as the padding says.

    Far off and nan: for zeros any place outside, else the last one; without a gradient.
    """
    if padding_mode == "reflection":
        limits = (0, 2 * (size - 1)) if align else (-1, 2 * size - 1)
        place = _reflect(place, *limits)
    if padding_mode == "zeros":
        return place.where(place.detach().abs() < 2.0**31, -100.0)
    # a place on the edge has no slope, unlike clamp's
    edge = place.detach().nan_to_num(size - 1).clamp(0, size - 1)
    return place.where((place > 0) & (place < size - 1), edge)


def _pixels(x: Any, corner: Sequence[Any]) -> Any:
    """The pixels of (n, c, *sizes) at whole places (n, *out), zero outside: (n, c, *out)."""
    sizes, out = x.shape[2:], corner[0].shape[1:]
    index: Any = 0
    inside: Any = True
    for place, size in zip(corner, sizes, strict=True):
        inside = ((place >= 0) & (place <= size - 1)) & inside
        index = place.clamp(0, size - 1).long() + index * size
    batch, channels = x.shape[:2]
    count = math.prod(out)
    index = index.reshape(batch, 1, count).expand(batch, channels, count)
    taken = x.reshape(batch, channels, math.prod(sizes)).gather(2, index)
    taken = taken.reshape(batch, channels, *out)
    return taken * inside.unsqueeze(1).to(x.dtype)


def _linear(x: Any, places: Sequence[Any]) -> Any:
    floors = [place.detach().floor() for place in places]
    total: Any = 0
    for steps in itertools.product((0, 1), repeat=len(places)):
        weight: Any = 1
        for place, floor, step in reversed(list(zip(places, floors, steps, strict=True))):
            part = place - floor
            weight = weight * (part if step else 1 - part)
        corner = [floor + step for floor, step in zip(floors, steps, strict=True)]
        pixels, weight = _pixels(x, corner), weight.unsqueeze(1)
        if len(steps) == 2 and any(steps):  # as in PyTorch's loop over images, rounded once
            total = total.addcmul(pixels, weight)
        else:
            total = total + pixels * weight
    return total


def _cubic_weights(t: Any) -> list[Any]:
    """The four weights of Keys' kernel at distances 1 + t, t, 1 - t, 2 - t."""

    def near(d: Any) -> Any:
        return ((CUBIC + 2) * d - (CUBIC + 3)) * d * d + 1

    def far(d: Any) -> Any:
        return ((CUBIC * d - 5 * CUBIC) * d + 8 * CUBIC) * d - 4 * CUBIC

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(x: Any, places: Sequence[Any], padding_mode: str, align: bool) -> Any:
    """Sixteen pixels around each place; each of them is padded for itself."""
    floors = [place.detach().floor() for place in places]
    pairs = zip(places, floors, strict=True)
    down, across = (_cubic_weights(place - floor) for place, floor in pairs)
    total: Any = 0
    for row, column in itertools.product(range(4), repeat=2):
        steps = (row - 1, column - 1)
        corner = [
            _pad_place(floor + step, size, padding_mode, align)
            for floor, step, size in zip(floors, steps, x.shape[2:], strict=True)
        ]
        total = total + _pixels(x, corner) * (down[row] * across[column]).unsqueeze(1)
    return total


@functional(
    autocast=FULL, autocast_cuda=WIDEST, checked=True, cacheable=True,
    kernel=Kernel(
        "grid_sampler", "input grid mode padding_mode align_corners",
        turned={
            "mode": number_of, "padding_mode": number_of,
            "align_corners": lambda value: False if value is None else value,
        },
    ),
)  # fmt: skip
def grid_sample(
    input: Any,  # noqa: A002
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:
    """The image at the places of a grid.

    Args:
        input: (n, c, h, w) or (n, c, d, h, w).
        grid: (n, ho, wo, 2) or (n, do, ho, wo, 3); in the last dimension x, y(, z) from -1 to 1.
        mode: 'bilinear', 'nearest' or (of two dimensions) 'bicubic'.
        padding_mode: what lies outside: 'zeros', 'border' (the nearest pixel), 'reflection'.
        align_corners: whether -1 and 1 are the centres of the outermost pixels or their edges.

    Returns:
        (n, c, *grid.shape[1:-1]).

    Raises:
        ValueError: an unknown mode.
        RuntimeError: shapes or types that do not belong together.
    """
    _check_modes(mode, padding_mode)
    if align_corners is None:
        _warn_of_default("grid_sample")
    _check(input, grid, mode)
    kernel = "grid_sampler_2d_cpu_kernel_impl" if input.ndim == 4 else "grid_sampler3d_cpu"
    require_floats(input.aval, kernel)
    if grid.dtype != input.dtype:
        raise RuntimeError(
            f"expected scalar type {dtypes.scalar_type_name(input.dtype)} but found "
            f"{dtypes.scalar_type_name(grid.dtype)}"
        )
    align = bool(align_corners)
    if input.dtype in (dtypes.float16, dtypes.bfloat16):  # rounded once, at the end
        made = _sampled(input.float(), grid.float(), mode, padding_mode, align)
        return made.to(input.dtype)
    return _sampled(input, grid, mode, padding_mode, align)


def _sampled(input: Any, grid: Any, mode: str, padding_mode: str, align: bool) -> Any:  # noqa: A002
    """:func:`grid_sample` of arguments that are checked; volumes elsewhere than on the CPU are
    composed of other ops."""
    if input.ndim == 4 or input.aval.device is cpu:
        return sampling.grid_sample(
            input, grid, mode=mode, padding_mode=padding_mode, align=align,
            order=(0,) * (input.ndim - 2),
        )
    places = []
    for axis, size in enumerate(input.shape[2:]):
        place = grid[..., input.ndim - 3 - axis]
        if input.ndim == 5:  # PyTorch's loops over volumes have another arithmetic
            place = (place + 1) / 2 * (size - 1) if align else ((place + 1) * size - 1) / 2
        else:
            half = place.new_tensor((size - 1) / 2 if align else size / 2)
            place = (place + 1) * half if align else half.new_tensor(-0.5).addcmul(place + 1, half)
        places.append(place if mode == "bicubic" else _pad_place(place, size, padding_mode, align))
    if mode == "bicubic":
        return _cubic(input, places, padding_mode, align)
    if mode == "nearest":
        # The gradient of the grid is zero, and is one: torch gives zeros, not nothing.
        still = sum(place * 0 for place in places).unsqueeze(1)
        return _pixels(input, [place.detach().round() for place in places]) + still
    return _linear(input, places)


def _base_grid(lengths: tuple[int, ...], dtype: Any, align: bool) -> Any:
    """(x, y, 1) or (x, y, z, 1) of each place of an image, as one row each, [1, places, axes]."""
    axes = []
    for length in lengths:
        steps = even_steps.linear(-1, 1, length, dtype).astype(dtype.np, copy=False)
        if length == 1:
            steps = steps * dtype.np.type(0)
        if not align:
            steps = steps * dtype.np.type(length - 1) / dtype.np.type(length)
        axes.append(steps)
    base = np.empty((1, *lengths, len(lengths) + 1), dtype.np)
    base[..., -1] = 1
    for i, steps in enumerate(axes):
        base[..., len(axes) - 1 - i] = steps.reshape(-1, *[1] * (len(axes) - 1 - i))
    return base.reshape(1, -1, len(lengths) + 1)


@functional(cacheable=True)
def affine_grid(theta: Any, size: Sequence[int], align_corners: bool | None = None) -> Any:
    """The grid that makes `grid_sample` turn, scale and shift: theta @ (x, y, 1).

    Args:
        theta: (n, 2, 3), or (n, 3, 4) for volumes.
        size: of the image to be made, (n, c, h, w) or (n, c, d, h, w).

    Raises:
        ValueError: theta is of another shape or type.
    """
    if align_corners is None:
        _warn_of_default("affine_grid")
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    spatial = len(size) - 2
    if spatial not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    if tuple(theta.shape[1:]) != (spatial, spatial + 1) or theta.ndim != 3:
        kind = f"a batch of {spatial}D affine matrices of shape Nx{spatial}x{spatial + 1}"
        raise ValueError(f"Expected {kind} for size {size}. Got {theta.shape}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if align_corners and min(size[2:]) == 1:
        warn_caller(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when "
            "align_corners=True. This is not an intended use case of affine_grid. See the "
            "documentation of affine_grid for details.",
        )
    base = _base_grid(tuple(size[2:]), theta.aval.dtype, bool(align_corners))
    flat = places_of(base, theta.aval.device).expand(size[0], -1, -1)
    found = (flat @ theta.transpose(1, 2)).reshape(size[0], *size[2:], spatial)
    return tape.named(found, "AffineGridGeneratorBackward0")
