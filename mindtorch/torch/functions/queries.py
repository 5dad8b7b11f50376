"""What a tensor or a type is, and the small functions that only rename a method."""

from __future__ import annotations

import itertools
import math
from operator import methodcaller
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import inplace, tape
from mindtorch.engine.devices import cuda
from mindtorch.engine.dtypes import DType
from mindtorch.engine.ops import movement
from mindtorch.engine.ops import softmax as softmax_ops
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant, from_array

from .._api.arguments import (
    as_dtype,
    as_shape,
    normalize_axis,
    refuse_other_device,
    require_tensor,
)  # fmt: skip
from .._api.meta_kernels import require_kernel
from .._api.out_rules import EXACT, Out
from .._api.publish import METHODS, function, namespace_function, store_out
from .._api.shown_signature import ShownSignature
from .._api.warn_caller import warn_caller
from .._tensor.size_and_formats import (
    Size,
    contiguous_format,
    memory_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
)  # fmt: skip
from ..storage import TypedStorage, UntypedStorage
from .creation import empty_strided
from .from_data import lengths_or_data, tensor


def _define_namesakes() -> None:
    """``torch.<name>(x)`` for methods of the Tensor class that take nothing more."""

    def define(name: str) -> None:
        call = methodcaller(name)

        def body(input: Any) -> Any:  # noqa: A002
            if isinstance(input, EngineTensor):
                return call(input)
            return require_tensor(input, name, "input", 1)

        body.__name__ = body.__qualname__ = name
        body.__doc__ = f"``input.{name}()``."
        namespace_function(name, body)

    for name in (
        "detach", "detach_", "get_device", "is_complex", "is_conj", "is_floating_point",
        "is_inference", "is_neg", "is_signed", "numel", "zero_",
    ):  # fmt: skip
        define(name)


_define_namesakes()


@function()
def is_nonzero(input: Any) -> bool:  # noqa: A002
    """Whether the only element is not 0."""
    require_tensor(input, "is_nonzero", "input", 1)
    if input.aval.size != 1:
        many = "more than one value" if input.aval.size else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
    return bool(input.item())


@function()
def is_same_size(input: Any, other: Any) -> bool:  # noqa: A002
    """Whether the shapes are equal."""
    require_tensor(input, "is_same_size", "input", 1)
    require_tensor(other, "is_same_size", "other", 2)
    return bool(input.aval.shape == other.aval.shape)


@function()
def is_distributed(input: Any) -> bool:  # noqa: A002
    """False: no tensor lies on several devices."""
    require_tensor(input, "is_distributed", "input", 1)
    return False


@function(method=False)
def is_storage(obj: Any) -> bool:
    """Whether ``obj`` is a typed or untyped storage."""
    return isinstance(obj, (TypedStorage, UntypedStorage))


@function(method=False)
def fill(input: Any, value: Any) -> Any:  # noqa: A002
    """A tensor like ``input`` whose every element is ``value``."""
    require_tensor(input, "fill", "input", 1)
    by_tensor = isinstance(value, EngineTensor)
    return tape.named(input.clone().fill_(value), f"FillBackward{int(by_tensor)}")


def _fill_in_place(input: Any, value: Any) -> Any:  # noqa: A002
    """Write ``value`` over every element."""
    require_tensor(input, "fill_", "input", 1)
    return input.fill_(value)


namespace_function("fill_", _fill_in_place)


def _as_strided_(input: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:  # noqa: A002
    """Let ``input`` be what :func:`as_strided` gives of ``size, stride, storage_offset``."""
    return METHODS["as_strided_"](input, size, stride, storage_offset)


namespace_function("as_strided_", _as_strided_)


@function(method=False, name="resize_as_")
def resize_as_(input: Any, the_template: Any) -> Any:  # noqa: A002
    """Give ``input`` the shape of the template, its storage made larger where it must be.

    Args:
        the_template: a tensor whose shape is taken.
    """
    require_tensor(input, "resize_as_", "input", 1)
    inplace.check_writable(input)
    return input.resize_as_(the_template)


def _resize_as(self: Any, tensor: Any) -> Any:
    """A tensor of the same elements in the shape of ``tensor``, over this one's memory."""
    warn_caller("non-inplace resize_as is deprecated")
    return _resized(self, tensor.aval.shape)


METHODS["resize_as"] = _resize_as


def _const_data_ptr(self: Any) -> int:
    """:meth:`data_ptr`, for those who only read."""
    return int(self.data_ptr())


METHODS["const_data_ptr"] = _const_data_ptr


@function()
def positive(input: Any) -> Any:  # noqa: A002
    """``+input``."""
    require_tensor(input, "positive", "input", 1)
    if input.aval.dtype is dtypes.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@function(method=False, checked=True)
def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:  # noqa: A002
    """The rows of ``r`` elements that can be taken from a vector, in order.

    Args:
        with_replacement: an element may be taken more than once.
    """
    require_kernel("masked_select", input)
    require_tensor(input, "combinations", "input", 1)
    if input.aval.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.aval.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty((0,))
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    chosen = list(choose(range(input.aval.shape[0]), r))
    rows = np.array(chosen, np.int64).reshape(len(chosen), r)
    return tape.named(input[from_array(rows, input.aval.device)], "StackBackward0")


# --- types -----------------------------------------------------------------------------------


def _require_dtype(value: Any, name: str, argument: str, position: int) -> None:
    if not isinstance(value, DType):
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be torch.dtype, not "
            f"{type(value).__name__}"
        )


@function(method=False)
def promote_types(type1: Any, type2: Any) -> DType:
    """The smallest type that holds the values of both.

    Args:
        type1, type2: element types.
    """
    _require_dtype(type1, "promote_types", "type1", 1)
    _require_dtype(type2, "promote_types", "type2", 2)
    return dtypes.promote(type1, type2)


@function(method=False)
def can_cast(from_: Any, to: Any) -> bool:
    """Whether a value of type ``from_`` may be stored as ``to`` without losing its kind."""
    _require_dtype(from_, "can_cast", "from_", 1)
    _require_dtype(to, "can_cast", "to", 2)
    if to is dtypes.bool_ and from_ is not dtypes.bool_:
        return False
    return dtypes.can_cast(from_, to)


@function(
    method=False,
    synonyms={
        "tensor": "tensor1", "other": "tensor2", "scalar": "tensor1", "scalar1": "tensor1",
        "scalar2": "tensor2",
    },
)  # fmt: skip
def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The type of an arithmetic result of two tensors or numbers."""
    operands = [x if isinstance(x, EngineTensor) else constant(x) for x in (tensor1, tensor2)]
    return dtypes.result_type([x.aval for x in operands])


@function(method=False, home="functional")
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape to which tensors of these shapes broadcast."""
    result: list[int] = []
    for place, shape in enumerate(shapes):
        if isinstance(shape, int):
            sizes: tuple[Any, ...] = (shape,)
        elif isinstance(shape, (tuple, list)):
            sizes = tuple(shape)
        elif shape is None:
            continue
        else:
            raise RuntimeError(
                "Input shapes should be of type ints, a tuple of ints, or a list of ints, got "
                f"{shape}"
            )
        if any(n < 0 for n in sizes):
            raise ValueError("Attempting to broadcast a dimension with negative length!")
        result = [1] * (len(sizes) - len(result)) + result
        for i in range(-1, -1 - len(sizes), -1):
            if sizes[i] in (1, result[i]):
                continue
            if result[i] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {sizes[i]} at {i}! Mismatching "
                    f"argument at index {place} had {shape}; but expected shape should be "
                    f"broadcastable to {result}"
                )
            result[i] = sizes[i]
    return Size(result)


# --- softmax ---------------------------------------------------------------------------------


def _softmax(name: str, op: Any, input: Any, dim: int, dtype: Any) -> Any:  # noqa: A002
    require_tensor(input, name, "input", 1)
    if dtype is not None:
        input = input.to(as_dtype(dtype))  # noqa: A001
    axis = normalize_axis(dim, input.aval.ndim)
    if input.aval.dtype.category != dtypes.FLOAT:
        kind = dtypes.scalar_type_name(input.aval.dtype)
        last = "lastdim_" if axis >= input.aval.ndim - 1 else ""
        raise NotImplementedError(f'"{name}_{last}kernel_impl" not implemented for \'{kind}\'')
    return op(input, axis=axis)


@function(cacheable=True)
def softmax(input: Any, dim: int, dtype: Any = None, *, out: Any = None) -> Any:  # noqa: A002
    """``exp(x) / sum(exp(x))`` along ``dim``, of ``x`` cast to ``dtype``."""
    result = _softmax("softmax", softmax_ops.softmax, input, dim, dtype)
    return result if out is None else store_out(
        result, out, "softmax", (), Out(EXACT, shown="aten::softmax")
    )


@function(cacheable=True)
def log_softmax(input: Any, dim: int, dtype: Any = None, *, out: Any = None) -> Any:  # noqa: A002
    """``x - log(sum(exp(x)))`` along ``dim``, of ``x`` cast to ``dtype``."""
    result = _softmax("log_softmax", softmax_ops.log_softmax, input, dim, dtype)
    return result if out is None else store_out(
        result, out, "log_softmax", (), Out(EXACT, shown="aten::log_softmax")
    )


# --- methods only ----------------------------------------------------------------------------


@function(namespace=False)
def sum_to_size(self: Any, *size: Any) -> Any:
    """Sum the axes that broadcasting from ``size`` would have made or stretched."""
    shape = as_shape(size)
    if not shape:
        return self.sum()
    own = self.aval.shape
    lead = len(own) - len(shape)
    if lead < 0 or any(n not in (1, m) for n, m in zip(shape, own[lead:], strict=True)):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(own)}}}.")
    axes = tuple(range(lead)) + tuple(
        lead + i for i, n in enumerate(shape) if n == 1 and own[lead + i] != 1
    )
    if not axes:
        return self
    total = self.sum(axes, keepdim=True)
    return total.reshape(shape) if lead else tape.named(total, "SumBackward1")


@function(namespace=False)
def is_set_to(self: Any, tensor: Any) -> bool:
    """Whether both have the same memory, shape and strides."""
    require_tensor(tensor, "is_set_to", "tensor", 1)
    require_kernel("is_set_to", self, tensor)
    return bool(
        self._shared.memory is tensor._shared.memory
        and self._offset == tensor._offset
        and self.aval.shape == tensor.aval.shape
        and self.aval.strides == tensor.aval.strides
    )


def _options(dtype: DType) -> str:
    """A type as torch's C++ prints the options of a tensor."""
    name = {"float32": "float", "float64": "double", "int32": "int", "int64": "long int"}
    return (
        f"TensorOptions(dtype={name.get(dtype.name, dtype.name)}, device=cpu, layout=Strided, "
        "requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))"
    )


@function(namespace=False)
def new(self: Any, *data: Any, size: Any = None, device: Any = None) -> Any:
    """A tensor of this type: of a size, or of the data that is given.

    Args:
        size: the size, by name.
        device: where the tensor is; it must be the type's.
    """
    refuse_other_device(device, self.aval.device.type)
    data = lengths_or_data(data)
    if size is not None:
        data = (Size(size),)
    kind = self.aval.dtype
    if len(data) == 1 and isinstance(data[0], EngineTensor):
        if data[0].aval.dtype is not kind:
            raise TypeError(f"expected {_options(kind)} (got {_options(data[0].aval.dtype)})")
        return data[0].detach()
    if len(data) == 1 and not hasattr(data[0], "__len__") and not isinstance(data[0], int):
        raise TypeError(f"new(): data must be a sequence (got {type(data[0]).__name__})")
    if not data or isinstance(data[0], (int, Size)):
        return self.new_empty(as_shape(data) if data else (0,))
    return tensor(data[0], dtype=kind)


@function(namespace=False)
def new_empty_strided(self: Any, size: Any, stride: Any, **options: Any) -> Any:
    """An uninitialised tensor with this size and these strides, of this type.

    Args:
        stride: steps along the axes, in elements.
        options: ``dtype``, ``layout``, ``device``, ``pin_memory``, ``requires_grad``, as of
            :func:`torch.empty`.
    """
    options.setdefault("dtype", self.aval.dtype)
    return empty_strided(size, stride, **options)


@function(namespace=False)
def dim_order(self: Any, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The axes from the largest stride to the smallest.

    Args:
        ambiguity_check: True: there must be one such order only; a list of memory formats: or
            the tensor must be in one of these only.
    """
    formats = ambiguity_check if isinstance(ambiguity_check, (list, tuple)) else ()
    if not isinstance(ambiguity_check, (bool, list, tuple)) or not all(
        isinstance(each, memory_format) for each in formats
    ):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    strides = self.aval.strides
    order = tuple(sorted(range(self.aval.ndim), key=lambda i: -strides[i]))
    crowded = any(n == 1 for n in self.aval.shape) or len(set(strides)) < len(strides)
    if ambiguity_check is False or not crowded:
        return order
    fitting = [each for each in formats if self.is_contiguous(memory_format=each)]
    if len(fitting) != 1:
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given "
            "memory formats."
        )
    axes = list(range(self.aval.ndim))
    return tuple(axes if fitting[0] is contiguous_format else [0, *axes[2:], 1])


@function(namespace=False, name="map_")
def map_(self: Any, tensor: Any, callable: Any) -> Any:  # noqa: A002
    """Replace each element ``a`` by ``callable(a, b)``, ``b`` that of ``tensor`` (slow)."""
    return _map("map_", self, (tensor,), callable)


@function(namespace=False, name="map2_")
def map2_(self: Any, x: Any, y: Any, callable: Any) -> Any:  # noqa: A002
    """Replace each element ``a`` by ``callable(a, b, c)`` (slow)."""
    return _map("map2_", self, (x, y), callable)


def _map(name: str, target: Any, others: Any, callable: Any) -> Any:  # noqa: A002
    if any(x.requires_grad for x in (target, *others)):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use "
                        f"var.detach().{name}() instead.")
    array = target.array()
    arrays = [movement.expand(x, shape=array.shape).array() for x in others]
    for place in np.ndindex(array.shape):
        array[place] = callable(array[place].item(), *[a[place].item() for a in arrays])
    target._shared.version += 1
    return target


@function(namespace=False)
def resize(self: Any, *sizes: Any) -> Any:
    """:meth:`view` (deprecated in torch, too)."""
    warn_caller("non-inplace resize is deprecated")
    return _resized(self, as_shape(sizes))


def _resized(self: Any, shape: tuple[int, ...]) -> Any:
    if (count := math.prod(shape)) != self.aval.size:
        words, own = ("x".join(map(str, each)) for each in (shape, self.aval.shape))
        raise RuntimeError(
            f"requested resize to {words} ({count} elements in total), but the given tensor has a "
            f"size of {own} ({self.aval.size} elements). autograd's resize can only change the "
            "shape of a given tensor, while preserving the number of elements. "
        )
    return self.contiguous().view(shape)


@function(namespace=False)
def module_load(self: Any, other: Any, assign: bool = False) -> Any:
    """What ``load_state_dict`` puts in place of this tensor: ``other``, detached.

    Args:
        assign: it is to become the parameter itself, not to be copied.
    """
    return other.detach() if assign else self.detach().copy_(other)


@function(namespace=False)
def record_stream(self: Any, s: Any) -> None:
    """Keep a CUDA tensor's memory until the work that stream ``s`` has now is done."""
    if self.aval.device.type != "cuda":
        raise RuntimeError("unknown parameter type")
    cuda.kernels("memory").record_stream(self.flat.memory, s._stream)


@function(namespace=False)
def to_dense(self: Any, dtype: Any = None, *, masked_grad: Any = None) -> Any:
    """The tensor itself, cast to ``dtype``: it is dense.

    Args:
        masked_grad: of no effect on dense tensors.
    """
    return self if dtype is None else self.to(as_dtype(dtype))


@function(namespace=False, not_none=True)
def to_sparse(
    self: Any, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None,
    dense_dim: Any = None,
) -> Any:  # fmt: skip
    """The elements that are not 0, as a sparse tensor.

    Args:
        sparse_dim: how many axes are indexed; None for all.
        layout: the form, in place of a number: COO, CSR, CSC, BSR or BSC.
        blocksize: (rows, columns) of the blocks of BSR and BSC.
        dense_dim: how many of the last axes are stored whole in a compressed layout.
    """
    from ..sparse._creation import from_dense

    kind = sparse_coo if layout is None else layout
    return from_dense(self, sparse_dim, kind, blocksize, dense_dim)


@function(namespace=False)
def to_sparse_coo(self: Any) -> Any:
    """:meth:`to_sparse` with COO's layout."""
    return to_sparse(self)


@function(namespace=False)
def to_sparse_csr(self: Any, dense_dim: Any = None) -> Any:
    """:meth:`to_sparse` with CSR's layout."""
    return to_sparse(self, layout=sparse_csr, dense_dim=dense_dim)


@function(namespace=False)
def to_sparse_csc(self: Any, dense_dim: Any = None) -> Any:
    """:meth:`to_sparse` with CSC's layout."""
    return to_sparse(self, layout=sparse_csc, dense_dim=dense_dim)


@function(namespace=False)
def to_sparse_bsr(self: Any, blocksize: Any, dense_dim: Any = None) -> Any:
    """:meth:`to_sparse` with BSR's layout: blocks of ``blocksize``, those that are not all 0."""
    return to_sparse(self, layout=sparse_bsr, blocksize=blocksize, dense_dim=dense_dim)


@function(namespace=False)
def to_sparse_bsc(self: Any, blocksize: Any, dense_dim: Any = None) -> Any:
    """:meth:`to_sparse` with BSC's layout: blocks of ``blocksize``, those that are not all 0."""
    return to_sparse(self, layout=sparse_bsc, blocksize=blocksize, dense_dim=dense_dim)


@function(namespace=False)
def sparse_mask(self: Any, mask: Any) -> Any:
    """The elements of this tensor at the places of a sparse one."""
    if not getattr(mask, "_sparse", False):
        raise NotImplementedError(
            "Could not run 'aten::sparse_mask' with arguments from the 'CPU' backend: the mask is "
            "no sparse tensor"
        )
    if mask.places.aval.ndim > 2 or mask.blocksize is not None:
        raise NotImplementedError("mindtorch has no sparse_mask by blocks or batches of matrices")
    return mask.like(self[tuple(mask.places.unbind(0))])


def _needs_sparse(name: str, text: str) -> None:
    def method(self: Any) -> Any:
        raise RuntimeError(f"{name} expected sparse {text}tensor layout but got Strided")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Only of sparse tensors."
    METHODS[name] = method


for _name, _text in (
    ("indices", "coordinate "), ("values", ""), ("coalesce", "coordinate "),
    ("is_coalesced", "coordinate "), ("crow_indices", "row compressed "),
    ("col_indices", "row compressed "), ("ccol_indices", "column compressed "),
    ("row_indices", "column compressed "),
):  # fmt: skip
    _needs_sparse(_name, _text)


def _refuse_dense(name: str) -> None:
    def method(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Any:
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the 'CPU' backend"
        )

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "Only of sparse tensors: ``size``, ``sparse_dim`` and ``dense_dim`` anew."
    METHODS[name] = method


for _name in ("sparse_resize_", "sparse_resize_and_clear_"):
    _refuse_dense(_name)


@function(namespace=False)
def dense_dim(self: Any) -> int:
    """How many axes are stored densely: all of a strided tensor's."""
    return int(self.aval.ndim)


@function(namespace=False)
def sparse_dim(self: Any) -> int:
    """How many axes are stored by index: none of a strided tensor's."""
    return 0


def _absent_device(name: str, text: str, error: type[Exception]) -> None:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise error(text)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = (
        f"Raises {error.__name__}: there is no such device. ``device``, ``non_blocking`` and "
        "``memory_format`` have no effect."
    )
    method.__signature__ = ShownSignature(method, name=name, method=True)  # type: ignore[attr-defined]
    METHODS[name] = method


_absent_device("xpu", "Torch not compiled with XPU enabled", AssertionError)
_absent_device("mtia", "Torch not compiled with MTIA enabled.", AssertionError)
_absent_device("ipu", "PyTorch is not linked with support for ipu devices", RuntimeError)
