"""Wrong calls of functions that torch writes in Python around one kernel of C++.

The kernel is what finds them there, after a truth test of ``inplace`` or an attribute that was
asked first; so the errors are named and numbered by the kernel's arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from .signatures import each_kind_once, type_name, wrong_call

__all__ = ["Kernel"]


class Kernel:
    """The kernel that torch calls.

    Attributes:
        name: the kernel's, by which its signature is found.
        arguments: those of the function that are handed to it, in order; as far as the kernel has
            the same.
        asked: the attribute that is asked of the input before.
    """

    __slots__ = ("arguments", "asked", "name")

    def __init__(self, name: str, arguments: str, asked: str | None = None) -> None:
        self.name = name
        self.arguments = arguments.split()
        self.asked = asked

    def wrong(self, error: Exception, **given: Any) -> Exception:
        """torch's error where the kernel does not take what it is given by its function, which
        raised ``error``; else that."""
        if "inplace" in given:
            bool(given["inplace"])
        values = tuple(given[each] for each in self.arguments if each in given)
        if isinstance(error, ValueError) or str(error).startswith("Boolean value"):
            return error  # of a test in front of the kernel
        first = given.get("input")
        if self.asked and not isinstance(first, EngineTensor):
            return AttributeError(f"'{type_name(first)}' object has no attribute '{self.asked}'")
        wrong = wrong_call(self.name, values, {})
        return error if wrong is None or "() missing" in str(wrong) else wrong

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
            if given is None:
                return None
            values = tuple(
                self._filled(each, given[each]) for each in self.arguments if each in given
            )
            if not isinstance(values[0], EngineTensor):
                return None
            wrong = wrong_call(self.name, values, {})
            return None if "() missing" in str(wrong) else wrong  # what has another form here

        return each_kind_once(error_of)

    def _filled(self, argument: str, value: Any) -> Any:
        """An argument as the kernel gets it: sizes that are None have become the input's."""
        if argument == "output_size" and self.asked and isinstance(value, (tuple, list)):
            return type(value)(0 if size is None else size for size in value)
        return value


def _bound(body: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any] | None:
    """The arguments of a call by their names; None where there are not so many."""
    try:
        bound = inspect.signature(body).bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return bound.arguments
