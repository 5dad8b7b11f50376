"""Operators of products, convolutions, pooling and normalization."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.torch import nn

from .elementwise import quantized
from .errors import UnsupportedOperatorError
from .registry import operator
from .values import tensor

F = nn.functional

# --- products -------------------------------------------------------------------------------------


@operator("MatMul")
def _matmul(x: Any, y: Any) -> Any:
    return torch.matmul(x, y)


@operator("Gemm", 7)
def _gemm(
    a: Any, b: Any, c: Any = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0,  # noqa: N803
    transB: int = 0,  # noqa: N803
) -> Any:  # fmt: skip
    a = a.t() if transA else a
    if transB and alpha == beta == 1 and (c is None or c.ndim == 1):
        return F.linear(a, b, c)
    made = torch.matmul(a, b.t() if transB else b)
    made = made if alpha == 1 else made * alpha
    if c is None:
        return made
    return (made + (c if beta == 1 else c * beta)).to(a.dtype)


@operator("Einsum")
def _einsum(*values: Any, equation: str) -> Any:
    return torch.einsum(equation, *values)


@operator("Det")
def _det(x: Any) -> Any:
    return torch.linalg.det(x)


# --- windows --------------------------------------------------------------------------------------


def window_pads(
    auto_pad: str, pads: Any, sizes: Any, kernel: Any, strides: Any, dilations: Any
) -> list[tuple[int, int]]:
    """What is put before and after each axis."""
    rank = len(kernel)
    if auto_pad in ("NOTSET", ""):
        given = pads or [0] * (2 * rank)
        return list(zip(given[:rank], given[rank:], strict=True))
    if auto_pad == "VALID":
        return [(0, 0)] * rank
    made = []
    for n, k, s, d in zip(sizes, kernel, strides, dilations, strict=True):
        total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        less, more = total // 2, total - total // 2
        made.append((less, more) if auto_pad == "SAME_UPPER" else (more, less))
    return made


def _flat(rows: Any) -> list[int]:
    """Pads of axes as F.pad takes them."""
    return [n for pair in reversed(rows) for n in pair]


def _convolve(
    x: Any, w: Any, b: Any, auto_pad: str, dilations: Any, group: int, pads: Any, strides: Any
) -> Any:
    rank = w.ndim - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    rows = window_pads(auto_pad, pads, x.shape[2:], w.shape[2:], strides, dilations)
    even = all(before == after for before, after in rows)
    if not even:
        x = F.pad(x, _flat(rows))
    ends = [before for before, _ in rows] if even else [0] * rank
    if rank not in (1, 2, 3):
        raise UnsupportedOperatorError(f"Conv over {rank} axes")
    convolve = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    return convolve(x, w, b, strides, ends, dilations, group)


@operator("Conv")
def _conv(
    x: Any, w: Any, b: Any = None, *, auto_pad: str = "NOTSET", dilations: Any = None,
    group: int = 1, kernel_shape: Any = None, pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    return _convolve(x, w, b, auto_pad, dilations, group, pads, strides)


@operator("ConvInteger")
def _conv_integer(
    x: Any, w: Any, x_zero: Any = None, w_zero: Any = None, *, auto_pad: str = "NOTSET",
    dilations: Any = None, group: int = 1, kernel_shape: Any = None, pads: Any = None,
    strides: Any = None,
) -> Any:  # fmt: skip
    x, w = _centered(x, x_zero, 0), _centered(w, w_zero, 0)
    made = _convolve(x, w, None, auto_pad, dilations, group, pads, strides)
    return torch.round(made).to(torch.int32)


def _centered(x: Any, zero: Any, axis: int) -> Any:
    """Whole numbers less their zero point, exact in float64."""
    x = x.to(torch.float64)
    if zero is None:
        return x
    shape = [1] * x.ndim
    shape[axis] = -1
    return x - zero.to(torch.float64).reshape(shape if zero.ndim else [])


@operator("QLinearConv")
def _qlinear_conv(
    x: Any, x_scale: Any, x_zero: Any, w: Any, w_scale: Any, w_zero: Any, scale: Any, zero: Any,
    b: Any = None, *, auto_pad: str = "NOTSET", dilations: Any = None, group: int = 1,
    kernel_shape: Any = None, pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    bias = None if b is None else b.to(torch.float64)
    made = _convolve(
        _centered(x, x_zero, 0), _centered(w, w_zero, 0), bias, auto_pad, dilations, group, pads,
        strides,
    )  # fmt: skip
    shape = [1, -1, *[1] * (x.ndim - 2)] if w_scale.ndim else []
    factor = (x_scale.to(torch.float64) * w_scale.to(torch.float64)).reshape(shape)
    return quantized((made * factor).to(torch.float32), scale, zero, zero.dtype)


@operator("ConvTranspose")
def _conv_transpose(
    x: Any, w: Any, b: Any = None, *, auto_pad: str = "NOTSET", dilations: Any = None,
    group: int = 1, kernel_shape: Any = None, output_padding: Any = None, output_shape: Any = None,
    pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    rank = w.ndim - 2
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    added = output_padding or [0] * rank
    whole = [
        (n - 1) * s + (k - 1) * d + 1 + a
        for n, s, k, d, a in zip(x.shape[2:], strides, w.shape[2:], dilations, added, strict=True)
    ]
    rows = window_pads(
        "NOTSET" if auto_pad.startswith("SAME") else auto_pad, pads, whole, w.shape[2:], strides,
        dilations,
    )  # fmt: skip
    if output_shape is not None or auto_pad.startswith("SAME"):
        wanted = output_shape or [n * s for n, s in zip(x.shape[2:], strides, strict=True)]
        rows = []
        for i, (n, m) in enumerate(zip(whole, wanted[-rank:], strict=True)):
            if m > n:
                added = [*added[:i], added[i] + m - n, *added[i + 1 :]]
            total = max(n - m, 0)
            less, more = total // 2, total - total // 2
            rows.append((less, more) if auto_pad != "SAME_LOWER" else (more, less))
    convolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[rank - 1]
    even = all(before == after for before, after in rows)
    small = all(a < max(s, d) for a, s, d in zip(added, strides, dilations, strict=True))
    if even and small and output_shape is None and not auto_pad.startswith("SAME"):
        ends = [before for before, _ in rows]
        return convolve(x, w, b, strides, ends, added, group, dilations)
    made = convolve(x, w, b, strides, 0, 0, group, dilations)
    if any(added):
        made = F.pad(made, _flat([(0, a) for a in added]))
        if b is not None:  # what was added has the bias, too
            shape = [1, -1, *[1] * rank]
            made = convolve(x, w, None, strides, 0, 0, group, dilations)
            made = F.pad(made, _flat([(0, a) for a in added])) + b.reshape(shape)
    for axis, (before, after) in enumerate(rows, 2):
        made = torch.narrow(made, axis, before, made.shape[axis] - before - after)
    return made


# --- pooling --------------------------------------------------------------------------------------


def _pool_rows(
    x: Any, auto_pad: str, pads: Any, kernel: Any, strides: Any, dilations: Any, ceil_mode: int
) -> tuple[list[tuple[int, int]], list[int]]:
    """(what windows need before and after each axis, how many there are)."""
    sizes = x.shape[2:]
    rows = window_pads(auto_pad, pads, sizes, kernel, strides, dilations)
    counts, made = [], []
    for n, (before, after), k, s, d in zip(sizes, rows, kernel, strides, dilations, strict=True):
        reach = (k - 1) * d + 1
        rest = n + before + after - reach
        count = (-(-rest // s) if ceil_mode else rest // s) + 1
        if ceil_mode and (count - 1) * s >= n + before:
            count -= 1  # a window that begins behind the input
        counts.append(count)
        made.append((before, max((count - 1) * s + reach - n - before, 0)))
    return made, counts


@operator("MaxPool")
def _max_pool(
    x: Any, *, kernel_shape: Any, auto_pad: str = "NOTSET", ceil_mode: int = 0,
    dilations: Any = None, pads: Any = None, storage_order: int = 0, strides: Any = None,
    outputs: int,
) -> Any:  # fmt: skip
    rank = len(kernel_shape)
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    rows, counts = _pool_rows(x, auto_pad, pads, kernel_shape, strides, dilations, ceil_mode)
    least = -math.inf if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
    plain = outputs == 1 and rank <= 3 and x.dtype.is_floating_point
    pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[min(rank, 3) - 1]
    if plain and all(b == a and 2 * b <= k for (b, a), k in zip(rows, kernel_shape, strict=True)):
        return pool(x, kernel_shape, strides, [b for b, _ in rows], dilations)
    wide = F.pad(x, _flat(rows), "constant", least) if any(map(any, rows)) else x
    if plain:
        return pool(wide, kernel_shape, strides, 0, dilations)
    return _windows_max(x, wide, kernel_shape, strides, dilations, rows, counts, storage_order)[
        :outputs
    ]


def _windows_max(
    x: Any, wide: Any, kernel: Any, strides: Any, dilations: Any, rows: Any, counts: Any,
    column_major: int,
) -> tuple[Any, Any]:  # fmt: skip
    """(the largest of each window, its place in the input)."""
    best: Any = None
    place: Any = None
    sizes = [int(n) for n in x.shape[2:]]
    factors = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    if column_major:
        factors = [math.prod(sizes[:i]) for i in range(len(sizes))]
    base = torch.arange(math.prod(x.shape[:2])).reshape(
        [*x.shape[:2], *[1] * len(sizes)]
    ) * math.prod(sizes)
    for offsets in itertools.product(*map(range, kernel)):
        part, at = wide, base
        for axis, (o, s, d, m) in enumerate(zip(offsets, strides, dilations, counts, strict=True)):
            begin = o * d
            chosen = (slice(None),) * (axis + 2) + (slice(begin, begin + (m - 1) * s + 1, s),)
            part = part[chosen]
            shape = [1] * x.ndim
            shape[axis + 2] = m
            steps = torch.arange(m).reshape(shape) * s + (begin - rows[axis][0])
            at = at + steps * factors[axis]
        if best is None:
            best, place = part, at
            continue
        larger = part > best
        best, place = torch.where(larger, part, best), torch.where(larger, at, place)
    return best, place


@operator("AveragePool")
def _average_pool(
    x: Any, *, kernel_shape: Any, auto_pad: str = "NOTSET", ceil_mode: int = 0,
    count_include_pad: int = 0, dilations: Any = None, pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    rank = len(kernel_shape)
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    given = window_pads(auto_pad, pads, x.shape[2:], kernel_shape, strides, dilations)
    rows, counts = _pool_rows(x, auto_pad, pads, kernel_shape, strides, dilations, ceil_mode)
    if rank <= 3 and not any(map(any, rows)) and all(d == 1 for d in dilations):
        pool = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[rank - 1]
        return pool(x, kernel_shape, strides)
    total = _windows_sum(F.pad(x, _flat(rows)), kernel_shape, strides, dilations, counts)
    inside = np.zeros([int(n) + b + a for n, (b, a) in zip(x.shape[2:], rows, strict=True)])
    if count_include_pad:
        ends = [int(n) + b + a for n, (b, a) in zip(x.shape[2:], given, strict=True)]
        inside[tuple(slice(0, n) for n in ends)] = 1
    else:
        inside[tuple(
            slice(b, b + int(n)) for n, (b, _) in zip(x.shape[2:], rows, strict=True)
        )] = 1  # fmt: skip
    shares = _windows_sum(tensor(inside[None, None]), kernel_shape, strides, dilations, counts)
    return total / shares.to(x.dtype)


def _windows_sum(x: Any, kernel: Any, strides: Any, dilations: Any, counts: Any) -> Any:
    made = None
    for offsets in itertools.product(*map(range, kernel)):
        part = x
        for axis, (o, s, d, m) in enumerate(zip(offsets, strides, dilations, counts, strict=True)):
            begin = o * d
            part = part[(slice(None),) * (axis + 2) + (slice(begin, begin + (m - 1) * s + 1, s),)]
        made = part if made is None else made + part
    return made


@operator("LpPool")
def _lp_pool(
    x: Any, *, kernel_shape: Any, auto_pad: str = "NOTSET", ceil_mode: int = 0,
    dilations: Any = None, p: int = 2, pads: Any = None, strides: Any = None,
) -> Any:  # fmt: skip
    rank = len(kernel_shape)
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    rows, counts = _pool_rows(x, auto_pad, pads, kernel_shape, strides, dilations, ceil_mode)
    wide = torch.pow(torch.abs(F.pad(x, _flat(rows))), p)
    return torch.pow(_windows_sum(wide, kernel_shape, strides, dilations, counts), 1 / p)


@operator("GlobalAveragePool")
def _global_average_pool(x: Any) -> Any:
    return torch.mean(x, tuple(range(2, x.ndim)), keepdim=True)


@operator("GlobalMaxPool")
def _global_max_pool(x: Any) -> Any:
    return torch.amax(x, tuple(range(2, x.ndim)), keepdim=True)


@operator("GlobalLpPool")
def _global_lp_pool(x: Any, *, p: int = 2) -> Any:
    total = torch.sum(torch.pow(torch.abs(x), p), tuple(range(2, x.ndim)), keepdim=True)
    return torch.pow(total, 1 / p)


@operator("MaxUnpool")
def _max_unpool(
    x: Any, places: Any, shape: Any = None, *, kernel_shape: Any, pads: Any = None,
    strides: Any = None,
) -> Any:  # fmt: skip
    rank = len(kernel_shape)
    strides, ends = strides or [1] * rank, pads or [0] * (2 * rank)
    own = [
        (n - 1) * s + k - ends[i] - ends[i + rank]
        for i, (n, s, k) in enumerate(zip(x.shape[2:], strides, kernel_shape, strict=True))
    ]
    sizes = [*x.shape[:2], *own]
    flat = torch.zeros(math.prod(sizes), dtype=x.dtype)
    made = flat.scatter(0, places.reshape(-1), x.reshape(-1)).reshape(sizes)
    if shape is None:
        return made
    wanted = [int(n) for n in shape.numpy()]
    return F.pad(made, _flat([(0, m - n) for n, m in zip(sizes, wanted, strict=True)]))


# --- normalization --------------------------------------------------------------------------------


@operator("BatchNormalization", 7)
def _batch_norm(
    x: Any, scale: Any, bias: Any, mean: Any, variance: Any, *, epsilon: float = 1e-5,
    momentum: float = 0.9, training_mode: int = 0, spatial: int = 1, outputs: int, training: bool,
) -> Any:  # fmt: skip
    if not spatial:
        raise UnsupportedOperatorError("BatchNormalization(spatial=0)")
    if training and outputs == 1:  # the module trains: statistics are the batch's and are kept
        return F.batch_norm(x, mean, variance, scale, bias, True, 1 - momentum, epsilon)
    if not training_mode:
        made = F.batch_norm(
            x, mean.to(x.dtype), variance.to(x.dtype), scale.to(x.dtype), bias.to(x.dtype), False,
            0.0, epsilon,
        )  # fmt: skip
        return (made, mean, variance, mean, variance)[:outputs]
    axes = tuple(i for i in range(x.ndim) if i != 1)
    now, spread = torch.mean(x, axes), torch.var(x, axes, correction=0)
    made = F.batch_norm(x, now, spread, scale, bias, False, 0.0, epsilon)
    kept = (mean * momentum + now * (1 - momentum), variance * momentum + spread * (1 - momentum))
    return (made, *kept)[:outputs]


@operator("InstanceNormalization")
def _instance_norm(x: Any, scale: Any, bias: Any, *, epsilon: float = 1e-5) -> Any:
    return F.instance_norm(x, None, None, scale, bias, eps=epsilon)


@operator("GroupNormalization", 18, 20)
def _group_norm_by_groups(
    x: Any, scale: Any, bias: Any, *, num_groups: int, epsilon: float = 1e-5
) -> Any:
    count = x.shape[1] // num_groups
    return F.group_norm(
        x, num_groups, torch.repeat_interleave(scale, count),
        torch.repeat_interleave(bias, count), epsilon,
    )  # fmt: skip


@operator("GroupNormalization", 21)
def _group_norm(
    x: Any, scale: Any, bias: Any, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    return F.group_norm(x, num_groups, scale, bias, epsilon)


@operator("LayerNormalization", 17)
def _layer_norm(
    x: Any, scale: Any, bias: Any = None, *, axis: int = -1, epsilon: float = 1e-5,
    stash_type: int = 1, outputs: int,
) -> Any:  # fmt: skip
    first = axis % x.ndim
    if outputs == 1 and tuple(scale.shape) == tuple(x.shape[first:]):
        return F.layer_norm(x, tuple(x.shape[first:]), scale, bias, epsilon)
    axes = tuple(range(first, x.ndim))
    mean = torch.mean(x, axes, keepdim=True)
    away = x - mean
    root = torch.rsqrt(torch.mean(away * away, axes, keepdim=True) + epsilon)
    made = away * root * scale
    made = made if bias is None else made + bias
    return (made, mean, root)[:outputs]


@operator("RMSNormalization")
def _rms_norm(
    x: Any, scale: Any, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Any:
    axes = tuple(range(axis % x.ndim, x.ndim))
    wide = x.to(torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x
    root = torch.rsqrt(torch.mean(wide * wide, axes, keepdim=True) + epsilon)
    return (wide * root).to(x.dtype) * scale


@operator("LRN")
def _lrn(
    x: Any, *, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0
) -> Any:
    before = (size - 1) // 2
    rows = [(0, 0), (before, size - 1 - before)] + [(0, 0)] * (x.ndim - 2)
    square = F.pad(x * x, _flat(rows))
    total: Any = sum(torch.narrow(square, 1, i, x.shape[1]) for i in range(size))
    return x / torch.pow(total * (alpha / size) + bias, beta)


@operator("LpNormalization")
def _lp_norm(x: Any, *, axis: int = -1, p: int = 2) -> Any:
    size = torch.linalg.vector_norm(x, p, axis, keepdim=True)
    return torch.where(size == 0, torch.zeros_like(x), x / size)


@operator("MeanVarianceNormalization")
def _mean_variance_norm(x: Any, *, axes: Any = None) -> Any:
    over = tuple([0, 2, 3] if axes is None else axes)
    mean = torch.mean(x, over, keepdim=True)
    spread = torch.mean(x * x, over, keepdim=True) - mean * mean
    return (x - mean) / (torch.sqrt(spread) + 1e-9)
