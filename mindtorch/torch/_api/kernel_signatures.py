"""Wrong calls of functions that torch writes in Python around one kernel of C++.

The kernel is what finds them there, after a truth test of ``inplace`` or an attribute that was
asked first; so the errors are named and numbered by the kernel's arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from .invalid_arguments import type_name
from .signatures import each_kind_once, wrong_call

__all__ = ["Kernel", "number_of"]


class Kernel:
    """The kernel that torch calls.

    Attributes:
        name: the kernel's, by which its signature is found.
        arguments: those of the function that are handed to it, in order; as far as the kernel has
            the same. `dtype=` is handed by name, unless it is None.
        asked: attributes that are asked before: of the input (`size`), or of another argument
            that is not None (`target.size`).
        method: the kernel is called as the input's method, which has to be one of it then.
        turned: by arguments' names, what the function makes of them first.
    """

    __slots__ = ("arguments", "asked", "method", "name", "turned")

    def __init__(
        self, name: str, arguments: str, asked: str | None = None, method: bool = False,
        turned: dict[str, Callable[[Any], Any]] | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.arguments = arguments.split()
        self.asked = (asked or "").split() or ([name] if method else [])
        self.method = method
        self.turned = turned or {}

    def wrong(self, error: Exception, **given: Any) -> Exception:
        """torch's error where the kernel does not take what it is given by its function, which
        raised ``error``; else that."""
        if "inplace" in given:
            bool(given["inplace"])
        if isinstance(error, ValueError) or str(error).startswith("Boolean value"):
            return error  # of a test in front of the kernel
        wrong = self._without_attribute(given) or self._wrong_call(given)
        return error if wrong is None or "() missing" in str(wrong) else wrong

    def _without_attribute(self, given: dict[str, Any]) -> AttributeError | None:
        """Python's error for an argument that has not what is asked of it before."""
        for each in self.asked:
            name, _, attribute = each.rpartition(".")
            value = given.get(name or "input")
            if not isinstance(value, EngineTensor) and (value is not None or name != "weight"):
                return AttributeError(f"{_owner(value)} has no attribute '{attribute}'")
        return None

    def _wrong_call(self, given: dict[str, Any]) -> Exception | None:
        """torch's error for the kernel's arguments, as the function hands them over."""
        if not isinstance(given.get("reduction", ""), str):
            return None  # which the function refuses
        values, named = [], {}
        for each in self.arguments:
            name = each.removesuffix("=")
            if name != each and given.get(name) is not None:
                named[name] = given[name]
            elif name == each and name in given:
                values.append(self._filled(name, given[name]))
        return wrong_call(self.name, tuple(values[self.method :]), named, self.method)

    def error_of_call(
        self, body: Callable[..., Any], error: Exception, args: Any, kwargs: Any
    ) -> Exception | None:
        """The error of torch for a call of ``body`` that raised ``error``; None: that it is."""
        bound = _bound(body, args, kwargs)
        wrong = error if bound is None else self.wrong(error, **bound)
        return None if wrong is error else wrong

    def check(self, body: Callable[..., Any]) -> Callable[[Any, Any], None]:
        """A check of the calls of ``body`` with arguments of new kinds."""

        def error_of(args: Any, kwargs: Any) -> Exception | None:
            given = _bound(body, args, kwargs)
            if given is None or not isinstance(given[self.arguments[0]], EngineTensor):
                return None
            if self._without_attribute(given):
                return None  # which the body meets
            wrong = self._wrong_call(given)
            return None if "() missing" in str(wrong) else wrong  # what has another form here

        return each_kind_once(error_of)

    def _filled(self, argument: str, value: Any) -> Any:
        """An argument as the kernel gets it: sizes that are None have become the input's, a word
        its number."""
        if argument == "output_size" and self.asked and isinstance(value, (tuple, list)):
            return type(value)(0 if size is None else size for size in value)
        if argument in self.turned:
            return self.turned[argument](value)
        return number_of(value) if argument == "reduction" else value


def number_of(word: Any) -> Any:
    """What stands for the number that torch tells a kernel in place of a word."""
    return 0 if isinstance(word, str) else word


def _owner(value: Any) -> str:
    if isinstance(value, type):
        return f"type object '{value.__name__}'"
    return f"'{type_name(value)}' object"


def _bound(body: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any] | None:
    """The arguments of a call by their names; None where there are not so many."""
    try:
        bound = inspect.signature(body).bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return bound.arguments
