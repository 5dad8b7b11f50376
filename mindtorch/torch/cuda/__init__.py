"""CUDA devices: none yet, and every entry says so as a CPU build of torch does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NoReturn


def require_cuda() -> NoReturn:
    raise AssertionError("Torch not compiled with CUDA enabled")


def is_available() -> bool:
    """False: there is no CUDA device."""
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
set_device = _needs_cuda("set_device")
synchronize = _needs_cuda("synchronize")
get_device_name = _needs_cuda("get_device_name")
get_device_properties = _needs_cuda("get_device_properties")
get_device_capability = _needs_cuda("get_device_capability")
current_stream = _needs_cuda("current_stream")
Stream = _needs_cuda("Stream")
Event = _needs_cuda("Event")


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
