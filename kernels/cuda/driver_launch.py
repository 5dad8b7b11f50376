"""Launches by the driver's function ``cuLaunchKernel``, with arguments written into one buffer.

numba works out the types of all arguments and makes an object of each at every launch, which takes
it tens of microseconds. Here a kernel's first launch with some types of arguments goes through
numba, which compiles it or reads it from the disk; later ones find its machine code by those types.

    layout    each parameter of a kernel lies in eight bytes of the buffer. An array of one axis is
              seven parameters, as numba's code expects: two objects of the host (zero), its number
              of elements, their size in bytes, its address, its length and its stride in bytes
    threads   a buffer is written and read under a lock
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from . import driver, driver_errors, streams
from .memory import DeviceArray

# how numbers are written, by numba's name of their type
_NUMBERS = {
    "int64": "q", "uint64": "Q", "int32": "i4x", "uint32": "I4x", "float64": "d", "float32": "f4x",
}  # fmt: skip
_PLAIN = frozenset((int, float, np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64))
_ARRAY, _ARRAY_PARAMETERS = "16xqqQqq", 7


class Prepared:
    """A compiled kernel for arguments of some types.

    Args:
        kinds: numba's types of the arguments.
        handle: the driver's number of the kernel.
        launch: ``cuLaunchKernel``.

    Raises:
        TypeError: an argument is neither an array of one axis nor a plain number.
    """

    def __init__(self, kinds: Any, handle: int, launch: Callable[..., int]) -> None:
        forms, count = [], 0
        for kind in kinds:
            if type(kind).__name__ == "Array" and kind.ndim == 1:
                forms.append(_ARRAY)
                count += _ARRAY_PARAMETERS
            elif str(kind) in _NUMBERS:
                forms.append(_NUMBERS[str(kind)])
                count += 1
            else:
                raise TypeError(f"an argument of type {kind}")
        self.handle = handle
        self.launch = launch
        self._write = struct.Struct("<" + "".join(forms)).pack_into
        self._values = ctypes.create_string_buffer(8 * count)
        begin = ctypes.addressof(self._values)
        self._places = (ctypes.c_void_p * count)(*[begin + 8 * k for k in range(count)])
        self._parameters = ctypes.addressof(self._places)
        self._lock = threading.Lock()

    def __call__(
        self, grid: tuple[int, int, int], block: tuple[int, int, int], stream: int, given: Any
    ) -> None:
        """Launch with arguments in the order of the kernel's, arrays as their five numbers.

        Raises:
            struct.error: a number does not fit its type; nothing was launched.
            AcceleratorError: the driver refused.
        """
        with self._lock:
            self._write(self._values, 0, *given)
            status = self.launch(
                self.handle, *grid, *block, 0, stream, self._parameters, None
            )
        if status:
            raise driver_errors.refused(status)


def memory_of(value: Any) -> Any:
    """The device memory of an array with a shape; other values as they are.

    Raises:
        TypeError: an array of the host.
    """
    if isinstance(value, np.ndarray):
        raise TypeError("a launch takes memory of the device, not of the host")
    flat = getattr(value, "flat", None)
    return flat if isinstance(flat, DeviceArray) else value


def carrier(value: Any) -> Any:
    """An argument as numba's launches take it."""
    found = memory_of(value)
    if not isinstance(found, DeviceArray):
        return found
    assert not streams.SIMULATED or found.memory.device == streams.device(), "on another device"
    return found.carrier


def described(arguments: list[Any]) -> tuple[list[Any], list[Any]]:
    """(what tells the types of arguments, their numbers)."""
    kinds: list[Any] = []
    values: list[Any] = []
    for each in arguments:
        kind = type(each)
        if kind not in _PLAIN and kind is not DeviceArray:
            each = memory_of(each)
            kind = type(each)
        if kind is DeviceArray:
            dtype, size = each.dtype, each.size
            width = dtype.itemsize
            kinds.append(dtype)
            values += (size, width, each.memory.address + each.offset, size, width)
        elif hasattr(each, "device_ctypes_pointer"):  # numba's own array
            width = each.dtype.itemsize
            kinds.append(each.dtype)
            values += (each.size, width, each.device_ctypes_pointer.value, each.size, width)
        else:
            kinds.append(kind)
            values.append(each)
    return kinds, values


def three(sizes: Any) -> tuple[int, int, int]:
    """The sizes of a grid or block along the driver's three axes."""
    if isinstance(sizes, int):
        return sizes, 1, 1
    return (*sizes, 1, 1)[:3]


# kernels are loaded by one thread at a time: numba's tables of loaded code are not locked
_loading = threading.RLock()


class Launches:
    """The launches of one kernel, by the types of its arguments.

    Args:
        by_numba: ``(grid, block, arguments)``: launch by numba, which compiles where needed.
        compiled: ``(arguments)``: numba's compiled kernel for them after that, or None.
    """

    def __init__(
        self,
        by_numba: Callable[[Any, Any, list[Any]], None],
        compiled: Callable[[list[Any]], Any],
    ) -> None:
        self._by_numba = by_numba
        self._compiled = compiled
        self._prepared: dict[Any, Prepared | None] = {}

    def __call__(self, grid: Any, block: Any, arguments: list[Any]) -> None:
        """Launch on this thread's current stream."""
        kinds, values = described(arguments)
        key = (streams.device(), *kinds)
        prepared = self._prepared.get(key)
        if prepared is None:
            self._first(key, grid, block, arguments)
            return
        streams.enter()
        try:
            prepared(three(grid), three(block), streams.handle(streams.current()), values)
        except struct.error:
            self._by_numba(grid, block, arguments)

    def _first(self, key: Any, grid: Any, block: Any, arguments: list[Any]) -> None:
        with _loading:
            self._by_numba(grid, block, arguments)
            launch = driver.function("cuLaunchKernel")
            if key in self._prepared or launch is None:
                return
            found = self._compiled(arguments)
            self._prepared[key] = _prepared(found, launch)


def _prepared(compiled: Any, launch: Callable[..., int]) -> Prepared | None:
    """A compiled kernel, ready for launches; None where numba must launch it."""
    if compiled is None:
        return None
    try:
        handle = int(compiled._codelibrary.get_cufunc().handle)
        return Prepared(compiled.argument_types, handle, launch)
    except (AttributeError, TypeError, ValueError):
        return None
