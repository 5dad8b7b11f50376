"""Taking tensors apart for a file and putting them together again.

The functions that rebuild are named in files as ``torch._utils.<name>``. They trust nothing they
are given: a layout that leaves its storage is refused.
"""

from __future__ import annotations

import operator
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np

from mindtorch.engine import tensor as engine
from mindtorch.engine.autograd import tape
from mindtorch.engine.aval import aval
from mindtorch.engine.dtypes import DType

from ..storage import UNTYPED_IN_FILES, TypedStorage, UntypedStorage

# The module that files name.
IN_FILES = "mindtorch.torch._utils"
# By name, what may make a tensor out of a file's parts. Modules of classes of tensors add theirs.
REBUILDERS: dict[str, Any] = {}
_MAX_INT64 = 2**63 - 1


def rebuilder(function: Any) -> Any:
    """Note that files name this function to rebuild a tensor."""
    function.__module__ = IN_FILES
    REBUILDERS[function.__name__] = function
    return function


def tensor_from_storage(
    storage: engine.Storage, dtype: DType, offset: int, shape: Any, strides: Any
) -> engine.Tensor:
    """The tensor with this layout (in elements of ``dtype``) over ``storage``.

    Raises:
        RuntimeError: an element would lie outside of the storage, or the layout is no layout.
    """
    shape, strides = _integers(shape, "size"), _integers(strides, "stride")
    (offset,) = _integers((offset,), "storage_offset")
    if len(shape) != len(strides):
        raise RuntimeError(f"unequal size length ({len(shape)}) and stride length ({len(strides)})")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if any(length < 0 for length in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(shape)}")
    if any(stride < 0 for stride in strides):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(strides)}"
        )
    described = aval(shape, dtype, strides, storage.device)
    buffer = engine.typed_buffer(storage, dtype)
    if described.extent and offset + described.extent > buffer.size:
        needed = (offset + described.extent) * dtype.itemsize
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, "
            f"and itemsize {dtype.itemsize} requiring a storage size of {needed} are out of bounds "
            f"for storage of size {buffer.size * dtype.itemsize}"
        )
    return engine.make(buffer[offset : offset + described.extent], described, storage, offset)


def _integers(values: Any, name: str) -> tuple[int, ...]:
    """``values`` as a tuple of 64-bit integers."""
    if not isinstance(values, (tuple, list)):
        raise TypeError(f"'{name}' must be a tuple of ints, not {type(values).__name__}")
    result = tuple(operator.index(value) for value in values)
    if any(not -_MAX_INT64 <= value <= _MAX_INT64 for value in result):
        raise RuntimeError("Overflow when unpacking long long")
    return result


def _storage_of(tensor: engine.Tensor) -> engine.Storage:
    """The storage object behind ``tensor``; tensors that share memory share it."""
    return tensor._shared.memory


def _set_requires_grad(tensor: Any, requires_grad: Any) -> None:
    if requires_grad:
        tensor.requires_grad_(True)


@rebuilder
def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Any:
    """The tensor of ``storage``'s type with this layout."""
    if not isinstance(storage, TypedStorage):
        raise TypeError(f"expected a typed storage, got {type(storage).__name__}")
    held = storage._untyped_storage._storage
    return tensor_from_storage(held, storage.dtype, storage_offset, size, stride)


@rebuilder
def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Any:
    """A tensor of a type that has a storage class of its own. Hooks are never in a file."""
    del backward_hooks
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    tensor = _with_metadata(tensor, metadata)
    _set_requires_grad(tensor, requires_grad)
    return tensor


@rebuilder
def _rebuild_tensor_v3(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    dtype: DType,
    metadata: Any = None,
) -> Any:
    """A tensor of a type that files describe as bytes and a type."""
    del backward_hooks
    untyped = storage._untyped_storage if isinstance(storage, TypedStorage) else storage
    if not isinstance(untyped, UntypedStorage) or not isinstance(dtype, DType):
        raise TypeError("expected a storage and a dtype")
    tensor = tensor_from_storage(untyped._storage, dtype, storage_offset, size, stride)
    tensor = _with_metadata(tensor, metadata)
    _set_requires_grad(tensor, requires_grad)
    return tensor


def _with_metadata(tensor: Any, metadata: Any) -> Any:
    """Apply the lazy conjugation and negation that a file may record of a tensor."""
    if not metadata:
        return tensor
    if not isinstance(metadata, dict) or set(metadata) - {"conj", "neg"}:
        raise RuntimeError(f"Unrecognised tensor metadata: {metadata!r}")
    array = tensor.array()
    if metadata.get("conj"):
        array = np.conj(array)
    if metadata.get("neg"):
        array = np.negative(array)
    return engine.from_array(array, tensor.aval.device)


@rebuilder
def _rebuild_meta_tensor_no_storage(
    dtype: DType, size: Any, stride: Any, requires_grad: bool
) -> Any:
    """A tensor without memory."""
    shape, strides = _integers(size, "size"), _integers(stride, "stride")
    if len(shape) != len(strides) or min((*shape, *strides), default=0) < 0:
        raise RuntimeError(f"invalid layout: size {list(shape)}, stride {list(strides)}")
    if not isinstance(dtype, DType):
        raise TypeError("expected a dtype")
    extent = aval(shape, dtype, strides).extent
    storage = UntypedStorage(extent * dtype.itemsize, device="meta")._storage
    tensor = tensor_from_storage(storage, dtype, 0, shape, strides)
    _set_requires_grad(tensor, requires_grad)
    return tensor


@rebuilder
def _rebuild_device_tensor_from_cpu_tensor(
    data: Any, dtype: DType, device: str, requires_grad: bool
) -> Any:
    """A tensor of a device without storages, which files hold as a CPU tensor."""
    if not isinstance(data, engine.Tensor):
        raise TypeError(f"expected a tensor, got {type(data).__name__}")
    tensor: Any = data
    tensor = tensor.to(dtype=dtype, device=device)
    _set_requires_grad(tensor, requires_grad)
    return tensor


def _rebuild_from_type_v2(function: Any, cls: Any, args: Any, state: Any) -> Any:
    """A tensor of a subclass, or one with attributes: ``function(*args)`` made a ``cls``."""
    if function not in REBUILDERS.values():
        raise TypeError(f"{function!r} does not rebuild tensors")
    if not (isinstance(cls, type) and issubclass(cls, engine.Tensor)):
        raise TypeError(f"{cls!r} is not a tensor type")
    tensor = function(*args)
    if type(tensor) is not cls:
        tensor = tensor.as_subclass(cls)
    setstate = cls.__dict__.get("__setstate__")
    if setstate is not None:
        setstate(tensor, state)
        return tensor
    return set_state(tensor, state)


_rebuild_from_type_v2.__module__ = IN_FILES


def set_state(tensor: Any, state: Any) -> Any:
    """Give ``tensor`` the attributes of ``state``: a dictionary, perhaps with one for slots."""
    slots: Any = None
    if isinstance(state, tuple):
        if len(state) != 2:
            raise RuntimeError(f"Invalid serialized state: {state}")
        state, slots = state
    for part in (state, slots):
        for name, value in (part or {}).items():
            if name in ENGINE_FIELDS or name.startswith("__"):
                raise RuntimeError(f"a file may not set the attribute {name!r} of a tensor")
            setattr(tensor, name, value)
    return tensor


ENGINE_FIELDS = frozenset(
    name for name in (*vars(engine.Tensor), *engine.Tensor.__annotations__) if name != "__doc__"
)


_ENGINE_STATE = ("_retains_grad", "_grad_dtype")


def _plain(state: Any) -> Any:
    """A state with ordinary dictionaries where a class gave a tensor's ``__dict__``."""
    if isinstance(state, engine.Attributes):
        return dict(state)
    return tuple(map(_plain, state)) if type(state) is tuple else state


def user_state(tensor: Any) -> Any:
    """The attributes that a user has set on ``tensor``: those its class knows nothing of.

    With the class's own slots it is a pair; a class with a ``__getstate__`` says it itself.
    """
    cls = type(tensor)
    own: Any = cls.__getstate__
    if own is not object.__getstate__:
        return _plain(tensor.__getstate__())
    attributes = {
        name: value
        for name, value in vars(tensor).items()
        if name not in _ENGINE_STATE and not hasattr(cls, name)
    }
    slots = engine.own_slots(tensor)
    return (attributes, slots) if slots else attributes


def _reduce_plain(tensor: Any) -> tuple[Any, tuple[Any, ...]]:
    """``(function, arguments)`` that make ``tensor`` again, of class Tensor."""
    _warn_of_hooks(tensor)
    description = tensor.aval
    shape, strides = tuple(description.shape), tuple(description.strides)
    requires_grad = bool(tensor.requires_grad)
    if description.device.type == "meta":
        return _rebuild_meta_tensor_no_storage, (description.dtype, shape, strides, requires_grad)
    untyped = UntypedStorage._wrap(_storage_of(tensor))
    layout: tuple[Any, ...] = (tensor._offset, shape, strides, requires_grad, OrderedDict())
    if description.dtype in UNTYPED_IN_FILES:
        return _rebuild_tensor_v3, (untyped, *layout, description.dtype)
    typed = TypedStorage(wrap_storage=untyped, dtype=description.dtype, _internal=True)
    return _rebuild_tensor_v2, (typed, *layout)


def _reduce_quantized(tensor: Any) -> tuple[Any, tuple[Any, ...]]:
    levels, shape = tensor.levels, tuple(tensor.aval.shape)
    untyped = UntypedStorage._wrap(_storage_of(levels))
    typed = TypedStorage(wrap_storage=untyped, dtype=tensor.aval.dtype, _internal=True)
    layout = (typed, levels._offset, shape, tuple(levels.aval.strides))
    parts: tuple[Any, ...] = (tensor.quantizer_parts(), False, OrderedDict())
    return REBUILDERS["_rebuild_qtensor"], (*layout, *parts)


def _warn_of_hooks(tensor: Any) -> None:
    """Hooks do not go into files: say so, unless the hook is marked as one that need not."""
    node = tape.node_of(tensor)
    hooks = (getattr(node, "hooks", None) or {}).get(tensor._output_index, {})
    for hook in hooks.values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, "
                "you can decorate the function with @torch.utils.hooks.unserializable_hook to "
                "suppress this warning",
                stacklevel=2,
            )


def reduce_tensor(tensor: Any) -> tuple[Any, tuple[Any, ...]]:
    """What ``Tensor.__reduce_ex__`` gives: a rebuilding function and its arguments."""
    if hasattr(type(tensor), "sparse_parts"):
        return REBUILDERS["_rebuild_sparse_tensor"], (tensor.layout, tensor.sparse_parts())
    if tensor.is_quantized:
        return _reduce_quantized(tensor)
    function, args = _reduce_plain(tensor)
    state = user_state(tensor)
    if type(tensor) is engine.result_class() and not state:
        return function, args
    return _rebuild_from_type_v2, (function, type(tensor), args, state)
