"""Functions that change a tensor's shape, mostly views."""

from __future__ import annotations

import operator
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import inplace, tape
from mindtorch.engine.aval import broadcast_shapes, channels_last_strides, contiguous_strides
from mindtorch.engine.call_cache.call_cache import cached
from mindtorch.engine.dispatch import graph_under_way, state
from mindtorch.engine.dtypes import scalar_type_name
from mindtorch.engine.ops import complex as complex_ops
from mindtorch.engine.ops import movement as ops
from mindtorch.engine.tensor import check_made_here, note_looked_at, note_shared, room_in
from mindtorch.engine.transforms import vmap

from .._api.arguments import (
    as_int,
    as_shape,
    check_form,
    check_sizes,
    infer_shape,
    normalize_axes,
    normalize_axis,
    require_tensors,
)
from .._api.publish import METHODS, function
from .._api.shown_signature import ShownSignature
from .._api.signatures import unbound
from .._api.warn_caller import warn_caller_once
from .._tensor.size_and_formats import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    preserve_format,
)


@function(namespace=False, cacheable=True, bare=True)
def view(self: Any, *shape: Any, dtype: Any = None, size: Any = None) -> Any:
    """The same elements seen with another shape, or (``view(dtype)``) as another type."""
    if dtype is None and len(shape) == 1 and isinstance(shape[0], dtypes.DType):
        dtype = shape[0]
    if dtype is not None:
        return view_as_dtype(self, dtype)
    if size is not None:
        shape = (size,)
    if not shape:
        raise TypeError("view() received an invalid combination of arguments - got ()")
    listed = len(shape) > 1 and isinstance(shape[0], float)
    check_form("view", not listed, shape, "torch.dtype dtype", "tuple of ints size")
    return ops.view(self, shape=infer_shape(as_shape(shape, "view"), self.aval.size))


def view_as_dtype(x: Any, dtype: dtypes.DType) -> Any:
    """The bytes of ``x`` read as ``dtype``; the last axis grows or shrinks by the ratio."""
    if state.interpreters and not vmap.is_mapped(x):
        return state.interpreters[-1].outside(view_as_dtype, x, dtype)
    ratio = dtype.itemsize // x.aval.dtype.itemsize
    result = complex_ops.view_dtype(x, dtype=dtype)
    if ratio > 1 and x._offset % ratio:
        raise RuntimeError(
            f"self.storage_offset() must be divisible by {ratio} to view "
            f"{scalar_type_name(x.aval.dtype)} as {scalar_type_name(dtype)} (different "
            f"element sizes), but got {x._offset}"
        )
    return result


def _named(kwargs: dict[str, Any], name: str, function: str) -> tuple[Any]:
    """The list that ``function`` was given by name, and by no other one."""
    for given in kwargs:
        if given != name:
            raise TypeError(f"{function}() got an unexpected keyword argument '{given}'")
    return (kwargs[name],)


@function(cacheable=True, bare=True)
def reshape(input: Any, *shape: Any, **kwargs: Any) -> Any:  # noqa: A002
    """The same elements with another shape; a view where the layout allows it."""
    sizes = _named(kwargs, "shape", "reshape") if kwargs else shape
    return ops.reshape(input, infer_shape(as_shape(sizes, "reshape", "shape"), input.aval.size))


@function(namespace=False, cacheable=True)
def view_as(self: Any, other: Any) -> Any:
    """A view in the shape of ``other``."""
    return ops.view(self, shape=infer_shape(other.aval.shape, self.aval.size))


@function(namespace=False, cacheable=True)
def reshape_as(self: Any, other: Any) -> Any:
    """The tensor in the shape of ``other``; a view where the layout allows."""
    return ops.reshape(self, infer_shape(other.aval.shape, self.aval.size))


@function(cacheable=True, bare=True)
def permute(input: Any, *dims: Any, **kwargs: Any) -> Any:  # noqa: A002
    """``input`` with its axes in the order ``dims``."""
    given = as_shape(_named(kwargs, "dims", "permute") if kwargs else dims, "permute", "dims")
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


@function(
    aliases=("swapaxes", "swapdims"), cacheable=True, synonyms={"axis0": "dim0", "axis1": "dim1"},
)  # fmt: skip
def transpose(input: Any, dim0: int, dim1: int) -> Any:  # noqa: A002
    """``input`` with two axes exchanged."""
    return tape.named(ops.transpose(input, as_int(dim0), as_int(dim1)), "TransposeBackward0")


@function(cacheable=True, bare=True)
def t(input: Any) -> Any:  # noqa: A002
    """The transpose of a matrix; a vector or number as it is."""
    if input.aval.ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {input.aval.ndim}D"
        )
    turned = ops.transpose(input, 0, 1) if input.aval.ndim == 2 else ops.alias_view(input)
    return tape.named(turned, "TBackward0")


@function(cacheable=True)
def adjoint(input: Any) -> Any:  # noqa: A002
    """The conjugate transpose of the last two axes."""
    if input.aval.ndim == 1:
        raise RuntimeError(
            "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    if not input.aval.ndim:
        warn_caller_once("adjoint() is deprecated on 0-D tensors. Consider using x.conj().")
    swapped = transpose(input, -2, -1) if input.aval.ndim else input
    return swapped.conj() if input.aval.dtype.is_complex else swapped


@function(aliases=("moveaxis",), cacheable=True)
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


@function(cacheable=True, not_none=True)
def squeeze(input: Any, *axes: int, dim: Any = None) -> Any:  # noqa: A002
    """``input`` without the axes that have length 1: all, or those named.

    Args:
        *axes, dim: an axis, or several in a row or in a tuple.
    """
    ndim = input.aval.ndim
    if axes and dim is not None:
        raise TypeError("squeeze() got axes and, by the name of dim, others")
    if axes:
        dim = axes[0] if len(axes) == 1 else axes
    if dim is None:
        axes = tuple(range(ndim))
    elif isinstance(dim, (tuple, list)):
        axes = normalize_axes(dim, ndim) if dim else ()
    else:
        axes = (normalize_axis(as_int(dim), ndim),)
    form = 0 if dim is None else 2 if isinstance(dim, (tuple, list)) else 1
    return tape.named(ops.squeeze(input, axes=axes), f"SqueezeBackward{form}")


@function(cacheable=True)
def unsqueeze(input: Any, dim: int) -> Any:  # noqa: A002
    """``input`` with an axis of length 1 put in at ``dim``."""
    return ops.unsqueeze(input, axis=normalize_axis(as_int(dim), input.aval.ndim + 1))


@function(namespace=False, cacheable=True, bare=True)
def expand(self: Any, *sizes: Any, size: Any = None, implicit: bool = False) -> Any:
    """``self`` repeated along axes of length 1 without copying; -1 keeps a length.

    Args:
        sizes, size: the lengths, as numbers or as one sequence.
        implicit: of no effect.
    """
    shape = as_shape(sizes if size is None else (size,), "expand")
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


@function(cacheable=True)
def broadcast_to(input: Any, *size: Any, **kwargs: Any) -> Any:  # noqa: A002
    """``input`` with axes of length 1, and new ones in front, repeated to ``size``; a view."""
    return expand(input, *(_named(kwargs, "size", "broadcast_to") if kwargs else size))


@function(namespace=False, cacheable=True)
def expand_as(self: Any, other: Any) -> Any:
    """The tensor expanded to the shape of ``other``; a view."""
    return expand(self, other.aval.shape)


@function(method=False, home="functional")
def broadcast_tensors(*tensors: Any) -> Any:
    """The tensors expanded to their common shape."""
    require_tensors(tensors)
    shape = broadcast_shapes(*[x.aval.shape for x in tensors])
    return tuple(x if x.aval.shape == shape else ops.expand(x, shape=shape) for x in tensors)


@function(namespace=False, cacheable=True)
def repeat(self: Any, *sizes: Any, repeats: Any = None) -> Any:
    """``self`` laid ``repeats`` times along each axis."""
    counts = as_shape(sizes if repeats is None else (repeats,), "repeat", "repeats")
    ndim = self.aval.ndim
    if len(counts) < ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor"
        )
    shape = (1,) * (len(counts) - ndim) + self.aval.shape
    full = [c * n for c, n in zip(counts, shape, strict=True)]
    check_sizes(full)
    x = ops.reshape(self, tuple(v for n in shape for v in (1, n)))
    x = ops.expand(x, shape=tuple(v for c, n in zip(counts, shape, strict=True) for v in (c, n)))
    laid = ops.reshape(ops.clone(x), tuple(c * n for c, n in zip(counts, shape, strict=True)))
    return tape.named(laid, "RepeatBackward0")


@function(cacheable=True)
def tile(input: Any, *dims: Any, **kwargs: Any) -> Any:  # noqa: A002
    """As :func:`repeat`, with missing counts taken as 1.

    Args:
        dims: counts for the last axes.
    """
    counts = as_shape(_named(kwargs, "dims", "tile") if kwargs else dims, "tile", "dims")
    return repeat(input, (1,) * (input.aval.ndim - len(counts)) + counts)


@function(cacheable=True, bare=True)
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


@function(cacheable=True)
def ravel(input: Any) -> Any:  # noqa: A002
    """The elements in C order along one axis, side by side; a view where they lie so."""
    if input.aval.contiguous:
        return ops.reshape(input, (input.aval.size,))
    return ops.reshape(input.contiguous(), (input.aval.size,))


@function(cacheable=True)
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


@function(cacheable=True)
def flip(input: Any, *dims: Any, **kwargs: Any) -> Any:  # noqa: A002
    """``input`` backwards along ``dims``."""
    given = as_shape(_named(kwargs, "dims", "flip") if kwargs else dims, "flip", "dims")
    axes = tuple(normalize_axis(d, input.aval.ndim) for d in given)
    for a in axes:
        if axes.count(a) > 1:
            raise RuntimeError(f"dim {a} appears multiple times in the list of dims")
    return ops.flip(input, axes=axes if input.aval.ndim else ())


@function(cacheable=True)
def fliplr(input: Any) -> Any:  # noqa: A002
    """``input`` with axis 1 reversed.

    Raises:
        RuntimeError: it has fewer than two axes.
    """
    if input.aval.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return ops.flip(input, axes=(1,))


@function(cacheable=True)
def flipud(input: Any) -> Any:  # noqa: A002
    """``input`` with axis 0 reversed.

    Raises:
        RuntimeError: it has no axes.
    """
    if input.aval.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return ops.flip(input, axes=(0,))


def _each(value: Any) -> tuple[Any, ...]:
    """One number for an axis, or the numbers for several."""
    several = isinstance(value, (tuple, list))
    return tuple(map(operator.index, value)) if several else (operator.index(value),)


@function(cacheable=True)
def roll(input: Any, shifts: Any, dims: Any = None) -> Any:  # noqa: A002
    """``input`` shifted along ``dims``, wrapping round; over the flat tensor without dims.

    Args:
        shifts: by how many places, for each of ``dims``.
    """
    counts = _each(shifts)
    if not counts:
        raise RuntimeError("`shifts` required")
    if dims is None or (dims.__class__ is tuple and not dims):
        if len(counts) != 1:
            text = f"shifts and dimensions must align. shifts: {len(counts)}, dims:0"
            raise RuntimeError(text)
        flat = ops.roll(ops.reshape(input, (input.aval.size,)), shifts=counts, axes=(0,))
        return tape.named(ops.reshape(flat, input.aval.shape), "RollBackward0")
    axes = _each(dims)
    if len(axes) != len(counts):
        text = f"shifts and dimensions must align. shifts: {len(counts)}, dims:{len(axes)}"
        raise RuntimeError(text)
    if not input.aval.ndim:
        raise IndexError(f"Dimension specified as {axes[0]} but tensor has no dimensions")
    if input.aval.size:
        axes = tuple(normalize_axis(a, input.aval.ndim) for a in axes)
        return ops.roll(input, shifts=counts, axes=axes)
    return tape.named(ops.clone(input), "RollBackward0")


@function(cacheable=True)
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
    k = operator.index(k) % 4
    if k == 0:
        return tape.named(ops.clone(input), "Rot90Backward0")
    if k == 2:
        return tape.named(ops.flip(input, axes=(first, second)), "Rot90Backward0")
    turned = ops.flip(input, axes=((second if k == 1 else first),))
    return tape.named(ops.transpose(turned, first, second), "Rot90Backward0")


@function(cacheable=True)
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:  # noqa: A002
    """The diagonal of the axes ``dim1``, ``dim2``, as the last axis; a view."""
    ndim = input.aval.ndim
    first, second = normalize_axis(dim1, ndim), normalize_axis(dim2, ndim)
    if first == second:
        raise RuntimeError(
            f"diagonal dimensions cannot be identical {dim1}, {dim2}"
        )
    return ops.diagonal(input, offset=offset, first=first, second=second)


@function(namespace=False, cacheable=True)
def unfold(self: Any, dimension: int, size: int, step: int) -> Any:
    """All slices of length ``size`` along ``dimension``, ``step`` apart, as a new last axis."""
    axis = normalize_axis(dimension, self.aval.ndim)
    length = self.aval.shape[axis] if self.aval.ndim else 1
    if size > length:
        raise RuntimeError(
            f"maximum size for tensor at dimension {axis} is {length} but size is {size}"
        )
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
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
    """A view of the storage with the shape, strides and offset given.

    Args:
        size, stride: lengths of the axes and steps along them, in elements.
        storage_offset: where the view begins in the storage; None for where ``input`` does.
    """
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
    if any(n < 0 for n in shape):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(shape)} and "
            f"strides={list(strides)}"
        )
    need = offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    if storage_offset is not None:
        note_looked_at(input, "storage_offset()")
    if vmap.is_mapped(input):
        _within_example(input, shape, strides, offset, need)
    elif 0 not in shape and need > (room := room_in(input._shared, input.aval.dtype)):
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, "
            f"and itemsize {input.aval.dtype.itemsize} requiring a storage size of "
            f"{need * input.aval.dtype.itemsize} are out of bounds for storage of size "
            f"{room * input.aval.dtype.itemsize}"
        )
    place = {"shape": shape, "strides": strides, "offset": offset - input._offset}
    capture = graph_under_way()
    if capture is not None and not input._offset <= offset <= need <= (
        input._offset + input.aval.extent
    ):
        return capture.outside(ops.as_strided, input, **place)  # beyond what the tensor shows
    return ops.as_strided(input, **place)


@function(cacheable=True, bare=True)
def clone(input: Any, *, memory_format: Any = preserve_format) -> Any:  # noqa: A002
    """A differentiable copy."""
    return ops.clone(input, strides=strides_for(input, memory_format))


def strides_for(x: Any, memory_format: Any) -> Any:
    """The strides that a memory format means for ``x``; None keeps the layout."""
    return format_strides(x.aval.shape, memory_format)


def format_strides(shape: tuple[int, ...], memory_format: Any) -> Any:
    """The strides that a memory format means for ``shape``; None for one that keeps them."""
    if memory_format is None or memory_format is preserve_format:
        return None
    if memory_format is contiguous_format:
        return contiguous_strides(shape)
    if memory_format in (channels_last, channels_last_3d):
        ndim = 4 if memory_format is channels_last else 5
        if len(shape) != ndim:
            raise RuntimeError(f"required rank {ndim} tensor to use {memory_format._name} format")
        return channels_last_strides(shape)
    raise RuntimeError(f"unsupported memory format: {memory_format}")


@function(namespace=False, bare=True)
def contiguous(self: Any, *, memory_format: Any = contiguous_format) -> Any:
    """``self`` if it lies in that order already, else a copy that does."""
    if memory_format is contiguous_format:  # asked for in most calls, most often in vain
        return self if self.aval.contiguous else _dense_copy(self)
    if self.is_contiguous(memory_format=memory_format):
        return self
    return ops.clone(self, strides=strides_for(self, memory_format))


@cached
def _dense_copy(x: Any) -> Any:
    return ops.clone(x, strides=strides_for(x, contiguous_format))


def become(target: Any, view: Any) -> Any:
    """Give ``target`` the layout of ``view``, a view of it (``squeeze_`` and its like)."""
    check_made_here(target)
    target.flat, target.aval, target._offset = view.flat, view.aval, view._offset
    target._storage = view._storage
    note_shared(target)
    if (node := tape.node_of(view)) is not None:
        target._node, target._output_index = node, view._output_index
    target._shared.version += 1
    return target


def _define_in_place(name: str, arguments: str) -> None:
    body = METHODS[name]

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return become(self, body(self, *args, **kwargs))
        except (RuntimeError, TypeError) as error:
            error.args = (str(error).replace(f"{name}()", f"{name}_()"),)
            raise

    def variant(*given: Any, **kwargs: Any) -> Any:
        if (bare := unbound(name + "_", given)) is not None:
            raise bare
        self, *args = given
        if tape.requires_grad(self) and tape.is_leaf(self):
            raise inplace.leaf_error(self)
        if (capture := graph_under_way()) is not None and capture.is_from_outside(self):
            return capture.outside(call, self, *args, **kwargs)
        return call(self, *args, **kwargs)

    call.__name__ = variant.__name__ = name + "_"
    variant.__doc__ = f"Let ``input`` be what :func:`{name}` gives of it; arguments: {arguments}."
    variant.__signature__ = ShownSignature(body)  # type: ignore[attr-defined]
    METHODS[name + "_"] = variant


for _name, _arguments in (
    ("squeeze", "axes, or dim"), ("unsqueeze", "dim"), ("transpose", "dim0, dim1"), ("t", "none"),
    ("swapaxes", "dim0, dim1"), ("swapdims", "dim0, dim1"),
    ("as_strided", "size, stride, storage_offset"),
):  # fmt: skip
    _define_in_place(_name, _arguments)
