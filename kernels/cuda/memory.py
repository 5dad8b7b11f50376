"""Memory on the device: allocations, and the typed slices of them that tensors hold.

An allocation comes from cupy's pool where cupy is installed (it keeps freed blocks and hands them
out again without asking the driver) and from numba's allocator otherwise. A ``DeviceArray`` is a
place in one: slicing it or reading it as another type makes a Python object and nothing else. The
view that numba's launches take is made when first asked for.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import math
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
from numba import config, cuda

from mindtorch.kernels.support.errors import OutOfMemoryError

from . import driver, errors, issue, streams

SIMULATED = bool(config.ENABLE_CUDASIM)
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_CARRIERS = {np.dtype(np.bool_): np.dtype(np.uint8), _BFLOAT16: np.dtype(np.uint16)}
_ALIGNMENT = 512


# what happens when a value is read on the host: 0 nothing, 1 a warning, 2 an error
sync_mode = 0


def _warn_of_waiting() -> None:
    if sync_mode > 1:
        raise RuntimeError("called a synchronizing CUDA operation")
    warnings.warn("called a synchronizing CUDA operation", stacklevel=4)


class Statistics:
    """Bytes held by arrays now and at most, and how many allocations there were."""

    def __init__(self) -> None:
        self.allocated = 0
        self.peak = 0
        self.total = 0
        self.count = 0
        self._lock = threading.Lock()

    def taken(self, size: int) -> None:
        with self._lock:
            self.allocated += size
            self.count += 1
            self.total += size
            self.peak = max(self.peak, self.allocated)

    def given_back(self, size: int) -> None:
        with self._lock:
            self.allocated -= size


_statistics: dict[int, Statistics] = collections.defaultdict(Statistics)


def statistics(device: int) -> Statistics:
    """What is counted of a device."""
    return _statistics[device]


# (address, bytes, device) of each allocation that an array holds, by the number of its object
_held: dict[int, tuple[int, int, int]] = {}


class Memory:
    """One allocation of the current device: ``size`` bytes, and what keeps them.

    Args:
        held: numba's array of bytes, or a block of cupy's pool.

    Attributes:
        past: bytes that it begins after a multiple of an own allocation's alignment.
        address: of the first byte on the device.
    """

    __slots__ = ("__weakref__", "_bytes", "_statistics", "address", "counted", "device", "held",
                 "past", "size")  # fmt: skip

    def __init__(self, held: Any, size: int, counted: int = 0, past: int = 0) -> None:
        self.past = past
        self.held = held
        self._bytes: Any = None
        self.address = _address_of(held)
        self.size = size
        self.counted = counted
        self.device = streams.device()
        self._statistics = _statistics[self.device]
        if counted:
            self._statistics.taken(counted)

    @property
    def bytes(self) -> Any:
        """numba's array over the allocation, made when it is first asked for."""
        if self._bytes is None:
            if hasattr(self.held, "mem"):  # a block of cupy's
                described = _Described(self.address, self.size, np.dtype(np.uint8), self.held)
                self._bytes = cuda.as_cuda_array(described, sync=False)
            else:
                self._bytes = self.held
        return self._bytes

    def __del__(self) -> None:
        _held.pop(id(self), None)
        if self.counted:
            self._statistics.given_back(self.counted)


def _address_of(held: Any) -> int:
    """The device address of numba's array or cupy's block."""
    if hasattr(held, "mem"):
        return int(held.ptr)
    if isinstance(held, np.ndarray):  # kernels that are translated only
        return int(held.ctypes.data)
    if SIMULATED:
        return int(held._ary.ctypes.data)
    return int(held.device_ctypes_pointer.value or 0)


@functools.cache
def _cupy() -> Any:
    """cupy, or None where it is not installed, does not work here, or in the simulator."""
    if SIMULATED:
        return None
    try:
        import cupy
    except ImportError:
        return None
    try:
        _of_pool(cupy, _ALIGNMENT)
    except Exception as error:  # wheels for another CUDA, libraries that are not found
        if not _is_full(error):
            warnings.warn(
                f"cupy does not work here, memory and products do without it: {error}",
                stacklevel=2,
            )
            return None
    return cupy


def _of_pool(cupy: Any, size: int) -> Any:
    with streams.of_cupy(cupy):
        return cupy.cuda.alloc(size)


def _take(size: int) -> Any:
    """``size`` bytes of the device: a block of cupy's pool, or numba's array."""
    cupy = _cupy()
    return cuda.device_array(size, np.uint8) if cupy is None else _of_pool(cupy, size)


def _is_full(error: Exception) -> bool:
    """Whether an allocation failed for want of memory; not for an illegal access before it."""
    said = str(error).lower()
    full = ("out_of_memory", "out of memory", "memoryallocation")
    return type(error).__name__ == "OutOfMemoryError" or any(text in said for text in full)


@contextlib.contextmanager
def of_recording(kept: list[Any]) -> Iterator[None]:
    """A block whose memory is a recording's own: what cupy's functions take and let go in it is
    not handed to others while the graph uses it. Nothing is given back to the driver meanwhile."""
    cupy = _cupy()
    with contextlib.ExitStack() as around:
        if cupy is not None:
            pool = cupy.cuda.MemoryPool()
            kept.append(pool)
            around.enter_context(cupy.cuda.using_allocator(pool.malloc))
        if not SIMULATED:
            around.enter_context(cuda.defer_cleanup())
        yield


# bytes that arrays of a device may hold together, where that is limited
limits: dict[int, int] = {}


# memory that a stream still uses, each with the event after which it does not
_used_elsewhere: list[tuple[Any, Memory]] = []
_elsewhere = threading.Lock()


def record_stream(memory: Memory, stream: Any) -> None:
    """Keep ``memory`` until what ``stream`` has now is done."""
    with streams.on(memory.device):
        event = streams.make_event(False)
        streams.record(event, stream)
    with _elsewhere:
        _used_elsewhere.append((event, memory))


def allocate(size: int) -> Memory:
    """``size`` bytes of the device.

    Raises:
        OutOfMemoryError: there are none left after freed blocks were given back.
    """
    made = _allocated(-(-size // _ALIGNMENT) * _ALIGNMENT)
    _held[id(made)] = (made.address, made.size, made.device)
    recording = issue.active()
    if recording is not None:
        recording.kept.append(made)
    return made


def _allocated(whole: int) -> Memory:
    streams.used()
    if _used_elsewhere and issue.active() is None:
        with _elsewhere:
            done = [each for each in _used_elsewhere if streams.query(each[0])]
            _used_elsewhere[:] = [each for each in _used_elsewhere if each not in done]
    if limits and _held_now() + whole > limits.get(streams.device(), math.inf):
        raise _refusal(whole)
    if SIMULATED:
        return Memory(cuda.device_array(whole, np.uint8), whole, whole)
    for again in (False, True):
        try:
            return Memory(errors.raised_as_torchs(_take, whole), whole, whole)
        except Exception as error:
            if not _is_full(error):
                raise
            if again:
                raise _refusal(whole) from error
        empty_cache()
    raise AssertionError("an allocation that neither failed nor was made")


def _refusal(size: int) -> OutOfMemoryError:
    free, total = information()
    return OutOfMemoryError(
        f"CUDA out of memory. Tried to allocate {_readable(size)}. GPU {streams.device()} has a "
        f"total capacity of {_readable(total)} of which {_readable(free)} is free. "
        f"{_readable(_held_now())} is held by tensors."
    )


def _held_now() -> int:
    return _statistics[streams.device()].allocated


def _readable(size: int) -> str:
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= scale:
            return f"{size / scale:.2f} {unit}"
    return f"{size} bytes"


def information() -> tuple[int, int]:
    """(free, all) bytes of the current device."""
    limit = limits.get(streams.device())
    if limit is not None:
        return max(limit - _held_now(), 0), limit
    if SIMULATED:
        return 1 << 40, 1 << 40
    found = cuda.current_context().get_memory_info()
    return int(found[0]), int(found[1])


def reserved() -> int:
    """Bytes that this process holds of the device, freed blocks that are kept included."""
    cupy = _cupy()
    if cupy is None:
        return _held_now()
    return int(cupy.get_default_memory_pool().total_bytes())


def empty_cache() -> None:
    """Give freed blocks back to the device."""
    cupy = _cupy()
    if cupy is not None:
        cupy.get_default_memory_pool().free_all_blocks()
    elif not SIMULATED:
        cuda.current_context().deallocations.clear()


def blocks() -> list[tuple[int, int, int]]:
    """(address, bytes, device) of each allocation that an array holds."""
    return sorted(_held.values())


def address_of(memory: Memory) -> int:
    """The device address of an allocation."""
    return memory.address


# ``fill(device memory, number)``, by a kernel: arrays.py, which is made of this, registers it
_fillers: list[Callable[[DeviceArray, Any], None]] = []


def register_fill(fill: Callable[[DeviceArray, Any], None]) -> None:
    """Let ``fill(device memory, number)`` write a number everywhere."""
    _fillers[:] = [fill]


class DeviceArray:
    """A typed 1-d slice of device memory: what a tensor's ``flat`` is on CUDA.

    Attributes:
        memory: the allocation, shared by all slices of it.
        offset: of the first element, in bytes.
        size: number of elements.
        dtype: their numpy type.
    """

    __slots__ = ("__weakref__", "_carrier", "dtype", "memory", "offset", "size")

    def __init__(self, memory: Memory, offset: int, size: int, dtype: Any) -> None:
        self.memory = memory
        self.offset = offset
        self.size = size
        self.dtype = dtype
        self._carrier: Any = None

    def __len__(self) -> int:
        return self.size

    @property
    def base(self) -> Any:
        """Who may write here besides tensors: another library's memory; None for our own."""
        return None if self.memory.counted else self.memory

    @property
    def nbytes(self) -> int:
        return int(self.size * self.dtype.itemsize)

    def begins_at(self, multiple: int) -> bool:
        """Whether the first element's address is a multiple of these bytes (a power of two)."""
        return (self.offset + self.memory.past) % multiple == 0

    @property
    def carrier(self) -> Any:
        """The array as kernels get it: bools as uint8, bfloat16 as uint16."""
        if self._carrier is None:
            dtype = _CARRIERS.get(self.dtype, self.dtype)
            part = self.memory.bytes[self.offset : self.offset + self.nbytes]
            self._carrier = part.view(dtype)
        return self._carrier

    def __getitem__(self, item: Any) -> Any:
        """A slice without copying, or one element as a numpy scalar (waits for the device)."""
        if isinstance(item, slice):
            start, stop, step = item.indices(self.size)
            if step != 1:
                raise IndexError("slices of device memory have step 1")
            begin = self.offset + start * self.dtype.itemsize
            return DeviceArray(self.memory, begin, max(stop - start, 0), self.dtype)
        if not -self.size <= item < self.size:
            raise IndexError(f"index {item} of {self.size} elements")
        place = item % self.size
        return self[place : place + 1].to_host()[0]

    def __setitem__(self, item: Any, value: Any) -> None:
        """Write a number, a numpy array or device memory to a slice (or all, ``...``)."""
        if item is Ellipsis:
            target = self
        else:
            target = self[item if isinstance(item, slice) else slice(item, item + 1)]
        if not target.size:
            return
        if isinstance(value, DeviceArray):
            if value.memory.device != self.memory.device:
                target.set(value.to_host())
                return
            given = value.view(target.dtype)
            with streams.on(self.memory.device):
                issue.issue(lambda: _copy(target, given))
        elif isinstance(value, np.ndarray) and value.size != 1:
            target.set(value)
        else:
            number = value.reshape(-1)[0] if isinstance(value, np.ndarray) else value
            with streams.on(self.memory.device):
                _fillers[-1](target, number)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """A copy on the host."""
        values = self.to_host()
        return values if dtype is None else values.astype(dtype)

    def copy(self) -> DeviceArray:
        """The elements in memory of their own."""
        with streams.on(self.memory.device):
            result = empty(self.size, self.dtype)
        result[...] = self
        return result

    def view(self, dtype: Any) -> DeviceArray:
        """The same bytes as elements of another type."""
        dtype = np.dtype(dtype)
        return DeviceArray(self.memory, self.offset, self.nbytes // dtype.itemsize, dtype)

    def to_host(self) -> Any:
        """A numpy array of the elements; waits for the device."""
        if not self.size:
            return np.empty(0, self.dtype)
        issue.refuse()
        if sync_mode:
            _warn_of_waiting()
        with streams.on(self.memory.device):
            stream = streams.current()
            values = errors.raised_as_torchs(lambda: self.carrier.copy_to_host(stream=stream))
            if stream != 0:
                streams.synchronize(stream)
        errors.check()
        return values.view(self.dtype)

    def set(self, values: Any) -> None:
        """Take the elements of a numpy array of as many elements (converted to this type)."""
        if self.size:
            host = np.ascontiguousarray(values, self.dtype).reshape(-1)
            carrier = self.carrier
            given = host.view(carrier.dtype)
            recording = issue.active()
            if recording is not None:
                given = _staged(given)
                recording.kept.append(given)
            with streams.on(self.memory.device):
                issue.issue(lambda: carrier.copy_to_device(given, stream=streams.current()))

    def any(self) -> bool:
        """Whether an element is not zero."""
        return bool(self.to_host().any())

    def all(self) -> bool:
        """Whether no element is zero."""
        return bool(self.to_host().all())

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        address = pointer(self)
        return {
            "shape": (self.size,), "strides": None, "typestr": self.dtype.str,
            "data": (address, False), "version": 3,
            "stream": streams.handle(streams.current()) or 1,
        }  # fmt: skip


def _copy(target: DeviceArray, given: DeviceArray) -> None:
    """Copy as many elements as ``target`` has, on this thread's device and stream."""
    if given.size != target.size:
        raise ValueError(f"{given.size} elements for {target.size}")
    if not driver.copy_on_device(pointer(target), pointer(given), target.nbytes):
        target.carrier.copy_to_device(given.carrier, stream=streams.current())


def pointer(array: DeviceArray) -> int:
    """The device address of the first element."""
    return array.memory.address + array.offset


def empty(size: int, dtype: Any) -> DeviceArray:
    """``size`` elements, uninitialised."""
    dtype = np.dtype(dtype)
    return DeviceArray(allocate(max(size, 1) * dtype.itemsize), 0, size, dtype)


def empty_at(index: int, size: int, dtype: Any) -> DeviceArray:
    """:func:`empty` on a device."""
    with streams.on(index):
        return empty(size, dtype)


def from_host(values: Any) -> DeviceArray:
    """The elements of a numpy array, copied."""
    result = empty(values.size, values.dtype)
    result.set(values)
    return result


def pinned(size: int, dtype: Any) -> Any:
    """A numpy array in memory of the host that the device copies from by itself."""
    dtype = np.dtype(dtype)
    return cuda.pinned_array(size * dtype.itemsize, np.uint8).view(dtype)


def _staged(values: Any) -> Any:
    """A copy that a recording can read at each replay."""
    held = pinned(values.size, values.dtype)
    held[:] = values
    return held


def adopt(interface: Any) -> tuple[DeviceArray, tuple[int, ...], tuple[int, ...]]:
    """What ``__cuda_array_interface__`` describes, without copying: (flat, shape, strides in
    elements). The object is kept alive."""
    given = interface.__cuda_array_interface__
    shape, dtype = tuple(given["shape"]), np.dtype(given["typestr"])
    dense = [int(np.prod(shape[i + 1 :])) * dtype.itemsize for i in range(len(shape))]
    steps = tuple(given.get("strides") or dense)
    extent = 1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) // dtype.itemsize
    size = 0 if 0 in shape else extent
    flat = _Described(given["data"][0], size, dtype, interface)
    array = cuda.as_cuda_array(flat, sync=True)
    past = given["data"][0] % _ALIGNMENT
    memory = Memory(array.view(np.uint8) if size else array, size * dtype.itemsize, past=past)
    return DeviceArray(memory, 0, size, dtype), shape, tuple(s // dtype.itemsize for s in steps)


class _Described:
    """A dense 1-d array at an address, for numba; keeps what owns the memory."""

    def __init__(self, address: int, size: int, dtype: Any, owner: Any) -> None:
        self.owner = owner
        self.__cuda_array_interface__ = {
            "shape": (size,), "strides": None, "typestr": dtype.str, "data": (address, False),
            "version": 2,
        }  # fmt: skip
