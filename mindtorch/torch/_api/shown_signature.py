"""What ``inspect.signature`` shows of public functions whose own code does not say it all."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

from .signatures import Form, forms_of

_EITHER, _NAMED = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
_DEFAULTS = {"None": None, "True": True, "False": False}
_ANYTHING = ("args", "old")  # star arguments that do not say what they take


class ShownSignature(inspect.Signature):
    """The signature of a function, worked out when it is first asked for.

    Args:
        function: whose own signature is completed.
        out: it takes ``out=``, too.
        name: by which torch's signatures tell what its star arguments take; "" if there are none.
        method: it is the tensor's method of that name.
    """

    __slots__ = ("_function", "_method", "_name", "out")

    def __init__(
        self, function: Callable[..., Any], out: bool = False, name: str = "", method: bool = False
    ) -> None:
        self._function = function
        self._name = name
        self._method = method
        self.out = out

    def __getattr__(self, attribute: str) -> Any:
        if attribute not in inspect.Signature.__slots__:
            raise AttributeError(attribute)
        function = self._function
        if vars(function).get("__signature__") is self:
            function = _without_attributes(function)
        own = inspect.signature(function)
        every = list(own.parameters.values())
        if self._name:
            every = _closed(every, *forms_of(self._name, self._method)[0])
        if self.out and "out" not in own.parameters:
            place = len(every) - (bool(every) and every[-1].kind is inspect.Parameter.VAR_KEYWORD)
            every.insert(place, inspect.Parameter("out", _NAMED, default=None))
        super().__init__(every, return_annotation=own.return_annotation)
        return getattr(self, attribute)

    def replace(self, **changes: Any) -> inspect.Signature:  # type: ignore[override]
        """A plain signature with other ``parameters`` or another ``return_annotation``."""
        given = {
            "parameters": list(self.parameters.values()),
            "return_annotation": self.return_annotation,
        }
        return inspect.Signature(**(given | changes))


def _without_attributes(function: Any) -> Any:
    """The same function; nothing says what its signature is but its code."""
    same = types.FunctionType(
        function.__code__, {}, function.__name__, function.__defaults__, function.__closure__
    )
    same.__kwdefaults__, same.__annotations__ = function.__kwdefaults__, function.__annotations__
    return same


def is_open(function: Callable[..., Any]) -> bool:
    """Whether a function's code has star arguments."""
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))


def _closed(every: list[inspect.Parameter], *forms: Form) -> list[inspect.Parameter]:
    """A function's parameters with those that its star arguments take by torch's signatures."""
    known = {p.name for p in every}
    kept = [
        p for p in every
        if p.kind is not p.VAR_KEYWORD and not (p.kind is p.VAR_POSITIONAL and p.name in _ANYTHING)
    ]  # fmt: skip
    if not forms:
        return every if any(p.kind is p.VAR_KEYWORD for p in every) else kept
    anywhere = any(p.kind is p.VAR_POSITIONAL and p.name == "args" for p in every)
    added = {p.name: p for p in _of_forms(forms) if p.name not in known}
    first = [p for p in kept if p.kind is not p.KEYWORD_ONLY]
    if anywhere:
        first += [p for p in added.values() if p.kind is not p.KEYWORD_ONLY]
    last = [p for p in kept if p.kind is p.KEYWORD_ONLY]
    if len(kept) < len(every):
        last += [p for p in added.values() if p.kind is p.KEYWORD_ONLY and p.name != "out"]
    if any(p.kind is p.POSITIONAL_ONLY for p in first[1:]):
        first[0] = first[0].replace(kind=inspect.Parameter.POSITIONAL_ONLY)
    return first + last


def _of_forms(forms: tuple[Form, ...]) -> Iterator[inspect.Parameter]:
    """The parameters of the longest form; what can be left out in another one can be here."""
    longest = max(forms, key=lambda form: len(form.parameters))
    for each in longest.parameters:
        same = [{p.name: p for p in form.parameters}.get(each.name) for form in forms]
        optional = any(p is None or p.optional for p in same)
        text = next((p.text for p in same if p and p.optional), "").partition(" = ")[2]
        default: Any = _DEFAULTS.get(text)
        if text not in _DEFAULTS and text.replace(".", "").lstrip("-").isdigit():
            default = float(text) if "." in text or each.kind == "float" else int(text)
        name = each.name
        kind: Any = _NAMED if each.keyword_only else _EITHER
        if name == "from":  # a word of Python's, so that it cannot be given by name but by **
            name, kind = "from_", inspect.Parameter.POSITIONAL_ONLY
        yield inspect.Parameter(
            name, kind, default=default if optional else inspect.Parameter.empty
        )
