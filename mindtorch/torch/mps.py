"""torch.mps: Apple's GPUs, which are not here."""

from __future__ import annotations

from typing import Any, NoReturn

from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons

__path__: list[str] = []  # of modules that _compat/inner_modules.txt names


def is_available() -> bool:
    """False: there is no such device."""
    return False


def device_count() -> int:
    return 0


def manual_seed(seed: int) -> None:
    """Nothing to seed without devices, as in torch."""


def _needs_mps(name: str, inner: str) -> Any:
    def entry(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"Cannot execute {inner}() without MPS backend.")

    entry.__name__ = entry.__qualname__ = name
    entry.__doc__ = "Raises RuntimeError: there is no such device."
    return entry


Event = _needs_mps("Event", "acquireEvent")
current_allocated_memory = _needs_mps("current_allocated_memory", "getCurrentAllocatedMemory")
driver_allocated_memory = _needs_mps("driver_allocated_memory", "getDriverAllocatedMemory")
empty_cache = _needs_mps("empty_cache", "emptyCache")
get_rng_state = _needs_mps("get_rng_state", "getDefaultGenerator")
recommended_max_memory = _needs_mps("recommended_max_memory", "getRecommendedMaxMemory")
seed = _needs_mps("seed", "getDefaultGenerator")
set_rng_state = _needs_mps("set_rng_state", "getDefaultGenerator")
synchronize = _needs_mps("synchronize", "deviceSynchronize")


def compile_shader(source: str) -> NoReturn:
    raise RuntimeError("MPS is not available")


def set_per_process_memory_fraction(fraction: float) -> NoReturn:
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    raise RuntimeError("Cannot execute setMemoryFraction() without MPS backend.")


_give_reasons(globals())
