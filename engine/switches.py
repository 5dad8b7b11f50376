"""Mechanisms that can be turned off one by one, to find the one that makes a number wrong.

Each is on unless its environment variable (``MINDTORCH_CALL_CACHE=0`` and so on) says otherwise
when the engine is imported. With all of them off, an op is called, runs its kernel and is recorded,
and nothing more. Tests turn them off within a process by :func:`off`.

``MINDTORCH_DEBUG`` is the level of :data:`debug`: 1 says on what the program runs, 2 how much time
each op takes, 3 shows graphs before and after each pass, which are then verified, and 4 names the
kernels that are compiled.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

__all__ = ["DESCRIPTIONS", "Switches", "debug", "off", "switches", "variable", "when_changed"]

DESCRIPTIONS = {
    "call_cache": "cached calls: a function's ops by its arguments' signature; making of nodes",
    "vjp_cache": "cached gradient rules, of single ops and of whole backward passes",
    "fusion": "fusion: elementwise ops and their sums as one loop",
    "kernel_substitution": "other kernels in compiled functions (Winograd, AMX) and Lite models",
    "grad_buffer_reuse": "results and gradients in memory that nobody holds any more",
    "lazy": "lazy mode: ops wait until their data is needed, and then run compiled",
    "compile": "compiled functions (torch.compile, jit): calls that are captured and run as graphs",
}


def variable(name: str) -> str:
    """The environment variable of a mechanism."""
    return f"MINDTORCH_{name.upper()}"


class Switches:
    """Which mechanisms are on.

    Attributes:
        call_cache: see :data:`DESCRIPTIONS`, as for all others.
    """

    call_cache: bool
    vjp_cache: bool
    fusion: bool
    kernel_substitution: bool
    grad_buffer_reuse: bool
    lazy: bool
    compile: bool

    def __init__(self, environment: dict[str, str]) -> None:
        for name in DESCRIPTIONS:
            setattr(self, name, environment.get(variable(name), "").strip() != "0")


class Debug:
    """What is said on standard error.

    Attributes:
        level: 0 to 4; each level says what the ones below do, too.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        given = environment.get("MINDTORCH_DEBUG", "").strip()
        self.level = int(given) if given.isdecimal() else 0


switches = Switches(dict(os.environ))
debug = Debug(dict(os.environ))
_listeners: list[Callable[[], None]] = []


def when_changed(listener: Callable[[], None]) -> None:
    """Have ``listener`` called whenever a mechanism is turned off or on within the process."""
    _listeners.append(listener)


@contextlib.contextmanager
def off(*names: str) -> Iterator[None]:
    """Turn mechanisms off, all of them where none is named.

    Caches are emptied. What was compiled before keeps the form that it has.
    """
    chosen = names or tuple(DESCRIPTIONS)
    before = {name: getattr(switches, name) for name in chosen}
    _set(dict.fromkeys(chosen, False))
    try:
        yield
    finally:
        _set(before)


def _set(values: dict[str, bool]) -> None:
    for name, value in values.items():
        setattr(switches, name, value)
    for listener in _listeners:
        listener()
