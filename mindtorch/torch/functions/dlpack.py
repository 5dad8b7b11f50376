"""Exchange of tensors with other libraries by the DLPack protocol, without a copy."""

from __future__ import annotations

import ctypes
import enum
from typing import Any

import numpy as np

from mindtorch.engine.devices import cuda
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from .._api.arguments import as_device, require_tensor

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(enum.IntEnum):
    """Kinds of devices, by DLPack's numbers."""

    __module__ = "mindtorch.torch.utils.dlpack"  # the name that pickles have

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14


class _Capsule:
    """Lends a capsule the methods through which numpy takes one."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLDeviceType.kDLCPU, 0


_INVALID = (
    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only "
    "once, so you might have already constructed a tensor from it once."
)


def _is_capsule(value: Any) -> bool:
    check = ctypes.pythonapi.PyCapsule_IsValid
    check.restype, check.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
    return any(check(value, name) for name in (b"dltensor", b"dltensor_versioned"))


def to_dlpack(tensor: Any) -> Any:
    """A capsule over the memory of ``tensor``."""
    require_tensor(tensor, "_to_dlpack", "data", 1)
    return tensor.__dlpack__()


class _Memory:
    """What numpy makes an array over; ``array`` lives as long as it does."""

    def __init__(self, array: Any) -> None:
        self.array = array
        interface = array.__array_interface__
        self.__array_interface__ = interface | {"data": (interface["data"][0], False)}


def _writable(array: Any) -> Any:
    """``array`` for writing: numpy refuses that for capsules that do not say, torch does not."""
    return array if array.flags.writeable else np.asarray(_Memory(array))


def _on_cuda(array: Any) -> bool:
    place = getattr(array, "__dlpack_device__", None)
    return place is not None and place()[0] == DLDeviceType.kDLCUDA


def _cupy() -> Any:
    found = cuda.kernels("library_calls").library()
    if found is None:
        raise NotImplementedError("DLPack of memory on CUDA needs cupy, which is not installed")
    return found


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor over the memory of ``ext_tensor``, an array of any library or a capsule.

    Args:
        device: None, or the CPU.
        copy: True takes memory of its own; None and False share that of ``ext_tensor``.
    """
    if device is not None:
        as_device(device)
    if isinstance(ext_tensor, EngineTensor):
        result: Any = ext_tensor.detach()
    elif _on_cuda(ext_tensor):
        result = cuda.adopt(_cupy().from_dlpack(ext_tensor), as_device("cuda"))
    elif hasattr(ext_tensor, "__dlpack__"):
        result = from_array(_writable(np.from_dlpack(ext_tensor)))
    elif _is_capsule(ext_tensor):
        result = from_array(_writable(np.from_dlpack(_Capsule(ext_tensor))))
    else:
        raise RuntimeError(_INVALID)
    return result.clone() if copy else result
