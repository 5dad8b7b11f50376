"""Operators that move elements, choose some, or make them of numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.torch import nn

from .errors import UnsupportedOperatorError
from .registry import Numbers, operator
from .values import host_numbers, number, numbers, shape_of, tensor, torch_type

F = nn.functional

# --- shapes ---------------------------------------------------------------------------------------


@operator("Shape")
def _shape(x: Numbers, *, start: int = 0, end: Any = None) -> Any:
    return host_numbers(shape_of(x)[start:end])


@operator("Size")
def _size(x: Numbers) -> Any:
    return host_numbers([math.prod(shape_of(x))]).reshape(())


def _wanted(x: Any, shape: list[Any], allowzero: int) -> list[Any]:
    return shape if allowzero else [x.shape[i] if type(n) is int and n == 0 else n
                                    for i, n in enumerate(shape)]  # fmt: skip


@operator("Reshape", 1, 4)
def _reshape_by_attribute(x: Any, *, shape: Any, consumed_inputs: Any = None) -> Any:
    return x.reshape(_wanted(x, list(shape), 0))


@operator("Reshape", 5)
def _reshape(x: Any, shape: Numbers, *, allowzero: int = 0) -> Any:
    return x.reshape(_wanted(x, numbers(shape), allowzero))


@operator("Flatten")
def _flatten(x: Any, *, axis: int = 1) -> Any:
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape([math.prod(x.shape[:axis]), math.prod(x.shape[axis:])])


@operator("Transpose")
def _transpose(x: Any, *, perm: Any = None) -> Any:
    return x.permute(list(reversed(range(x.ndim))) if perm is None else perm)


def _squeezed(x: Any, axes: Any) -> Any:
    if axes is None:
        axes = [i for i, n in enumerate(x.shape) if n == 1]
    return torch.squeeze(x, tuple(axes)) if axes else x


@operator("Squeeze", 1, 12)
def _squeeze_by_attribute(x: Any, *, axes: Any = None) -> Any:
    return _squeezed(x, axes)


@operator("Squeeze", 13)
def _squeeze(x: Any, axes: Numbers = None) -> Any:
    return _squeezed(x, None if axes is None else numbers(axes))


def _unsqueezed(x: Any, axes: Any) -> Any:
    rank = x.ndim + len(axes)
    for axis in sorted(a % rank for a in axes):
        x = torch.unsqueeze(x, axis)
    return x


@operator("Unsqueeze", 1, 12)
def _unsqueeze_by_attribute(x: Any, *, axes: Any) -> Any:
    return _unsqueezed(x, axes)


@operator("Unsqueeze", 13)
def _unsqueeze(x: Any, axes: Numbers) -> Any:
    return _unsqueezed(x, numbers(axes))


@operator("Expand")
def _expand(x: Any, shape: Numbers) -> Any:
    wanted = numbers(shape)
    own = [1] * (len(wanted) - x.ndim) + list(x.shape)
    wanted = [1] * (len(own) - len(wanted)) + wanted
    made = [m if type(n) is int and n == 1 else n for n, m in zip(wanted, own, strict=True)]
    return x.expand(made)


@operator("Tile", 6)
def _tile(x: Any, counts: Numbers) -> Any:
    return x.repeat(numbers(counts))


@operator("Concat")
def _concat(*values: Any, axis: int = 1) -> Any:
    return torch.cat(values, axis)


def _parts(x: Any, axis: int, outputs: int) -> list[int]:
    size = -(-x.shape[axis] // outputs)
    return [min(size, max(x.shape[axis] - i * size, 0)) for i in range(outputs)]


@operator("Split", 1, 12)
def _split_by_attribute(
    x: Any, given: Numbers = None, *, axis: int = 0, split: Any = None, outputs: int
) -> Any:
    parts = split if given is None else numbers(given)
    return tuple(torch.split(x, parts or _parts(x, axis, outputs), axis))


@operator("Split", 13)
def _split(
    x: Any, given: Numbers = None, *, axis: int = 0, num_outputs: Any = None, outputs: int
) -> Any:
    parts = _parts(x, axis, num_outputs or outputs) if given is None else numbers(given)
    return tuple(torch.split(x, parts, axis))


def _cut(x: Any, starts: Any, ends: Any, axes: Any, steps: Any) -> Any:
    axes = list(range(len(starts))) if axes is None else axes
    for axis, begin, end, step in zip(axes, starts, ends, steps, strict=True):
        axis = axis % x.ndim
        if step < 0:
            n = x.shape[axis]
            begin = min(begin + n if begin < 0 else begin, n - 1)
            end = max(end + n, -1) if end < 0 else end
            places = torch.arange(begin, end, step, dtype=torch.int64)
            x = torch.index_select(x, axis, places)
        else:
            x = x[(slice(None),) * axis + (slice(begin, end, step),)]
    return x


@operator("Slice", 1, 9)
def _slice_by_attributes(x: Any, *, starts: Any, ends: Any, axes: Any = None) -> Any:
    return _cut(x, starts, ends, axes, [1] * len(starts))


@operator("Slice", 10)
def _slice(
    x: Any, starts: Numbers, ends: Numbers, axes: Numbers = None, steps: Numbers = None
) -> Any:
    begin = numbers(starts)
    return _cut(
        x, begin, numbers(ends), None if axes is None else numbers(axes),
        [1] * len(begin) if steps is None else numbers(steps),
    )  # fmt: skip


def _padded(x: Any, pads: Any, value: Any, mode: str, axes: Any = None) -> Any:
    rank = x.ndim
    axes = list(range(rank)) if axes is None else [a % rank for a in axes]
    rows: list[list[Any]] = [[0, 0] for _ in range(rank)]
    for i, axis in enumerate(axes):
        rows[axis] = [pads[i], pads[i + len(axes)]]
    if mode == "constant":
        return F.pad(x, [n for pair in reversed(rows) for n in pair], "constant", value)
    return _mirrored(x, rows, mode)


def _mirrored(x: Any, rows: Any, mode: str) -> Any:
    """Padding with elements of the tensor itself."""
    modes = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}
    if mode not in modes:
        raise UnsupportedOperatorError(f"Pad(mode={mode!r})")
    for axis, (before, after) in enumerate(rows):
        if before or after:
            places = np.arange(x.shape[axis])
            places = places[max(-before, 0) : len(places) - max(-after, 0)]
            extra = (max(before, 0), max(after, 0))
            places = np.pad(places, extra, mode=modes[mode])  # type: ignore[call-overload]
            x = torch.index_select(x, axis, tensor(places.astype(np.int64)))
    return x


@operator("Pad", 2, 10)
def _pad_by_attributes(x: Any, *, pads: Any, value: float = 0.0, mode: str = "constant") -> Any:
    return _padded(x, pads, value, mode)


@operator("Pad", 11)
def _pad(
    x: Any, pads: Numbers, value: Numbers = None, axes: Numbers = None, *, mode: str = "constant"
) -> Any:
    filled = 0 if value is None else number(value)
    return _padded(x, numbers(pads), filled, mode, None if axes is None else numbers(axes))


@operator("DepthToSpace")
def _depth_to_space(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    n, c, h, w = x.shape
    b = blocksize
    if mode == "CRD":
        return F.pixel_shuffle(x, b)
    moved = x.reshape([n, b, b, c // (b * b), h, w]).permute(0, 3, 4, 1, 5, 2)
    return moved.reshape([n, c // (b * b), h * b, w * b])


@operator("SpaceToDepth")
def _space_to_depth(x: Any, *, blocksize: int, mode: str = "DCR") -> Any:
    n, c, h, w = x.shape
    b = blocksize
    if mode == "CRD":
        return F.pixel_unshuffle(x, b)
    moved = x.reshape([n, c, h // b, b, w // b, b]).permute(0, 3, 5, 1, 2, 4)
    return moved.reshape([n, c * b * b, h // b, w // b])


@operator("Trilu")
def _trilu(x: Any, k: Numbers = None, *, upper: int = 1) -> Any:
    diagonal = 0 if k is None else number(k)
    return torch.triu(x, diagonal) if upper else torch.tril(x, diagonal)


@operator("ReverseSequence")
def _reverse_sequence(x: Any, lengths: Numbers, *, batch_axis: int = 1, time_axis: int = 0) -> Any:
    moved = torch.movedim(x, (batch_axis, time_axis), (0, 1))
    count = moved.shape[1]
    rows = [
        torch.index_select(moved[i], 0, tensor(np.array(
            [*range(n - 1, -1, -1), *range(n, count)], np.int64
        )))
        for i, n in enumerate(numbers(lengths))
    ]  # fmt: skip
    return torch.movedim(torch.stack(rows), (0, 1), (batch_axis, time_axis))


# --- choosing elements ----------------------------------------------------------------------------


def _positive(places: Any, n: Any) -> Any:
    """Places that may be counted from the end."""
    places = places.to(torch.int64)
    return torch.where(places < 0, places + n, places)


@operator("Gather")
def _gather(x: Any, places: Any, *, axis: int = 0) -> Any:
    axis = axis % x.ndim
    places = _positive(places, x.shape[axis])
    if not places.ndim:
        return torch.index_select(x, axis, places.reshape(1)).squeeze(axis)
    if places.ndim == 1:
        return torch.index_select(x, axis, places)
    found = torch.index_select(x, axis, places.reshape(-1))
    return found.reshape([*x.shape[:axis], *places.shape, *x.shape[axis + 1 :]])


@operator("GatherElements")
def _gather_elements(x: Any, places: Any, *, axis: int = 0) -> Any:
    return torch.gather(x, axis, _positive(places, x.shape[axis]))


def _nested(x: Any, places: Any, batch: int = 0) -> tuple[Any, ...]:
    """The last axis of index tuples, each counted from the beginning."""
    return tuple(
        _positive(places[..., i], x.shape[batch + i]) for i in range(places.shape[-1])
    )


@operator("GatherND")
def _gather_nd(x: Any, places: Any, *, batch_dims: int = 0) -> Any:
    if not batch_dims:
        return x[_nested(x, places)]
    front = list(x.shape[:batch_dims])
    count = math.prod(front)
    rows = x.reshape([count, *x.shape[batch_dims:]])
    within = places.reshape([count, *places.shape[batch_dims:]])
    first = torch.arange(count).reshape([count, *[1] * (within.ndim - 2)])
    first = first.expand(list(within.shape[:-1]))
    found = rows[(first, *_nested(x, within, batch_dims))]
    return found.reshape([*front, *found.shape[1:]])


def _scattered(x: Any, places: Any, updates: Any, axis: int, reduction: str) -> Any:
    places = _positive(places, x.shape[axis])
    if reduction == "none":
        return torch.scatter(x, axis, places, updates)
    how = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return torch.scatter_reduce(x, axis, places, updates, how)


@operator("Scatter")
@operator("ScatterElements")
def _scatter_elements(
    x: Any, places: Any, updates: Any, *, axis: int = 0, reduction: str = "none"
) -> Any:
    return _scattered(x, places, updates, axis, reduction)


@operator("ScatterND")
def _scatter_nd(x: Any, places: Any, updates: Any, *, reduction: str = "none") -> Any:
    index = _nested(x, places)
    if reduction in ("none", "add"):
        return x.index_put(index, updates, accumulate=reduction == "add")
    depth = len(index)
    rows = x.reshape([math.prod(x.shape[:depth]), -1])
    flat = index[0]
    for i, n in enumerate(x.shape[1:depth], 1):
        flat = flat * n + index[i]
    part = updates.reshape([-1, rows.shape[1]])
    at = flat.reshape(-1, 1).expand(part.shape[0], part.shape[1])
    return _scattered(rows, at, part, 0, reduction).reshape(list(x.shape))


@operator("TensorScatter")
def _tensor_scatter(
    x: Any, update: Any, starts: Numbers = None, *, axis: int = -2, mode: str = "linear"
) -> Any:
    axis = axis % x.ndim
    begins = [0] * x.shape[0] if starts is None else numbers(starts)
    rows, length = [], x.shape[axis]
    for i, begin in enumerate(begins):
        places = begin + np.arange(update.shape[axis])
        places = places % length if mode == "circular" else places
        rows.append(torch.index_copy(x[i], axis - 1, tensor(places.astype(np.int64)), update[i]))
    return torch.stack(rows)


@operator("OneHot")
def _one_hot(places: Any, depth: Numbers, values: Any, *, axis: int = -1) -> Any:
    count = int(number(depth))
    found = _positive(places, count)
    hot = torch.unsqueeze(found, axis if axis >= 0 else axis + places.ndim + 1)
    shape = [1] * hot.ndim
    shape[axis] = count
    row = torch.arange(count).reshape(shape)
    return torch.where(hot == row, values[1], values[0])


@operator("Compress")
def _compress(x: Any, condition: Numbers, *, axis: Any = None) -> Any:
    places = tensor(np.flatnonzero(np.array(numbers(condition))))
    return x.reshape(-1)[places] if axis is None else torch.index_select(x, axis, places)


@operator("NonZero")
def _non_zero(x: Any) -> Any:
    return torch.nonzero(x).t() if x.ndim else torch.nonzero(x.reshape(1)).t()[:0]


@operator("Unique")
def _unique(x: Any, *, axis: Any = None, sorted: int = 1) -> Any:  # noqa: A002
    plain = x.detach().float() if x.dtype is torch.bfloat16 else x.detach()
    values, first, inverse, counts = np.unique(
        plain.numpy(), return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    if not sorted:
        order = np.argsort(first)
        values = np.take(values, order, axis or 0)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        first, counts, inverse = first[order], counts[order], back[inverse.reshape(-1)]
    given = (values, first, inverse.reshape(-1), counts)
    made = [tensor(np.ascontiguousarray(each)) for each in given]
    return (made[0].to(x.dtype), *made[1:])


# --- made of numbers ------------------------------------------------------------------------------


@operator("ConstantOfShape")
def _constant_of_shape(shape: Numbers, *, value: Any = None) -> Any:
    filled = torch.zeros(1) if value is None else tensor(value)
    return filled.reshape(()).expand(numbers(shape)).clone()


@operator("EyeLike")
def _eye_like(x: Any, *, dtype: Any = None, k: int = 0) -> Any:
    n, m = x.shape
    made = torch.arange(n).reshape(-1, 1) + k == torch.arange(m)
    return made.to(x.dtype if dtype is None else torch_type(dtype))


@operator("Range")
def _range(start: Numbers, end: Numbers, step: Numbers) -> Any:
    kind = tensor(start).dtype
    return torch.arange(number(start), number(end), number(step), dtype=kind)
