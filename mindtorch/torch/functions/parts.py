"""Functions that take tensors apart, mostly into views, and that put them together."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.aval import contiguous_strides
from mindtorch.engine.ops import movement as ops
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant, from_array, places_of

from .._api.arguments import as_int, normalize_axis, require_tensors
from .._api.invalid_arguments import type_name
from .._api.out_rules import CAT, Out
from .._api.publish import function
from .._api.signatures import wrong_call
from .._api.warn_caller import warn_caller
from .shape import as_strided, ravel


@function(cacheable=True)
def narrow(input: Any, dim: int, start: Any, length: int) -> Any:  # noqa: A002
    """``length`` places of axis ``dim`` from ``start``."""
    if isinstance(start, EngineTensor) and (
        start.aval.ndim or start.aval.dtype.category != dtypes.INTEGER
    ):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    if not input.aval.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    axis = normalize_axis(dim, input.aval.ndim)
    size = input.aval.shape[axis]
    start, length = as_int(start), as_int(length)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size <= start <= size:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size}, {size}], but got {start})"
        )
    begin = start + size if start < 0 else start
    if begin + length > size:
        raise RuntimeError(
            f"start ({begin}) + length ({length}) exceeds dimension size ({size})."
        )
    return ops.slice_(input, axis=axis, start=begin, length=length, step=1)


@function(cacheable=True)
def select(input: Any, dim: int, index: Any) -> Any:  # noqa: A002
    """``input`` at ``index`` of axis ``dim``."""
    if not input.aval.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    axis = normalize_axis(dim, input.aval.ndim)
    size = input.aval.shape[axis]
    at = as_int(index)
    if not -size <= at < size:
        raise IndexError(
            f"select(): index {at} out of range for tensor of size {list(input.aval.shape)} at "
            f"dimension {axis}"
        )
    return ops.select(input, axis=axis, index=at + size if at < 0 else at)


@function(cacheable=True)
def unbind(input: Any, dim: int = 0) -> Any:  # noqa: A002
    """All slices along axis ``dim``, as a tuple."""
    axis = normalize_axis(dim, input.aval.ndim)
    if not input.aval.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    stride, at = input.aval.strides[axis], ops.select_at
    views = tuple([
        at(input, axis, i * stride, {"axis": axis, "index": i})
        for i in range(input.aval.shape[axis])
    ])
    tape.several_views(views, "Unbind", ops.unbind, {"axis": axis})
    return views


@function(
    home="functional", cacheable=True, synonyms={"split_size": "split_size_or_sections"},
    explained=False,
)  # fmt: skip
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Pieces along ``dim`` of one size (the last may be smaller), or of the sizes given.

    Args:
        split_size_or_sections: the length of a piece, or the lengths of all.
    """
    if not isinstance(tensor, EngineTensor):
        if not isinstance(tensor, str):  # which has a split of its own
            getattr(tensor, "split")  # noqa: B009  # raises, as torch's function does
        raise TypeError("must be str or None, not int")
    if not tensor.aval.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = normalize_axis(dim, tensor.aval.ndim)
    size = tensor.aval.shape[axis]
    given = split_size_or_sections
    if not isinstance(given, (int, EngineTensor)):
        wrong = wrong_call("split_with_sizes", (tensor, given, dim), {})
        if wrong is not None:
            raise wrong
    if isinstance(given, (tuple, list)):
        sizes = [as_int(n) for n in given]
        if any(n < 0 for n in sizes):
            raise RuntimeError(
                "split_with_sizes expects split_sizes have only non-negative entries, but got "
                f"split_sizes={sizes}"
            )
        if sum(sizes) != size:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's "
                f"size at dimension {axis}), but got split_sizes={sizes}"
            )
    else:
        step = as_int(given)
        if step < 0:
            raise RuntimeError(
                f"split expects split_size be non-negative, but got split_size={step}"
            )
        if step == 0 and size:
            raise RuntimeError(
                "split_size can only be 0 if dimension size is 0, but got dimension size of "
                f"{size}"
            )
        sizes = [min(step, size - i) for i in range(0, size, step)] if size else [0]
    views = _slices(tensor, axis, sizes)
    listed = isinstance(given, (tuple, list))
    params = {"axis": axis, "sizes": tuple(sizes)}
    name, op = ("SplitWithSizes", ops.split_with_sizes) if listed else ("Split", ops.split)
    tape.several_views(views, name, op, params)
    return views


def _slices(x: Any, axis: int, sizes: list[int]) -> tuple[Any, ...]:
    """Pieces of ``sizes``, one after another."""
    pieces, start = [], 0
    for n in sizes:
        pieces.append(_piece(x, axis, start, n))
        start += n
    return tuple(pieces)


def _piece(x: Any, axis: int, start: int, length: int) -> Any:
    """A slice, by a plan that all of one length share."""
    params = {"axis": axis, "start": start, "length": length, "step": 1}
    return ops.slice_at(x, (axis, length, 1), start * x.aval.strides[axis], params)


@function(cacheable=True)
def split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> Any:  # noqa: A002
    """Parts of these lengths along ``dim``; views.

    Raises:
        RuntimeError: the lengths do not add up to that of ``dim``.
    """
    return split(input, list(split_sizes), dim)


@function(cacheable=True)
def chunk(input: Any, chunks: int, dim: int = 0) -> Any:  # noqa: A002
    """At most ``chunks`` pieces of one size along ``dim``."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if not input.aval.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    axis = normalize_axis(dim, input.aval.ndim)
    size = input.aval.shape[axis]
    step = -(-size // chunks)
    if step == 0:
        return split(input, [0] * chunks, axis)
    return split(input, step, axis)


@function(cacheable=True)
def tensor_split(
    input: Any,  # noqa: A002
    indices_or_sections: Any = None,
    dim: int = 0,
    *,
    indices: Any = None,
    sections: int | None = None,
) -> Any:
    """Pieces along ``dim`` of sizes as equal as can be, or cut at the indices.

    The second argument has three names: ``indices`` for a sequence of cuts, ``sections`` for a
    number of pieces, and the one that does not say which.

    Raises:
        TypeError: none of the three is given, or more than one.
    """
    named = [each for each in (indices_or_sections, indices, sections) if each is not None]
    if len(named) != 1:
        raise TypeError("tensor_split() takes one of indices_or_sections, indices and sections")
    if not input.aval.ndim:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    axis = normalize_axis(dim, input.aval.ndim)
    size = input.aval.shape[axis]
    given = named[0]
    if isinstance(given, EngineTensor):
        if given.aval.dtype is not dtypes.int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{dtypes.scalar_type_name(given.aval.dtype)}"
            )
        if given.aval.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                f"one-dimensional tensor, but got a tensor with {given.aval.ndim} dims"
            )
        given = given.tolist()
    if isinstance(given, int):
        if given <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {given}")
        base, extra = divmod(size, given)
        return _slices(input, axis, [base + (i < extra) for i in range(given)])
    cuts = [0, *[min(max(i + size if i < 0 else i, 0), size) for i in given], size]
    return tuple(
        _piece(input, axis, a, max(b - a, 0)) for a, b in pairwise(cuts)
    )


def _require_tensors(name: str, tensors: Any) -> None:
    if isinstance(tensors, EngineTensor) or not hasattr(tensors, "__iter__"):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{'Tensor' if isinstance(tensors, EngineTensor) else type(tensors).__name__}"
        )


@function(
    out=Out(cast=CAT, no_overlap=True),
    method=False, aliases=("concat", "concatenate"), cacheable=True,
)  # fmt: skip
def cat(tensors: Any, dim: int = 0) -> Any:
    """The tensors one after another along ``dim``."""
    _require_tensors("cat", tensors)
    tensors = tuple(tensors)
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, x in enumerate(tensors):
        if not x.aval.ndim:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {i}) cannot be concatenated"
            )
    kept = [x for x in tensors if x.aval.shape != (0,)] or [tensors[0]]
    axis = normalize_axis(dim, kept[0].aval.ndim)
    if len(kept) != len(tensors):  # what is left out still counts in the type
        kind = dtypes.result_type([x.aval for x in tensors])
        kept = [x if x.aval.dtype is kind else ops.cast(x, dtype=kind) for x in kept]
    return ops.cat(*kept, axis=axis)


@function(out=Out(cast=CAT), method=False, cacheable=True)
def stack(tensors: Any, dim: int = 0) -> Any:
    """The tensors, all of one shape, along a new axis ``dim``."""
    _require_tensors("stack", tensors)
    tensors = tuple(tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0].aval.shape
    for i, x in enumerate(tensors):
        if x.aval.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 "
                f"and {list(x.aval.shape)} at entry {i}"
            )
    axis = normalize_axis(dim, len(first) + 1)
    rows = [ops.unsqueeze(x, axis=axis) for x in tensors]
    return ops.stack(*rows, axis=axis)


def at_least(x: Any, ndim: int) -> Any:
    shape = x.aval.shape
    if len(shape) >= ndim:
        return x
    if shape and (ndim == 2 or len(shape) == 2):
        return ops.unsqueeze(x, axis=0 if ndim == 2 else 2)
    if shape:
        return ops.unsqueeze(ops.unsqueeze(x, axis=0), axis=2)
    return ops.reshape(x, (1,) * ndim)


def _define_at_least(ndim: int) -> None:
    def body(*tensors: Any) -> Any:
        alone = len(tensors) == 1 and not isinstance(tensors[0], (tuple, list))
        many = tensors if alone or len(tensors) != 1 else tensors[0]
        require_tensors(many)
        if alone:
            return at_least(tensors[0], ndim)
        return tuple(at_least(x, ndim) for x in many)

    about = f"Tensors with axes of length 1 added until they have {ndim}; views."
    function(method=False, name=f"atleast_{ndim}d", about=about, home="functional")(body)


for _ndim in (1, 2, 3):
    _define_at_least(_ndim)


def _counts(repeats: Any, shape_text: str, least: int) -> Any:
    """How often each slice is repeated, as an array; torch's errors for other tensors."""
    known = repeats.aval.dtype in (dtypes.int32, dtypes.int64)
    if not least <= repeats.aval.ndim <= 1 and (known or not least):
        raise RuntimeError(shape_text)
    if not known:
        kind = dtypes.scalar_type_name(repeats.aval.dtype)
        raise NotImplementedError(f"\"repeat_interleave_cpu\" not implemented for '{kind}'")
    counts = repeats.detach().array()
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    return counts


@function(cacheable=True)
def repeat_interleave(
    input: Any = None,  # noqa: A002
    repeats: Any = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Any:
    """Each slice along ``dim`` repeated; over the flat tensor without ``dim``.

    Args:
        repeats: how often each slice, a number for all; None: ``input`` is these counts, and 0, 1,
            ... are repeated.
        output_size: the result's length, if known.
    """

    input, repeats = (repeats, None) if input is None else (input, repeats)  # noqa: A001
    if repeats is None:
        counts = _counts(input, "repeat_interleave only accept 1D vector as repeat", 1)
        places = np.repeat(np.arange(counts.size), counts)
        if output_size is not None and output_size != places.size:
            raise RuntimeError("allocated size does not match required size")
        return from_array(places, input.aval.device)
    if dim is None:
        input, dim = ops.reshape(input, (input.aval.size,)), 0  # noqa: A001
    axis = normalize_axis(dim, input.aval.ndim)
    length = input.aval.shape[axis]
    counted = isinstance(repeats, EngineTensor)
    if isinstance(repeats, EngineTensor):
        counts = _counts(repeats, "repeats must be 0-dim or 1-dim tensor", 0)
    else:
        counts = np.array(repeats)
        if (counts < 0).any():
            raise RuntimeError("Repeats must be non-negative")
    if counts.ndim == 1 and counts.size not in (1, length):
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.size} and input.size({axis}) = {length}"
        )
    if not counted and not counts.ndim:
        return _each_repeated(input, axis, int(counts), output_size)
    places = np.repeat(np.arange(length), counts)
    if output_size is not None and output_size != places.size:
        raise RuntimeError(
            "allocated size does not match required size" if counted else
            f"repeat_interleave: Invalid output_size, expected {places.size} but got {output_size}"
        )
    kept = from_array if counted else places_of
    found = input.index_select(axis, kept(places, input.aval.device))
    return found if counted else tape.named(found, "ViewBackward0")


def _each_repeated(x: Any, axis: int, repeats: int, output_size: int | None) -> Any:
    """:func:`repeat_interleave` of all slices as often: a copy of an expanded view."""
    *before, length = x.aval.shape[: axis + 1]
    after = x.aval.shape[axis + 1 :]
    if output_size is not None and output_size != length * repeats:
        raise RuntimeError(
            f"repeat_interleave: Invalid output_size, expected {length * repeats} but got "
            f"{output_size}"
        )
    shape = (*before, length, repeats, *after)
    repeated = ops.expand(ops.unsqueeze(x, axis=axis + 1), shape=shape)
    whole = ops.clone(repeated, strides=contiguous_strides(shape))
    return ops.reshape(whole, (*before, length * repeats, *after))


@function(method=False, home="functional", cacheable=True)
def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """The coordinates of a grid, one tensor for each axis ("ij" or "xy" order).

    Args:
        indexing: "ij": axes in the order of ``tensors``; "xy": the first two exchanged.
    """
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    require_tensors(tensors)
    if indexing is not None and not isinstance(indexing, str):
        raise TypeError(
            f"meshgrid(): argument 'indexing' must be str, not {type_name(indexing)}"
        )
    for x in tensors:
        if x.aval.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x}"
            )
    for asked in ("dtype", "device"):
        if len({getattr(x.aval, asked) for x in tensors}) > 1:
            raise RuntimeError(f"meshgrid expects all tensors to have the same {asked}")
    if indexing is None:

        warn_caller(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument.",
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            'torch.meshgrid: indexing must be one of "xy" or "ij", but received: ' + indexing
        )
    swap = indexing == "xy" and len(tensors) >= 2
    many = [tensors[1], tensors[0], *tensors[2:]] if swap else list(tensors)
    shape = tuple(x.aval.size for x in many)
    grids = []
    for i, x in enumerate(many):
        own = tuple(x.aval.size if j == i else 1 for j in range(len(many)))
        grids.append(ops.expand(ops.reshape(x, own), shape=shape))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@function(method=False, home="functional", cacheable=True)
def block_diag(*tensors: Any) -> Any:
    """A matrix with the tensors as blocks on its diagonal."""
    require_tensors(tensors)
    if not tensors:
        return tape.named(from_array(np.empty((1, 0), dtypes.default.np)), "BlockDiagBackward0")
    for place, x in enumerate(tensors):
        if x.aval.ndim > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{place} has {x.aval.ndim} dimensions"
            )
    blocks = [at_least(x, 2) for x in tensors]
    width = sum(x.aval.shape[1] for x in blocks)
    rows, left = [], 0
    for x in blocks:
        n = x.aval.shape[1]
        rows.append(ops.pad(x, constant(0), padding=((0, 0), (left, width - left - n))))
        left += n
    return tape.named(ops.cat(*rows, axis=0), "BlockDiagBackward0")


@function(method=False, home="functional", cacheable=True)
def cartesian_prod(*tensors: Any) -> Any:
    """All combinations of the elements of 1-d tensors, one a row."""
    require_tensors(tensors)
    for x in tensors:
        if x.aval.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(x.aval.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    if len({x.aval.dtype for x in tensors}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    return stack([ravel(x) for x in meshgrid(*tensors, indexing="ij")], -1)


@function()
def slice_inverse(
    input: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1  # noqa: A002
) -> Any:
    """A view of ``input``'s memory with the shape, strides and offset of ``src``.

    Args:
        src: the tensor of which ``input`` is a slice.
        dim, start, end, step: the slice, which does not change the view, as in torch.
    """
    return as_strided(input, src.shape, src.stride(), src.storage_offset())
