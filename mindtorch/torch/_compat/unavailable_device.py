"""The functions of a module of devices of which there are none: torch.xpu, torch.mtia."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NoReturn

_RAISING = (
    "can_device_access_peer", "clock_rate", "current_device", "current_stream",
    "device_memory_used", "get_device_capability", "get_device_name", "get_device_properties",
    "get_per_process_memory_fraction", "get_rng_state", "get_stream_from_external", "init",
    "initial_seed", "make_graphed_callables", "mem_get_info", "memory_usage", "power_draw",
    "set_device", "set_per_process_memory_fraction", "set_rng_state", "set_stream", "snapshot",
    "synchronize", "temperature", "utilization",
)  # fmt: skip
_DUMMIES = ("Event", "MemPool", "Stream")
_ANSWERS: dict[str, Any] = {
    "device_count": 0, "is_available": False, "is_initialized": False, "is_bf16_supported": False,
    "max_memory_allocated": 0, "max_memory_reserved": 0, "memory_allocated": 0,
    "memory_reserved": 0, "empty_cache": None, "manual_seed": None, "manual_seed_all": None,
    "seed": None, "seed_all": None, "memory_stats": OrderedDict(), "get_rng_state_all": [],
    "reset_peak_memory_stats": None, "reset_accumulated_memory_stats": None,
    "get_arch_list": [], "get_gencode_flags": "", "is_tf32_supported": False,
    "memory_snapshot": [], "memory_stats_as_nested_dict": {}, "record_memory_history": None,
}  # fmt: skip


class _Nothing:
    """A block on a device or stream of which there are none: it does nothing."""

    def __init__(self, stream: Any = None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass


def _dummy(name: str, home: str) -> type[Any]:
    def new(cls: type[Any], *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"Tried to instantiate dummy base class {name}")

    doc = "Of a device that is not here.\n\n    Raises:\n        RuntimeError: when made."
    return type(name, (), {"__new__": new, "__doc__": doc, "__module__": home})


def fill(module: dict[str, Any], text: str, *graphs: str) -> None:
    """Define the functions and classes in a module's globals.

    Args:
        text: what errors say.
        graphs: names of further classes of which none can be made.
    """

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
    home = module["__name__"]
    for name in ("StreamContext", "device", "device_of"):
        module[name] = type(name, (_Nothing,), {"__doc__": _Nothing.__doc__, "__module__": home})
    module["stream"] = module["StreamContext"]
    module |= {name: _dummy(name, home) for name in (*_DUMMIES, *graphs)}

    def set_rng_state_all(new_states: Any) -> None:
        for each in new_states:
            module["set_rng_state"](each)

    set_rng_state_all.__doc__ = "Sets the states of the devices, of which there are none."
    module["set_rng_state_all"] = set_rng_state_all
    module["__path__"] = []  # of modules that _compat/inner_modules.txt names
