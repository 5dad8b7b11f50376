"""Which device is meant."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.devices.device import Device

from .._api.cuda_devices import current_device


def _get_device_index(
    device: Any, optional: bool = False, allow_cpu: bool = False
) -> int | None:
    """The number of a device: an int, a string, or a ``torch.device``.

    Args:
        optional: None and a device without a number are the current device.
        allow_cpu: the CPU has the number -1.

    Raises:
        ValueError: another type of device, or no number.
    """
    if isinstance(device, int) and not isinstance(device, bool):
        return device
    found = Device(device) if isinstance(device, str) else device
    if isinstance(found, Device):
        if found.type == "cpu" and allow_cpu:
            return -1 if found.index is None else found.index
        if found.type != "cuda":
            words = "cuda or cpu" if allow_cpu else "cuda"
            raise ValueError(f"Expected a {words} device, but got: {found}")
        if found.index is not None:
            return found.index
    if not optional:
        raise ValueError(
            f"Expected a torch.device with a specified index or an integer, but got:{device}"
        )
    return current_device()
