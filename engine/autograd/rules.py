"""The gradient rules of an op (its vjp), and what a node saves for them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any


class Rule:
    """A vjp rule with the names of what it uses, resolved to places.

    Attributes:
        arguments: (kind, place) for each argument; kind is g, out, in, param, needs.
        inputs: indices of the inputs it uses.
        results: indices of the results it uses; None for all of them.
    """

    __slots__ = ("arguments", "function", "inputs", "results")

    def __init__(self, op: Any, function: Callable[..., Any]) -> None:
        self.function = function
        self.arguments: list[tuple[str, Any]] = []
        self.inputs: list[int] = []
        self.results: set[int] | None = set()
        for name in _argument_names(function):
            if name in ("g", "needs"):
                self.arguments.append((name, None))
            elif name == "out":
                self.results = None
                self.arguments.append(("out", None))
            elif re.fullmatch(r"out\d", name) and self.results is not None:
                self.results.add(int(name[3:]))
                self.arguments.append(("result", int(name[3:])))
            elif name in op.input_names:
                index = op.input_names.index(name)
                self.inputs.append(index)
                self.arguments.append(("in", index))
            elif name == "inputs" and op.variadic:
                self.arguments.append(("all", None))
            elif name == "avals":
                self.arguments.append(("avals", None))
            elif name in op.defaults:
                self.arguments.append(("param", name))
            else:
                known = ", ".join(["g", "out", *op.input_names, *op.defaults])
                raise TypeError(
                    f"rule of {op.name}: nothing is called {name!r}; its arguments may be {known}"
                )


def _argument_names(rule: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a rule's arguments, from its code: hundreds are read when ops are declared."""
    code = inspect.unwrap(rule).__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def bind_rules(op: Any, vjp: Any) -> Any:
    """Rules of an op: a tuple (one for each input), one joint rule, or None."""
    if vjp is None:
        return None
    if callable(vjp):
        if "needs" in _argument_names(vjp) or op.variadic or len(op.input_names) != 1:
            return Rule(op, vjp)
        vjp = (vjp,)
    if len(vjp) != len(op.input_names):
        raise TypeError(f"{op.name} has {len(op.input_names)} inputs but {len(vjp)} rules")
    return tuple(None if rule is None else Rule(op, rule) for rule in vjp)


def what_to_keep(op: Any, edges: Any, results: int) -> tuple[tuple[str, int], ...]:
    """What the rules name that those inputs need which have edges."""
    rules = op.rules
    mask = [e is not None for e in edges]
    if rules is None:
        raise NotImplementedError(f"derivative for {op.name} is not implemented")
    if isinstance(rules, Rule):
        used: Any = [rules]
        if ("all", None) in rules.arguments:
            return tuple(("in", i) for i in range(op.keeps_from, len(mask)))
    else:
        used = [rule for rule, need in zip(rules, mask, strict=True) if need and rule is not None]
    inputs = sorted({i for rule in used for i in rule.inputs})
    kept = [("in", i) for i in inputs]
    places: set[int] = set()
    for rule in used:
        places |= set(range(results)) if rule.results is None else rule.results
    return tuple(kept + [("out", i) for i in sorted(places)])
