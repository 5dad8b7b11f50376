"""Places and pieces of tensors with MindSpore's names and arguments: slices, scatters, segments."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

from mindtorch import torch
from mindtorch.engine import dtypes
from mindtorch.engine.autograd import api, inplace

from ..common.tensor import Tensor, adopting, as_tensor, t
from ._words import named

_SAME = """
    cartesian_prod index_select select_scatter slice_scatter column_stack dstack hstack vstack
""".split()
for _name in _SAME:
    globals()[_name] = named(getattr(torch, _name))
row_stack = named(torch.vstack)


def _several(name: str) -> Callable[..., Any]:
    function = adopting(getattr(torch, name))

    def call(inputs: Any) -> Any:
        if isinstance(inputs, (tuple, list)):
            return [function(each) for each in inputs]
        return function(inputs)

    call.__name__ = name
    call.__doc__ = f"A tensor, or each of several, with at least {name[8]} axes."
    return call


atleast_1d, atleast_2d, atleast_3d = map(_several, ("atleast_1d", "atleast_2d", "atleast_3d"))


def gather_d(x: Any, dim: int, index: Any) -> Any:
    """The elements that ``index`` names along ``dim``."""
    return t.gather(x, dim, index.long())


def index_fill(x: Any, axis: int, index: Any, value: Any) -> Any:
    """``x`` with ``value`` in the slices along ``axis`` that ``index``, of whole numbers, names."""
    return t.index_fill(x, int(axis), as_tensor(index).long(), value)


def slice(input_x: Any, begin: Any, size: Any) -> Any:  # noqa: A001
    """``size`` elements from ``begin`` on along each axis; -1 for all that follow."""
    places = tuple(
        builtins.slice(int(b), None if n == -1 else int(b) + int(n))
        for b, n in zip(begin, size, strict=True)
    )
    return input_x[places]


def strided_slice(
    input_x: Any, begin: Any, end: Any, strides: Any, begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0,
) -> Any:  # fmt: skip
    """``input_x[begin:end:strides]`` for each axis. Bit i of a mask: axis i begins at its
    beginning, ends at its end, is an ellipsis, is new, is one place.

    Args:
        begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask: bits, one for each
            entry: it begins (ends) with the axis, stands for all axes that are left, makes a new
            axis, or takes one place and no axis.
    """
    places: list[Any] = []
    for i, (b, e, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << i
        if ellipsis_mask & bit:
            places.append(...)
        elif new_axis_mask & bit:
            places.append(None)
        elif shrink_axis_mask & bit:
            places.append(int(b))
        else:
            first = None if begin_mask & bit else int(b)
            places.append(builtins.slice(first, None if end_mask & bit else int(e), int(step)))
    steps = [p.step for p in places if isinstance(p, builtins.slice)]
    if any(step < 0 for step in steps):
        return _backwards(input_x, places)
    return input_x[tuple(places)]


def _backwards(x: Any, places: list[Any]) -> Any:
    """Slices of which some run backwards: their places one by one."""
    if any(p is ... or p is None for p in places):
        raise NotImplementedError("strided_slice: new axes together with negative strides")
    axis = 0
    for place in places:
        if isinstance(place, int):
            x = t.select(x, axis, place)
            continue
        chosen = list(range(*place.indices(x.aval.shape[axis])))
        x = t.index_select(x, axis, Tensor(chosen, dtypes.int64))
        axis += 1
    return x


def reverse(x: Any, axis: Any) -> Any:
    """The elements in the reverse order along axes."""
    return t.flip(x, (axis,) if isinstance(axis, int) else tuple(axis))


def reverse_sequence(x: Any, seq_lengths: Any, seq_dim: int, batch_dim: int = 0) -> Any:
    """The first ``seq_lengths[i]`` elements along ``seq_dim`` of example i reversed.

    Args:
        batch_dim: the axis of examples.
    """
    moved = t.movedim(x, (batch_dim, seq_dim), (0, 1))
    places = t.unsqueeze(t.arange(moved.aval.shape[1]), 0)
    lengths = t.unsqueeze(as_tensor(seq_lengths).long(), 1)
    order = t.where(t.lt(places, lengths), lengths - 1 - places, places)
    rows = t.unsqueeze(t.arange(moved.aval.shape[0]), 1)
    return t.movedim(moved[rows, order], (0, 1), (batch_dim, seq_dim))


def repeat_elements(x: Any, rep: int, axis: int = 0) -> Any:
    """Each element ``rep`` times along ``axis``."""
    return t.repeat_interleave(x, int(rep), axis)


def sequence_mask(lengths: Any, maxlen: int | None = None) -> Any:
    """Whether place j is before ``lengths[i]``.

    Args:
        maxlen: the result's length; None for the largest of ``lengths``.
    """
    lengths = as_tensor(lengths)
    count = int(lengths.max().item()) if maxlen is None else int(maxlen)
    return t.lt(t.arange(count), t.unsqueeze(lengths, -1))


def fills(x: Any, value: Any) -> Any:
    """``value`` everywhere, in the shape and type of ``x``."""
    return t.full_like(x, float(value) if hasattr(value, "item") else value)


def dyn_shape(input_x: Any) -> Any:
    """The lengths of the axes as a tensor."""
    return Tensor(builtins.list(input_x.aval.shape), dtypes.int64)


def tuple_to_array(input_x: Any) -> Any:
    """A tensor of numbers: int32, or float32."""
    whole = all(isinstance(each, int) for each in input_x)
    return Tensor(builtins.list(input_x), dtypes.int32 if whole else dtypes.float32)


def deepcopy(input_x: Any) -> Any:
    """A tensor of its own with the same elements."""
    return input_x.clone()


def matrix_diag(x: Any) -> Any:
    """Matrices with the rows of ``x`` as main diagonals."""
    return t.diag_embed(x)


def matrix_diag_part(x: Any) -> Any:
    """The main diagonals of matrices."""
    return t.diagonal(x, 0, -2, -1)


def matrix_set_diag(x: Any, diagonal: Any) -> Any:
    """Matrices with other main diagonals.

    Args:
        diagonal: (..., min(m, n)).
    """
    return t.diagonal_scatter(x, diagonal, 0, -2, -1)


# --- scatters ----------------------------------------------------------------------------------


def _combine(kind: str, base: Any, places: Any, values: Any) -> Any:
    """Rows of ``base`` at ``places`` (flat) combined with rows of ``values``."""
    values = values.to(base.aval.dtype)
    if kind in ("add", "sub"):
        return t.index_add(base, 0, places, values, alpha=1 if kind == "add" else -1)
    if kind == "update":
        return t.index_copy(base, 0, places, values)
    if kind == "div":
        divisors = _combine("mul", t.ones_like(base), places, values)
        return t.div(base, divisors).to(base.aval.dtype)
    reduce = {"max": "amax", "min": "amin", "mul": "prod"}[kind]
    rows = t.reshape(places, (-1, *[1] * (values.aval.ndim - 1)))
    return t.scatter_reduce(base, 0, t.broadcast_to(rows, values.aval.shape), values, reduce)


def _rows(kind: str, x: Any, indices: Any, updates: Any) -> Any:
    rest = x.aval.shape[1:]
    values = t.reshape(t.broadcast_to(updates, (*indices.aval.shape, *rest)), (-1, *rest))
    return _combine(kind, x, t.reshape(indices, (-1,)).long(), values)


def _nested(kind: str, x: Any, indices: Any, updates: Any) -> Any:
    """The last axis of ``indices`` names a place of the first axes of ``x``."""
    depth = indices.aval.shape[-1]
    lead, rest = x.aval.shape[:depth], x.aval.shape[depth:]
    places = t.zeros(indices.aval.shape[:-1], dtype=dtypes.int64)
    for axis in range(depth):
        places = places * lead[axis] + indices[..., axis].long()
    flat = t.reshape(x, (math.prod(lead), *rest))
    values = t.reshape(as_tensor(updates), (-1, *rest))
    return t.reshape(_combine(kind, flat, t.reshape(places, (-1,)), values), x.aval.shape)


_MEANING = {
    "add": "added to", "sub": "subtracted from", "mul": "multiplied with", "div": "dividing",
    "max": "or the larger of", "min": "or the smaller of", "update": "in place of",
}  # fmt: skip


def _scatter(prefix: str, kind: str, write: bool, find: Any) -> None:
    def call(input_x: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
        if not write:
            return find(kind, input_x, indices, as_tensor(updates))
        with api.grad_mode(False):
            inplace.copy_(input_x, find(kind, input_x.detach(), indices, as_tensor(updates)))
        return input_x

    call.__name__ = f"{prefix}_{kind}"
    where = "in place" if write else "in a new tensor"
    call.__doc__ = f"``updates`` {_MEANING[kind]} the elements at ``indices``, {where}."
    globals()[call.__name__] = call


for _kind in _MEANING:
    _scatter("scatter", _kind, True, _rows)
    _scatter("scatter_nd", _kind, True, _nested)
    _scatter("tensor_scatter", _kind, False, _nested)


def scatter_nd(indices: Any, updates: Any, shape: Any) -> Any:
    """Zeros with ``updates`` added at places."""
    zeros = t.zeros(tuple(int(n) for n in shape), dtype=updates.aval.dtype)
    return _nested("add", zeros, indices, updates)


def scatter(input: Any, axis: int, index: Any, src: Any) -> Any:  # noqa: A002
    """``src`` in place of the elements that ``index`` names along ``axis``."""
    return t.scatter(input, axis, index.long(), src)


def tensor_scatter_elements(
    input_x: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "none"
) -> Any:
    """``updates`` in place of, or ("add") added to, the elements named along ``axis``."""
    if reduction not in ("none", "add"):
        raise ValueError(f"reduction must be none or add, but got {reduction!r}")
    function = t.scatter if reduction == "none" else t.scatter_add
    return function(input_x, axis, indices.long(), updates)


def index_add(
    x: Any, indices: Any, y: Any, axis: int, use_lock: bool = True, check_index_bound: bool = True
) -> Any:
    """Slices of ``y`` added to those of the parameter ``x`` that ``indices`` names, in place.

    Args:
        check_index_bound: of no effect.
    """
    with api.grad_mode(False):
        inplace.copy_(x, t.index_add(x.detach(), axis, indices.long(), y))
    return x


def inplace_index_add(var: Any, indices: Any, updates: Any, axis: int) -> Any:
    """Slices of ``updates`` added to those of the parameter ``var``, in place."""
    return index_add(var, indices, updates, axis)


def _of_rows(kind: str) -> Callable[..., Any]:
    def call(x: Any, v: Any, indices: Any) -> Any:
        listed = [indices] if isinstance(indices, int) else builtins.list(indices)
        return _combine(kind, x, Tensor(listed, dtypes.int64), v)

    call.__name__ = "inplace_" + kind
    call.__doc__ = f"``v`` {_MEANING[kind]} the rows at ``indices``, in a new tensor."
    return call


inplace_add, inplace_sub, inplace_update = map(_of_rows, ("add", "sub", "update"))


# --- segments ----------------------------------------------------------------------------------


def _segments(kind: str, x: Any, segment_ids: Any, number: Any) -> Any:
    lead = segment_ids.aval.ndim
    shape = (int(number), *x.aval.shape[lead:])
    values = t.reshape(x, (-1, *x.aval.shape[lead:]))
    places = t.reshape(segment_ids, (-1,)).long()
    dtype = x.aval.dtype
    limits = torch.finfo(dtype) if dtype.category == dtypes.FLOAT else torch.iinfo(dtype)
    first = {"add": 0, "mul": 1, "max": limits.min, "min": limits.max}[kind]
    return _combine(kind, t.full(shape, first, dtype=dtype), places, values)


def unsorted_segment_sum(input_x: Any, segment_ids: Any, num_segments: Any) -> Any:
    """The sum of the slices of each segment."""
    return _segments("add", input_x, segment_ids, num_segments)


def unsorted_segment_prod(x: Any, segment_ids: Any, num_segments: Any) -> Any:
    """The product of the slices of each segment."""
    return _segments("mul", x, segment_ids, num_segments)


def unsorted_segment_max(x: Any, segment_ids: Any, num_segments: Any) -> Any:
    """The largest elements of each segment; the type's smallest number where it is empty."""
    return _segments("max", x, segment_ids, num_segments)


def unsorted_segment_min(x: Any, segment_ids: Any, num_segments: Any) -> Any:
    """The smallest elements of each segment; the type's largest number where it is empty."""
    return _segments("min", x, segment_ids, num_segments)


_LOCAL = {
    "Any", "Callable", "Tensor", "adopting", "annotations", "as_tensor", "api", "builtins",
    "dtypes", "inplace", "math", "named", "t", "torch",
}  # fmt: skip
__all__ = [name for name in list(globals()) if not name.startswith("_") and name not in _LOCAL]
