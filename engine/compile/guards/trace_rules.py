"""Which Python code always does the same: what a captured call need not do again.

A capture keeps what a call does to tensors; its Python code does not run again. So each function
that user code calls must be known to depend on its arguments alone and to change nothing but them.
What is not known is refused, and the call runs in lazy mode: its Python code runs each time.
"""

from __future__ import annotations

import collections
import functools
import os
import pathlib
import random
import re
import types
from typing import Any

import numpy as np

LIBRARY = str(pathlib.Path(os.path.abspath(__file__)).parents[3])
_STANDARD = os.path.dirname(os.__file__)
SKIPPED = (
    "mindtorch", "torch",  # ours have torch's names where they stand for it
    "numpy", "numba",
    "hypothesis",  # its callback of the garbage collector reads the time
)  # fmt: skip
# parts of the standard library whose functions depend on their arguments alone
_PLAIN = {
    "abc", "ast", "bisect", "codecs", "collections", "contextlib", "copy", "copyreg", "dataclasses",
    "decimal", "enum", "fractions", "functools", "gc", "heapq", "importlib", "inspect", "itertools",
    "json", "keyword", "math", "numbers", "operator", "pprint", "re", "reprlib", "sre_compile",
    "sre_parse", "statistics", "string", "textwrap", "types", "typing", "warnings", "weakref",
}  # fmt: skip
_PLAIN_C = {
    None, "builtins", "cmath", "_abc", "_bisect", "_collections", "_functools", "_heapq", "_json",
    "_operator", "_sre", "_struct", "_weakref", *_PLAIN,
}  # fmt: skip
_FORBIDDEN = {"print", "input", "open", "globals", "breakpoint", "warn", "id"}
_OWNERS: tuple[type, ...] = (
    str, bytes, int, float, complex, list, tuple, dict, set, frozenset, range, slice, bytearray,
    collections.deque, np.ndarray, np.generic, re.Pattern, re.Match, types.GeneratorType,
    property, types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()),
)  # fmt: skip
_STATEFUL = {"datetime", "time", "_thread", "_io", "io", "uuid", "_random", "random", "os", "posix"}
_FILES = {"load", "save", "savez", "loadtxt", "savetxt", "genfromtxt", "fromfile", "memmap"}
_SEEDED_BY_NOBODY = {"default_rng", "RandomState", "SeedSequence", "SystemRandom"}


def impure_builtin(function: Any) -> str:
    """Why a function in C that user code calls may do something else each time; "" if not."""
    name = function.__name__
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        module = function.__module__
        plain = module in _PLAIN_C or str(module).split(".")[0] == "numpy"
        return "" if plain and name not in _FORBIDDEN | _FILES else f"{name}() is called"
    if isinstance(owner, type):  # a class method, which users' classes inherit
        return f"{owner.__name__}.{name}() is called" if owner.__module__ in _STATEFUL else ""
    kind = type(owner)
    if isinstance(owner, (random.Random, np.random.Generator, np.random.RandomState)):
        return "random numbers of another library are drawn"
    plain = isinstance(owner, _OWNERS) and name not in _FILES
    if plain or of_library(kind.__module__):
        return ""
    if name[:2] == "__" and kind.__module__.split(".")[0] not in _STATEFUL:
        return ""
    return f"{kind.__name__}.{name}() is called"


def impure_function(frame: types.FrameType) -> str:
    """Why a function of the standard library may do something else each time; "" if not."""
    name = frame.f_globals.get("__name__", "")
    what = frame.f_code.co_name
    if name.split(".")[0] == "numpy":
        return f"{what}() is called" if what in _FILES and _called_by_user(frame) else ""
    if frame.f_code.co_qualname.startswith("_Environ."):
        return "" if _for_the_library(frame) else "the environment is read"
    if name.split(".")[0] in _PLAIN or of_library(name) or not standard(frame):
        return ""
    return f"{name}.{what}() is called" if _called_by_user(frame) else ""


def _called_by_user(frame: types.FrameType) -> bool:
    caller = frame.f_back
    return caller is not None and of_user(caller)


def _for_the_library(frame: types.FrameType | None) -> bool:
    """Whether a function of the standard library works for one of ours."""
    while frame is not None and standard(frame):
        frame = frame.f_back
    return frame is not None and not of_user(frame)


def standard(frame: types.FrameType) -> bool:
    """Whether a function is of the standard library."""
    return _is_standard(frame.f_code.co_filename)


@functools.lru_cache(4096)
def _is_standard(file: str) -> bool:
    return file.startswith("<frozen") or (
        file.startswith(_STANDARD) and "site-packages" not in file
    )


def unseeded(code: types.CodeType) -> str:
    """The name of a generator of another library that the function makes; "" if none."""
    return next((n for n in code.co_names if n in _SEEDED_BY_NOBODY), "")


def foreign_random_state() -> Any:
    """The states of Python's and numpy's global random numbers, to compare."""
    numpys = np.random.mtrand._rand.get_state(legacy=False)
    inner = numpys["state"]
    return (
        random.getstate(), inner["key"].tobytes(), inner["pos"], numpys["has_gauss"],
        numpys["gauss"],
    )  # fmt: skip


own_code: dict[int, types.CodeType] = {}


def is_own(code: types.CodeType, scope: dict[str, Any]) -> bool:
    """Whether a function's code is this library's; ``own_code`` has those seen before.

    Args:
        code: what the function runs.
        scope: its globals.
    """
    if str(scope.get("__name__")).split(".")[0] not in ("mindtorch", "torch"):
        return False
    own_code[id(code)] = code
    return True


def of_library(name: str) -> bool:
    """Whether a module is ours, or one whose functions are known."""
    return name.split(".")[0] in SKIPPED


def of_user(frame: types.FrameType) -> bool:
    """Whether a function is neither ours nor of the standard library."""
    return of_user_module(frame.f_globals.get("__name__", ""), frame.f_code.co_filename)


@functools.lru_cache(4096)
def of_user_module(name: str, file: str) -> bool:
    """Whether a module, by its name and file, is neither ours nor of the standard library."""
    return not of_library(name) and not _is_standard(file) and not (
        file.startswith(LIBRARY + os.sep + "engine")
    )
