"""The functions of a module of devices of which there are none: torch.xpu, torch.mtia."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

_RAISING = (
    "can_device_access_peer", "current_device", "current_stream", "get_device_capability",
    "get_device_name", "get_device_properties", "get_rng_state", "init", "initial_seed",
    "mem_get_info", "set_device", "set_stream", "synchronize",
)  # fmt: skip
_ANSWERS: dict[str, Any] = {
    "device_count": 0, "is_available": False, "is_initialized": False, "is_bf16_supported": False,
    "max_memory_allocated": 0, "max_memory_reserved": 0, "memory_allocated": 0,
    "memory_reserved": 0, "empty_cache": None, "manual_seed": None, "manual_seed_all": None,
    "seed": None, "seed_all": None, "memory_stats": OrderedDict(), "get_rng_state_all": [],
    "reset_peak_memory_stats": None,
}  # fmt: skip


def fill(module: dict[str, Any], text: str) -> None:
    """Define the functions in a module's globals; ``text`` is what the error says."""

    def raising(name: str) -> Any:
        def entry(*args: Any, **kwargs: Any) -> NoReturn:
            raise AssertionError(text)

        entry.__doc__ = "Raises AssertionError: there is no such device."
        entry.__name__ = entry.__qualname__ = name
        return entry

    def answering(name: str, answer: Any) -> Any:
        def entry(*args: Any, **kwargs: Any) -> Any:
            return answer

        entry.__doc__ = f"{answer!r}: there is no such device."
        entry.__name__ = entry.__qualname__ = name
        return entry

    module.update({name: raising(name) for name in _RAISING})
    module.update({name: answering(name, answer) for name, answer in _ANSWERS.items()})
