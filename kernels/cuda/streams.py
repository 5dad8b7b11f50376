"""The current device of each thread and its current stream on it, events, devices.

A device is chosen for the driver by numba, whose contexts are the primary ones that cupy uses, too.
"""

from __future__ import annotations

import importlib
import os
import threading
import time
from typing import Any

from numba import config, cuda

from . import issue
from .driver_errors import raised_as_torchs

SIMULATED = bool(config.ENABLE_CUDASIM)


SIMULATED_DEVICES = 1


class _Current(threading.local):
    device = 0
    stream: Any = 0  # the device's default stream

    def __init__(self) -> None:
        self.others: dict[int, Any] = {}  # streams that are current on other devices
        self.entered: Any = None
        self.context = -1  # the device whose context the driver has as this thread's


_local = _Current()


def device() -> int:
    """The device on which this thread issues work."""
    return _local.device


def set_device(index: int) -> int:
    """Issue this thread's further work on a device; gives the one before it."""
    before = _local.device
    if index != before:
        if not SIMULATED:
            entered, _local.entered = _local.entered, None
            if entered is not None:
                entered.__exit__(None, None, None)
            chosen = cuda.gpus[index]
            chosen.__enter__()
            _local.entered = chosen
            _local.context = -1
        _local.others[before] = _local.stream
        _local.device, _local.stream = index, _local.others.get(index, 0)
    return before


def enter() -> None:
    """Make the context of this thread's device that of the driver, for calls that ask for none."""
    if _local.context != _local.device:
        cuda.current_context()
        _local.context = _local.device


class on:  # noqa: N801
    """A block whose work is issued on a device."""

    __slots__ = ("before", "index")

    def __init__(self, index: int) -> None:
        self.index = index

    def __enter__(self) -> None:
        self.before = set_device(self.index)

    def __exit__(self, *error: object) -> None:
        set_device(self.before)


def current() -> Any:
    """The stream on which this thread issues work: numba's stream, or 0 for the default one."""
    return _local.stream


def set_current(stream: Any) -> Any:
    """Issue this thread's further work on ``stream``; gives the stream before it."""
    before, _local.stream = _local.stream, stream
    return before


def make() -> Any:
    """A new stream."""
    return 0 if SIMULATED else cuda.stream()


def external(address: int) -> Any:
    """A stream by its address."""
    return cuda.external_stream(address) if address and not SIMULATED else 0


_process = 0


def used() -> None:
    """The device is about to be used by this process.

    Raises:
        RuntimeError: a parent has used it before this process was forked.
    """
    global _process
    now = os.getpid()
    if not _process:
        _process = now
    elif _process != now:
        raise RuntimeError(
            "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you "
            "must use the 'spawn' start method"
        )


def forked() -> bool:
    """Whether a parent has used the device before this process was forked."""
    return _process not in (0, os.getpid())


def handle(stream: Any) -> int:
    """The address by which libraries know ``stream``; 0 for the default stream."""
    value = getattr(stream, "handle", None)
    return int(getattr(value, "value", value) or 0)


class _Address:
    """A stream by NVIDIA's protocol for libraries."""

    def __init__(self, address: int) -> None:
        self.address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address


def of_cupy(cupy: Any) -> Any:
    """A block in which cupy works on this thread's stream."""
    address = handle(current())
    if not address:
        return cupy.cuda.Stream.null
    if hasattr(cupy.cuda.Stream, "from_external"):
        return cupy.cuda.Stream.from_external(_Address(address))
    return cupy.cuda.ExternalStream(address)  # before cupy 14


def synchronize(stream: Any = None) -> None:
    """Wait for what was issued on ``stream``; on all streams for None."""
    issue.refuse()
    if stream in (None, 0) or not hasattr(stream, "synchronize"):
        raised_as_torchs(cuda.synchronize)
    else:
        raised_as_torchs(stream.synchronize)


def settle() -> None:
    """Wait for the current stream where copies from the host may still be under way: on others
    than the default one."""
    if current() != 0 and issue.active() is None:
        synchronize(current())


def device_count() -> int:
    """How many CUDA devices this process can use; 0 without a driver. The simulator is one."""
    if SIMULATED:
        return SIMULATED_DEVICES
    if not _counted and cuda.is_available():
        _counted.append(len(cuda.gpus))
    return _counted[0] if _counted else 0


_counted: list[int] = []  # stays so, and is asked often


def failure() -> str:
    """Why the driver answers that there is no device, in torch's words; empty where it does not."""
    if SIMULATED or cuda.is_available():
        return ""
    found = str(cuda.cuda_error() or "")
    if not found and _driver_answers():
        return (
            "The NVIDIA driver is there, but numba-cuda does not find NVVM, which compiles "
            "kernels: install numba-cuda[cu12] or numba-cuda[cu13], or set CUDA_HOME to a toolkit"
        )
    if "INSUFFICIENT" in found or "MISMATCH" in found or "version" in found.lower():
        return (
            "The NVIDIA driver on your system is too old. Please update your GPU driver by "
            "downloading and installing a new version from the URL: "
            f"http://www.nvidia.com/Download/index.aspx ({found})"
        )
    if "NO_DEVICE" in found or not found:
        return "No CUDA GPUs are available"
    if "libcuda" in found or "driver library" in found.lower():
        return (
            "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and "
            "installed a driver from http://www.nvidia.com/Download/index.aspx"
        )
    return f"CUDA initialization: {found}"


def _driver_answers() -> bool:
    """Whether there is a device, so that numba lacks something else."""
    return bool(importlib.import_module("numba.cuda.cudadrv.driver").driver.is_available)


def query(item: Any) -> bool:
    """Whether the work before a stream's end or an event is done."""
    if SIMULATED or item == 0:
        synchronize()
        return True
    return bool(item.query()) if hasattr(item, "query") else _done(item)


def _done(stream: Any) -> bool:
    event = make_event(False)
    record(event, stream)
    return bool(event.query())


class _SimulatedEvent:
    """A moment in the simulator, where every launch has ended when it returns."""

    time = 0.0


def make_event(timing: bool) -> Any:
    return _SimulatedEvent() if SIMULATED else cuda.event(timing=timing)


def record(event: Any, stream: Any) -> None:
    if SIMULATED:
        event.time = time.perf_counter()
    else:
        event.record(stream)


def wait(event: Any, stream: Any) -> None:
    """Later work of ``stream`` waits for ``event``."""
    if not SIMULATED:
        event.wait(stream)


def elapsed(first: Any, second: Any) -> float:
    """Milliseconds between two events."""
    if SIMULATED:
        return float(second.time - first.time) * 1e3
    synchronize(second)
    return float(cuda.event_elapsed_time(first, second))


def properties() -> dict[str, Any]:
    """Name, capability, multiprocessors and lanes of the device."""
    if SIMULATED:
        name, capability, processors = "numba's CUDA simulator", (5, 2), 1
    else:
        device = cuda.get_current_device()
        name = device.name.decode() if isinstance(device.name, bytes) else device.name
        capability, processors = device.compute_capability, device.MULTIPROCESSOR_COUNT
    return {
        "name": name, "major": capability[0], "minor": capability[1],
        "multi_processor_count": processors, "warp_size": 32,
    }  # fmt: skip
