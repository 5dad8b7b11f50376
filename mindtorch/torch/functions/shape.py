"""Functions that change a tensor's shape, mostly views."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from mindtorch.engine import dtypes, tape, vmap
from mindtorch.engine.aval import broadcast_shapes, channels_last_strides, contiguous_strides
from mindtorch.engine.core import state
from mindtorch.engine.dtypes import scalar_type_name
from mindtorch.engine.ops import complex as complex_ops
from mindtorch.engine.ops import movement as ops
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import note_shared, typed_buffer

from .._arguments import as_int, as_shape, check_form, infer_shape, normalize_axis
from .._registry import METHODS, function
from .._types import channels_last, channels_last_3d, contiguous_format, preserve_format


@function(namespace=False)
def view(self: Any, *shape: Any, dtype: Any = None) -> Any:
    """The same elements seen with another shape, or (``view(dtype)``) as another type."""
    if dtype is None and len(shape) == 1 and isinstance(shape[0], dtypes.DType):
        dtype = shape[0]
    if dtype is not None:
        return view_as_dtype(self, dtype)
    if not shape:
        raise TypeError("view() received an invalid combination of arguments - got ()")
    listed = len(shape) > 1 and isinstance(shape[0], float)
    check_form("view", not listed, shape, "torch.dtype dtype", "tuple of ints size")
    return ops.view(self, shape=infer_shape(as_shape(shape, "view"), self.aval.size))


def view_as_dtype(x: Any, dtype: dtypes.DType) -> Any:
    """The bytes of ``x`` read as ``dtype``; the last axis grows or shrinks by the ratio."""
    if state.interpreters and not vmap.is_mapped(x):
        outside = getattr(state.interpreters[-1], "outside", None)
        if outside is None:
            raise NotImplementedError("view(dtype) in a graph")
        return outside(view_as_dtype, x, dtype)
    ratio = dtype.itemsize // x.aval.dtype.itemsize
    result = complex_ops.view_dtype(x, dtype=dtype)
    if ratio > 1 and x._offset % ratio:
        raise RuntimeError(
            f"self.storage_offset() must be divisible by {ratio} to view "
            f"{scalar_type_name(x.aval.dtype)} as {scalar_type_name(dtype)} (different "
            f"element sizes), but got {x._offset}"
        )
    return result


@function()
def reshape(input: Any, *shape: Any, **kwargs: Any) -> Any:  # noqa: A002
    """The same elements with another shape; a view where the layout allows it."""
    sizes = (kwargs.pop("shape"),) if "shape" in kwargs else shape
    if kwargs:
        raise TypeError(f"reshape() got an unexpected keyword argument '{next(iter(kwargs))}'")
    return ops.reshape(input, infer_shape(as_shape(sizes, "reshape", "shape"), input.aval.size))


@function(namespace=False)
def view_as(self: Any, other: Any) -> Any:
    return ops.view(self, shape=infer_shape(other.aval.shape, self.aval.size))


@function(namespace=False)
def reshape_as(self: Any, other: Any) -> Any:
    return ops.reshape(self, infer_shape(other.aval.shape, self.aval.size))


@function()
def permute(input: Any, *dims: Any, **kwargs: Any) -> Any:  # noqa: A002
    """``input`` with its axes in the order ``dims``."""
    given = as_shape((kwargs["dims"],) if "dims" in kwargs else dims, "permute", "dims")
    ndim = input.aval.ndim
    if len(given) != ndim:
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal "
            f"to len(dims) = {len(given)}"
        )
    axes = tuple(normalize_axis(d, ndim) for d in given)
    if len(set(axes)) != len(axes):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return ops.permute(input, axes=axes)


@function(aliases=("swapaxes", "swapdims"))
def transpose(input: Any, dim0: int, dim1: int) -> Any:  # noqa: A002
    """``input`` with two axes exchanged."""
    return ops.transpose(input, as_int(dim0), as_int(dim1))


@function()
def t(input: Any) -> Any:  # noqa: A002
    """The transpose of a matrix; a vector or number as it is."""
    if input.aval.ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {input.aval.ndim}D"
        )
    return ops.transpose(input, 0, 1) if input.aval.ndim == 2 else ops.alias_view(input)


@function()
def adjoint(input: Any) -> Any:  # noqa: A002
    """The conjugate transpose of the last two axes."""
    swapped = ops.transpose(input, -2, -1)
    return swapped.conj() if input.aval.dtype.is_complex else swapped


@function(aliases=("moveaxis",))
def movedim(input: Any, source: Any, destination: Any) -> Any:  # noqa: A002
    """Move axes ``source`` to the places ``destination``."""
    ndim = input.aval.ndim
    src = [source] if isinstance(source, int) else list(source)
    dst = [destination] if isinstance(destination, int) else list(destination)
    if len(src) != len(dst):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source "
            f"({src} dims) should contain the same number of dims as destination ({dst} dims)"
        )
    src = [normalize_axis(d, ndim) for d in src]
    dst = [normalize_axis(d, ndim) for d in dst]
    for name, given, axes in (("source", source, src), ("destination", destination, dst)):
        if len(set(axes)) != len(axes):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(given)})")
    if not ndim:
        return ops.alias_view(input)
    order = [i for i in range(ndim) if i not in src]
    for place, axis in sorted(zip(dst, src, strict=True)):
        order.insert(place, axis)
    return ops.permute(input, axes=tuple(order))


@function()
def squeeze(input: Any, dim: Any = None) -> Any:  # noqa: A002
    """``input`` without the axes (of ``dim``) that have length 1."""
    ndim = input.aval.ndim
    if dim is None:
        axes = tuple(range(ndim))
    elif isinstance(dim, (tuple, list)):
        axes = tuple(normalize_axis(d, ndim) for d in dim)
    else:
        axes = (normalize_axis(as_int(dim), ndim),)
    return ops.squeeze(input, axes=axes)


@function()
def unsqueeze(input: Any, dim: int) -> Any:  # noqa: A002
    """``input`` with an axis of length 1 put in at ``dim``."""
    return ops.unsqueeze(input, axis=normalize_axis(as_int(dim), input.aval.ndim + 1))


@function(namespace=False)
def expand(self: Any, *sizes: Any, implicit: bool = False) -> Any:
    """``self`` repeated along axes of length 1 without copying; -1 keeps a length."""
    shape = as_shape(sizes, "expand")
    own = self.aval.shape
    extra = len(shape) - len(own)
    if extra < 0:
        raise RuntimeError(
            f"expand(torch.{_legacy(self)}{{{list(own)}}}, size={list(shape)}): the number of "
            "sizes "
            f"provided ({len(shape)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(own)})"
        )
    full = []
    for i, n in enumerate(shape):
        if n == -1:
            if i < extra:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, "
                    f"non-existing dimension {i}"
                )
            n = own[i - extra]
        full.append(n)
    return ops.expand(self, shape=tuple(full))


def _legacy(x: Any) -> str:
    return f"{dtypes.scalar_type_name(x.aval.dtype)}Tensor"


@function()
def broadcast_to(input: Any, *size: Any, **kwargs: Any) -> Any:  # noqa: A002
    return expand(input, *(size or (kwargs["size"],)))


@function(namespace=False)
def expand_as(self: Any, other: Any) -> Any:
    return expand(self, other.aval.shape)


@function(method=False)
def broadcast_tensors(*tensors: Any) -> Any:
    """The tensors expanded to their common shape."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    shape = broadcast_shapes(*[x.aval.shape for x in tensors])
    return tuple(ops.expand(x, shape=shape) for x in tensors)


@function(namespace=False)
def repeat(self: Any, *repeats: Any) -> Any:
    """``self`` laid ``repeats`` times along each axis."""
    counts = as_shape(repeats, "repeat", "repeats")
    ndim = self.aval.ndim
    if len(counts) < ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    shape = (1,) * (len(counts) - ndim) + self.aval.shape
    full = [c * n for c, n in zip(counts, shape, strict=True)]
    for n in full:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {full}")
    x = ops.reshape(self, tuple(v for n in shape for v in (1, n)))
    x = ops.expand(x, shape=tuple(v for c, n in zip(counts, shape, strict=True) for v in (c, n)))
    return ops.reshape(
        ops.clone(x), tuple(c * n for c, n in zip(counts, shape, strict=True))
    )


@function()
def tile(input: Any, *dims: Any, **kwargs: Any) -> Any:  # noqa: A002
    """As :func:`repeat`, with missing counts taken as 1."""
    counts = as_shape((kwargs["dims"],) if "dims" in kwargs else dims, "tile", "dims")
    return repeat(input, (1,) * (input.aval.ndim - len(counts)) + counts)


@function()
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:  # noqa: A002
    """Axes ``start_dim`` to ``end_dim`` made one."""
    ndim = input.aval.ndim
    first, last = normalize_axis(start_dim, ndim), normalize_axis(end_dim, ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    shape = input.aval.shape
    if not ndim:
        return ops.reshape(input, (1,))
    if first == last:
        return input
    count = 1
    for n in shape[first : last + 1]:
        count *= n
    return ops.reshape(input, (*shape[:first], count, *shape[last + 1 :]))


@function()
def ravel(input: Any) -> Any:  # noqa: A002
    return ops.reshape(input, (input.aval.size,))


@function()
def unflatten(input: Any, dim: int, sizes: Any) -> Any:  # noqa: A002
    """Axis ``dim`` split into the lengths ``sizes`` (one may be -1)."""
    axis = normalize_axis(dim, input.aval.ndim)
    shape = input.aval.shape
    inner = as_shape((sizes,))
    if not inner:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if not shape:
        raise RuntimeError(
            "unflatten got an unexpected error:\n"
            "Dimension specified as 0 but tensor has no dimensions"
        )
    try:
        inner = infer_shape(inner, shape[axis])
    except RuntimeError as error:
        if "is invalid for input of size" not in str(error):
            raise RuntimeError(f"unflatten got an unexpected error:\n{error}") from None
        raise RuntimeError(
            f"unflatten: Provided sizes {list(inner)} don't multiply up to the size of dim {axis} "
            f"({shape[axis]}) in the input tensor"
        ) from None
    return ops.reshape(input, (*shape[:axis], *inner, *shape[axis + 1 :]))


@function()
def narrow(input: Any, dim: int, start: Any, length: int) -> Any:  # noqa: A002
    """``length`` places of axis ``dim`` from ``start``."""
    if isinstance(start, EngineTensor) and (
        start.aval.ndim or start.aval.dtype.category != dtypes.INTEGER
    ):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    axis = normalize_axis(dim, input.aval.ndim)
    if not input.aval.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    size = input.aval.shape[axis]
    start = as_int(start)
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
    return ops.slice_(input, axis=axis, start=begin, length=length)


@function()
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


@function()
def unbind(input: Any, dim: int = 0) -> Any:  # noqa: A002
    """All slices along axis ``dim``, as a tuple."""
    axis = normalize_axis(dim, input.aval.ndim)
    if not input.aval.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    views = tuple([
        ops.select(input, axis=axis, index=i) for i in range(input.aval.shape[axis])
    ])
    tape.share_node(views, ops.unbind, input, {"axis": axis})
    tape.mark_outputs(views, "Unbind")
    return views


@function()
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    """Pieces along ``dim`` of one size (the last may be smaller), or of the sizes given."""
    if not tensor.aval.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = normalize_axis(dim, tensor.aval.ndim)
    size = tensor.aval.shape[axis]
    given = split_size_or_sections
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
    tape.share_node(views, ops.split_with_sizes if listed else ops.split, tensor, params)
    tape.mark_outputs(views, "SplitWithSizes" if listed else "Split")
    return views


def _slices(x: Any, axis: int, sizes: list[int]) -> tuple[Any, ...]:
    """Pieces of ``sizes``, one after another."""
    pieces, start = [], 0
    for n in sizes:
        pieces.append(ops.slice_(x, axis=axis, start=start, length=n))
        start += n
    return tuple(pieces)


@function()
def split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> Any:  # noqa: A002
    return split(input, list(split_sizes), dim)


@function()
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


@function()
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
        given = given.tolist()
    if isinstance(given, int):
        if given <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {given}")
        base, extra = divmod(size, given)
        return _slices(input, axis, [base + (i < extra) for i in range(given)])
    cuts = [0, *[min(max(i + size if i < 0 else i, 0), size) for i in given], size]
    return tuple(
        ops.slice_(input, axis=axis, start=a, length=max(b - a, 0))
        for a, b in pairwise(cuts)
    )


def _require_tensors(name: str, tensors: Any) -> None:
    if isinstance(tensors, EngineTensor) or not hasattr(tensors, "__iter__"):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{'Tensor' if isinstance(tensors, EngineTensor) else type(tensors).__name__}"
        )


@function(method=False, out=True, aliases=("concat", "concatenate"))
def cat(tensors: Any, dim: int = 0) -> Any:
    """The tensors one after another along ``dim``."""
    _require_tensors("cat", tensors)
    tensors = tuple(tensors)
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, x in enumerate(tensors):
        if not isinstance(x, EngineTensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}"
            )
        if not x.aval.ndim:
            raise RuntimeError(
                f"zero-dimensional tensor (at position {i}) cannot be concatenated"
            )
    kept = [x for x in tensors if x.aval.shape != (0,)] or [tensors[0]]
    axis = normalize_axis(dim, kept[0].aval.ndim)
    return ops.cat(*kept, axis=axis)


@function(method=False, out=True)
def stack(tensors: Any, dim: int = 0) -> Any:
    """The tensors, all of one shape, along a new axis ``dim``."""
    _require_tensors("stack", tensors)
    tensors = tuple(tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    for i, x in enumerate(tensors):
        if not isinstance(x, EngineTensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}"
            )
    first = tensors[0].aval.shape
    for i, x in enumerate(tensors):
        if x.aval.shape != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 "
                f"and {list(x.aval.shape)} at entry {i}"
            )
    axis = normalize_axis(dim, len(first) + 1)
    return ops.cat(*[ops.unsqueeze(x, axis=axis) for x in tensors], axis=axis)


def _at_least(x: Any, ndim: int) -> Any:
    shape = x.aval.shape
    if len(shape) >= ndim:
        return x
    if ndim == 3:
        target = {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}[len(shape)]
    else:
        target = (1,) * (ndim - len(shape)) + shape
    return ops.reshape(x, target)


def _define_at_least(ndim: int) -> None:
    def body(*tensors: Any) -> Any:
        if len(tensors) == 1 and not isinstance(tensors[0], (tuple, list)):
            return _at_least(tensors[0], ndim)
        many = tensors[0] if len(tensors) == 1 else tensors
        return tuple(_at_least(x, ndim) for x in many)

    function(method=False, name=f"atleast_{ndim}d")(body)


for _ndim in (1, 2, 3):
    _define_at_least(_ndim)


@function()
def flip(input: Any, *dims: Any, **kwargs: Any) -> Any:  # noqa: A002
    """``input`` backwards along ``dims``."""
    given = as_shape((kwargs["dims"],) if "dims" in kwargs else dims, "flip", "dims")
    axes = tuple(normalize_axis(d, input.aval.ndim) for d in given)
    for a in axes:
        if axes.count(a) > 1:
            raise RuntimeError(f"dim {a} appears multiple times in the list of dims")
    return ops.flip(input, axes=axes if input.aval.ndim else ())


@function()
def fliplr(input: Any) -> Any:  # noqa: A002
    if input.aval.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return ops.flip(input, axes=(1,))


@function()
def flipud(input: Any) -> Any:  # noqa: A002
    if input.aval.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return ops.flip(input, axes=(0,))


@function()
def roll(input: Any, shifts: Any, dims: Any = None) -> Any:  # noqa: A002
    """``input`` shifted along ``dims``, wrapping round; over the flat tensor without dims."""
    counts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    if not counts:
        raise RuntimeError("`shifts` required")
    if dims is None or dims == ():
        if len(counts) != 1:
            raise RuntimeError(
                f"shifts and dimensions must align. shifts: {len(counts)}, dims:0"
            )
        flat = ops.roll(ops.reshape(input, (input.aval.size,)), shifts=counts, axes=(0,))
        return ops.reshape(flat, input.aval.shape)
    axes = (dims,) if isinstance(dims, int) else tuple(dims)
    if len(axes) != len(counts):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(counts)}, dims:{len(axes)}"
        )
    if not input.aval.ndim:
        raise IndexError(f"Dimension specified as {axes[0]} but tensor has no dimensions")
    return ops.roll(
        input, shifts=counts, axes=tuple(normalize_axis(a, input.aval.ndim) for a in axes)
    )


@function()
def rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Any:  # noqa: A002
    """``input`` turned by 90 degrees ``k`` times in the plane of ``dims``."""
    ndim = input.aval.ndim
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == ndim:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    first, second = (normalize_axis(d, ndim) for d in dims)
    k %= 4
    if k == 0:
        return ops.clone(input)
    if k == 2:
        return ops.flip(input, axes=(first, second))
    turned = ops.flip(input, axes=((second if k == 1 else first),))
    return ops.contiguous(ops.transpose(turned, first, second))


@function()
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:  # noqa: A002
    """The diagonal of the axes ``dim1``, ``dim2``, as the last axis; a view."""
    ndim = input.aval.ndim
    first, second = normalize_axis(dim1, ndim), normalize_axis(dim2, ndim)
    if first == second:
        raise RuntimeError(
            f"diagonal dimensions cannot be identical {dim1}, {dim2}"
        )
    return ops.diagonal(input, offset=offset, first=first, second=second)


@function(namespace=False)
def unfold(self: Any, dimension: int, size: int, step: int) -> Any:
    """All slices of length ``size`` along ``dimension``, ``step`` apart, as a new last axis."""
    axis = normalize_axis(dimension, self.aval.ndim)
    length = self.aval.shape[axis] if self.aval.ndim else 1
    if size > length:
        raise RuntimeError(
            f"maximum size for tensor at dimension {axis} is {length} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return ops.unfold(self, axis=axis, size=size, step=step)


def _within_example(x: Any, shape: Any, strides: Any, offset: int, end: int) -> None:
    """vmap: a view of one example reaches no other."""
    first, last = x._offset, x._offset + x.aval.extent
    if 0 not in shape and not first <= offset < end <= last:
        raise RuntimeError(
            f"result = tensor.as_strided({list(shape)}, {list(strides)}, {offset}) can access "
            "memory outside of `tensor`. `result` can access some memory in range "
            f"[{offset}, {end}], but `tensor` can only access some memory in range "
            f"[{first}, {last}]. This is not supported inside of vmap, please try to rewrite the "
            "`as_strided` call as a sequence of PyTorch view operations"
        )


@function()
def as_strided(input: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:  # noqa: A002
    """A view of the storage with the shape, strides and offset given."""
    offset = input._offset if storage_offset is None else storage_offset
    shape, strides = tuple(size), tuple(stride)
    if len(shape) != len(strides):
        raise RuntimeError(
            "mismatch in length of strides and shape"
        )
    if any(s < 0 for s in strides):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(strides)}"
        )
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    need = offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    whole = typed_buffer(input._shared, input.aval.dtype)
    if vmap.is_mapped(input):
        _within_example(input, shape, strides, offset, need)
    elif 0 not in shape and need > whole.size:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, "
            f"and itemsize {input.aval.dtype.itemsize} requiring a storage size of "
            f"{need * input.aval.dtype.itemsize} are out of bounds for storage of size "
            f"{input._shared.buffer.nbytes}"
        )
    return ops.as_strided(input, shape=shape, strides=strides, offset=offset - input._offset)


@function()
def repeat_interleave(
    input: Any,  # noqa: A002
    repeats: Any = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Any:
    """Each slice along ``dim`` repeated; over the flat tensor without ``dim``."""
    import numpy as np

    from mindtorch.engine.tensor import from_array

    if repeats is None:
        counts = input.array()
        return from_array(np.repeat(np.arange(counts.size), counts), input.aval.device)
    if dim is None:
        input, dim = ops.reshape(input, (input.aval.size,)), 0  # noqa: A001
    axis = normalize_axis(dim, input.aval.ndim)
    length = input.aval.shape[axis]
    counts = repeats.detach().array() if isinstance(repeats, EngineTensor) else np.array(repeats)
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    if counts.ndim == 1 and counts.size not in (1, length):
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{counts.size} and input.size({axis}) = {length}"
        )
    places = np.repeat(np.arange(length), counts)
    return input.index_select(axis, from_array(places, input.aval.device))


@function(method=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """The coordinates of a grid, one tensor for each axis ("ij" or "xy" order)."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    for x in tensors:
        if x.aval.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x}"
            )
    if indexing is None:
        import warnings

        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument.",
            UserWarning,
            stacklevel=2,
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


@function(method=False)
def block_diag(*tensors: Any) -> Any:
    """A matrix with the tensors as blocks on its diagonal."""
    from mindtorch.engine.tensor import constant

    blocks = [_at_least(x, 2) for x in tensors]
    width = sum(x.aval.shape[1] for x in blocks)
    rows, left = [], 0
    for x in blocks:
        n = x.aval.shape[1]
        rows.append(ops.pad(x, constant(0), padding=((0, 0), (left, width - left - n))))
        left += n
    return ops.cat(*rows, axis=0)


@function(method=False)
def cartesian_prod(*tensors: Any) -> Any:
    """All combinations of the elements of 1-d tensors, one a row."""
    if len(tensors) == 1:
        return tensors[0]
    return stack([ravel(x) for x in meshgrid(*tensors, indexing="ij")], -1)


@function()
def clone(input: Any, *, memory_format: Any = preserve_format) -> Any:  # noqa: A002
    """A differentiable copy."""
    return ops.clone(input, strides=strides_for(input, memory_format))


def strides_for(x: Any, memory_format: Any) -> Any:
    """The strides that a memory format means for ``x``; None keeps the layout."""
    if memory_format is None or memory_format is preserve_format:
        return None
    if memory_format is contiguous_format:
        return contiguous_strides(x.aval.shape)
    if memory_format in (channels_last, channels_last_3d):
        ndim = 4 if memory_format is channels_last else 5
        if x.aval.ndim != ndim:
            raise RuntimeError(f"required rank {ndim} tensor to use {memory_format._name} format")
        return channels_last_strides(x.aval.shape)
    raise RuntimeError(f"unsupported memory format: {memory_format}")


@function(namespace=False)
def contiguous(self: Any, memory_format: Any = contiguous_format) -> Any:
    """``self`` if it lies in that order already, else a copy that does."""
    if self.is_contiguous(memory_format=memory_format):
        return self
    return ops.clone(self, strides=strides_for(self, memory_format))


def become(target: Any, view: Any) -> Any:
    """Give ``target`` the layout of ``view``, a view of it (``squeeze_`` and its like)."""
    target.flat, target.aval, target._offset = view.flat, view.aval, view._offset
    target._storage = view._storage
    note_shared(target)
    node = tape.node_of(view)
    if node is not None:
        target._node = node
        target._output_index = view._output_index
    return target


def _define_in_place(name: str) -> None:
    body = METHODS[name]

    def variant(self: Any, *args: Any, **kwargs: Any) -> Any:
        if tape.requires_grad(self) and tape.is_leaf(self):
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place "
                "operation."
            )
        return become(self, body(self, *args, **kwargs))

    variant.__name__ = name + "_"
    METHODS[name + "_"] = variant


for _name in ("squeeze", "unsqueeze", "transpose", "t", "swapaxes", "swapdims", "as_strided"):
    _define_in_place(_name)
