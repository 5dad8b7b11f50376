"""CUDA devices: none yet, and every entry says so as a CPU build of torch does."""

from __future__ import annotations

import contextlib
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NoReturn


def require_cuda() -> NoReturn:
    raise AssertionError("Torch not compiled with CUDA enabled")


def is_available() -> bool:
    """False: there is no CUDA device."""
    return False


def is_current_stream_capturing() -> bool:
    """False: no stream is recorded."""
    return False


def device_count() -> int:
    return 0


def is_initialized() -> bool:
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return False


def _needs_cuda(name: str) -> Any:
    def entry(*args: Any, **kwargs: Any) -> NoReturn:
        require_cuda()

    entry.__name__ = name
    entry.__doc__ = "Raises AssertionError: there is no CUDA device."
    return entry


init = _needs_cuda("init")
current_device = _needs_cuda("current_device")
synchronize = _needs_cuda("synchronize")
get_device_name = _needs_cuda("get_device_name")
get_device_properties = _needs_cuda("get_device_properties")
get_device_capability = _needs_cuda("get_device_capability")
current_stream = _needs_cuda("current_stream")
caching_allocator_alloc = _needs_cuda("caching_allocator_alloc")
cudart = _needs_cuda("cudart")
current_blas_handle = _needs_cuda("current_blas_handle")
default_stream = _needs_cuda("default_stream")
get_per_process_memory_fraction = _needs_cuda("get_per_process_memory_fraction")
get_rng_state = _needs_cuda("get_rng_state")
get_sync_debug_mode = _needs_cuda("get_sync_debug_mode")
initial_seed = _needs_cuda("initial_seed")
ipc_collect = _needs_cuda("ipc_collect")
mem_get_info = _needs_cuda("mem_get_info")
memory_snapshot = _needs_cuda("memory_snapshot")
memory_summary = _needs_cuda("memory_summary")
set_per_process_memory_fraction = _needs_cuda("set_per_process_memory_fraction")
set_rng_state = _needs_cuda("set_rng_state")
set_sync_debug_mode = _needs_cuda("set_sync_debug_mode")
default_generators: tuple[Any, ...] = ()
has_half = True
has_magma = False


def _dummy(name: str, text: str) -> type[Any]:
    """A class that can be named and not be made."""

    def new(cls: type[Any], *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(text)

    doc = "Raises RuntimeError when made: there is no CUDA device."
    return type(name, (), {"__new__": new, "__doc__": doc, "__module__": __name__})


Stream = _dummy("Stream", "torch.cuda.Stream requires CUDA support")
ExternalStream = _dummy("ExternalStream", "torch.cuda.Stream requires CUDA support")
Event = _dummy("Event", "Tried to instantiate dummy base class Event")
CUDAGraph = _dummy("CUDAGraph", "Tried to instantiate dummy base class CUDAGraph")
graph = _dummy("graph", "Tried to instantiate dummy base class CUDAGraph")
MemPool = _dummy("MemPool", "Tried to instantiate dummy base class MemPool")


def _tensor_type(name: str) -> type[Any]:
    def new(cls: type[Any], *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(
            f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled."
        )

    doc = "Raises TypeError when made: there is no CUDA device."
    return type(name, (), {"__new__": new, "__doc__": doc, "__module__": __name__})


BFloat16Tensor = _tensor_type("BFloat16Tensor")
BoolTensor = _tensor_type("BoolTensor")
ByteTensor = _tensor_type("ByteTensor")
CharTensor = _tensor_type("CharTensor")
DoubleTensor = _tensor_type("DoubleTensor")
FloatTensor = _tensor_type("FloatTensor")
HalfTensor = _tensor_type("HalfTensor")
IntTensor = _tensor_type("IntTensor")
LongTensor = _tensor_type("LongTensor")
ShortTensor = _tensor_type("ShortTensor")


def __getattr__(name: str) -> Any:
    if name in ("amp", "jiterator", "nvtx", "profiler", "random"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.cuda' has no attribute '{name}'")


class StreamContext:
    """A block on a stream; None chooses none."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        """Without devices there is no stream to change."""

    def __exit__(self, *exception: object) -> None:
        """Nothing was changed."""


def stream(stream: Any) -> StreamContext:
    """A block on ``stream``."""
    return StreamContext(stream)


def set_stream(stream: Any) -> None:
    """None chooses none; there is no other stream."""
    if stream is not None:
        require_cuda()


def get_arch_list() -> list[str]:
    return []


def get_gencode_flags() -> str:
    return ""


def is_tf32_supported() -> bool:
    return False


def seed() -> None:
    """Nothing to seed without devices, as in torch."""


def seed_all() -> None:
    """Nothing to seed without devices, as in torch."""


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Nothing is counted without devices."""
    return OrderedDict()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    return {}


def memory_cached(device: Any = None) -> int:
    """:func:`memory_reserved` by its old name (deprecated)."""
    _renamed("memory_cached", "memory_reserved")
    return 0


def max_memory_cached(device: Any = None) -> int:
    """:func:`max_memory_reserved` by its old name (deprecated)."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return 0


def _renamed(old: str, new: str) -> None:
    warnings.warn(
        f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`", FutureWarning, stacklevel=3
    )


def list_gpu_processes(device: Any = None) -> str:
    return "pynvml module not found, please install nvidia-ml-py"


def set_device(device: Any) -> None:
    """Negative indices choose nothing; there is no other device."""
    if not (isinstance(device, int) and device < 0):
        require_cuda()


def manual_seed(seed: int) -> None:
    """Nothing to seed without devices, as in torch."""


def manual_seed_all(seed: int) -> None:
    """Nothing to seed without devices, as in torch."""


def empty_cache() -> None:
    """Nothing is cached without devices, as in torch."""


def memory_allocated(device: Any = None) -> int:
    return 0


def max_memory_allocated(device: Any = None) -> int:
    return 0


def memory_reserved(device: Any = None) -> int:
    return 0


def max_memory_reserved(device: Any = None) -> int:
    return 0


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing is counted without devices, as in torch."""


def get_rng_state_all() -> list[Any]:
    return []


def set_rng_state_all(states: Any) -> None:
    """There are no devices whose states could be set; a state that is given is an error."""
    if len(list(states)):
        require_cuda()


@contextlib.contextmanager
def device(device: Any) -> Iterator[None]:
    """Choose a device for the block; None and negative indices choose none."""
    if device is not None and not (isinstance(device, int) and device < 0):
        require_cuda()
    yield


device_of = device
OutOfMemoryError = type("OutOfMemoryError", (RuntimeError,), {
    "__doc__": "A device has no memory left.", "__module__": "torch",
})  # fmt: skip
AcceleratorError = type("AcceleratorError", (RuntimeError,), {
    "__doc__": "An error that a device reported.", "__module__": "torch",
})  # fmt: skip
