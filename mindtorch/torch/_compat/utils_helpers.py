"""Helpers of ``torch._utils`` that packages call: lists of tensors as one, devices by number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mindtorch.engine.devices import cuda
from mindtorch.engine.devices.device import Device
from mindtorch.engine.dtypes import DType

from .._api.cuda_devices import current_device
from .._api.namespace import NAMESPACE
from .._api.publish import FUNCTIONS

__all__ = [
    "classproperty", "element_size", "flatten_dense_tensors", "get_available_device_type",
    "get_device_index", "get_device_module", "get_file_path", "unflatten_dense_tensors",
]  # fmt: skip


def flatten_dense_tensors(tensors: Sequence[Any]) -> Any:
    """All elements of all tensors, one after the other, in one axis."""
    return FUNCTIONS["cat"]([each.reshape(-1) for each in tensors])


def unflatten_dense_tensors(flat: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Views of ``flat`` with the shapes of ``tensors``, whose elements it holds in turn."""
    parts = flat.split([each.numel() for each in tensors])
    return tuple(part.view_as(each) for part, each in zip(parts, tensors, strict=True))


def element_size(dtype: DType) -> int:
    """Bytes of one element."""
    return dtype.itemsize


def get_available_device_type() -> str | None:
    """The type of the fastest device beside the CPU; None when there is none."""
    return "cuda" if cuda.device_count() else None


def get_device_module(device_type: str) -> Any:
    """The module ``torch.<device_type>``.

    Raises:
        RuntimeError: there is none of this name.
    """
    module = getattr(NAMESPACE, device_type, None)
    if module is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as "
            f"'torch.{device_type}'."
        )
    return module


def get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device: a number is its own, the CPU's is -1.

    Args:
        optional: a device without a number stands for the current one.
        allow_cpu: the CPU is taken.

    Raises:
        ValueError: the CPU, or a device without a number, where these are not taken.
    """
    index: int | None = device if isinstance(device, int) else None
    if isinstance(device, str):
        device = Device(device)
    if isinstance(device, Device):
        if device.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        index = -1 if device.type == "cpu" else device.index
    if index is None and not optional:
        raise ValueError(
            f"Expected a torch.device with a specified index or an integer, but got:{device}"
        )
    return current_device() if index is None else index


class _ClassProperty:
    def __init__(self, fget: Any) -> None:
        self.fget = fget

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.fget.__get__(instance, type(instance) if owner is None else owner)()


def classproperty(func: Any) -> Any:
    """A property of the class itself, whose value ``func(cls)`` gives."""
    method = isinstance(func, (classmethod, staticmethod))
    return _ClassProperty(func if method else classmethod(func))


def get_file_path(*path_components: str) -> str:
    """The path of a file below the folder in which this library's package lies."""
    return str(Path(__file__).parents[3].joinpath(*path_components))
