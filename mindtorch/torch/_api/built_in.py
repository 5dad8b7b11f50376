"""Functions that torch writes in C without its parser of arguments: Python says what is wrong."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mindtorch.engine.dtypes import DType

from .invalid_arguments import type_name
from .texts_by_function import said_of

__all__ = ["as_built_in", "is_built_in"]

_NONE, _ONE = "no argument", "one argument"
_KINDS = {"dtype": DType, "bool": bool, "int": int}
_ERRORS = {"RuntimeError": RuntimeError, "TypeError": TypeError}


def is_built_in(name: str) -> bool:
    """Whether torch writes ``torch.<name>`` so."""
    return any(said_of(f"in C, {count}", name) is not None for count in (_NONE, _ONE))


def as_built_in(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with the errors of one in C that has no argument or one, which has no name."""
    said = said_of(f"in C, {_ONE}", name)
    count, takes = int(said is not None), "no arguments" if said is None else "exactly one argument"
    kind, error, text = said.split(" ", 2) if said else ("", "", "")

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise TypeError(f"torch.{name}() takes no keyword arguments")
        if len(args) != count:
            raise TypeError(f"torch.{name}() takes {takes} ({len(args)} given)")
        if kind and (
            not isinstance(args[0], _KINDS[kind]) or (kind == "int" and isinstance(args[0], bool))
        ):
            raise _ERRORS[error](text.format(type_name(args[0])))
        return function(*args)

    return call
