"""Storages in memory that several processes map."""

from __future__ import annotations

import math
import mmap
import os
import weakref
from typing import Any

import numpy as np

from mindtorch.engine.aval import aval
from mindtorch.engine.tensor import Storage, capturing, make, typed_buffer

# The classes of tensors that travel by their memory, added where they are defined.
KINDS: list[type] = []
_descriptors: weakref.WeakKeyDictionary[Storage, int] = weakref.WeakKeyDictionary()


def is_shared(tensor: Any) -> bool:
    """Whether the tensor's storage lies in shared memory."""
    return holds(tensor._shared)


def holds(storage: Any) -> bool:
    """The same of a storage."""
    return storage.memory in _descriptors


def share_memory(tensor: Any) -> Any:
    """Move a tensor's storage into shared memory.

    The tensor keeps its identity. Views made of it earlier stay with the old memory.
    """
    storage = tensor._shared.memory
    if storage in _descriptors or not tensor.aval.size:
        return tensor
    _settle(tensor)
    old = storage.buffer
    _place(storage, old.nbytes, old.dtype)
    storage.buffer[...] = old
    offset, size = tensor._offset, tensor.flat.size
    tensor.flat = typed_buffer(storage, tensor.aval.dtype)[offset : offset + size]
    storage.version += 1
    return tensor


def stacked(rows: list[Any]) -> Any:
    """Tensors of one shape and type along a new first axis, in shared memory from the start.

    Args:
        rows: at least one tensor, none of which requires a gradient.
    """
    first = rows[0].aval
    storage = Storage(None)
    shape = (len(rows), *first.shape)
    _place(storage, math.prod(shape) * first.dtype.itemsize, first.dtype.np)
    np.stack([each.numpy() for each in rows], out=storage.buffer.reshape(shape))
    return make(storage.buffer, aval(shape, first.dtype), storage, 0)


def _settle(tensor: Any) -> None:
    """Have the elements in memory, if compiled code has yet to compute or write them."""
    capture = capturing()
    if capture is not None:
        capture.data_needed(tensor)
        capture.memory_needed(tensor._shared.memory)


def _place(storage: Storage, nbytes: int, dtype: Any) -> None:
    """Give a storage new shared memory, whose bytes are 0."""
    descriptor = os.memfd_create("mindtorch")
    os.ftruncate(descriptor, nbytes)
    storage.buffer = _map(storage, descriptor, nbytes, dtype)
    storage.resizable = False
    register_reducers()


def _map(storage: Storage, descriptor: int, nbytes: int, dtype: Any) -> Any:
    """The memory behind a descriptor as an array; the descriptor closes with the storage."""
    array = np.frombuffer(mmap.mmap(descriptor, nbytes), np.uint8, nbytes).view(dtype)
    _descriptors[storage] = descriptor
    weakref.finalize(storage, os.close, descriptor).atexit = False
    return array


def _reduce(tensor: Any) -> Any:
    """How a tensor travels to another process: by descriptor when its memory is shared."""
    descriptor = _descriptors.get(tensor._shared.memory)
    if descriptor is None:
        return tensor.__reduce_ex__(2)
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
            "does not support crossing process boundaries.  If you just want to transfer the "
            "data, call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    _settle(tensor)
    from multiprocessing.reduction import DupFd

    described = tensor.aval
    buffer = tensor._shared.buffer
    layout = (described.shape, described.strides, described.dtype, tensor._offset)
    size = (buffer.nbytes, buffer.dtype.str if buffer.dtype.kind != "V" else described.dtype)
    return _rebuild, (
        type(tensor), DupFd(descriptor), size, layout, tensor.flat.size, tensor.requires_grad
    )  # fmt: skip


_received: weakref.WeakValueDictionary[tuple[int, int], Storage] = weakref.WeakValueDictionary()


def _rebuild(
    kind: Any, handle: Any, size: Any, layout: Any, extent: int, requires_grad: bool
) -> Any:
    descriptor = handle.detach()
    nbytes, dtype = size
    facts = os.fstat(descriptor)
    key = (facts.st_dev, facts.st_ino)
    storage = _received.get(key)
    if storage is None:
        storage = Storage(None)
        storage.buffer = _map(storage, descriptor, nbytes, np.dtype(getattr(dtype, "np", dtype)))
        storage.resizable = False
        _received[key] = storage
    else:
        os.close(descriptor)
    shape, strides, element, offset = layout
    flat = typed_buffer(storage, element)[offset : offset + extent]
    tensor: Any = make(flat, aval(shape, element, strides), storage, offset)
    if kind is not type(tensor):
        return kind(tensor, requires_grad)
    return tensor.requires_grad_() if requires_grad else tensor


def register_reducers() -> None:
    """Let processes exchange tensors by their memory."""
    from multiprocessing.reduction import ForkingPickler  # slow to import

    for kind in KINDS:
        ForkingPickler.register(kind, _reduce)
