"""Which function computes which operator, by the operator's versions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from .errors import UnsupportedOperatorError
from .values import tensor

__all__ = ["Numbers", "Operator", "find", "host_function", "host_operator", "operator"]

Numbers = Any  # the annotation of inputs that are wanted as they are: known numbers, shapes, axes

_STANDARD = ("", "ai.onnx")


class Operator(NamedTuple):
    """How an operator computes: ``run(*inputs, **attributes)``.

    Attributes:
        first, last: opsets in which it is so.
        wants: further keywords that the function takes: outputs, the number of results; graph,
            what runs the subgraphs among the attributes; training, the module's mode.
        raw: the places of inputs that are :data:`Numbers`; the others are made tensors.
        required: how many inputs a node has at least, all of which are given.
    """

    name: str
    first: int
    last: int
    run: Callable[..., Any]
    attributes: frozenset[str]
    wants: frozenset[str]
    raw: frozenset[int]
    required: int

    def converted(self, inputs: list[Any]) -> list[Any]:
        """The inputs of a node as the function takes them."""
        return [x if i in self.raw else tensor(x) for i, x in enumerate(inputs)]


_ANY = 1 << 30
_OPERATORS: dict[tuple[str, str], list[Operator]] = {}
_HOST: dict[str, Callable[..., Any]] = {}


def operator(
    name: str, first: int = 1, last: int = _ANY, domain: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function what an operator computes in the opsets ``first`` to ``last``. Its keywords
    are the operator's attributes; what is not among them is refused."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        parameters = list(inspect.signature(function).parameters.values())
        keywords = frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        wants = keywords & {"outputs", "graph", "training"}
        raw = frozenset(i for i, p in enumerate(parameters) if p.annotation == "Numbers")
        required = sum(
            p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty for p in parameters
        )
        made = Operator(name, first, last, function, keywords - wants, wants, raw, required)
        _OPERATORS.setdefault((domain, name), []).append(made)
        return function

    return register


def host_operator(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function what these operators compute of numbers that are known before any data:
    constants and what follows from sizes, as arrays of numpy's."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _HOST.update(dict.fromkeys(names, function))
        return function

    return register


def host_function(name: str) -> Callable[..., Any] | None:
    """What an operator computes of known numbers, None for one that only tensors have."""
    return _HOST.get(name)


def find(domain: str, name: str, opset: int) -> Operator | None:
    """What an operator computes in an opset; None for one that is not written here.

    Raises:
        UnsupportedOperatorError: only other versions of it are.
    """
    known = _OPERATORS.get(("" if domain in _STANDARD else domain, name))
    if known is None:
        return None
    for each in known:
        if each.first <= opset <= each.last:
            return each
    raise UnsupportedOperatorError(f"{name} of opset {opset} is not known here")
