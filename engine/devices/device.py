"""Devices: where a tensor's data lies, and how memory is taken there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..allocator import empty, empty_for

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
            kind = "" if type is None else type.__class__.__name__
            raise TypeError(
                f"device() received an invalid combination of arguments - got ({kind}), but "
                "expected one of:\n * (torch.device device)\n * (str type, int index = -1)\n"
            )
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


def empty_on(device: Device, most: int | None = None) -> Any:
    """The function ``(size, numpy dtype) -> flat array`` that takes memory on ``device``.

    ``most``: it is asked for so many bytes at most.
    """
    if device is cpu or device.type == "cpu":
        return empty if most is None else empty_for(most)
    if device.type == "meta":
        return _without_memory
    return backend(device.type).empty_on(device)


class Backend(NamedTuple):
    """What a type of devices does whose memory is not the host's; see :mod:`.cuda`.

    Attributes:
        type: as in ``Device.type``.
        empty_on: of a device, the function ``(size, numpy dtype) -> flat array``; raises torch's
            error where there is no such device.
        upload: ``upload(numpy array, device) -> (flat, aval)``.
        host_array: ``host_array(flat, aval)``, a copy of the elements as a numpy array.
        array_of: ``array_of(flat, aval)``, what kernels on arrays are given.
        kernels: ``kernels(module)``, a module of the kernels of such devices.
        fill: ``fill(flat, aval, value)`` writes a number everywhere.
        copy: ``copy(out aval, aval)``, the function ``(out, flat)`` that copies between devices.
        bind: ``bind(op, avals, in_avals, params)``, the callable on flat arrays of an op that has
            tensors on such a device.
    """

    type: str
    empty_on: Callable[[Device], Any]
    upload: Callable[..., Any]
    host_array: Callable[..., Any]
    array_of: Callable[..., Any]
    kernels: Callable[[str], Any]
    fill: Callable[..., None]
    copy: Callable[..., Any]
    bind: Callable[..., Any]


_backends: dict[str, Backend] = {}


def register(added: Backend) -> None:
    """Make a type of devices known to tensors and ops."""
    _backends[added.type] = added


def backend(type: str) -> Backend:  # noqa: A002 - torch's name
    """The backend of a type of devices; torch's error where there is none."""
    found = _backends.get(type)
    if found is None:
        raise AssertionError("Torch not compiled with CUDA enabled")
    return found


def backend_of(*avals: Any) -> Backend | None:
    """The backend that one of the descriptions names; None where all lie in the host's memory."""
    for a in avals:
        if a is not None and a.device is not cpu and a.device.type in _backends:
            return _backends[a.device.type]
    return None
