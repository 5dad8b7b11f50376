"""Storages of bytes: the memory behind tensors."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mindtorch.engine import allocator, dtypes
from mindtorch.engine.devices.device import Device, cpu, empty_on
from mindtorch.engine.dtypes import DType
from mindtorch.engine.tensor import Storage, capturing, typed_buffer

from .shared_memory import holds

__all__ = ["UntypedStorage", "allocate", "settled"]


def allocate(nbytes: int, device: Device = cpu, dtype: DType = dtypes.uint8) -> Storage:
    """An engine storage of ``nbytes`` zero bytes; without memory on device ``meta``."""
    count = nbytes // dtype.itemsize
    if device.type == "meta":
        return Storage(np.broadcast_to(np.zeros((), dtype.np), (count,)), device)
    if device.type == "cpu":
        try:
            return Storage(np.zeros(count, dtype.np), device)
        except (MemoryError, ValueError):
            raise allocator.refusal(count, dtype.np) from None
    buffer = empty_on(device)(count, dtype.np)
    buffer[...] = 0
    return Storage(buffer, device)


def settled(storage: Storage, dtype: dtypes.DType) -> Any:
    """The memory as elements of a type, after what compiled code has yet to write there."""
    capture = capturing()
    if capture is not None:
        capture.memory_needed(storage)
    return typed_buffer(storage, dtype)


class UntypedStorage:
    """A span of bytes on a device: ``UntypedStorage(10)``, ``UntypedStorage([1, 2, 3])``.

    ``tensor.untyped_storage()`` is the memory of ``tensor`` and its views; writes show through.

    Args:
        size_or_data: how many bytes, or the bytes.
    """

    __slots__ = ("__weakref__", "_storage")

    def __init__(self, size_or_data: int | Sequence[int] = 0, *, device: Any = None) -> None:
        place = cpu if device is None else Device(device)
        if isinstance(size_or_data, int):
            self._storage = allocate(size_or_data, place)
            return
        for each in size_or_data:
            if not isinstance(each, (int, np.integer)):
                raise RuntimeError(
                    "torch.UntypedStorage(): tried to construct a storage from a sequence "
                    f"({type(size_or_data).__name__}), but one of the items was of type "
                    f"{type(each).__name__} instead of int"
                )
        self._storage = allocate(len(size_or_data), place)
        if place.type != "meta":
            self._bytes()[...] = np.asarray(size_or_data, np.uint8)

    @classmethod
    def _wrap(cls, storage: Storage) -> UntypedStorage:
        result = object.__new__(cls)
        result._storage = storage.memory
        return result

    @classmethod
    def from_file(cls, filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first ``nbytes`` of a file mapped into memory.

        Args:
            filename: the file; created or lengthened when ``shared`` and too short.
            shared: writes go to the file; else they stay in memory.
            nbytes: how much to map.
        """
        if shared:
            with open(filename, "ab") as file:
                if file.tell() < nbytes:
                    file.truncate(nbytes)
        if not nbytes:
            return cls(0)
        mode: Any = "r+" if shared else "c"
        mapped = np.memmap(filename, np.uint8, mode, 0, (nbytes,))
        return cls._wrap(Storage(np.asarray(mapped)))

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str | None = None, count: int = -1, offset: int = 0,
        *, dtype: DType = dtypes.uint8,
    ) -> UntypedStorage:
        """A copy of the elements in a buffer of bytes.

        Args:
            buffer: bytes, a bytearray, an array: whatever has a buffer.
            byte_order: "native", "little" or "big"; types of one byte need none.
            count: how many elements; -1: all.
            offset: the first byte.

        Raises:
            ValueError: the buffer does not hold ``count`` elements, or no whole number of them;
                or the order is another word.
        """
        width, data = dtype.itemsize, np.frombuffer(buffer, np.uint8)
        if byte_order is None and width > 1:
            raise TypeError("function missing required argument 'byte_order' (pos 2)")
        if byte_order not in (None, "native", "little", "big"):
            raise ValueError(
                f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')"
            )
        if not 0 <= offset < max(data.size, 1):
            raise ValueError(
                f"offset must be non-negative and no greater than buffer length ({data.size}) but "
                f"got {offset}"
            )
        rest = data.size - offset
        if count < 0 and rest % width:
            raise ValueError(
                f"buffer size ({data.size}) must be a multiple of element size ({width})"
            )
        if count > rest // width:
            raise ValueError(
                f"buffer has only {rest} elements after offset {offset}, but specified a size of "
                f"{count}"
            )
        taken = data[offset : offset + (rest if count < 0 else count * width)]
        storage = Storage((taken != 0 if dtype is dtypes.bool_ else taken.copy()).view(dtype.np))
        made = cls._wrap(storage)
        if byte_order not in (None, "native", sys.byteorder):
            made.byteswap(dtype)
        return made

    def new(self) -> UntypedStorage:
        """An empty storage on the same device."""
        return type(self)(0, device=self.device)

    @property
    def filename(self) -> str | None:
        """The file that the storage maps; None: it lies in memory."""
        return None

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def _bytes(self) -> Any:
        return settled(self._storage, dtypes.uint8)

    @property
    def device(self) -> Device:
        return self._storage.device

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    @property
    def _cdata(self) -> int:
        return id(self._storage)

    def nbytes(self) -> int:
        return int(self._storage.buffer.size * self._storage.buffer.dtype.itemsize)

    def size(self) -> int:
        return self.nbytes()

    def __len__(self) -> int:
        return self.nbytes()

    def element_size(self) -> int:
        return 1

    def data_ptr(self) -> int:
        """The address of the first byte; 0 for an empty storage and on device ``meta``."""
        if self.device.type == "meta" or not self.nbytes():
            return 0
        buffer = self._storage.buffer
        interface = getattr(buffer, "__cuda_array_interface__", None)
        return int((interface or buffer.__array_interface__)["data"][0])

    def __getitem__(self, index: int | slice) -> Any:
        """One byte as a number; a slice is a storage over the same memory."""
        if isinstance(index, slice):
            start, stop, step = index.indices(self.nbytes())
            if step != 1:
                raise RuntimeError(
                    f"Trying to slice with a step of {step}, but only a step of 1 is supported"
                )
            part = Storage(self._bytes()[start : max(start, stop)], self.device)
            return type(self)._wrap(part)
        self._need_memory()
        return int(self._bytes()[self._checked(index)])

    def __setitem__(self, index: int | slice, value: int) -> None:
        self._need_memory()
        place = index if isinstance(index, slice) else self._checked(index)
        self._bytes()[place] = value
        self._storage.version += 1

    def _checked(self, index: int) -> int:
        length = self.nbytes()
        if not -length <= index < length:
            raise IndexError(f"index {index} out of range for storage of size {length}")
        return index

    def _need_memory(self) -> None:
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        self._need_memory()
        return [int(value) for value in self._bytes()]

    def fill_(self, value: int) -> UntypedStorage:
        self[:] = value
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Copy the bytes of ``source``; both must have the same length."""
        del non_blocking  # copies are complete when the call returns, which is always allowed
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was "
                f"{source.nbytes()} bytes"
            )
        self._need_memory()
        self._bytes()[...] = source._bytes()
        self._storage.version += 1
        return self

    def untyped(self) -> UntypedStorage:
        return self

    def clone(self) -> UntypedStorage:
        """A copy on the same device."""
        return self._copied(self.device)

    def _copied(self, device: Device) -> UntypedStorage:
        result = type(self)._wrap(allocate(self.nbytes(), device))
        if device.type != "meta":
            result.copy_(self)
        made = result._storage
        if device.type == "cpu" and self.device.type == "cpu":  # elements of the type they were
            made.buffer = made.buffer.view(self._storage.buffer.dtype)
        return result

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        """This storage if it lies on ``device``, else a copy there."""
        del non_blocking
        place = Device(device)
        return self if place == self.device else self._copied(place)

    def cpu(self) -> UntypedStorage:
        return self.to(device=cpu)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        return self.to(device="cuda" if device is None else device, non_blocking=non_blocking)

    def resizable(self) -> bool:
        return self._storage.resizable

    def resize_(self, nbytes: int) -> UntypedStorage:
        """Change the length, keeping the bytes that both lengths have."""
        if not self.resizable():
            raise RuntimeError("Trying to resize storage that is not resizable")
        if nbytes != self.nbytes():
            self._bytes()
            old = self._storage.buffer
            new = allocate(nbytes, self.device).buffer
            if self.device.type != "meta":
                kept = min(nbytes, self.nbytes())
                new[:kept] = self._bytes()[:kept]
            if nbytes % old.dtype.itemsize == 0 and self.device.type == "cpu":
                new = new.view(old.dtype)
            self._storage.buffer = new
        return self

    def byteswap(self, dtype: DType) -> None:
        """Reverse the bytes of each element of ``dtype`` (of each part of a complex one)."""
        width = dtype.to_real().itemsize
        if width > 1:
            words = self._bytes()[: self.nbytes() // width * width].view(f"u{width}")
            words.byteswap(inplace=True)

    def is_shared(self) -> bool:
        """Whether other processes can map the memory."""
        return holds(self._storage)

    def is_pinned(self, device: Any = "cuda") -> bool:
        del device
        return False

    def type(self) -> str:
        return "torch.storage.UntypedStorage"

    def __repr__(self) -> str:
        tail = f"[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"
        if self.device.type == "meta":
            return "...\n" + tail
        return "".join(f" {value}\n" for value in self.tolist()) + tail

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        copies = memo.setdefault("torch", {})
        if self._cdata not in copies:
            copies[self._cdata] = self.clone()
        found: UntypedStorage = copies[self._cdata]
        return found

    def __reduce__(self) -> Any:
        return (_untyped_from_bytes, (self.cpu()._bytes().tobytes(),))

    def __hash__(self) -> int:
        return hash(self._cdata)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._storage is self._storage


def _untyped_from_bytes(data: bytes) -> UntypedStorage:
    return UntypedStorage._wrap(Storage(np.frombuffer(data, np.uint8).copy()))
