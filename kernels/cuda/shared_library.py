"""Libraries of NVIDIA that are called by ``ctypes``: where they are found, and their functions."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def _places(name: str, wheels: str, files: tuple[str, ...]) -> list[str]:
    """Where a library may be, the likeliest first."""
    found = []
    with contextlib.suppress(Exception):  # where there is none, each version raises its own
        finder = importlib.import_module("cuda.pathfinder")
        found.append(str(finder.load_nvidia_dynamic_lib(name).abs_path))
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        found += sorted(map(str, Path(folder).glob(wheels)), reverse=True)
    return [*found, *files]


def load(
    name: str, wheels: str, files: tuple[str, ...], signatures: Mapping[str, tuple[Any, ...]]
) -> Any:
    """The library with the types of its functions; None where it is not found.

    Args:
        name: as ``cuda.pathfinder`` knows it.
        wheels: pattern of its file below the folder ``nvidia`` of NVIDIA's wheels.
        files: names by which the system's loader may find it.
        signatures: the types of the arguments of each function that is called.
    """
    for place in _places(name, wheels, files):
        with contextlib.suppress(OSError, AttributeError):
            found = ctypes.CDLL(place)
            for function, types in signatures.items():
                getattr(found, function).argtypes = types
            return found
    return None


def created(create: Callable[..., int], checked: Callable[[int], None]) -> Any:
    """What a function of creation writes to its one argument."""
    made = ctypes.c_void_p()
    checked(create(ctypes.byref(made)))
    return made
