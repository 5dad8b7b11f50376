"""Operators of images and signals: resizing, sampling, boxes, Fourier transforms, windows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.torch import nn

from .errors import UnsupportedOperatorError
from .registry import Numbers, operator
from .values import number, numbers, tensor, torch_type

F = nn.functional

# --- resizing -------------------------------------------------------------------------------------


def _coordinates(kind: str, n: int, m: int, scale: float, crop: tuple[float, float]) -> np.ndarray:
    """Where the elements of a resized axis lie in the original one."""
    i = np.arange(m, dtype=np.float64)
    if kind == "asymmetric":
        return i / scale
    if kind == "align_corners":
        return np.zeros(m) if m == 1 else i * (n - 1) / (scale * n - 1)
    if kind == "tf_crop_and_resize":
        start, end = crop
        if m == 1:
            return np.full(m, 0.5 * (start + end) * (n - 1))
        return start * (n - 1) + i * (end - start) * (n - 1) / (m - 1)
    if kind == "half_pixel_symmetric":
        adjustment = m / (scale * n)
        return n / 2 * (1 - adjustment) + (i + 0.5) / scale - 0.5
    if kind == "pytorch_half_pixel" and m == 1:
        return np.zeros(m)
    if kind in ("half_pixel", "pytorch_half_pixel"):
        return (i + 0.5) / scale - 0.5
    raise UnsupportedOperatorError(f"Resize(coordinate_transformation_mode={kind!r})")


def _kernel(mode: str, t: np.ndarray, a: float) -> np.ndarray:
    """The weight of an element at a distance."""
    t = np.abs(t)
    if mode == "linear":
        return np.maximum(0, 1 - t)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0))


def _weights(
    mode: str, places: np.ndarray, n: int, scale: float, a: float, antialias: bool, exclude: bool
) -> np.ndarray:
    """The matrix (resized, original) of an axis."""
    shrink = min(scale, 1.0) if antialias else 1.0
    reach = 1 if mode == "linear" else 2
    start = math.floor(-reach / shrink) + 1
    offsets = np.arange(start, reach - start + 1)
    base = np.floor(places).astype(np.int64)
    made = np.zeros((len(places), n))
    at = base[:, None] + offsets[None]
    share = _kernel(mode, (at - places[:, None]) * shrink, a)
    if exclude:
        share = np.where((at < 0) | (at >= n), 0, share)
    if antialias or exclude:
        share = share / share.sum(1, keepdims=True)
    rows = np.repeat(np.arange(len(places))[:, None], len(offsets), 1)
    np.add.at(made, (rows, np.clip(at, 0, n - 1)), share)
    return made


def _nearest(places: np.ndarray, n: int, mode: str) -> np.ndarray:
    round_: Any = {
        "round_prefer_floor": lambda x: np.ceil(x - 0.5), "floor": np.floor, "ceil": np.ceil,
        "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    }[mode]  # fmt: skip
    return np.clip(round_(places), 0, n - 1).astype(np.int64)


def _lengths(
    x: Any, axes: list[int], scales: Any, sizes: Any, policy: str
) -> tuple[list[int], list[float]]:
    """(new lengths, factors) of the axes."""
    own = [int(x.shape[a]) for a in axes]
    if sizes is None:
        return [math.floor(n * s) for n, s in zip(own, scales, strict=True)], list(scales)
    if policy == "stretch":
        return list(sizes), [m / n for n, m in zip(own, sizes, strict=True)]
    ratios = [m / n for n, m in zip(own, sizes, strict=True)]
    factor = min(ratios) if policy == "not_larger" else max(ratios)
    return [math.floor(n * factor + 0.5) for n in own], [factor] * len(own)


def _by_torch(
    x: Any, axes: list[int], made: list[int], mode: str, kind: str, rounding: str,
    factors: list[float] | None = None,
) -> Any:  # fmt: skip
    """What torch's own function computes, None where it has no such mode; by whole factors, if they
    are given."""
    if factors is not None and kind != "align_corners":
        if mode == "linear" and kind in ("half_pixel", "pytorch_half_pixel"):
            return F.interpolate(x, None, factors, "bilinear", False)
        if mode == "nearest" and kind == "asymmetric" and rounding == "floor":
            return F.interpolate(x, None, factors, "nearest")
        return None
    if axes != list(range(x.ndim)) or made[:2] != list(x.shape[:2]) or x.ndim != 4:
        return None
    if mode == "linear" and kind in ("half_pixel", "pytorch_half_pixel", "align_corners"):
        if 1 in made[2:] and kind != "align_corners":
            return None
        corners = kind == "align_corners"
        return F.interpolate(x, made[2:], mode="bilinear", align_corners=corners)
    whole = all(m % n == 0 for n, m in zip(x.shape[2:], made[2:], strict=True))
    if mode == "nearest" and kind == "asymmetric" and rounding == "floor" and whole:
        return F.interpolate(x, made[2:], mode="nearest")
    return None


def _resized(
    x: Any, axes: list[int], scales: Any, sizes: Any, *, mode: str, kind: str, rounding: str,
    a: float = -0.75, antialias: bool = False, exclude: bool = False, policy: str = "stretch",
    crops: Any = None, filled: float = 0.0,
) -> Any:  # fmt: skip
    simple = not (antialias or exclude) and axes == list(range(x.ndim)) and sizes is None
    if simple and scales[:2] == [1, 1] and x.ndim == 4 and all(
        float(f).is_integer() for f in scales
    ):  # also of lengths that are open
        lengths = [n * int(f) for n, f in zip(x.shape, scales, strict=True)]
        found = _by_torch(x, axes, lengths, mode, kind, rounding, [float(f) for f in scales[2:]])
        if found is not None:
            return found
    made, factors = _lengths(x, axes, scales, sizes, policy)
    if not (antialias or exclude) and policy == "stretch":
        exact = all(
            abs(f * x.shape[i] - m) < 1e-4 for i, f, m in zip(axes, factors, made, strict=True)
        )
        found = _by_torch(x, axes, made, mode, kind, rounding) if exact else None
        if found is not None:
            return found
    outside = None
    for i, (axis, m, factor) in enumerate(zip(axes, made, factors, strict=True)):
        n = int(x.shape[axis])
        crop = (0.0, 1.0) if crops is None else (crops[i], crops[i + len(axes)])
        if n == m and factor == 1 and kind != "tf_crop_and_resize":
            continue
        places = _coordinates(kind, n, m, factor, crop)
        if mode == "nearest":
            x = torch.index_select(x, axis, tensor(_nearest(places, n, rounding)))
        else:
            matrix = _weights(mode, places, n, factor, a, antialias, exclude)
            kept = x.dtype
            moved = torch.movedim(x, axis, -1)
            moved = torch.matmul(moved, tensor(np.ascontiguousarray(matrix.T)).to(kept))
            x = torch.movedim(moved, -1, axis)
        if kind == "tf_crop_and_resize":
            shape = [1] * x.ndim
            shape[axis] = m
            beyond = tensor(((places < 0) | (places > n - 1)).reshape(shape))
            outside = beyond if outside is None else outside | beyond
    return x if outside is None else torch.where(outside, torch.full((), filled, dtype=x.dtype), x)


@operator("Upsample", 7, 9)
def _upsample(x: Any, given: Numbers = None, *, mode: str = "nearest", scales: Any = None) -> Any:
    factors = scales if given is None else numbers(given)
    return _resized(
        x, list(range(x.ndim)), factors, None, mode=mode, kind="asymmetric", rounding="floor"
    )


@operator("Resize", 10, 10)
def _resize_by_factors(x: Any, scales: Numbers, *, mode: str = "nearest") -> Any:
    return _resized(
        x, list(range(x.ndim)), numbers(scales), None, mode=mode, kind="asymmetric",
        rounding="floor",
    )  # fmt: skip


@operator("Resize", 11)
def _resize(
    x: Any, roi: Numbers = None, scales: Numbers = None, sizes: Numbers = None, *,
    antialias: int = 0, axes: Any = None, coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75, exclude_outside: int = 0, extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Any:  # fmt: skip
    factors = numbers(scales) if scales is not None and math.prod(scales.shape) else None
    return _resized(
        x, list(range(x.ndim)) if axes is None else [i % x.ndim for i in axes], factors,
        None if factors is not None else numbers(sizes), mode=mode,
        kind=coordinate_transformation_mode, rounding=nearest_mode, a=cubic_coeff_a,
        antialias=bool(antialias), exclude=bool(exclude_outside), policy=keep_aspect_ratio_policy,
        crops=numbers(roi) if roi is not None and math.prod(roi.shape) else None,
        filled=extrapolation_value,
    )  # fmt: skip


# --- sampling -------------------------------------------------------------------------------------


@operator("GridSample")
def _grid_sample(
    x: Any, grid: Any, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> Any:
    named = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    return F.grid_sample(x, grid, named, padding_mode, bool(align_corners))


@operator("AffineGrid")
def _affine_grid(theta: Any, size: Numbers, *, align_corners: int = 0) -> Any:
    return F.affine_grid(theta, numbers(size), bool(align_corners))


@operator("Col2Im")
def _col2im(
    x: Any, image: Numbers, block: Numbers, *, dilations: Any = None, pads: Any = None,
    strides: Any = None,
) -> Any:  # fmt: skip
    sizes, kernel = numbers(image), numbers(block)
    rank = len(sizes)
    ends = pads or [0] * (2 * rank)
    apart, steps = dilations or [1] * rank, strides or [1] * rank
    if rank == 2 and ends[:2] == ends[2:]:
        return F.fold(x, sizes, kernel, apart, ends[:2], steps)
    whole = [n + a + b for n, a, b in zip(sizes, ends[:rank], ends[rank:], strict=True)]
    places = np.zeros((1, 1), np.int64)  # of each element of a block, in each block
    for n, k, d, s in zip(whole, kernel, apart, steps, strict=True):
        starts = np.arange(0, n - d * (k - 1), s)
        along = (np.arange(k) * d)[:, None] + starts
        places = (places[:, None, :, None] * n + along[None, :, None]).reshape(
            len(places) * k, places.shape[1] * len(starts)
        )
    batch, channels = x.shape[0], x.shape[1] // len(places)
    made = torch.zeros(batch, channels, math.prod(whole), dtype=x.dtype)
    given = x.reshape(batch, channels, places.size)
    made = made.index_add(2, tensor(places.reshape(-1)), given).reshape(batch, channels, *whole)
    for axis, (n, first) in enumerate(zip(sizes, ends[:rank], strict=True), 2):
        made = torch.narrow(made, axis, first, n)
    return made


def _overlap(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The share of the common area in that of both, boxes being corners."""
    low = np.maximum(box[:2], others[:, :2])
    high = np.minimum(box[2:], others[:, 2:])
    common = np.prod(np.maximum(high - low, 0), 1)
    area = np.prod(box[2:] - box[:2]) + np.prod(others[:, 2:] - others[:, :2], 1) - common
    return np.where(area > 0, common / np.where(area > 0, area, 1), 0)


@operator("NonMaxSuppression")
def _non_max_suppression(
    boxes: Any, scores: Any, most: Numbers = None, limit: Numbers = None, least: Numbers = None, *,
    center_point_box: int = 0,
) -> Any:  # fmt: skip
    count = 0 if most is None else int(number(most))
    overlap = 0.0 if limit is None else number(limit)
    corners, points = np.asarray(boxes.detach().numpy()), np.asarray(scores.detach().numpy())
    if center_point_box:
        half = corners[..., 2:] / 2
        corners = np.concatenate([corners[..., :2] - half, corners[..., :2] + half], -1)
    first, second = corners[..., :2], corners[..., 2:]
    corners = np.concatenate([np.minimum(first, second), np.maximum(first, second)], -1)
    made = []
    for batch in range(points.shape[0]):
        for kind in range(points.shape[1]):
            row = points[batch, kind]
            order = np.argsort(-row, kind="stable")
            if least is not None:
                order = order[row[order] > number(least)]
            kept: list[int] = []
            while len(order) and len(kept) < count:
                best, order = int(order[0]), order[1:]
                kept.append(best)
                order = order[_overlap(corners[batch, best], corners[batch, order]) <= overlap]
            made += [(batch, kind, place) for place in kept]
    return tensor(np.array(made, np.int64).reshape(-1, 3))


def _sampled(x: Any, ys: Any, xs: Any) -> list[Any]:
    """The four weighted neighbours of points in images (channels, height, width)."""
    h, w = x.shape[1:]
    outside = (ys < -1) | (ys > h) | (xs < -1) | (xs > w)
    ys, xs = torch.clamp(ys, 0, h - 1), torch.clamp(xs, 0, w - 1)
    y0, x0 = torch.floor(ys).to(torch.int64), torch.floor(xs).to(torch.int64)
    y1, x1 = torch.clamp(y0 + 1, max=h - 1), torch.clamp(x0 + 1, max=w - 1)
    dy, dx = ys - y0, xs - x0
    weights = [(1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx]
    places = [(y0, x0), (y0, x1), (y1, x0), (y1, x1)]
    zero = torch.zeros(())
    return [
        torch.where(outside, zero, x[:, a, b] * share)
        for (a, b), share in zip(places, weights, strict=True)
    ]


@operator("RoiAlign", 10, 15)
@operator("RoiAlign", 16)
def _roi_align(
    x: Any, rois: Any, batch: Numbers, *, coordinate_transformation_mode: Any = None,
    mode: str = "avg", output_height: int = 1, output_width: int = 1, sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Any:  # fmt: skip
    half = coordinate_transformation_mode in (None, "half_pixel")
    moved = 0.5 if half else 0.0
    made = []
    boxes = np.asarray(rois.detach().numpy(), np.float64)
    for box, image in zip(boxes, numbers(batch), strict=True):
        x1, y1, x2, y2 = box * spatial_scale - moved
        height, width = y2 - y1, x2 - x1
        if not half:
            height, width = max(height, 1.0), max(width, 1.0)
        bins = height / output_height, width / output_width
        counts = [
            sampling_ratio or math.ceil(size / n)
            for size, n in ((height, output_height), (width, output_width))
        ]
        ys, xs = (
            begin + (np.arange(n)[:, None] + (np.arange(c)[None] + 0.5) / c) * each
            for begin, n, c, each in zip((y1, x1), (output_height, output_width), counts, bins,
                                         strict=True)
        )  # fmt: skip
        grid_y, grid_x = np.broadcast_arrays(ys[:, None, :, None], xs[None, :, None, :])
        points = _sampled(
            x[image], tensor(grid_y.astype(np.float32)), tensor(grid_x.astype(np.float32))
        )
        if mode == "max":
            largest = torch.stack(points).amax(0)
            made.append(torch.amax(largest, (-2, -1)))
        else:
            made.append(torch.mean(sum(points), (-2, -1)))
    return torch.stack(made)


@operator("DeformConv")
def _deform_conv(
    x: Any, w: Any, offset: Any, b: Any = None, mask: Any = None, *, dilations: Any = None,
    group: int = 1, kernel_shape: Any = None, offset_group: int = 1, pads: Any = None,
    strides: Any = None,
) -> Any:  # fmt: skip
    strides, dilations, ends = strides or [1, 1], dilations or [1, 1], pads or [0] * 4
    if w.ndim != 4:
        raise UnsupportedOperatorError("DeformConv of other axes than two")
    n, c, h, width = x.shape
    kh, kw = w.shape[2:]
    oh, ow = offset.shape[2:]
    offset = offset.reshape([n, offset_group, kh * kw, 2, oh, ow])
    columns = []
    for k in range(kh * kw):
        y0 = np.arange(oh)[:, None] * strides[0] - ends[0] + (k // kw) * dilations[0]
        x0 = np.arange(ow)[None] * strides[1] - ends[1] + (k % kw) * dilations[1]
        ys = offset[:, :, k, 0] + tensor(np.broadcast_to(y0, (oh, ow)).astype(np.float32))
        xs = offset[:, :, k, 1] + tensor(np.broadcast_to(x0, (oh, ow)).astype(np.float32))
        parts = x.reshape([n * offset_group, c // offset_group, h, width])
        grid = torch.stack([
            (2 * xs + 1) / width - 1, (2 * ys + 1) / h - 1
        ], -1).reshape([n * offset_group, oh, ow, 2])  # fmt: skip
        found = F.grid_sample(parts, grid, "bilinear", "zeros", False)
        found = found.reshape([n, offset_group, c // offset_group, oh, ow])
        if mask is not None:
            found = found * mask.reshape([n, offset_group, kh * kw, 1, oh, ow])[:, :, k]
        columns.append(found.reshape([n, group, c // group, oh * ow]))
    stacked = torch.stack(columns, 3).reshape([n, group, (c // group) * kh * kw, oh * ow])
    weights = w.reshape([group, w.shape[0] // group, -1])
    made = torch.matmul(weights, stacked).reshape([n, w.shape[0], oh, ow])
    return made if b is None else made + b.reshape(1, -1, 1, 1)


# --- signals --------------------------------------------------------------------------------------


def _as_complex(x: Any) -> Any:
    """Complex numbers from a last axis of one (real) or two parts."""
    if x.shape[-1] == 1:
        return x[..., 0]
    return torch.view_as_complex(x.contiguous())


def _fourier(x: Any, length: Any, axis: int, inverse: int, onesided: int) -> Any:
    given = _as_complex(x)
    if inverse and onesided:
        return torch.fft.irfft(given, length, axis).unsqueeze(-1)
    if inverse:
        return torch.view_as_real(torch.fft.ifft(given, length, axis))
    if onesided:
        return torch.view_as_real(torch.fft.rfft(given, length, axis))
    return torch.view_as_real(torch.fft.fft(given, length, axis))


@operator("DFT", 17, 19)
def _dft_by_attribute(
    x: Any, length: Numbers = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0
) -> Any:
    at = axis if axis >= 0 else axis + x.ndim
    return _fourier(x, None if length is None else number(length), at, inverse, onesided)


@operator("DFT", 20)
def _dft(
    x: Any, length: Numbers = None, axis: Numbers = None, *, inverse: int = 0, onesided: int = 0
) -> Any:
    at = -2 if axis is None else number(axis)
    at = at + x.ndim if at < 0 else at
    return _fourier(x, None if length is None else number(length), at, inverse, onesided)


@operator("STFT")
def _stft(
    x: Any, step: Numbers, window: Any = None, length: Numbers = None, *, onesided: int = 1
) -> Any:
    hop = number(step)
    size = number(length) if length is not None else window.shape[0]
    signal = x[..., 0] if x.ndim == 3 and x.shape[-1] == 1 else x
    frames = signal.unfold(1, size, hop)
    frames = frames if window is None else frames * window
    made = torch.fft.rfft(frames, dim=-1) if onesided else torch.fft.fft(frames, dim=-1)
    return torch.view_as_real(made)


def _window(name: str, cosines: tuple[float, ...]) -> None:
    def run(size: Numbers, *, output_datatype: int = 1, periodic: int = 1) -> Any:
        n = int(number(size))
        t = 2 * np.pi * np.arange(n) / (n if periodic else n - 1)
        made = sum(c * np.cos(i * t) for i, c in enumerate(cosines))
        return tensor(np.asarray(made)).to(torch_type(output_datatype))

    operator(name)(run)


_window("HannWindow", (0.5, -0.5))
_window("HammingWindow", (25 / 46, -21 / 46))
_window("BlackmanWindow", (0.42, -0.5, 0.08))
