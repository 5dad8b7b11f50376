"""Whether there is a device for mixed precision."""

from __future__ import annotations

from mindtorch.engine.devices.cuda import device_count

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """True where there is no CUDA device."""
    return not device_count()
