"""Resizing, and moving elements between channels and space."""

from __future__ import annotations

import math
from typing import Any

from mindtorch.engine import dtype_support, dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.ops import movement, resizing
from mindtorch.engine.symbolic_sizes import as_float, as_whole
from mindtorch.engine.transforms.autocast import FULL

from .._api.publish import functional
from .._api.warn_caller import warn_caller
from . import _functional_pooling as pooling
from ._functional_antialias import resize_smoothly
from ._resampling import resample

__all__ = [
    "channel_shuffle", "interpolate", "pixel_shuffle",
    "pixel_unshuffle", "upsample", "upsample_bilinear", "upsample_nearest",
]  # fmt: skip

# --- channels and space ----------------------------------------------------------------------


@functional(cacheable=True, explained=True)
def pixel_shuffle(input: Any, upscale_factor: int) -> Any:  # noqa: A002
    """(*, C * r * r, H, W) -> (*, C, H * r, W * r)."""
    shape, r = input.aval.shape, upscale_factor
    if len(shape) < 3:
        raise RuntimeError(
            "pixel_shuffle expects input to have at least 3 dimensions, but got input with "
            f"{len(shape)} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *batch, channels, height, width = shape
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
    count = channels // (r * r)
    n = len(batch)
    split = movement.reshape(input, (*batch, count, r, r, height, width))
    moved = movement.permute(split, axes=(*range(n), n, n + 3, n + 1, n + 4, n + 2))
    whole = movement.reshape(moved, (*batch, count, height * r, width * r))
    return tape.named(movement.in_format_of(input, whole), "PixelShuffleBackward0")


@functional(cacheable=True, explained=True)
def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:  # noqa: A002
    """(*, C, H * r, W * r) -> (*, C * r * r, H, W)."""
    shape, r = input.aval.shape, downscale_factor
    if len(shape) < 3:
        raise RuntimeError(
            "pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
            f"{len(shape)} dimension(s)"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *batch, channels, height, width = shape
    for name, n, place in (("height", height, -2), ("width", width, -1)):
        if n % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({place})={n} is not divisible by {r}"
            )
    if not input.aval.size:
        return input.clone()
    n = len(batch)
    split = movement.reshape(input, (*batch, channels, height // r, r, width // r, r))
    moved = movement.permute(split, axes=(*range(n), n, n + 2, n + 4, n + 1, n + 3))
    whole = movement.reshape(moved, (*batch, channels * r * r, height // r, width // r))
    return tape.named(movement.in_format_of(input, whole), "PixelUnshuffleBackward0")


@functional(cacheable=True, explained=True)
def channel_shuffle(input: Any, groups: int) -> Any:  # noqa: A002
    """Channels of (N, C, *) taken in turn from each of ``groups`` groups."""
    shape = input.aval.shape
    if len(shape) < 3:
        raise RuntimeError(
            "channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    if shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and "
            f"{groups} groups."
        )
    split = movement.reshape(input, (shape[0], groups, shape[1] // groups, *shape[2:]))
    whole = movement.reshape(movement.transpose(split, 1, 2), shape)
    return tape.named(movement.in_format_of(input, whole), "ChannelShuffleBackward0")


# --- resizing --------------------------------------------------------------------------------

_MODES = {
    3: ("nearest", "nearest-exact", "area", "linear"),
    4: ("nearest", "nearest-exact", "area", "bilinear", "bicubic"),
    5: ("nearest", "nearest-exact", "area", "trilinear"),
}
_NEEDS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


@functional(cacheable=True, autocast_cuda=FULL)
def interpolate(
    input: Any,  # noqa: A002
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """Resize the spatial axes of (N, C, *spatial).

    Args:
        size: the new lengths; or ``scale_factor``, by which the old ones are multiplied.
        mode: "nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area",
            or, with ``antialias``, "lanczos".
        align_corners: whether the centres of the corner elements (not their edges) stay in place.
        antialias: widen the filter of "bilinear", "bicubic" or "lanczos" where an image shrinks,
            as Pillow does.
    """
    spatial = input.dim() - 2
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | "
                "bilinear | bicubic | trilinear"
            )
    elif align_corners is None:
        align_corners = False
    old = tuple(input.aval.shape[2:])
    new, scales = _sizes(size, scale_factor, old, recompute_scale_factor)
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and spatial == 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            "a 4-D tensor as input"
        )
    if mode == "lanczos" and spatial == 2:
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
    if antialias:
        smooth = resize_smoothly(input, new, scales, mode, bool(align_corners))
        tape.named(smooth, f"Upsample{mode.capitalize()}2DAaBackward0")
        return movement.in_format_of(input, smooth)
    if input.aval.dtype is dtypes.uint8 and mode in ("bilinear", "bicubic") and spatial == 2:
        made = resample(input, new, scales, mode, bool(align_corners), smooth=False)
        return movement.in_format_of(input, made)
    if input.dim() in _MODES and mode in _MODES[input.dim()]:
        return _resize(input, old, new, scales, mode, bool(align_corners))
    if mode in _NEEDS and mode != "bicubic" and input.dim() in (3, 4, 5):
        raise NotImplementedError(
            f"Got {input.dim()}D input, but {mode} mode needs {_NEEDS[mode]}D input"
        )
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {spatial + 2}D) for the "
        "modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | "
        f"nearest-exact (got {mode})"
    )


def _sizes(size: Any, scale_factor: Any, old: Any, recompute: Any) -> tuple[Any, Any]:
    """The new lengths, and the scale of each axis that the user gave (None if not)."""
    spatial = len(old)
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError(
                "recompute_scale_factor is not meaningful with an explicit size."
            )
        several = isinstance(size, (list, tuple))
        for each in size if several else (size,):
            kind = getattr(each, "dtype", None)
            if not hasattr(each, "__index__") or getattr(kind, "is_floating_point", False):
                kinds = [type(s) for s in size] if several else [type(size)]
                raise TypeError(
                    "expected size to be one of int or Tuple[int] or Tuple[int, int] or "
                    f"Tuple[int, int, int], but got size with types {kinds}"
                )
        new = tuple(as_whole(s) for s in (size if several else (size,) * spatial))
        if len(new) != spatial:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input "
                f"with spatial dimensions of {list(old)} and output size of {size}. Please "
                "provide input tensor in (N, C, d1, d2, ...,dK) format and output size in "
                "(o1, o2, ...,oK) format."
            )
        return new, (None,) * spatial
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if isinstance(scale_factor, (list, tuple)):
        if len(scale_factor) != spatial:
            raise ValueError(
                "Input and scale_factor must have the same number of spatial dimensions, but got "
                f"input with spatial dimensions of {list(old)} and scale_factor of shape "
                f"{scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format "
                "and scale_factor in (s1, s2, ...,sK) format."
            )
        scales = tuple(float(s) for s in scale_factor)
    else:
        scales = (float(scale_factor),) * spatial
    new = tuple(math.floor(n * s) for n, s in zip(old, scales, strict=True))
    return new, (None,) * spatial if recompute else scales


# PyTorch's kernels by mode and the number of spatial axes, and the types beside floats
_KERNELS: dict[tuple[str, int], tuple[Any, ...]] = {
    (mode, n): (
        f"compute_indices_weights_{kind}" if n != 2 or kind == "cubic"
        else f"upsample_{mode.removesuffix('-exact')}2d_channels_last",
        *([dtypes.uint8] if kind in ("nearest", "cubic") or n == 2 else []),
    )
    for mode, kind in (
        ("nearest", "nearest"), ("nearest-exact", "nearest"), ("linear", "linear"),
        ("bilinear", "linear"), ("trilinear", "linear"), ("bicubic", "cubic"),
    )
    for n in (1, 2, 3)
}  # fmt: skip


def _check_lengths(x: Any, old: Any, new: Any) -> None:
    """Empty images are refused as in torch; a batch may have none."""
    if any(n <= 0 for n in (*old, *new)):
        was, becomes = (
            ", ".join(f"{axis}: {n}" for axis, n in zip("DHW"[-len(old) :], lengths, strict=True))
            for lengths in (old, new)
        )
        joined = " and" if len(old) == 1 else ""
        raise RuntimeError(
            "Input and output sizes should be greater than 0, but got input "
            f"({was}){joined} output ({becomes})"
        )
    if x.aval.shape[1] == 0:
        raise RuntimeError(
            f"Non-empty {x.dim()}D data tensor expected but got a tensor with sizes "
            f"{list(x.aval.shape)}"
        )


def _resize(x: Any, old: Any, new: Any, scales: Any, mode: str, align: bool) -> Any:
    if mode == "area":
        pool = getattr(pooling, f"adaptive_avg_pool{len(old)}d")
        return pool(x, new)
    dtype = x.aval.dtype
    _check_lengths(x, old, new)
    kernel, *others = _KERNELS[mode, len(old)]
    dtype_support.require_floats(x.aval, kernel, *others)
    if dtype in (dtypes.float16, dtypes.bfloat16):  # rounded once, at the end
        x = movement.cast(x, dtype=dtypes.float32)
    steps = tuple(
        as_float(was / now if scale is None else 1.0 / scale)
        for was, now, scale in zip(old, new, scales, strict=True)
    )
    x = resizing.resize(x, size=new, steps=steps, mode=mode, align=align)
    return x if x.aval.dtype is dtype else movement.cast(x, dtype=dtype)


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",  # noqa: A002
    align_corners: bool | None = None,
) -> Any:  # fmt: skip
    """The deprecated name of :func:`interpolate`."""
    warn_caller(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:  # noqa: A002
    """The deprecated form of :func:`interpolate` with mode "nearest"."""
    warn_caller(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:  # noqa: A002
    """The deprecated form of :func:`interpolate` with mode "bilinear", corners aligned."""
    warn_caller(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
