"""Copies of views (``*_copy``), tensors with a view's part replaced (``*_scatter``), and the
further names torch has for splitting."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.autograd import inplace, tape
from mindtorch.engine.aval import contiguous_strides
from mindtorch.engine.ops import movement as ops
from mindtorch.engine.ops.base import normalize_axis
from mindtorch.engine.tensor import DetachedStorage, make

from .._api.arguments import require_tensor
from .._api.deprecations import warn_of_lost_imaginary_part
from .._api.out_rules import ANY, EXACT, Out
from .._api.publish import FUNCTIONS, function, namespace_function, store_out
from .._api.shown_signature import ShownSignature
from .indexing import bounds
from .parts import chunk, narrow, select, split, split_with_sizes
from .shape import as_strided, diagonal


def _fresh(view: Any, name: str) -> Any:
    """A copy of a view in C order, on the tape the node ``name``."""
    source = ops.contiguous(view) if view.aval.contiguous else view
    return tape.named(ops.clone(source, strides=contiguous_strides(view.aval.shape)), name)


def _check_narrow(x: Any, dim: int, start: int, length: int) -> None:
    """What torch's narrow_copy says otherwise than narrow."""
    shape = x.aval.shape
    if shape and dim >= len(shape):
        raise RuntimeError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  "
            "(Could this error message be improved?  If so, please report an enhancement request "
            "to PyTorch.)"
        )
    if length < 0 and -len(shape) <= dim and -shape[dim] <= start <= shape[dim]:
        raise RuntimeError(
            f"start ({start % (shape[dim] or 1)}) + length ({length}) exceeds dimension size "
            f"({shape[dim]})."
        )


def _define_copy(name: str, is_method: bool, arguments: str, rule: Out) -> None:
    node = "".join(word.capitalize() for word in name.split("_")) + "Backward0_copy"

    def body(input: Any, *args: Any, out: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        require_tensor(input, f"{name}_copy", "input", 1)
        if name in ("indices", "values") and input.is_sparse:  # of COO; torch has it for the others
            raise NotImplementedError(
                f"Could not run 'aten::{name}_copy' with arguments from the 'SparseCPU' backend."
            )
        if name == "narrow":
            _check_narrow(input, *args, **kwargs)
        made = getattr(input, name)(*args, **kwargs) if is_method else FUNCTIONS[name](
            input, *args, **kwargs
        )
        if isinstance(made, tuple):
            copies = tuple(_fresh(x, node) for x in made)
            if out is None:
                return copies
            for copy, target in zip(copies, out, strict=True):
                store_out(copy, target, f"{name}_copy", (), rule)
            return None
        result = _fresh(made, node)
        return result if out is None else store_out(result, out, f"{name}_copy", (), rule)

    body.__name__ = body.__qualname__ = f"{name}_copy"
    body.__doc__ = f"What ``{name}`` views, as a tensor of its own; arguments: {arguments}."
    body.__signature__ = ShownSignature(body, name=f"{name}_copy")  # type: ignore[attr-defined]
    namespace_function(f"{name}_copy", body)


@function(
    out=Out(
        "Expected self.dtype() == output.dtype() to be true, but got false.  (Could this "
        "error message be improved?  If so, please report an enhancement request to "
        "PyTorch.)"
    ),
)
def narrow_copy(input: Any, dim: int, start: int, length: int) -> Any:  # noqa: A002
    """What ``narrow`` views, as a tensor of its own.

    Args:
        start, length: the first place along ``dim``, and how many.
    """
    axes = input.aval.ndim
    if axes and dim >= axes:
        raise RuntimeError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false."
        )
    if axes and length < 0:
        size = input.aval.shape[normalize_axis(dim, axes)]
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size ({size})."
        )
    return _fresh(narrow(input, dim, start, length), "NarrowCopyBackward0")


for _name, _is_method, _arguments in (
    ("as_strided", False, "size, stride, storage_offset"),
    ("diagonal", False, "offset, dim1, dim2"), ("expand", True, "size, implicit"),
    ("permute", False, "dims"), ("squeeze", False, "dim"), ("t", False, "none"),
    ("transpose", False, "dim0, dim1"), ("unfold", True, "dimension, size, step"),
    ("unsqueeze", False, "dim"), ("view", True, "size or dtype"),
):  # fmt: skip
    _define_copy(_name, _is_method, _arguments, Out(EXACT, shown=f"aten::{_name}_copy"))
for _name, _is_method, _arguments, _rule in (
    ("detach", False, "none", ANY), ("select", False, "dim, index", ANY),
    ("split", False, "split_size, dim", Out(EXACT)),
    ("split_with_sizes", True, "split_sizes, dim", Out(EXACT, untracked=True)),
    ("unbind", False, "dim", Out(EXACT)), ("view_as_real", False, "none", ANY),
    ("view_as_complex", False, "none", ANY),
    *[(each, True, "none", ANY) for each in (
        "ccol_indices", "col_indices", "crow_indices", "indices", "row_indices", "values",
    )],
):  # fmt: skip
    _define_copy(_name, _is_method, _arguments, _rule)


@function(out=Out(EXACT, shown="aten::alias_copy"), method=False)
def alias_copy(input: Any) -> Any:  # noqa: A002
    """A tensor of its own with the elements of ``input``."""
    return _fresh(input, "AliasBackward0_copy")


@function(method=False, out=True)
def slice_copy(
    input: Any,  # noqa: A002
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Any:
    """``input[start:end:step]`` along ``dim``, as a tensor of its own."""
    return _fresh(sliced_along(input, dim, start, end, step), "SliceBackward0_copy")


def sliced_along(x: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    axis = normalize_axis(dim, x.aval.ndim)
    first, last = bounds(slice(start, end), step, x.aval.shape[axis])
    length = max(-(-(last - first) // step), 0)
    return ops.slice_(x, axis=axis, start=first, length=length, step=step)


def _replaced(x: Any, src: Any, view_of: Any, name: str) -> Any:
    """A copy of ``x`` whose view ``view_of(copy)`` holds ``src``; on the tape ``name``."""
    whole = ops.clone(x)
    view = view_of(whole)
    if view.aval.shape != src.aval.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = "
            f"{list(src.aval.shape)}, slice size = {list(view.aval.shape)}"
        )
    if src.aval.dtype.is_complex and not x.aval.dtype.is_complex:
        warn_of_lost_imaginary_part()
    inplace.copy_(view, src)
    return tape.named(whole, f"{name}ScatterBackward0")


@function()
def select_scatter(input: Any, src: Any, dim: int, index: int) -> Any:  # noqa: A002
    """``input`` with ``src`` in the place of its slice ``index`` along ``dim``."""
    return _replaced(input, src, lambda x: select(x, dim, index), "Select")


@function(out=Out(EXACT, shown="aten::slice_scatter"))
def slice_scatter(
    input: Any,  # noqa: A002
    src: Any,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Any:
    """``input`` with ``src`` in the place of ``input[start:end:step]`` along ``dim``."""
    return _replaced(input, src, lambda x: sliced_along(x, dim, start, end, step), "Slice")


@function()
def diagonal_scatter(
    input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1  # noqa: A002
) -> Any:
    """``input`` with ``src`` in the place of a diagonal."""
    return _replaced(input, src, lambda x: diagonal(x, offset, dim1, dim2), "Diagonal")


@function()
def as_strided_scatter(
    input: Any, src: Any, size: Any, stride: Any, storage_offset: Any = None  # noqa: A002
) -> Any:
    """``input`` with ``src`` in the place of a view with these strides.

    Args:
        size, stride, storage_offset: as of :func:`as_strided`.
    """

    def view_of(x: Any) -> Any:
        return as_strided(x, size, stride, 0 if storage_offset is None else storage_offset)

    return _replaced(input, src, view_of, "AsStrided")


def _apart(views: Any, name: str = "Split") -> tuple[Any, ...]:
    """``views`` that may be written to: neither the others' nor the base's gradients see it."""
    found = []
    for view in views:
        x = make(view.flat, view.aval, DetachedStorage(view._shared), view._offset)
        x._node, x._output_index = tape.node_of(view), view._output_index
        tape.named(x, f"Unsafe{name}Backward0")
        found.append(x)
    return tuple(found)


@function()
def unsafe_chunk(input: Any, chunks: int, dim: int = 0) -> Any:  # noqa: A002
    """:func:`chunk`.

    Args:
        chunks: how many.
    """
    return _apart(chunk(input, chunks, dim))


@function()
def unsafe_split(tensor: Any, split_size: int, dim: int = 0) -> Any:
    """:func:`split`."""
    return _apart(split(tensor, split_size, dim))


@function()
def unsafe_split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> Any:  # noqa: A002
    """:func:`split_with_sizes`."""
    return _apart(split_with_sizes(input, split_sizes, dim), "SplitWithSizes")


