"""Devices: where a tensor's data lies, and how memory is taken there."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..allocator import empty

_TYPES = ("cpu", "cuda", "meta")
_KNOWN = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga",
    "maia", "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip


class Device:
    """A device, as torch's ``torch.device``: ``Device("cpu")``, ``Device("cuda", 0)``."""

    __slots__ = ("index", "type")
    type: str
    index: int | None

    def __new__(cls, type: Any = None, index: int | None = None) -> Device:  # noqa: A002
        if isinstance(type, Device):
            return type
        if isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type  # noqa: A001
        if not isinstance(type, str):
            raise TypeError(f"Device(): argument 'type' must be str, not {type!r}")
        if ":" in type:
            name, _, number = type.partition(":")
            if index is not None:
                raise RuntimeError(
                    "type (string) must not include an index because index was passed explicitly: "
                    + type
                )
            if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{type}'")
            type, index = name, int(number)  # noqa: A001
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        if not type:
            raise RuntimeError("Device string must not be empty")
        if type not in _KNOWN:
            if not type.isalpha():
                raise RuntimeError(f"Invalid device string: '{type}'")
            raise RuntimeError(
                f"Expected one of {', '.join(_KNOWN)} device type at start of device string: {type}"
            )
        if (type, index) not in _interned:
            device = object.__new__(cls)
            device.type = type
            device.index = index
            _interned[type, index] = device
        return _interned[type, index]

    def __repr__(self) -> str:
        if self.index is None:
            return f"device(type='{self.type}')"
        return f"device(type='{self.type}', index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> Any:
        return (Device, (self.type, self.index))

    def __copy__(self) -> Device:
        return self

    def __deepcopy__(self, memo: Any) -> Device:
        return self


_interned: dict[tuple[str, int | None], Device] = {}
cpu = Device("cpu")
meta = Device("meta")


def _without_memory(size: int, dtype: Any) -> Any:
    return np.broadcast_to(np.zeros((), dtype), (size,))


def empty_on(device: Device) -> Any:
    """The function ``(size, numpy dtype) -> flat array`` that takes memory on ``device``."""
    if device is cpu or device.type == "cpu":
        return empty
    if device.type == "meta":
        return _without_memory
    if device.type == "cuda":
        from . import cuda

        if cuda.device_count():
            return cuda.empty_on(device)
        raise cuda.missing()
    raise AssertionError("Torch not compiled with CUDA enabled")
