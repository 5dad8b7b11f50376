"""Where the elements of a result lie: rules that an op's declaration names (``layout=``).

A rule takes the result's aval, the inputs' (None for one that is absent) and the params, and gives
the result's strides, None for C order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .aval import (
    Aval,
    Shape,
    aval,
    channels_last_strides,
    contiguous_strides,
    dense_strides,
    is_channels_last,
)

Rule = Callable[..., Shape | None]


# --- the inputs' order of axes --------------------------------------------------------------------


def preserved_strides(x: Aval) -> Shape | None:
    """Those of a copy of ``x`` without gaps: its own where it has none, else its order of axes."""
    if x.dense:
        return x.strides
    return _ordered_strides(x.shape, [x.strides]) if x.ndim > 1 and x.size else None


def elementwise_strides(shape: Shape, inputs: tuple[Aval, ...]) -> Shape | None:
    """Those that torch's iterator gives to an elementwise result."""
    if len(shape) < 2:
        return None
    if all(x.strides == contiguous_strides(x.shape) for x in inputs):
        return None
    if all(x.shape == shape for x in inputs):
        first = inputs[0]
        if all(x.contiguous for x in inputs):
            return None
        if len(shape) == 4 and all(is_channels_last(shape, x.strides) for x in inputs):
            return channels_last_strides(shape)
        if first.dense and all(x.strides == first.strides for x in inputs):
            return first.strides
    return _ordered_strides(shape, [_broadcast_strides(x, shape) for x in inputs])


def _broadcast_strides(x: Aval, shape: Shape) -> Shape:
    """The strides of ``x`` in ``shape``: 0 along the axes that are repeated."""
    before = len(shape) - x.ndim
    return (0,) * before + tuple(
        0 if n == 1 and m != 1 else s
        for n, m, s in zip(x.shape, shape[before:], x.strides, strict=True)
    )


def _ordered_strides(shape: Shape, operands: list[Shape]) -> Shape | None:
    """Dense strides whose order of axes is that of the operands, decided by the first that can."""
    order = list(range(len(shape) - 1, -1, -1))
    for i in range(1, len(order)):
        at = i
        for j in range(i - 1, -1, -1):
            decided = _compare_axes(shape, operands, order[j], order[at])
            if decided > 0:
                order[j], order[at] = order[at], order[j]
                at = j
            elif decided < 0:
                break
    return dense_strides(shape, order)


def _compare_axes(shape: Shape, operands: list[Shape], inner: int, outer: int) -> int:
    """1 where ``inner`` should lie outside ``outer``, -1 where it rightly lies inside, else 0."""
    for strides in operands:
        a, b = strides[inner], strides[outer]
        if a == 0 or b == 0:
            continue
        if a < b:
            return -1
        if a > b:
            return 1
        if shape[inner] > shape[outer]:
            return 1
    return 0


def view_strides(shape: Shape, strides: Shape, target: Shape) -> Shape | None:
    """Strides for seeing a layout as ``target`` without a copy; None where it needs one."""
    if 0 in shape:
        return strides if shape == target else contiguous_strides(target)
    result = [1] * len(target)
    at = len(target) - 1
    step = strides[-1] if strides else 1
    held = seen = 1
    for axis in range(len(shape) - 1, -1, -1):
        held *= shape[axis]
        if axis and (shape[axis - 1] == 1 or strides[axis - 1] == held * step):
            continue  # the axes up to here lie in memory as one
        while at >= 0 and (seen < held or target[at] == 1):
            result[at] = seen * step
            seen *= target[at]
            at -= 1
        if seen != held:
            return None
        if axis:
            step, held, seen = strides[axis - 1], 1, 1
    return tuple(result) if at < 0 or not shape else None


def column_strides(shape: Shape) -> Shape:
    """Those of matrices, one after another, whose columns lie in one piece."""
    n = len(shape)
    return dense_strides(shape, [n - 2, n - 1, *range(n - 3, -1, -1)])


# --- channels last --------------------------------------------------------------------------------


def suggests_channels_last(x: Aval) -> bool:
    """Whether torch takes ``x`` for images (or volumes) with channels last, gaps allowed.

    Where lengths of 1 leave it open, the usual order is meant.
    """
    shape, strides = x.shape, x.strides
    if len(shape) not in (4, 5) or strides[1] == 0:
        return False
    least = 0
    for axis in (1, *range(len(shape) - 1, 1, -1), 0):
        if shape[axis] == 0 or strides[axis] < least:
            return False
        if axis == 0 and least == strides[1]:
            return False
        least = strides[axis] * shape[axis]
    return True


def image_strides(shape: Shape, like: Aval) -> Shape | None:
    """Those of a result that follows the format that ``like`` suggests."""
    if like.ndim == len(shape) and suggests_channels_last(like):
        return channels_last_strides(shape)
    return None


# --- rules ----------------------------------------------------------------------------------------


def follow_images(result: Aval, inputs: Any, params: Any) -> Shape | None:
    """Channels last where an input of as many axes suggests it."""
    for x in inputs:
        if x is not None and x.ndim == result.ndim and suggests_channels_last(x):
            return channels_last_strides(result.shape)
    return None


def follow_all_images(result: Aval, inputs: Any, params: Any) -> Shape | None:
    """Channels last where every input suggests it."""
    if all(suggests_channels_last(x) for x in inputs):
        return channels_last_strides(result.shape)
    return None


def follow_stacked(result: Aval, inputs: Any, params: Any) -> Shape | None:
    """The inputs, which have an axis of length 1 for the new one, joined along the next axis: that
    axis of the whole is two of the result."""
    axis = params["axis"]
    if axis == result.ndim - 1:
        return None
    rows = [without_axis(x, axis) for x in inputs]
    if not all(suggests_channels_last(x) for x in rows):
        return None
    shape = list(rows[0].shape)
    shape[axis] *= len(rows)
    strides = channels_last_strides(tuple(shape))
    return view_strides(tuple(shape), strides, result.shape)


def without_axis(x: Aval, axis: int) -> Aval:
    """``x`` seen without an axis of length 1."""
    shape, strides = x.shape, x.strides
    return aval(
        shape[:axis] + shape[axis + 1 :], x.dtype, strides[:axis] + strides[axis + 1 :], x.device
    )


def follow_pictures(result: Aval, inputs: Any, params: Any) -> Shape | None:
    """:func:`follow_images` of two spatial axes; rows (N, C, L) are pictures of one line."""
    x = inputs[0]
    if x.ndim == 3 == result.ndim:
        (n, c, length), (s, t, u) = x.shape, x.strides
        picture = aval((n, c, 1, length), x.dtype, (s, t, u * length, u), x.device)
        if suggests_channels_last(picture):
            return (result.shape[1] * result.shape[2], 1, result.shape[1])
        return None
    return follow_images(result, inputs, params) if result.ndim == 4 else None


def follow_pictures_and_points(result: Aval, inputs: Any, params: Any) -> Shape | None:
    """:func:`follow_pictures`, and volumes that became one point."""
    if result.ndim == 5 and result.shape[2:] == (1, 1, 1):
        return follow_images(result, inputs, params)
    return follow_pictures(result, inputs, params)


def follow_first(result: Aval, inputs: Any, params: Any) -> Shape | None:
    """The order of axes of the first input."""
    return preserved_strides(inputs[0])


def in_columns(result: Aval, inputs: Any, params: Any) -> Shape | None:
    """Matrices as LAPACK writes them, each column in one piece; C order of what is less than one
    for each of the first input."""
    return column_strides(result.shape) if result.ndim >= inputs[0].ndim else None


def follow_all(result: Aval, inputs: Any, params: Any) -> Shape | None:
    """What torch's iterator makes of the inputs."""
    return elementwise_strides(result.shape, inputs)


def follow_indexed(result: Aval, inputs: Any, params: Any) -> Shape | None:
    """What torch's iterator makes of ``x[indices]``: an indexed axis says nothing of ``x``'s order,
    the indices say something of theirs."""
    x, *indices = inputs
    given = [i for i, index in enumerate(indices) if index is not None]
    rest = [s for i, s in enumerate(x.strides) if i not in given]
    common = result.ndim - len(rest)
    adjacent = given == list(range(given[0], given[0] + len(given)))
    before = given[0] if adjacent else 0
    shape = result.shape[before : before + common]
    whole = (*(1,) * before, *shape, *(1,) * (len(rest) - before))
    operands = [(*rest[:before], *(0,) * common, *rest[before:])]
    for index in (indices[i] for i in given):
        strides = view_strides(shape, _broadcast_strides(index, shape), whole)
        described = aval(whole, index.dtype, strides, index.device)
        operands.append(_broadcast_strides(described, result.shape))
    return _ordered_strides(result.shape, operands) if result.ndim > 1 else None


def _transformed_strides(shape: Shape, strides: Shape, axes: Shape) -> Shape:
    """Those of a Fourier transform of what has ``strides``: the other axes by decreasing stride,
    then ``axes`` in their order, without gaps."""
    order = list(range(len(shape)))
    first, last = 0, len(order)
    while True:  # as std::partition leaves them, which shows where strides are equal
        while first < last and order[first] not in axes:
            first += 1
        last -= 1
        while first < last and order[last] in axes:
            last -= 1
        if first >= last:
            break
        order[first], order[last] = order[last], order[first]
        first += 1
    others = sorted(order[:first], key=lambda i: -strides[i])
    return dense_strides(shape, [*others, *axes][::-1])


def _by_stride(strides: Shape, axes: Shape) -> Shape:
    return tuple(sorted(axes, key=lambda i: -strides[i]))


def follow_transform(result: Aval, inputs: Any, params: Any) -> Shape | None:
    """What torch makes of a transform of complex numbers: the transformed axes lie innermost."""
    strides = inputs[0].strides
    return _transformed_strides(result.shape, strides, _by_stride(strides, params["axes"]))


def follow_real_transform(result: Aval, inputs: Any, params: Any) -> Shape | None:
    """Of real numbers: the axis that is cut to half lies innermost."""
    strides, (*others, last) = inputs[0].strides, params["axes"]
    axes = (*_by_stride(strides, tuple(others)), last)
    return _transformed_strides(result.shape, strides, axes)


def follow_transform_back(result: Aval, inputs: Any, params: Any) -> Shape | None:
    """To real numbers: the other axes are transformed before the last one is."""
    x, (*others, last) = inputs[0], params["axes"]
    strides = x.strides
    if others:
        strides = _transformed_strides(x.shape, strides, _by_stride(strides, tuple(others)))
    return _transformed_strides(result.shape, strides, (last,))


def with_layout(shape_rule: Callable[..., Any], layout: Rule) -> Callable[..., Any]:
    """``shape_rule`` whose results lie as ``layout`` says."""

    @functools.wraps(shape_rule)
    def rule(*inputs: Any, **params: Any) -> Any:
        made = shape_rule(*inputs, **params)
        if isinstance(made, tuple):
            return tuple([_laid_out(each, layout, inputs, params) for each in made])
        return _laid_out(made, layout, inputs, params)

    return rule


def _laid_out(result: Aval, layout: Rule, inputs: Any, params: Any) -> Aval:
    strides = layout(result, inputs, params) if result.ndim > 1 else None
    return result if strides is None else aval(
        result.shape, result.dtype, strides, result.device, result.weak
    )
