"""CUDA devices. Without one every entry says so as a CPU build of torch does; with one the entries
are those of ``_present``."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NoReturn

from mindtorch.engine import cuda as engine
from mindtorch.engine.device import Device
from mindtorch.engine.generator import default_generator
from mindtorch.kernels.errors import AcceleratorError as AcceleratorError
from mindtorch.kernels.errors import OutOfMemoryError as OutOfMemoryError

from .graphs import CUDAGraph as CUDAGraph
from .graphs import graph as graph
from .graphs import graph_pool_handle as graph_pool_handle
from .graphs import is_current_stream_capturing as is_current_stream_capturing
from .graphs import make_graphed_callables as make_graphed_callables


def require_cuda(index: int | None = None) -> None:
    """Raise torch's error where there is no CUDA device, or none with this number."""
    if not engine.device_count():
        raise AssertionError("Torch not compiled with CUDA enabled")
    if index is not None:
        _functions().index_of(Device("cuda", index))


def _functions() -> Any:
    return importlib.import_module(f"{__name__}._present")


def current_index() -> int:
    """The number of the current device."""
    return 0


def is_available() -> bool:
    """Whether there is a CUDA device."""
    return device_count() > 0


def device_count() -> int:
    """How many CUDA devices there are; numba's simulator is one."""
    return engine.device_count()


def is_initialized() -> bool:
    return device_count() > 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def _needs_cuda(name: str) -> Any:
    def entry(*args: Any, **kwargs: Any) -> Any:
        require_cuda()
        found = getattr(_functions(), name, None)
        if found is None:
            raise NotImplementedError(f"torch.cuda.{name} is not implemented in mindtorch")
        return found(*args, **kwargs)

    entry.__name__ = name
    entry.__doc__ = "As in torch; raises AssertionError where there is no CUDA device."
    return entry


def _counts(name: str, without: Any = 0) -> Any:
    def entry(*args: Any, **kwargs: Any) -> Any:
        return getattr(_functions(), name)(*args, **kwargs) if device_count() else without

    entry.__name__ = name
    entry.__doc__ = f"As in torch; {without!r} where there is no CUDA device."
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
empty_cache = _counts("empty_cache", None)
memory_allocated = _counts("memory_allocated")
max_memory_allocated = _counts("max_memory_allocated")
memory_reserved = _counts("memory_reserved")
max_memory_reserved = _counts("memory_reserved")
reset_peak_memory_stats = _counts("reset_peak_memory_stats", None)
default_generators: tuple[Any, ...] = ()
has_half = True
has_magma = False


class _OfDevice(type):
    """The class of ``Stream`` and ``Event``: their objects are those of ``_present``."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return device_count() > 0 and isinstance(instance, getattr(_functions(), cls.__name__))


def _real(name: str, text: str) -> Any:
    """A class whose objects exist where there is a device."""

    def new(cls: type[Any], *args: Any, **kwargs: Any) -> Any:
        if not device_count():
            raise RuntimeError(text)
        return getattr(_functions(), name)(*args, **kwargs)

    doc = "As in torch; raises RuntimeError when made where there is no CUDA device."
    return _OfDevice(name, (), {"__new__": new, "__doc__": doc, "__module__": __name__})


def _dummy(name: str, text: str) -> type[Any]:
    """A class that can be named and not be made."""

    def new(cls: type[Any], *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(text)

    doc = "Raises RuntimeError when made: there is no CUDA device."
    return type(name, (), {"__new__": new, "__doc__": doc, "__module__": __name__})


Stream = _real("Stream", "torch.cuda.Stream requires CUDA support")
ExternalStream = _dummy("ExternalStream", "torch.cuda.Stream requires CUDA support")
Event = _real("Event", "Tried to instantiate dummy base class Event")
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
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.cuda' has no attribute '{name}'")


class StreamContext:
    """A block on a stream; None chooses none."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._block: Any = None

    def __enter__(self) -> None:
        if self.stream is not None and device_count():
            self._block = _functions().stream_block(self.stream)
            self._block.__enter__()

    def __exit__(self, *exception: object) -> None:
        block, self._block = self._block, None
        if block is not None:
            block.__exit__(None, None, None)


def stream(stream: Any) -> StreamContext:
    """A block on ``stream``."""
    return StreamContext(stream)


def set_stream(stream: Any) -> None:
    """Issue further work on ``stream``; None changes nothing."""
    if stream is not None:
        require_cuda()
        _functions().set_stream(stream)


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
    """Counters of memory under torch's names; empty without devices."""
    return _functions().memory_stats(device) if device_count() else OrderedDict()


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
    """Make a device the current one; negative indices choose nothing."""
    if not (isinstance(device, int) and device < 0):
        require_cuda()
        _choose(device)


def _choose(device: Any) -> None:
    if _functions().index_of(device):
        raise NotImplementedError("mindtorch computes on the first CUDA device only")


def manual_seed(seed: int) -> None:
    """Start the stream of ``seed``: that of the CPU, whose numbers are drawn on the device, too.
    Nothing to seed without devices, as in torch."""
    if device_count():
        default_generator.manual_seed(seed)


manual_seed_all = manual_seed








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
        _choose(getattr(device, "device", device))
    yield


device_of = device
