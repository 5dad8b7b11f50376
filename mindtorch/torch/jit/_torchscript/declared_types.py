"""The types that a program of TorchScript declares, and what a Python caller gives for them."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable
from typing import Any, NamedTuple

from mindtorch.engine.devices.device import Device
from mindtorch.engine.dtypes import DType
from mindtorch.engine.tensor import Tensor

from .scalar_types import code_of_dtype

__all__ = [
    "Type", "accepts", "annotation_text", "converted", "declared_type", "dotted_name", "type_text",
]  # fmt: skip


class Type(NamedTuple):
    """A type: its name, and for containers the types of what they hold."""

    name: str
    args: tuple[Any, ...] = ()


_PLAIN: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda value: isinstance(value, Tensor),
    "int": lambda value: type(value) is int,
    "float": lambda value: type(value) is float,
    "bool": lambda value: type(value) is bool,
    "complex": lambda value: type(value) is complex,
    "number": lambda value: type(value) in (int, float, complex, bool),
    "str": lambda value: isinstance(value, str),
    "NoneType": lambda value: value is None,
    "Device": lambda value: isinstance(value, Device),
    "Any": lambda value: True,
}
_SHOWN = {"Device": "Device", "number": "Scalar", "Any": "Any", "NoneType": "NoneType"}
_CONTAINERS = {"List", "Dict", "Tuple", "Optional", "Union", "Future", "Final", "Await", "RRef"}


def dotted_name(node: ast.expr) -> str | None:
    """`a.b.c` of an expression that is only names and dots."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def declared_type(node: ast.expr) -> Type:
    """The type that an annotation names.

    Raises:
        SyntaxError: it is no type.
    """
    if isinstance(node, ast.Constant) and node.value is None:
        return Type("NoneType")
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        inner = node.slice
        items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if node.value.id not in _CONTAINERS:
            raise SyntaxError(f"unknown type {node.value.id}[...]")
        if node.value.id == "Tuple" and isinstance(inner, ast.Tuple) and not inner.elts:
            return Type("Tuple")
        return Type(node.value.id, tuple(declared_type(item) for item in items))
    name = dotted_name(node)
    if name is None:
        raise SyntaxError(f"line {getattr(node, 'lineno', '?')}: not a type")
    return Type("NoneType" if name == "None" else name)


def type_text(kind: Type) -> str:
    """The type as torch's messages write it: ``Tensor?``, ``int[]``, ``Dict(str, int)``."""
    inner = [type_text(arg) for arg in kind.args]
    if kind.name == "Optional":
        return f"{inner[0]}?"
    if kind.name == "List":
        return f"{inner[0]}[]"
    if kind.name == "Tuple":
        return f"({', '.join(inner)})"
    if kind.args:
        return f"{kind.name}({', '.join(inner)})"
    return _SHOWN.get(kind.name, kind.name)


def annotation_text(kind: Type) -> str:
    """The type as Python's annotations write it."""
    if kind.args:
        return f"{kind.name}[{', '.join(annotation_text(arg) for arg in kind.args)}]"
    return kind.name


def accepts(value: Any, kind: Type) -> bool:
    """Whether a value of a running program is of the type."""
    name, args = kind
    if name in _PLAIN:
        return _PLAIN[name](value)
    if name == "Optional":
        return value is None or accepts(value, args[0])
    if name == "Union":
        return any(accepts(value, arg) for arg in args)
    if name == "List":
        return type(value) is list and all(accepts(item, args[0]) for item in value)
    if name == "Tuple":
        same = isinstance(value, tuple) and len(value) == len(args)
        return same and all(accepts(*pair) for pair in zip(value, args, strict=True))
    if name == "Dict":
        return isinstance(value, dict) and all(
            accepts(key, args[0]) and accepts(item, args[1]) for key, item in value.items()
        )
    made_by = getattr(value, "_script_class", None) or getattr(type(value), "_script_class", None)
    return made_by is not None and (made_by.name == name or made_by.is_interface_of(name))


def converted(value: Any, kind: Type) -> Any:
    """What a Python caller gave, as a value of the type.

    Raises:
        TypeError: it cannot be one.
    """
    name, args = kind
    if name == "Optional":
        return None if value is None else converted(value, args[0])
    if name == "Union":
        return value if any(accepts(value, arg) for arg in args) else _refuse(value)
    if name == "List":
        if not isinstance(value, (list, tuple)) or isinstance(value, str):
            _refuse(value)
        return [converted(item, args[0]) for item in value]
    if name == "Tuple":
        if not isinstance(value, tuple) or len(value) != len(args):
            _refuse(value)
        return tuple(converted(*pair) for pair in zip(value, args, strict=True))
    if name == "Dict":
        if not isinstance(value, dict):
            _refuse(value)
        return {converted(k, args[0]): converted(v, args[1]) for k, v in value.items()}
    if name in _PLAIN:
        return _plain(value, name)
    return value


def _plain(value: Any, name: str) -> Any:
    if name == "int" and isinstance(value, DType):
        return code_of_dtype(value)
    if name == "float" and type(value) is int:
        return float(value)
    if name == "complex" and type(value) in (int, float):
        return complex(value)
    if name == "Device" and isinstance(value, str):
        return Device(value)
    if _PLAIN[name](value) or (isinstance(value, enum.Enum) and name == "Any"):
        return value
    return _refuse(value)


def _refuse(value: Any) -> Any:
    raise TypeError(type(value).__name__)
