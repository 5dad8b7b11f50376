"""torch.cuda's functions where there is a device; ``torch.cuda`` calls them."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

from mindtorch.engine.devices import cuda as engine
from mindtorch.engine.devices.device import Device
from mindtorch.engine.random import philox
from mindtorch.engine.tensor import Tensor, from_array
from mindtorch.torch import random

from .._api.cuda_devices import choose as choose
from .._api.cuda_devices import current_device as current_device
from .._api.cuda_devices import index_of
from .._tensor.generator import default_generator


def _memory() -> Any:
    return engine.kernels("memory")


def _streams() -> Any:
    return engine.kernels("streams")


def init() -> None:
    """Make the driver's context (done by itself at first use)."""
    _streams().synchronize()


def _on(device: Any) -> Any:
    """A block on a device; None for the current one."""
    return _streams().on(index_of(device))


def _statistics(device: Any) -> Any:
    return _memory().statistics(index_of(device))


def synchronize(device: Any = None) -> None:
    """Wait for everything that was issued on the device; its errors are raised here."""
    with _on(device):
        _streams().synchronize()
    engine.kernels("errors").check()


class Properties(NamedTuple):
    """What is known of a device."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    warp_size: int


def get_device_properties(device: Any = None) -> Any:
    """Name, capability (major, minor), bytes of memory and multiprocessors."""
    with _on(device):
        found = _streams().properties()
        return Properties(total_memory=_memory().information()[1], **found)


def get_device_name(device: Any = None) -> str:
    return str(get_device_properties(device).name)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    found = get_device_properties(device)
    return int(found.major), int(found.minor)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """(free, all) bytes of the device."""
    with _on(device):
        found: tuple[int, int] = _memory().information()
    return found


def memory_allocated(device: Any = None) -> int:
    return int(_statistics(device).allocated)


def max_memory_allocated(device: Any = None) -> int:
    return int(_statistics(device).peak)


def memory_reserved(device: Any = None) -> int:
    with _on(device):
        return int(_memory().reserved())


def max_memory_reserved(device: Any = None) -> int:
    """The most that was seen when it was asked for; the pool itself does not say."""
    index = index_of(device)
    _peaks[index] = max(_peaks.get(index, 0), memory_reserved(device))
    return _peaks[index]


_peaks: dict[int, int] = {}


def reset_peak_memory_stats(device: Any = None) -> None:
    found = _statistics(device)
    found.peak = found.allocated
    _peaks[index_of(device)] = memory_reserved(device)


def empty_cache() -> None:
    _memory().empty_cache()


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Tensors may hold ``fraction`` of the device's memory; more is out of memory."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    index = index_of(device)
    _fractions[index] = fraction
    memory = _memory()
    memory.limits.pop(index, None)
    memory.limits[index] = int(mem_get_info(index)[1] * fraction)


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Counters under torch's names: bytes in use, at most, allocations."""
    found = _statistics(device)
    return OrderedDict({
        "allocated_bytes.all.allocated": found.total,
        "allocated_bytes.all.current": found.allocated,
        "allocated_bytes.all.freed": found.total - found.allocated,
        "allocated_bytes.all.peak": found.peak, "allocation.all.allocated": found.count,
        "reserved_bytes.all.current": memory_reserved(device),
    })  # fmt: skip


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The counters as text, a line each."""
    return "\n".join(f"{name:<36}{value:>20,}" for name, value in memory_stats(device).items())


def get_rng_state(device: Any = "cuda") -> Any:
    """Seed and offset where CUDA's own stream was chosen; else the CPU generator's state, whose
    numbers are drawn on the device, too."""
    if philox.chosen:
        return from_array(stream_of(device).get_state())
    return random.get_rng_state()


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    if philox.chosen:
        state = new_state.array() if isinstance(new_state, Tensor) else new_state
        stream_of(device).set_state(state)
    else:
        random.set_rng_state(new_state)


def initial_seed() -> int:
    return stream_of(None).seed if philox.chosen else default_generator.initial_seed()


def stream_of(device: Any) -> philox.Stream:
    """The stream of a device's own random numbers."""
    return philox.streams.of(index_of(Device("cuda", device) if type(device) is int else device))


_taken: dict[int, Any] = {}


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """The address of ``size`` bytes that stay taken until ``caching_allocator_delete``."""
    with _on(device):
        made = _memory().allocate(size)
    address = int(_memory().address_of(made))
    _taken[address] = made
    return address


def caching_allocator_delete(mem_ptr: int) -> None:
    """Give back what :func:`caching_allocator_alloc` took."""
    if _taken.pop(mem_ptr, None) is None:
        raise RuntimeError(f"invalid device pointer: {mem_ptr:#x}")


_SYNC_MODES = ("default", "warn", "error")


def get_sync_debug_mode() -> int:
    """What happens when a value is read on the host: 0 nothing, 1 a warning, 2 an error."""
    return int(_memory().sync_mode)


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Choose "default" (0), "warn" (1) or "error" (2) for reads on the host."""
    if isinstance(debug_mode, str):
        if debug_mode not in _SYNC_MODES:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, "
                               "`error`")  # fmt: skip
        debug_mode = _SYNC_MODES.index(debug_mode)
    _memory().sync_mode = debug_mode


def cudart() -> Any:
    """The functions of CUDA's runtime, as cupy has them."""
    cupy = _memory()._cupy()
    if cupy is None:
        raise NotImplementedError("torch.cuda.cudart() needs cupy, which is not installed")
    return cupy.cuda.runtime


def current_blas_handle() -> int:
    """The address of cuBLAS's handle."""
    cublas = engine.kernels("cublas")
    found = cublas.library()
    if found is None:
        raise NotImplementedError("the library of cuBLAS is not found")
    return int(cublas.handle(found))


def current_solver_handle() -> int:
    """The address of cuSOLVER's handle."""
    cudart()
    return int(_memory()._cupy().cuda.device.get_cusolver_handle())


def ipc_collect() -> None:
    """Nothing to collect: no memory is shared with other processes."""


def seed_of_time(everywhere: bool) -> None:
    """Start an unpredictable stream, on the current device or on all."""
    seed = default_generator.seed()
    if philox.chosen:
        (philox.streams if everywhere else stream_of(None)).manual_seed(seed)


def forked() -> bool:
    """Whether this process was forked after the device had been used."""
    return bool(_streams().forked())


def allocator() -> str:
    """"native" (cupy's pool keeps freed memory) or "cudaMalloc" (the driver's)."""
    return "native" if _memory()._cupy() is not None else "cudaMalloc"


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Count allocations from what is held now."""
    found = _statistics(device)
    found.total, found.count = found.allocated, 0


def memory_snapshot(mempool_id: Any = None, include_traces: bool = True) -> list[Any]:
    """A segment for each block of memory that tensors hold."""
    return [
        {
            "device": device, "address": address, "total_size": size, "allocated_size": size,
            "active_size": size, "stream": 0, "segment_type": "large" if size > 1 << 20 else (
                "small"
            ),
            "blocks": [{"address": address, "size": size, "state": "active_allocated"}],
        }
        for address, size, device in _memory().blocks()
    ]  # fmt: skip


def get_per_process_memory_fraction(device: Any = None) -> float:
    """What :func:`set_per_process_memory_fraction` was told; 1.0 at first."""
    return _fractions.get(index_of(device), 1.0)


_fractions: dict[int, float] = {}


class Stream:
    """An order of work on the device; work on different streams may overlap.

    Args:
        device: the device.
        priority: taken for torch's sake; all streams have the same.
    """

    def __init__(self, device: Any = None, priority: int = 0, **options: Any) -> None:
        self.device = Device("cuda", index_of(device))
        self.device_index = index_of(device)
        self.priority = priority
        self._stream = options.pop("stream", None)
        if options:
            raise TypeError(f"Stream() got an unexpected keyword argument '{next(iter(options))}'")
        if self._stream is None:
            with _on(device):
                self._stream = _streams().make()

    @property
    def cuda_stream(self) -> int:
        """The driver's address of the stream."""
        return int(_streams().handle(self._stream))

    stream_id = cuda_stream

    def synchronize(self) -> None:
        """Wait for the work issued so far."""
        with _on(self.device):
            _streams().synchronize(self._stream)
        engine.kernels("errors").check()

    def query(self) -> bool:
        """Whether the work issued so far has ended."""
        with _on(self.device):
            return bool(_streams().query(self._stream))

    def record_event(self, event: Any = None) -> Any:
        made = Event() if event is None else event
        made.record(self)
        return made

    def wait_event(self, event: Any) -> None:
        """Work issued later waits for ``event``."""
        event.wait(self)

    def wait_stream(self, stream: Any) -> None:
        """Work issued later waits for what ``stream`` has now."""
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Stream) and other.cuda_stream == self.cuda_stream
        return same and other.device is self.device  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """A stream that another library has made.

    Args:
        stream_ptr: its address.
    """

    def __init__(self, stream_ptr: int, device: Any = None) -> None:
        super().__init__(device, stream=_streams().external(stream_ptr))


def get_stream_from_external(data_ptr: int, device: Any = None) -> Stream:
    return ExternalStream(data_ptr, device)


class Event:
    """A moment on a stream.

    Args:
        enable_timing: whether :meth:`elapsed_time` can be asked.
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False,
        external: bool = False,
    ) -> None:  # fmt: skip
        if interprocess or external:
            raise NotImplementedError("events of other processes are not implemented in mindtorch")
        self.enable_timing = enable_timing
        self._event: Any = None  # of the device whose stream first records it
        self._recorded = False

    def record(self, stream: Any = None) -> None:
        chosen = current_stream() if stream is None else stream
        with _on(chosen.device):
            if self._event is None:
                self._event = _streams().make_event(self.enable_timing)
            _streams().record(self._event, chosen._stream)
        self._recorded = True

    def wait(self, stream: Any = None) -> None:
        """``stream``'s later work waits for this event."""
        chosen = current_stream() if stream is None else stream
        if self._recorded:
            with _on(chosen.device):
                _streams().wait(self._event, chosen._stream)

    def query(self) -> bool:
        return not self._recorded or bool(_streams().query(self._event))

    def synchronize(self) -> None:
        if self._recorded:
            _streams().synchronize(self._event)

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds from this event to ``end_event``."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._recorded and end_event._recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return float(_streams().elapsed(self._event, end_event._event))


def current_stream(device: Any = None) -> Stream:
    with _on(device):
        return Stream(device, stream=_streams().current())


def default_stream(device: Any = None) -> Stream:
    return Stream(device, stream=0)


def set_stream(stream: Any) -> None:
    if stream is not None:
        choose(stream.device)
        _streams().set_current(stream._stream)


@contextlib.contextmanager
def stream_block(stream: Any) -> Iterator[None]:
    """Work of the block is issued on ``stream``; None changes nothing."""
    if stream is None:
        yield
        return
    with _on(stream.device):
        before = _streams().set_current(stream._stream)
        try:
            yield
        finally:
            _streams().set_current(before)
