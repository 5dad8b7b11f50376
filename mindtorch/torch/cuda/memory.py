"""Memory of the devices, under the names that packages import it by."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from .._api.cuda_devices import require_cuda
from . import (
    MemPool,
    _present,
    caching_allocator_alloc,
    device_count,
    empty_cache,
    get_per_process_memory_fraction,
    list_gpu_processes,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)  # fmt: skip

__all__ = [
    "CUDAPluggableAllocator", "MemPool", "caching_allocator_alloc", "caching_allocator_delete",
    "caching_allocator_disabled", "caching_allocator_enable", "change_current_allocator",
    "empty_cache", "get_allocator_backend", "get_per_process_memory_fraction",
    "host_memory_stats", "host_memory_stats_as_nested_dict", "list_gpu_processes",
    "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info",
    "memory_allocated", "memory_cached", "memory_reserved", "memory_snapshot", "memory_stats",
    "memory_stats_as_nested_dict", "memory_summary", "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_host_memory_stats", "reset_peak_memory_stats", "set_per_process_memory_fraction",
    "use_mem_pool",
]  # fmt: skip


def _with_device() -> Any:
    require_cuda()
    return _present


def caching_allocator_delete(mem_ptr: int) -> None:
    """Give back memory that :func:`caching_allocator_alloc` took."""
    _with_device().caching_allocator_delete(mem_ptr)


def caching_allocator_enable(value: bool = True) -> None:
    """Keep freed memory, or give it back at once; nothing to do without a device."""
    if device_count() and not value:
        raise NotImplementedError("mindtorch's memory on CUDA is always kept by its pool")


@contextlib.contextmanager
def caching_allocator_disabled() -> Iterator[None]:
    """A block without kept memory."""
    caching_allocator_enable(False)
    yield


def get_allocator_backend() -> str:
    """What takes the memory: cupy's pool or the driver itself."""
    return str(_with_device().allocator())


class CUDAPluggableAllocator:
    """An allocator in a shared library.

    Raises:
        NotImplementedError: memory is taken by cupy's pool, or by the driver.
    """

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        raise NotImplementedError("mindtorch takes memory on CUDA by cupy or by the driver")


def change_current_allocator(allocator: Any) -> None:
    """Raises: NotImplementedError: there is one allocator."""
    _with_device()
    raise NotImplementedError("mindtorch takes memory on CUDA by cupy or by the driver")


@contextlib.contextmanager
def use_mem_pool(pool: Any, device: Any = None) -> Iterator[None]:
    """A block whose memory comes from ``pool``."""
    change_current_allocator(pool)
    yield


def host_memory_stats() -> dict[str, Any]:
    """Counters of pinned memory: it is taken and given back at once, none is kept."""
    return OrderedDict()


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    return {}


def reset_accumulated_host_memory_stats() -> None:
    """There is nothing to set back; AssertionError without a device."""
    require_cuda()


def reset_peak_host_memory_stats() -> None:
    """There is nothing to set back; AssertionError without a device."""
    require_cuda()


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Count allocations from zero again."""
    _with_device().reset_accumulated_memory_stats(device)


def reset_max_memory_allocated(device: Any = None) -> None:
    """:func:`reset_peak_memory_stats` by its old name."""
    _reset("reset_max_memory_allocated", device)


def reset_max_memory_cached(device: Any = None) -> None:
    """:func:`reset_peak_memory_stats` by its old name."""
    _reset("reset_max_memory_cached", device)


def _reset(name: str, device: Any) -> None:
    import warnings

    warnings.warn(
        f"torch.cuda.{name} now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak "
        "memory stats.",
        FutureWarning,
        stacklevel=3,
    )
    reset_peak_memory_stats(device)
