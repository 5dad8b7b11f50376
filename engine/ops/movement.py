"""Ops that move elements: views of the same storage, and copies in another layout.

Axes and sizes arrive normalised: counted from the front, no -1.
"""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..autograd.tape import named
from ..aval import Aval, Shape, aval, contiguous_strides
from ..callbacks import callbacks
from ..dispatch import state, view_call
from ..op import Op
from ..result_strides import (
    follow_all_images,
    follow_images,
    follow_stacked,
    image_strides,
    preserved_strides,
    view_strides,
)
from ..stored_types import only_moves
from ..tensor import Tensor, constant, full_flat, make
from .base import expand_aval, normalize_axis, view_aval
from .copies import cast as cast
from .copies import clone as clone
from .copies import copy_data
from .copies import to_device as to_device

# --- views -----------------------------------------------------------------------------------


def _permute_aval(x: Aval, *, axes: tuple[int, ...]) -> Aval:
    return view_aval(x, tuple(x.shape[i] for i in axes), tuple(x.strides[i] for i in axes))


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


permute = Op(
    "permute",
    _permute_aval,
    view=lambda x, *, axes: 0,
    vjp=lambda g, axes: permute(g, axes=_inverse(axes)),
)


def transpose(x: Tensor, first: int, second: int) -> Tensor:
    """``x`` with two axes (counted from either end) exchanged."""
    axes = list(range(x.aval.ndim))
    if not axes:
        normalize_axis(first, 0)
        normalize_axis(second, 0)
        return permute(x, axes=())
    first, second = normalize_axis(first, len(axes)), normalize_axis(second, len(axes))
    axes[first], axes[second] = axes[second], axes[first]
    return permute(x, axes=tuple(axes))


def _expand_vjp(g: Any, avals: Any) -> Any:
    return reduction.sum_to(g, avals[0].shape)


expand = Op("expand", expand_aval, view=lambda x, *, shape: 0, vjp=(_expand_vjp,))


def _view_as_aval(x: Aval, *, shape: Shape) -> Aval:
    strides = view_strides(x.shape, x.strides, shape)
    if strides is None:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return view_aval(x, shape, strides)


def _view_vjp(g: Any, avals: Any) -> Any:
    return reshape(g, avals[0].shape)


view = Op("view", _view_as_aval, view=lambda x, *, shape: 0, vjp=(_view_vjp,))


def reshape(x: Tensor, shape: Shape) -> Tensor:
    """``x`` with another shape of as many elements: a view where the layout allows it."""
    if x.aval.contiguous or view_strides(x.aval.shape, x.aval.strides, shape) is not None:
        return view(x, shape=shape)
    return named(view(contiguous(x), shape=shape), "UnsafeViewBackward0")


def _unsqueeze_aval(x: Aval, *, axis: int) -> Aval:
    step = x.strides[axis] * x.shape[axis] if axis < x.ndim else 1
    shape = (*x.shape[:axis], 1, *x.shape[axis:])
    return view_aval(x, shape, (*x.strides[:axis], step, *x.strides[axis:]))


unsqueeze = Op(
    "unsqueeze",
    _unsqueeze_aval,
    view=lambda x, *, axis: 0,
    vjp=lambda g, axis: squeeze(g, axes=(axis,)),
)


def _squeeze_aval(x: Aval, *, axes: tuple[int, ...]) -> Aval:
    kept = [i for i in range(x.ndim) if not (i in axes and x.shape[i] == 1)]
    return view_aval(x, tuple(x.shape[i] for i in kept), tuple(x.strides[i] for i in kept))


def _squeeze_vjp(g: Any, avals: Any) -> Any:
    return reshape(g, avals[0].shape)


squeeze = Op("squeeze", _squeeze_aval, view=lambda x, *, axes: 0, vjp=(_squeeze_vjp,))


def _slice_aval(x: Aval, *, axis: int, start: int, length: int, step: int = 1) -> Aval:
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    strides = (*x.strides[:axis], x.strides[axis] * step, *x.strides[axis + 1 :])
    return view_aval(x, shape, strides)


def _slice_offset(x: Aval, *, axis: int, start: int, length: int, step: int = 1) -> int:
    return start * x.strides[axis]


def _slice_vjp(g: Any, avals: Any, axis: int, start: int, length: int, step: int) -> Any:
    return slice_gradient(
        g, shape=avals[0].shape, axis=axis, start=start, length=length, step=step
    )


slice_ = Op("slice", _slice_aval, view=_slice_offset, vjp=(_slice_vjp,))


def _select_aval(x: Aval, *, axis: int, index: int) -> Aval:
    return view_aval(
        x, x.shape[:axis] + x.shape[axis + 1 :], x.strides[:axis] + x.strides[axis + 1 :]
    )


def _select_vjp(g: Any, avals: Any, axis: int, index: int) -> Any:
    return slice_gradient(
        unsqueeze(g, axis=axis), shape=avals[0].shape, axis=axis, start=index, length=1, step=1
    )


select = Op(
    "select",
    _select_aval,
    view=lambda x, *, axis, index: index * x.strides[axis],
    vjp=(_select_vjp,),
)


select_at, slice_at, unsqueeze_at = map(view_call, (select, slice_, unsqueeze))


def _diagonal_aval(x: Aval, *, offset: int, first: int, second: int) -> Aval:
    rows, columns = x.shape[first], x.shape[second]
    length = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    kept = [i for i in range(x.ndim) if i not in (first, second)]
    shape = (*[x.shape[i] for i in kept], length)
    step = x.strides[first] + x.strides[second]
    return view_aval(x, shape, (*[x.strides[i] for i in kept], step))


def _diagonal_offset(x: Aval, *, offset: int, first: int, second: int) -> int:
    if _diagonal_aval(x, offset=offset, first=first, second=second).size == 0:
        return 0
    return offset * x.strides[second] if offset >= 0 else -offset * x.strides[first]


def _diagonal_vjp(g: Any, avals: Any, offset: int, first: int, second: int) -> Any:
    zero = zeros_like_aval(avals[0])
    chain = ((diagonal, (("offset", offset), ("first", first), ("second", second))),)
    return view_update(zero, g, chain=chain)


diagonal = Op("diagonal", _diagonal_aval, view=_diagonal_offset, vjp=(_diagonal_vjp,))


def _as_strided_aval(x: Aval, *, shape: Shape, strides: Shape, offset: int) -> Aval:
    return view_aval(x, shape, strides)


def _as_strided_vjp(g: Any, avals: Any, shape: Any, strides: Any, offset: int) -> Any:
    return as_strided_gradient(
        g, input_shape=avals[0].shape, input_strides=avals[0].strides, shape=shape,
        strides=strides, offset=offset,
    )  # fmt: skip


# ``offset`` counts from the tensor's own first element
as_strided = Op(
    "as_strided",
    _as_strided_aval,
    view=lambda x, *, shape, strides, offset: offset,
    vjp=(_as_strided_vjp,),
)


def _unfold_aval(x: Aval, *, axis: int, size: int, step: int) -> Aval:
    if not x.ndim:
        return view_aval(x, (size,), (1,))
    count = (x.shape[axis] - size) // step + 1
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :], size)
    stride = x.strides[axis]
    return view_aval(
        x, shape, (*x.strides[:axis], stride * step, *x.strides[axis + 1 :], stride)
    )


def _unfold_vjp(g: Any, avals: Any, axis: int, size: int, step: int) -> Any:
    described = _unfold_aval(
        aval(avals[0].shape, avals[0].dtype), axis=axis, size=size, step=step
    )
    return as_strided_gradient(
        g, input_shape=avals[0].shape, input_strides=contiguous_strides(avals[0].shape),
        shape=described.shape, strides=described.strides, offset=0,
    )  # fmt: skip


unfold = Op("unfold", _unfold_aval, view=lambda x, *, axis, size, step: 0, vjp=(_unfold_vjp,))

alias_view = Op(
    "alias",
    lambda x: x if not x.weak else aval(x.shape, x.dtype, x.strides, x.device),
    view=lambda x: 0,
    vjp=lambda g: g,
)


# --- copies ----------------------------------------------------------------------------------


def contiguous(x: Tensor) -> Tensor:
    """``x`` in C order; itself when it is so already."""
    if x.aval.contiguous:
        return x
    return clone(x, strides=contiguous_strides(x.aval.shape))


def in_format_of(like: Tensor, x: Tensor) -> Tensor:
    """``x`` in the format that ``like`` suggests: channels last or C order."""
    strides = image_strides(x.aval.shape, like.aval) or contiguous_strides(x.aval.shape)
    return x if x.aval.strides == strides else clone(x, strides=strides)


def clone_like(x: Tensor, layout: Aval) -> Tensor:
    """A fresh copy of ``x`` in the layout of ``layout`` where that is dense, without history."""
    strides = preserved_strides(layout) or contiguous_strides(layout.shape)
    if x.aval.shape != layout.shape:
        strides = contiguous_strides(x.aval.shape)
    return clone.evaluate(0, (x,), {"strides": strides}) if not state.interpreters else clone(
        x, strides=strides
    )


def _slice_gradient_aval(
    g: Aval, *, shape: Shape, axis: int, start: int, length: int, step: int
) -> Aval:
    return aval(shape, g.dtype, None, g.device)


def _pieces_avals(x: Aval, *, axis: int, sizes: Shape) -> tuple[Aval, ...]:
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return tuple(
        _slice_aval(x, axis=axis, start=a, length=n) for a, n in zip(starts, sizes, strict=True)
    )


def _several(g: Any) -> Any:
    return g if isinstance(g, tuple) else (g,)


def _pieces_vjp(g: Any, avals: Any, axis: int, sizes: Shape) -> Any:
    x = avals[0]
    shapes = [(*x.shape[:axis], n, *x.shape[axis + 1 :]) for n in sizes]
    parts = [
        zeros_like_aval(aval(shape, x.dtype, None, x.device)) if part is None else part
        for part, shape in zip(_several(g), shapes, strict=True)
    ]
    return cat(*parts, axis=axis)


def _rows_vjp(g: Any, avals: Any, axis: int) -> Any:
    x = avals[0]
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    parts = [
        zeros_like_aval(aval(shape, x.dtype, None, x.device)) if part is None else part
        for part in _several(g)
    ]
    return cat(*[unsqueeze(part, axis=axis) for part in parts], axis=axis)


def _together(name: str, avals: Any, vjp: Any) -> Op:
    """The tape's op of views that one function made together (``tape.several_views``)."""
    return Op(name, avals, view=lambda x, **params: 0, vjp=(vjp,))


split = _together("split", _pieces_avals, _pieces_vjp)
split_with_sizes = _together("split_with_sizes", _pieces_avals, _pieces_vjp)
unbind = _together(
    "unbind",
    lambda x, *, axis: tuple(_select_aval(x, axis=axis, index=i) for i in range(x.shape[axis])),
    _rows_vjp,
)

# zeros of ``shape`` with ``g`` at the places of a slice
slice_gradient = Op(
    "slice_backward",
    _slice_gradient_aval,
    "cat_flip_roll_pad.slice_gradient",
    vjp=lambda g, axis, start, length, step: slice_(
        g, axis=axis, start=start, length=length, step=step
    ),
)


def _as_strided_gradient_aval(
    g: Aval, *, input_shape: Shape, input_strides: Shape, shape: Shape, strides: Shape, offset: int
) -> Aval:
    return aval(input_shape, g.dtype, None, g.device)


def _as_strided_gradient_vjp(
    g: Any, input_shape: Any, input_strides: Any, shape: Any, strides: Any, offset: int
) -> Any:
    laid_out = clone(g, strides=input_strides) if aval(
        input_shape, g.aval.dtype, input_strides
    ).dense else contiguous(g)
    return as_strided(laid_out, shape=shape, strides=strides, offset=offset)


# each element of ``g`` added at its place in the input's layout
as_strided_gradient = Op(
    "as_strided_backward",
    _as_strided_gradient_aval,
    "cat_flip_roll_pad.as_strided_gradient",
    vjp=_as_strided_gradient_vjp,
)


def apply_chain(x: Tensor, chain: Any) -> Tensor:
    """Take the views that ``chain`` lists, one after another."""
    for op, params in chain:
        x = op(x, **dict(params))
    return x


def _view_update_aval(base: Aval, value: Aval, *, chain: Any) -> Aval:
    # an expanded gradient has elements that share memory: the result gets memory of its own
    strides = base.strides if base.dense else None
    same = base.dense and not base.weak
    return base if same else aval(base.shape, base.dtype, strides, base.device)


def _laid_out_as_base(g: Any, avals: Any, chain: Any) -> Any:
    """A gradient whose elements lie as those of the base, which as_strided counts on."""
    described = _view_update_aval(*avals, chain=chain)
    if all(op is not as_strided for op, _ in chain) or g.aval.strides == described.strides:
        return g
    flat = zeros_like_aval(aval((described.extent,), g.aval.dtype, None, g.aval.device))
    place = {"shape": described.shape, "strides": described.strides, "offset": 0}
    return view_update(as_strided(flat, **place), g, chain=())


def _view_update_base(g: Any, avals: Any, chain: Any) -> Any:
    g = _laid_out_as_base(g, avals, chain)
    return view_update(g, zeros_like_aval(avals[1]), chain=chain)


def _view_update_value(g: Any, avals: Any, chain: Any) -> Any:
    return clone(apply_chain(_laid_out_as_base(g, avals, chain), chain))


class _ViewUpdate(Op):
    """Copies the base, then writes ``value``, of any device, through the chain of views."""

    composed = True
    on_device = 1

    def bind(self, avals: Any, in_avals: Any, params: dict[str, Any]) -> Any:
        chain = params.get("chain", ())

        def run(out: Any, base: Any, value: Any) -> None:
            target = make(out, avals[0])
            copy_data(target, make(base, in_avals[0]))
            copy_data(apply_chain(target, chain), make(value, in_avals[1]))

        return run


# ``base`` with the elements that ``chain`` views replaced by ``value``
view_update = _ViewUpdate(
    "view_update",
    _view_update_aval,
    "elementwise.copy",
    vjp=(_view_update_base, _view_update_value),
    grad_name="torch::autograd::CopySlices",
    leading=0,
)


# a write over all of ``base``
overwrite = _ViewUpdate(
    "copy_",
    lambda base, value: _view_update_aval(base, value, chain=()),
    "elementwise.copy",
    vjp=(lambda g: zeros_like_aval(g.aval), lambda g: g),
    grad_name="torch::autograd::CopyBackwards",
)


def full_like_aval(described: Aval, value: Any) -> Tensor:
    """A tensor of this description, in C order, with every element ``value``."""
    if described.sharded:
        made: Tensor = callbacks.full_sharded(described, value)
        return made
    return full_flat(described.shape, described.dtype, value, described.device)


def zeros_like_aval(described: Aval) -> Tensor:
    return full_like_aval(described, 0)


def _cat_aval(*tensors: Aval, axis: int) -> Aval:
    first = tensors[0]
    total = 0
    dtype = dtypes.result_type(tensors)
    for position, t in enumerate(tensors):
        if t.ndim != first.ndim:
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {first.ndim} and {t.ndim}"
            )
        for i in range(t.ndim):
            if i != axis and t.shape[i] != first.shape[i]:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size "
                    f"{first.shape[i]} but got size {t.shape[i]} for tensor number {position} in "
                    "the list."
                )
        total += t.shape[axis]
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    return aval(shape, dtype, None, first.device)


def _cat_vjp(g: Any, needs: Any, avals: Any, axis: int) -> Any:
    start = 0
    gradients = []
    for need, t in zip(needs, avals, strict=True):
        length = t.shape[axis]
        gradients.append(slice_(g, axis=axis, start=start, length=length) if need else None)
        start += length
    return gradients


cat = Op(
    "cat",
    _cat_aval,
    "cat_flip_roll_pad.cat",
    vjp=_cat_vjp,
    layout=follow_all_images,
    autocast="widest",
)
# the same for inputs that have a new axis of length 1
stack = Op(
    "stack",
    _cat_aval,
    "cat_flip_roll_pad.cat",
    vjp=_cat_vjp,
    layout=follow_stacked,
    autocast="widest",
)


def _flip_aval(x: Aval, *, axes: tuple[int, ...]) -> Aval:
    return aval(x.shape, x.dtype, preserved_strides(x), x.device)


flip = Op(
    "flip",
    _flip_aval,
    "cat_flip_roll_pad.flip",
    vjp=lambda g, axes: flip(g, axes=axes),
)


def _roll_aval(x: Aval, *, shifts: tuple[int, ...], axes: tuple[int, ...]) -> Aval:
    return aval(x.shape, x.dtype, None, x.device)


roll = Op(
    "roll",
    _roll_aval,
    "cat_flip_roll_pad.roll",
    layout=follow_images,
    vjp=lambda g, shifts, axes: roll(g, shifts=tuple(-s for s in shifts), axes=axes),
)


def _pad_aval(x: Aval, value: Aval, *, padding: tuple[tuple[int, int], ...]) -> Aval:
    shape = []
    for n, (before, after) in zip(x.shape, padding, strict=True):
        if n + before + after < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
        shape.append(n + before + after)
    return aval(tuple(shape), x.dtype, None, x.device)


def _pad_vjp(g: Any, padding: Any) -> Any:
    return pad(g, constant(0), padding=tuple((-a, -b) for a, b in padding))


# padding: (before, after) for each axis; negative cuts
pad = Op(
    "constant_pad_nd",
    _pad_aval,
    "cat_flip_roll_pad.pad",
    layout=follow_images,
    vjp=(_pad_vjp, None),
)

from . import reduction  # noqa: E402 - which is made of these

# what element types that are stored alone have of these ops
only_moves(
    split, split_with_sizes, unbind, slice_gradient, as_strided_gradient, view_update,
    overwrite, cat, stack, roll, pad,
)  # fmt: skip
