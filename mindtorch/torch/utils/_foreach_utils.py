"""Which lists of tensors the functions ``torch._foreach_*`` take at once.

Optimizers outside of torch ask here, and split their parameters as torch's own do.
"""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch._tensor.tensor import Tensor

__all__ = [
    "_device_has_foreach_support", "_get_foreach_kernels_supported_devices",
    "_get_fused_kernels_supported_devices", "_group_tensors_by_device_and_dtype",
    "_has_foreach_support",
]  # fmt: skip

_Groups = dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Types of devices for which torch's optimizers take whole lists of their own accord."""
    return ["cuda", "xpu", "mtia", torch._C._get_privateuse1_backend_name()]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Types of devices on which torch's optimizers have one kernel for the whole update."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", torch._C._get_privateuse1_backend_name()]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Any]], with_indices: bool = False
) -> _Groups:
    """Split lists of equal length by the device and type of the first list's tensors.

    Args:
        tensorlistlist: the first list holds tensors alone, the others what belongs to each, or
            nothing at all.
        with_indices: also give each group's places in the lists given; else that list is empty.

    Returns:
        For each (device, dtype), in the order of first appearance: the lists of that group, and
        the places.

    Raises:
        RuntimeError: nothing to go by.
    """
    for name, value in (("", tensorlistlist), ("[0]", tensorlistlist and tensorlistlist[0])):
        if not value:
            raise RuntimeError(
                f"Expected !nested_tensorlist{name}.empty() to be true, but got false."
            )
    groups: _Groups = {}
    for place, tensor in enumerate(tensorlistlist[0]):
        key = (tensor.device, tensor.dtype)
        lists, places = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for kept, every in zip(lists, tensorlistlist, strict=True):
            if every:
                kept.append(every[place])
        if with_indices:
            places.append(place)
    return groups


def _device_has_foreach_support(device: Any) -> bool:
    """Whether ``torch._foreach_*`` take tensors of this device."""
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: list[Any], device: Any) -> bool:
    """Whether all are plain tensors (or None) of a device that has these functions."""
    return _device_has_foreach_support(device) and all(
        each is None or type(each) is Tensor for each in tensors
    )
