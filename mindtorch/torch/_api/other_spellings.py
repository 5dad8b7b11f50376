"""Calls that are written by torch's names where a body has others, or in one of its older forms.

Nothing is looked at before a call. Where a body does not take the arguments it was given,
:func:`respelled` finds the signature of torch's that does (`signatures.txt`), and writes the call
again as the body takes it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .signatures import Form, Parameter, every_form_of

__all__ = ["respelled"]

_Call = tuple[tuple[Any, ...], dict[str, Any]]
_Arguments = dict[str, Any]


class _Taken:
    """The arguments that a body takes.

    Attributes:
        positional: names of those that may be given by place.
        names: of all.
        least: how many positional ones have no default.
        defaults: those that there are.
        rest, others: it has a star argument, one with two stars.
    """

    def __init__(self, body: Callable[..., Any]) -> None:
        code = body.__code__
        self.positional = code.co_varnames[: code.co_argcount]
        self.names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = body.__defaults__ or ()
        self.least = code.co_argcount - len(given)
        self.defaults = dict(zip(self.positional[self.least :], given, strict=True))
        self.defaults |= body.__kwdefaults__ or {}
        self.rest = bool(code.co_flags & inspect.CO_VARARGS)
        self.others = bool(code.co_flags & inspect.CO_VARKEYWORDS)

    def takes(self, args: tuple[Any, ...], kwargs: _Arguments) -> bool:
        """Whether Python would bind a call's arguments."""
        by_place = self.positional[: len(args)]
        if (len(args) > len(self.positional) and not self.rest) or kwargs.keys() & set(by_place):
            return False
        if not (self.others or kwargs.keys() <= set(self.names)):
            return False
        left = self.positional[len(args) : self.least]
        needed = set(self.names) - set(self.positional) - self.defaults.keys()
        return kwargs.keys() >= {*left, *needed}

    def filled(self, form: Form, values: _Arguments, first: tuple[Any, ...]) -> _Call | None:
        """The call with torch's arguments; None where one of them is no argument of the body.

        Args:
            values: by torch's names.
            first: the tensor whose method it is, alone.
        """
        own = self.positional[len(first) :]
        theirs = {each.name for each in form.parameters}
        if first and "input" in own:  # of polygamma(n, input), which takes them the other way round
            return (*first, *values.values()), {}
        args: tuple[Any, ...] = first
        kwargs: _Arguments = {}
        for place, each in enumerate(form.parameters):
            if each.name not in values:
                continue
            value, name = values[each.name], each.name
            if name not in self.names and not each.keyword_only and place < len(own):
                name = own[place] if own[place] not in theirs else name
            if value is None and each.none and self.defaults.get(name, self) is not None and (
                name in self.names and name in self.defaults
            ):
                continue  # what is not given
            if name in self.names or self.others:
                kwargs[name] = value
            elif self.rest and not own and each.kind == "tuple of ints":
                args = (*first, value)
            elif not _is_default(each, value):
                return None
        return args, kwargs


@functools.cache
def _taken_by(body: Callable[..., Any]) -> _Taken | None:
    function = inspect.unwrap(body)
    return _Taken(function) if hasattr(function, "__code__") else None


def respelled(
    body: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: _Arguments,
    method: bool = False,
) -> _Call | None:  # fmt: skip
    """A call as ``body`` takes it; None where it does already, or fits no signature of torch's.

    Args:
        name: by which torch's signatures are found.
        args: with the tensor whose method it is.
    """
    taken = _taken_by(body)
    if taken is None:
        return None
    takes = taken.takes(args, kwargs)
    first = args[:1] if method else ()
    for form in every_form_of(name, method):
        values = form.bound(args[len(first) :], kwargs)
        if values is None or (form.hidden and taken.rest and not kwargs):
            continue  # the body knows older forms itself
        if form.hidden and taken.rest:
            return (*first, *values.values()), {}
        if takes and not form.hidden and None not in kwargs.values():
            return None
        call = taken.filled(form, values, first)
        if call is None or not taken.takes(*call) or (takes and call[1].keys() == kwargs.keys()):
            continue
        return call
    return None


def _is_default(parameter: Parameter, value: Any) -> bool:
    """Whether a value says no more than leaving the argument out."""
    if value is None:
        return parameter.none
    if parameter.kind == "torch.layout":
        return str(value) == "torch.strided"
    default = parameter.text.partition(" = ")[2]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value) == default
    try:
        return float(default) == value
    except ValueError:
        return False
