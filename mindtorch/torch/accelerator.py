"""torch.accelerator: whatever device there is beside the CPU; here there is none."""

from __future__ import annotations

from typing import Any, NoReturn

from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons

__path__: list[str] = []  # of modules that _compat/inner_modules.txt names

_NONE = "Cannot access accelerator device when none is available."


def is_available() -> bool:
    """False: there is no accelerator."""
    return False


def device_count() -> int:
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """None: there is no accelerator."""


def _none(name: str) -> Any:
    def entry(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(_NONE)

    entry.__name__ = entry.__qualname__ = name
    entry.__doc__ = "Raises RuntimeError: there is no accelerator."
    return entry


current_device_index = _none("current_device_index")
current_device_idx = _none("current_device_idx")
current_stream = _none("current_stream")
empty_cache = _none("empty_cache")
empty_host_cache = _none("empty_host_cache")
get_device_capability = _none("get_device_capability")
get_memory_info = _none("get_memory_info")
max_memory_allocated = _none("max_memory_allocated")
max_memory_reserved = _none("max_memory_reserved")
memory_allocated = _none("memory_allocated")
memory_reserved = _none("memory_reserved")
memory_stats = _none("memory_stats")
reset_accumulated_memory_stats = _none("reset_accumulated_memory_stats")
reset_peak_memory_stats = _none("reset_peak_memory_stats")
set_device_idx = _none("set_device_idx")
set_device_index = _none("set_device_index")
set_stream = _none("set_stream")
synchronize = _none("synchronize")


class device_index:  # noqa: N801
    """A block with another current accelerator; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.index = device

    def __enter__(self) -> None:
        if self.index is not None:
            raise RuntimeError(_NONE)

    def __exit__(self, *exception: object) -> None:
        """Nothing was changed."""


_give_reasons(globals())
