"""The default device."""

from __future__ import annotations

import threading
from typing import Any

from mindtorch.engine.devices import cuda
from mindtorch.engine.devices.device import Device, cpu
from mindtorch.engine.dispatch import state

from .arguments import as_device


def default_device() -> Device:
    return state.device


def set_default_device(device: Any) -> None:
    """New tensors go to ``device`` (None: the CPU); a device that is missing is an error when one
    is made."""
    if device is None:
        state.device = cpu
        return
    found = None if type(device) is int else Device(device)
    usable = found is None or found.type in ("cpu", "meta") or (
        found.type == "cuda" and cuda.device_count()
    )
    state.device = as_device(device) if found is None or usable else found


class _Entered(threading.local):
    def __init__(self) -> None:
        self.before: list[Device] = []


_entered = _Entered()


def _enter(self: Device) -> Device:
    """In the block new tensors go to this device."""
    _entered.before.append(state.device)
    set_default_device(self)
    return self


def _exit(self: Device, *exception: object) -> None:
    state.device = _entered.before.pop()


for _name, _method in (("__enter__", _enter), ("__exit__", _exit)):
    setattr(Device, _name, _method)
