"""The default device."""

from __future__ import annotations

import threading
from typing import Any

from mindtorch.engine.device import Device, cpu


class _Default(threading.local):
    device: Device = cpu


_default = _Default()


def default_device() -> Device:
    return _default.device


def set_default_device(device: Any) -> None:
    """New tensors go to ``device`` (None: the CPU)."""
    from ._arguments import as_device

    _default.device = cpu if device is None else as_device(device)
