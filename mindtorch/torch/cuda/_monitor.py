"""What the driver knows of a device besides CUDA: by NVIDIA's package nvidia-ml-py."""

from __future__ import annotations

import importlib
from typing import Any

from . import _utils


def _handle(device: Any) -> tuple[Any, Any]:
    try:
        library = importlib.import_module("pynvml")
    except ImportError as error:
        raise ModuleNotFoundError(
            "nvidia-ml-py does not seem to be installed or it can't be imported."
        ) from error
    try:
        library.nvmlInit()
    except library.NVMLError_DriverNotLoaded as error:
        raise RuntimeError("cuda driver can't be loaded, is cuda enabled?") from error
    index = _utils._get_device_index(device, optional=True)
    return library, library.nvmlDeviceGetHandleByIndex(index)


def utilization(device: Any = None) -> int:
    """Per cent of the last second in which a kernel ran."""
    library, handle = _handle(device)
    return int(library.nvmlDeviceGetUtilizationRates(handle).gpu)


def memory_usage(device: Any = None) -> int:
    """Per cent of the last second in which memory was read or written."""
    library, handle = _handle(device)
    return int(library.nvmlDeviceGetUtilizationRates(handle).memory)


def device_memory_used(device: Any = None) -> int:
    """Bytes of the device that all processes hold."""
    library, handle = _handle(device)
    return int(library.nvmlDeviceGetMemoryInfo(handle).used)


def temperature(device: Any = None) -> int:
    """Degrees Celsius."""
    library, handle = _handle(device)
    return int(library.nvmlDeviceGetTemperature(handle, 0))


def power_draw(device: Any = None) -> int:
    """Milliwatts."""
    library, handle = _handle(device)
    return int(library.nvmlDeviceGetPowerUsage(handle))


def clock_rate(device: Any = None) -> int:
    """MHz of the multiprocessors."""
    library, handle = _handle(device)
    return int(library.nvmlDeviceGetClockInfo(handle, 1))
