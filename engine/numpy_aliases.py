"""Arrays of numpy that were handed out over tensors' memory, and may be written to at any time."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from .allocator import address_of
from .devices.device import cpu
from .reference_counts import holders
from .tensor import Storage, Tensor, as_array, captures, capturing


def opened(tensor: Tensor) -> Any:
    """``tensor.array()``; :func:`is_seen` knows of it as long as it, or a view of it, lives."""
    capture = capturing() if captures else None
    if capture is not None:
        capture.raw_write(tensor)
        capture.data_needed(tensor)
    described = tensor.aval
    if described.device is not cpu or not described.size:
        return tensor.array()
    storage = (tensor._storage or tensor._shared).memory
    buffer = storage.buffer
    if not buffer.flags.c_contiguous:
        return tensor.array()
    window = _window_of(storage)
    if window is None or (
        storage.window[1]() is not buffer and _bytes(window) != _bytes(buffer)
    ):
        # views of an array over a memoryview keep that array, and not what it is a view of
        window = np.asarray(memoryview(buffer.view(np.uint8)))
        storage.window = weakref.ref(window), weakref.ref(buffer)
    itemsize = described.dtype.itemsize
    start, stop = tensor._offset * itemsize, (tensor._offset + described.extent) * itemsize
    seen = window if stop - start == window.size else window[start:stop]
    data = seen.view(described.dtype.np)
    return data if described.ndim == 1 and described.contiguous else as_array(data, described)


def _window_of(storage: Storage) -> Any:
    """The array through which others see a storage: theirs are views of it and keep it alive."""
    found = getattr(storage, "window", None)  # weak references to it and to what it was made of
    return None if found is None else found[0]()


def _bytes(array: Any) -> tuple[int, int]:
    """Where an array begins in memory, and how long it is."""
    return address_of(array), array.nbytes


def is_seen(storage: Storage) -> bool:
    """Whether somebody holds an array over the storage's memory."""
    return _window_of(storage) is not None


def may_be_seen(storage: Storage) -> bool:
    """Whether others may look at memory: they hold an array over it, or it belongs to an array
    that not only the storage's own one holds."""
    buffer = storage.buffer
    owner = buffer.base if isinstance(buffer, np.ndarray) else None  # others are still to come
    return is_seen(storage) or (owner is not None and (
        type(owner) is not np.ndarray or owner.base is not None or holders(owner) > 2
    ))  # fmt: skip
