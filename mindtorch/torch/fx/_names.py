"""Names for functions and nodes: what a graph prints, and what its code calls things."""

from __future__ import annotations

import builtins
import keyword
import re
from typing import Any

import mindtorch.torch as torch
from mindtorch._module_names import is_ours
from mindtorch.engine.dtypes import DType

__all__ = ["NameSpace", "qualified_name", "short_name", "torch_name"]

_NAMESPACES = ("", "_C._nn", "nn.functional", "linalg", "fft", "special", "signal.windows")
_CUSTOM = {"inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree"}


def torch_name(value: Any) -> str | None:
    """The dotted name below "torch" under which a function is found; None when it is not."""
    name = getattr(value, "__name__", None)
    if not isinstance(name, str):
        return str(value) if isinstance(value, DType) else None
    module = getattr(value, "__module__", None) or ""
    if not is_ours(module):
        return None
    if module.startswith("torch._ops"):  # overloads, and the packets of these
        return f"torch.ops{module.removeprefix('torch._ops')}.{name}"
    for space in _NAMESPACES:
        holder: Any = torch
        for part in filter(None, space.split(".")):
            holder = getattr(holder, part)
        found = getattr(holder, name, None)
        if found is value or getattr(found, "__wrapped__", None) is value:
            return ".".join(filter(None, ("torch", space, name)))
    return f"{module.removeprefix('mindtorch.')}.{getattr(value, '__qualname__', name)}"


def is_builtin(value: Any) -> bool:
    """Whether it is one of Python's built-in functions and types, under its own name."""
    return value is not None and getattr(builtins, getattr(value, "__name__", ""), None) is value


def qualified_name(value: Any) -> str:
    """Module and name of a function or type, as printed."""
    if is_builtin(value):
        name = str(value.__name__)
        return name if isinstance(value, type) else f"builtins.{name}"
    found = torch_name(value)
    if found is not None:
        return found
    known = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if known is None:
        return repr(value)
    module = "operator" if value.__module__ == "_operator" else value.__module__
    return f"{module}.{known}".replace("<lambda>", "lambda")


def short_name(target: Any) -> str:
    """What a node that calls ``target`` is named after: `relu`, `add`, `layer1.0.conv1`."""
    name = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
    if name.startswith("__") and name.endswith("__") and len(name) > 4:
        name = name[2:-2]
    first = "".join(f"_{c.lower()}" if c.isupper() else c for c in name)
    return first.lstrip("_") if name[:1].isupper() else first


class NameSpace:
    """Names in use, and new ones beside them."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._count: dict[str, int] = {}
        self._of: dict[int, tuple[Any, str]] = {}

    def create(self, candidate: str, owner: Any = None) -> str:
        """A free name that begins as ``candidate`` does; always the same one for an ``owner``."""
        if owner is not None and id(owner) in self._of:
            return self._of[id(owner)][1]
        name = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate)
        name = f"_{name}" if not name or name[0].isdigit() else name
        found = re.fullmatch(r"(.*)_(\d+)", name)
        base, number = (found[1], int(found[2])) if found else (name, None)
        if number is None or (name in self._used and self._count.get(base, 0) > number):
            number = self._count.get(base, 0) if name in self._used else number
        while name in self._used or self._taken_by_python(name, owner):
            number = 1 if number is None else number + 1
            name = f"{base}_{number}"
        self._used.add(name)
        self._count[base] = max(self._count.get(base, 0), number or 0)
        if owner is not None:
            self._of[id(owner)] = (owner, name)
        return name

    def forget(self, owner: Any) -> None:
        """Drop the association; the name stays in use."""
        self._of.pop(id(owner), None)

    def avoid(self, other: NameSpace) -> None:
        """Take none of the names that another one has."""
        self._used |= other._used

    @staticmethod
    def _taken_by_python(name: str, owner: Any) -> bool:
        if keyword.iskeyword(name) or name in _CUSTOM:
            return True
        return hasattr(builtins, name) and getattr(builtins, name) is not owner
