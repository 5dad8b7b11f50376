"""The numbers of CUDA devices: the current one, the one that is meant, and what is missing."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.devices import cuda as engine
from mindtorch.engine.devices.device import Device

__all__ = ["choose", "current_device", "current_index", "index_of", "require_cuda"]


def require_cuda(index: int | None = None) -> None:
    """Raise torch's error where there is no CUDA device, or none with this number.

    Args:
        index: the number; None for any device.
    """
    if not engine.device_count():
        raise engine.missing()
    if index is not None:
        index_of(Device("cuda", index))


def current_index() -> int:
    """The number of the current device; 0 where there is none."""
    return current_device() if engine.device_count() else 0


def current_device() -> int:
    """The number of the current device.

    Raises:
        AssertionError: there is no CUDA device.
    """
    require_cuda()
    return int(engine.kernels("streams").device())


def choose(device: Any) -> int:
    """Issue this thread's further work on a device; gives the number of the one before it."""
    return int(engine.kernels("streams").set_device(index_of(device)))


def index_of(device: Any) -> int:
    """The number of a device; the current one for None.

    Raises:
        ValueError: a device of another type.
        RuntimeError: there is no device with this number.
    """
    if device is None:
        return current_device()
    found = device if isinstance(device, Device) else Device(device)
    if found.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {found}")
    index = current_device() if found.index is None else found.index
    if index >= engine.device_count():
        raise RuntimeError(
            "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have "
            "enough GPUs?"
        )
    return index
