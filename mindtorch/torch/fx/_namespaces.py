"""torch's modules of functions: by which name code finds a function, and how tracing sees calls.

While a tracer runs, the functions of these modules are replaced by ones that look for proxies among
their arguments; a call with one becomes a node, every other call is made as before.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any

_MODULES = ("torch", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special",
            "torch.nn.init")  # fmt: skip
_NEVER = ("is_tensor", "set_grad_enabled", "no_grad", "enable_grad", "manual_seed", "compile",
          "get_default_dtype", "is_grad_enabled", "inference_mode", "typename")  # fmt: skip


@functools.cache
def functions() -> dict[int, tuple[str, Any, Any]]:
    """(name, function, its module) of all functions, by the function's id."""
    found: dict[int, tuple[str, Any, Any]] = {}
    for name in _MODULES:
        module = importlib.import_module(f"mindtorch.{name}")
        for key in dir(module):
            value = vars(module).get(key)
            if key.startswith("_") or key in _NEVER or not callable(value):
                continue
            if isinstance(value, type) or getattr(value, "__name__", None) is None:
                continue
            known = found.get(id(value))
            if known is None or (key == value.__name__ and not known[0].endswith(f".{key}")):
                found[id(value)] = (f"{name}.{key}", value, module)
    return found


def name_of(function: Any) -> str | None:
    """``torch.relu`` for the function that has this name, None for other functions."""
    entry = functions().get(id(function))
    return None if entry is None or entry[1] is not function else entry[0]


def is_ours(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith("mindtorch.")


@contextlib.contextmanager
def replaced(
    wrap: Callable[[Any], Any], places: list[dict[str, Any]], further: dict[str, Any]
) -> Iterator[Callable[[dict[str, Any]], None]]:
    """The functions replaced by ``wrap`` of them, in their modules and in ``places``.

    Args:
        places: dictionaries (globals of user code) that may hold some of them, too.
        further: functions of users to be replaced in ``places``, by name.

    Yields:
        a function that replaces them in one more dictionary.
    """
    undo: list[tuple[dict[str, Any], str, Any]] = []
    made: dict[int, Any] = {}
    done: set[int] = set()
    table = functions()

    def put(place: dict[str, Any], key: str, value: Any) -> None:
        undo.append((place, key, value))
        if id(value) not in made:
            made[id(value)] = wrap(value)
        place[key] = made[id(value)]

    def visit(place: dict[str, Any]) -> None:
        if id(place) in done:
            return
        done.add(id(place))
        for key, value in list(place.items()):
            entry = table.get(id(value))
            if (entry is not None and entry[1] is value) or further.get(key) is value:
                if value is not None:
                    put(place, key, value)

    for name in _MODULES:
        visit(vars(importlib.import_module(f"mindtorch.{name}")))
    try:
        for place in places:
            visit(place)
        yield visit
    finally:
        for place, key, value in reversed(undo):
            place[key] = value
