"""Arrays of numpy that were handed out over tensors' memory, and may be written to at any time."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from .reference_counts import holders
from .tensor import Storage, Tensor, as_array, capturing

# the array through which others see a storage: theirs are views of it and keep it alive
_windows: weakref.WeakKeyDictionary[Storage, Any] = weakref.WeakKeyDictionary()


def opened(tensor: Tensor) -> Any:
    """``tensor.array()``; :func:`is_seen` knows of it as long as it, or a view of it, lives."""
    capture = capturing()
    if capture is not None:
        capture.raw_write(tensor)
    array = tensor.array()
    if tensor.aval.device.type != "cpu" or not array.size:
        return array
    storage = tensor._shared.memory
    buffer = storage.buffer
    if not buffer.flags.c_contiguous:
        return array
    known = _windows.get(storage)
    window = None if known is None else known()
    if window is None or _bytes(window) != _bytes(buffer):
        window = np.asarray(memoryview(buffer.view(np.uint8)))
        _windows[storage] = weakref.ref(window)
    seen = window[: window.size // array.itemsize * array.itemsize].view(array.dtype)
    return as_array(seen[tensor._offset : tensor._offset + tensor.aval.extent], tensor.aval)


def _bytes(array: Any) -> tuple[int, int]:
    """Where an array begins in memory, and how long it is."""
    return array.__array_interface__["data"][0], array.nbytes


def is_seen(storage: Storage) -> bool:
    """Whether somebody holds an array over the storage's memory."""
    window = _windows.get(storage) if _windows else None
    return window is not None and window() is not None


def may_be_seen(storage: Storage) -> bool:
    """Whether others may look at memory: they hold an array over it, or it belongs to an array
    that not only the storage's own one holds."""
    buffer = storage.buffer
    owner = buffer.base if isinstance(buffer, np.ndarray) else None  # others are still to come
    return is_seen(storage) or (owner is not None and (
        type(owner) is not np.ndarray or owner.base is not None or holders(owner) > 2
    ))  # fmt: skip
