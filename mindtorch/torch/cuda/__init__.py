"""CUDA devices. Without one every entry says so as a CPU build of torch does; with one the entries
are those of ``_present``."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NoReturn

from mindtorch.engine.devices import cuda as engine
from mindtorch.engine.random import philox
from mindtorch.kernels.support.errors import AcceleratorError as AcceleratorError
from mindtorch.kernels.support.errors import OutOfMemoryError as OutOfMemoryError
from mindtorch.torch._api.public_names import own_names as _own_names

from .._api.cuda_devices import choose, index_of, require_cuda
from .._api.cuda_devices import current_device as current_device
from .._tensor.generator import default_generator
from . import _present
from . import _utils as _utils


def is_available() -> bool:
    """Whether there is a CUDA device."""
    return engine.device_count() > 0


def device_count() -> int:
    """How many CUDA devices there are; numba's simulator is one."""
    return engine.device_count()


def is_initialized() -> bool:
    """Whether CUDA was used in this process."""
    return device_count() > 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the device computes in bfloat16.

    Args:
        including_emulation: count it where it is emulated.
    """
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def _needs_cuda(name: str) -> Any:
    def entry(*args: Any, **kwargs: Any) -> Any:
        require_cuda()
        found = getattr(_present, name, None)
        if found is None:
            raise NotImplementedError(f"torch.cuda.{name} is not implemented in mindtorch")
        return found(*args, **kwargs)

    entry.__name__ = name
    entry.__doc__ = "As in torch; raises AssertionError where there is no CUDA device."
    return entry


def _counts(name: str, without: Any = 0) -> Any:
    def entry(*args: Any, **kwargs: Any) -> Any:
        return getattr(_present, name)(*args, **kwargs) if device_count() else without

    entry.__name__ = name
    entry.__doc__ = f"As in torch; {without!r} where there is no CUDA device."
    return entry


init = _needs_cuda("init")
synchronize = _needs_cuda("synchronize")
get_device_name = _needs_cuda("get_device_name")
get_device_properties = _needs_cuda("get_device_properties")
get_device_capability = _needs_cuda("get_device_capability")
current_stream = _needs_cuda("current_stream")
caching_allocator_alloc = _needs_cuda("caching_allocator_alloc")
cudart = _needs_cuda("cudart")
current_blas_handle = _needs_cuda("current_blas_handle")
current_solver_handle = _needs_cuda("current_solver_handle")
get_stream_from_external = _needs_cuda("get_stream_from_external")
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
set_sync_debug_mode = _needs_cuda("set_sync_debug_mode")
empty_cache = _counts("empty_cache", None)
memory_allocated = _counts("memory_allocated")
max_memory_allocated = _counts("max_memory_allocated")
memory_reserved = _counts("memory_reserved")
max_memory_reserved = _counts("max_memory_reserved")
reset_peak_memory_stats = _counts("reset_peak_memory_stats", None)
default_generators: tuple[Any, ...] = ()
has_half = True
has_magma = False


class _OfDevice(type):
    """The class of ``Stream`` and ``Event``: their objects are those of ``_present``."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return device_count() > 0 and isinstance(instance, getattr(_present, cls.__name__))


def _real(name: str, text: str) -> Any:
    """A class whose objects exist where there is a device."""

    def new(cls: type[Any], *args: Any, **kwargs: Any) -> Any:
        if not device_count():
            raise RuntimeError(text)
        return getattr(_present, name)(*args, **kwargs)

    doc = "As in torch; raises RuntimeError when made where there is no CUDA device."
    return _OfDevice(name, (), {"__new__": new, "__doc__": doc, "__module__": __name__})


def _dummy(name: str, text: str) -> type[Any]:
    """A class that can be named and not be made."""

    def new(cls: type[Any], *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(text)

    doc = "Raises RuntimeError when made: there is no CUDA device."
    return type(name, (), {"__new__": new, "__doc__": doc, "__module__": __name__})


Stream = _real("Stream", "torch.cuda.Stream requires CUDA support")
ExternalStream = _real("ExternalStream", "torch.cuda.Stream requires CUDA support")
Event = _real("Event", "Tried to instantiate dummy base class Event")
MemPool = _dummy("MemPool", "Tried to instantiate dummy base class MemPool")


def _tensor_type(name: str, place: str = "torch.cuda") -> type[Any]:
    def new(cls: type[Any], *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"type {place}.{name} not available. Torch not compiled with CUDA enabled.")

    doc = "Raises TypeError when made: there is no CUDA device."
    return type(name, (), {"__new__": new, "__doc__": doc, "__module__": place})


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


class CudaError(RuntimeError):
    """An error that the driver has reported by its number.

    Args:
        code: the number.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA driver error ({code})")


class DeferredCudaCallError(Exception):
    """Something that waited for the device to be used failed then."""


class cudaStatus:  # noqa: N801
    """Numbers that the driver answers."""

    SUCCESS = 0
    ERROR_NOT_READY = 34


def check_error(res: int) -> None:
    """Raise :class:`CudaError` unless the driver's answer is success.

    Args:
        res: the answer, a number.
    """
    if int(res) != cudaStatus.SUCCESS:
        raise CudaError(int(res))


def _storage_type(name: str) -> type[Any]:
    def new(cls: type[Any], *args: Any, **kwargs: Any) -> NoReturn:
        require_cuda()
        raise NotImplementedError(f"torch.cuda.{name}: make a tensor, and take its storage")

    doc = "Raises when made: storages on CUDA are those of tensors."
    return type(name, (), {"__new__": new, "__doc__": doc, "__module__": __name__})


BFloat16Storage = _storage_type("BFloat16Storage")
BoolStorage = _storage_type("BoolStorage")
ByteStorage = _storage_type("ByteStorage")
CharStorage = _storage_type("CharStorage")
ComplexDoubleStorage = _storage_type("ComplexDoubleStorage")
ComplexFloatStorage = _storage_type("ComplexFloatStorage")
DoubleStorage = _storage_type("DoubleStorage")
FloatStorage = _storage_type("FloatStorage")
HalfStorage = _storage_type("HalfStorage")
IntStorage = _storage_type("IntStorage")
LongStorage = _storage_type("LongStorage")
ShortStorage = _storage_type("ShortStorage")


def _is_compiled() -> bool:
    return device_count() > 0


def _lazy_init() -> None:
    init()


def _is_in_bad_fork() -> bool:
    """Whether this process was forked after the device had been used."""
    return bool(device_count()) and bool(_present.forked())


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether one device reads the other's memory; no device reads itself as another's.

    Args:
        peer_device: the one whose memory is read.
    """
    require_cuda()
    for each in (device, peer_device):
        index_of(each)
    return False


_MODULES = (
    "_utils", "amp", "gds", "graphs", "jiterator", "memory", "nccl", "nvtx", "profiler", "random",
    "sparse", "streams",
)  # fmt: skip
_MEMORY = (
    "CUDAPluggableAllocator", "caching_allocator_delete", "caching_allocator_disabled",
    "caching_allocator_enable", "change_current_allocator", "get_allocator_backend",
    "host_memory_stats", "host_memory_stats_as_nested_dict", "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_host_memory_stats", "use_mem_pool",
)  # fmt: skip
_GRAPHS = (
    "CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing",
    "make_graphed_callables",
)  # fmt: skip
_MONITOR = (
    "clock_rate", "device_memory_used", "memory_usage", "power_draw", "temperature", "utilization",
)  # fmt: skip


def _exchange_device(device: int) -> int:
    """Make a device the current one; gives the one before it.

    Args:
        device: its number; a negative one chooses nothing and gives -1.
    """
    if not device_count():
        raise RuntimeError("PyTorch was compiled without CUDA support")
    if device < 0:
        return -1
    return int(choose(device))


_maybe_exchange_device = _exchange_device


def _get_rng_state_offset(device: Any = "cuda") -> int:
    """How far a device's own stream of random numbers is; see ``torch.cuda.random.use_philox``."""
    require_cuda()
    if not philox.chosen:
        raise RuntimeError("CPU Generator does not use offset")
    return int(_present.stream_of(device).offset)


def _set_rng_state_offset(offset: int, device: Any = "cuda") -> None:
    """Go to a place of a device's own stream, a multiple of 4; nothing without, as in torch."""
    if not device_count():
        return
    _get_rng_state_offset(device)
    if offset % 4:
        raise RuntimeError("offset must be a multiple of 4")
    _present.stream_of(device).offset = int(offset)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__package__}.{name}")
    if name in _MEMORY:
        return getattr(importlib.import_module(f"{__package__}.memory"), name)
    if name in _GRAPHS:
        return getattr(importlib.import_module(f"{__package__}.graphs"), name)
    if name in _MONITOR:
        found = getattr(importlib.import_module(f"{__package__}._monitor"), name)
        found.__module__ = __name__
        return found
    if name == "_initialized":
        return is_initialized()
    raise AttributeError(f"module 'torch.cuda' has no attribute '{name}'")


class StreamContext:
    """A block on a stream; None chooses none."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._block: Any = None

    def __enter__(self) -> None:
        if self.stream is not None and device_count():
            self._block = _present.stream_block(self.stream)
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
        _present.set_stream(stream)


def get_arch_list() -> list[str]:
    """The architectures that kernels are compiled for: the device's own."""
    if not device_count():
        return []
    return ["sm_{}{}".format(*_present.get_device_capability())]


def get_gencode_flags() -> str:
    """Options of nvcc that PyTorch was built with: none."""
    return ""


def is_tf32_supported() -> bool:
    """Whether the device multiplies in tf32: Ampere and later ones."""
    return is_available() and _present.get_device_capability()[0] >= 8


def seed() -> None:
    """Start an unpredictable stream on the current device. Nothing to seed without devices."""
    if device_count():
        _present.seed_of_time(False)


def seed_all() -> None:
    """Start an unpredictable stream, the same on all devices. Nothing to seed without devices."""
    if device_count():
        _present.seed_of_time(True)


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Counters of memory under torch's names; empty without devices.

    Args:
        device: None for the current one.
    """
    return _present.memory_stats(device) if device_count() else OrderedDict()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """:func:`memory_stats` with a dictionary for each part of a name.

    Args:
        device: None for the current one.
    """
    nested: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        place = nested
        *parts, last = name.split(".")
        for part in parts:
            place = place.setdefault(part, {})
        place[last] = value
    return nested


def memory_cached(device: Any = None) -> int:
    """:func:`memory_reserved` by its old name (deprecated).

    Args:
        device: None for the current one.
    """
    _renamed("memory_cached", "memory_reserved")
    return int(memory_reserved(device))


def max_memory_cached(device: Any = None) -> int:
    """:func:`max_memory_reserved` by its old name (deprecated).

    Args:
        device: None for the current one.
    """
    _renamed("max_memory_cached", "max_memory_reserved")
    return int(max_memory_reserved(device))


def _renamed(old: str, new: str) -> None:
    warnings.warn(
        f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`", FutureWarning, stacklevel=3
    )


def list_gpu_processes(device: Any = None) -> str:
    """A text that names the processes on a device.

    Args:
        device: None for the current one.
    """
    return "pynvml module not found, please install nvidia-ml-py"


def set_device(device: Any) -> None:
    """Make a device the current one; negative indices choose nothing.

    Raises:
        ValueError: no number, or the device is of another kind.
    """
    index = _utils._get_device_index(device)
    if index is not None and index >= 0:
        require_cuda()
        choose(index)


def manual_seed(seed: int) -> None:
    """Start the stream of ``seed``: that of the CPU, whose numbers are drawn on the device, too.
    Nothing to seed without devices, as in torch."""
    _manual_seed(int(seed), False)


def manual_seed_all(seed: int) -> None:
    """:func:`manual_seed` on all devices.

    Args:
        seed: a whole number of 64 bits.
    """
    _manual_seed(int(seed), True)


def _manual_seed(seed: int, everywhere: bool) -> None:
    if not device_count():
        return
    if philox.chosen:
        (philox.streams if everywhere else _present.stream_of(None)).manual_seed(seed)
    else:
        default_generator.manual_seed(seed)


def get_rng_state_all() -> list[Any]:
    """The state of each device's generator."""
    return [_present.get_rng_state(number) for number in range(device_count())]


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Put a device's generator into a state; nothing without devices, as in torch.

    Args:
        new_state: what ``get_rng_state`` gave.
        device: a number, a string or a device.
    """
    kept = new_state.clone()
    if device_count():
        _present.set_rng_state(kept, device)


def set_rng_state_all(new_states: Any) -> None:
    """Set the state of each device's generator; nothing without devices, as in torch.

    Args:
        new_states: one for each device.
    """
    for number, state in enumerate(new_states):
        set_rng_state(state, number)


@contextlib.contextmanager
def device(device: Any) -> Iterator[None]:
    """Choose a device for the block; None and negative indices choose none."""
    if device is not None and not (isinstance(device, int) and device < 0):
        before = _exchange_device(_number(device))
        try:
            yield
        finally:
            choose(before)
    else:
        yield


def _number(device: Any) -> int:
    """The number of a device, or of a tensor's; with the error that a block on it raises."""
    if not device_count():
        raise RuntimeError("PyTorch was compiled without CUDA support")
    return int(index_of(getattr(device, "device", device)))


def device_of(obj: Any) -> Any:
    """A block on the device of a tensor on CUDA; one that chooses nothing for others.

    Args:
        obj: anything.
    """
    return device(obj.get_device() if obj.is_cuda else None)

_own_names(globals())
