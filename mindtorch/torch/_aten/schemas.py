"""The schemas of torch's overloads (``schemas.txt``), and arguments bound to them.

A line is a schema as torch prints it, after marks: ``*``: torch decomposes the overload before
anybody sees it; ``-``: its results follow no gradient; ``+``: Python numbers may stand for the
tensors after the first, and stay numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.devices.device import Device
from mindtorch.engine.tensor import Tensor as EngineTensor

from ..library._custom_operators import Argument, Schema, parse_schema

__all__ = ["bind", "lines_of", "marks_of", "schema_of", "shortened", "tensors_in"]

_FILE = Path(__file__).with_name("schemas.txt")
_NUMBERS = (int, float, complex)
_MARKS = "*-+"


@functools.cache
def _table() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for line in _FILE.read_text().splitlines():
        head = line.lstrip(_MARKS).partition("(")[0]
        name, _, overload = head.partition(".")
        found.setdefault(name, {})[overload or "default"] = line
    return found


def lines_of(name: str) -> dict[str, str]:
    """The lines of ``aten::name``, by overload."""
    return _table().get(name, {})


@functools.cache
def schema_of(line: str) -> Schema:
    """The schema in a line of the table."""
    return parse_schema(line.lstrip(_MARKS), "aten")


def marks_of(line: str | None) -> str:
    """The marks at the beginning of a line."""
    return "" if line is None else line[: len(line) - len(line.lstrip(_MARKS))]


def tensors_in(values: Any) -> Iterator[Any]:
    """The tensors among values, also those in lists of them."""
    for value in values:
        if isinstance(value, EngineTensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (x for x in value if isinstance(x, EngineTensor))


def _is_tensor(value: Any) -> bool:
    return isinstance(value, EngineTensor)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, _NUMBERS)


def _all(test: Any) -> Any:
    return lambda value: isinstance(value, (list, tuple)) and all(map(test, value))


_TESTS: dict[str, Any] = {
    "Tensor": _is_tensor,
    "Tensor[]": _all(_is_tensor),
    "Tensor?[]": _all(lambda x: x is None or _is_tensor(x)),
    "Scalar": _is_number,
    "Scalar[]": _all(_is_number),
    "int": _is_int,
    "SymInt": _is_int,
    "int[]": _all(_is_int),
    "SymInt[]": _all(_is_int),
    "float": lambda x: isinstance(x, (int, float)),
    "float[]": _all(lambda x: isinstance(x, (int, float))),
    "bool": lambda x: isinstance(x, bool),
    "bool[]": _all(lambda x: isinstance(x, bool)),
    "str": lambda x: isinstance(x, str),
    "ScalarType": lambda x: isinstance(x, dtypes.DType),
    "Device": lambda x: isinstance(x, (Device, str)) or _is_int(x),
}


def _fitted(argument: Argument, value: Any, numbers: bool) -> tuple[bool, Any]:
    """Whether a value may stand for an argument, and how it stands there then."""
    kind = argument.type
    if kind.endswith("?"):
        if value is None:
            return True, None
        kind = kind[:-1]
    if argument.length and kind in ("int[]", "SymInt[]") and _is_int(value):
        return True, [value] * argument.length if argument.length > 1 else [value]
    if kind == "Tensor" and numbers and argument.name != "self" and _is_number(value):
        return True, value
    test = _TESTS.get(kind)
    if test is not None and not test(value):
        return False, None
    if test is not None and kind.endswith("[]"):
        return True, list(value)
    return True, value


def bind(
    schema: Schema, args: Any, kwargs: dict[str, Any], numbers: bool = False
) -> dict[str, Any] | None:
    """The values of all arguments by name; None where they do not fit.

    Args:
        numbers: Python numbers may stand for the tensors after the first.
    """
    values: dict[str, Any] = {}
    given = dict(kwargs)
    if "input" in given and "self" not in given:
        given["self"] = given.pop("input")
    at, count = 0, len(args)
    for argument in schema.arguments:
        if at < count and not argument.keyword_only:
            value = args[at]
            at += 1
        elif argument.name in given:
            value = given.pop(argument.name)
        elif argument.has_default:
            values[argument.name] = argument.default
            continue
        elif argument.type.endswith("?") and argument.keyword_only:
            values[argument.name] = None
            continue
        else:
            return None
        fits, values[argument.name] = _fitted(argument, value, numbers)
        if not fits:
            return None
    return None if given or at < count else values


def shortened(schema: Schema, values: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The call as torch passes it on: without what has its default at the end, or by keyword."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    needed = 0
    for argument in schema.arguments:
        value = values[argument.name]
        own = not (argument.has_default and _is_default(argument, value))
        if argument.keyword_only:
            if own:
                named[argument.name] = value
            continue
        positional.append(value)
        if own:
            needed = len(positional)
    return tuple(positional[:needed]), named


def _is_default(argument: Argument, value: Any) -> bool:
    default = argument.default
    if argument.length and type(default) is int and isinstance(value, list):
        default = [default] * argument.length
    return _same(value, default)


def _same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    if isinstance(value, EngineTensor) or type(value) is not type(default):
        return False
    return bool(value == default)
