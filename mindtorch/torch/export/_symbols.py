"""Lengths that a program leaves open, and numbers that follow from them."""

from __future__ import annotations

import ast
import hashlib
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mindtorch.engine.symbolic_sizes import plain

__all__ = ["Expression", "SymInt", "parsed", "parsed_constructors", "symbol_name"]

_LONGEST = 4096  # characters of one expression
_LARGEST = 1 << 62
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "max": max, "min": min,
}  # fmt: skip
_PYTHON: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
}  # fmt: skip
# what files call these
_CONSTRUCTORS = {
    "Add": "+", "Mul": "*", "FloorDiv": "//", "CleanDiv": "//", "Mod": "%", "PythonMod": "%",
    "Pow": "**", "PowByNatural": "**", "Max": "max", "Min": "min",
}  # fmt: skip
_WORDS = {"+": "Add", "*": "Mul", "//": "FloorDiv", "%": "PythonMod", "**": "PowByNatural",
          "max": "Max", "min": "Min"}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Expression:
    """Arithmetic on open lengths.

    Attributes:
        kind: "symbol", "number" or an operation.
        value: of a symbol its name, of a number the number.
        operands: of an operation.
    """

    kind: str
    value: Any = None
    operands: tuple[Expression, ...] = ()

    def number(self, lengths: Mapping[str, Any]) -> Any:
        """What it is for these lengths, which may be those of a trace.

        Raises:
            ValueError: it cannot be computed, or is too large.
        """
        if self.kind == "number":
            return self.value
        if self.kind == "symbol":
            return lengths[self.value]
        given = [each.number(lengths) for each in self.operands]
        if self.kind == "**" and not 0 <= plain(given[1]) <= 64:
            raise ValueError(f"{self} is no length")
        try:
            found = given[0]
            for each in given[1:]:
                found = _FUNCTIONS[self.kind](found, each)
                if abs(plain(found)) > _LARGEST:
                    raise ValueError(f"{self} is too large")
        except ZeroDivisionError:
            raise ValueError(f"{self} divides by zero") from None
        return found

    def symbols(self) -> set[str]:
        """The names of the lengths in it."""
        if self.kind == "symbol":
            return {self.value}
        return set().union(*[each.symbols() for each in self.operands])

    def __str__(self) -> str:
        if self.kind in ("symbol", "number"):
            return str(self.value)
        if self.kind in ("max", "min"):
            return f"{self.kind.capitalize()}({', '.join(map(str, self.operands))})"
        if self.kind == "//":
            return f"({'//'.join(each._inner() for each in self.operands)})"
        between = self.kind if self.kind in ("*", "**") else f" {self.kind} "
        inner = [str(x) if self.kind == "+" else x._inner() for x in self.operands]
        return between.join(inner).replace("+ -", "- ")

    __repr__ = __str__

    def _inner(self) -> str:
        simple = self.kind in ("symbol", "max", "min", "*") or (
            self.kind == "number" and self.value >= 0
        )
        return str(self) if simple else f"({self})"

    def constructors(self) -> str:
        """The text that files hold.

        Raises:
            NotImplementedError: it has an operation that files have no word for.
        """
        if self.kind == "symbol":
            return f"Symbol('{self.value}', positive=True, integer=True)"
        if self.kind == "number":
            return f"Integer({self.value})"
        operands = self.operands
        if self.kind == "-":
            minus = Expression("*", None, (Expression("number", -1), operands[1]))
            return Expression("+", None, (operands[0], minus)).constructors()
        word = _WORDS.get(self.kind)
        if word is None:
            raise NotImplementedError(f"torch.export.save: the length {self}")
        return f"{word}({', '.join(each.constructors() for each in operands)})"


class SymInt(int):
    """An open length as a number: that of the example, which is shown by its name."""

    expression: Expression

    def __new__(cls, expression: Expression, hint: int) -> SymInt:
        made = super().__new__(cls, hint)
        made.expression = expression
        return made

    def __repr__(self) -> str:
        return str(self.expression)

    __str__ = __repr__

    def __format__(self, text: str) -> str:
        return format(int(self), text) if text else str(self.expression)

    def __reduce__(self) -> Any:
        return SymInt, (self.expression, int(self))


def symbol_name(source: str, taken: Mapping[str, Any]) -> str:
    """The name of the length at ``source``, such as ``L['x'].size()[0]``, as torch makes it.

    Args:
        taken: the names that others have.
    """
    number = int(hashlib.sha256(source.encode()).hexdigest(), 16) % 100
    while f"s{number}" in taken:
        number += 1
    return f"s{number}"


def _checked(text: str) -> ast.AST:
    if len(text) > _LONGEST:
        raise ValueError(f"the length {text[:80]!r}... is too long")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        raise ValueError(f"{text[:80]!r} is no length") from None


def parsed(text: str, leaf: Callable[[ast.AST], Expression | None]) -> Expression:
    """The expression in Python's operators, never evaluated.

    Args:
        leaf: what a name, or anything but an operation, stands for; None: it is not allowed.

    Raises:
        ValueError: it is no such expression.
    """
    return of_node(_checked(text), leaf)


def of_node(node: ast.AST, leaf: Callable[[ast.AST], Expression | None]) -> Expression:
    """The same of a parsed text."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Expression("number", node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = of_node(node.operand, leaf)
        if inner.kind == "number":
            return Expression("number", -inner.value)
        return Expression("*", None, (Expression("number", -1), inner))
    if isinstance(node, ast.BinOp) and type(node.op) in _PYTHON:
        sides = of_node(node.left, leaf), of_node(node.right, leaf)
        return Expression(_PYTHON[type(node.op)], None, sides)
    found = leaf(node)
    if found is None:
        raise ValueError(f"{ast.unparse(node)[:80]!r} is no length")
    return found


def parsed_constructors(text: str) -> Expression:
    """The expression in a file: ``Add(Symbol('s77', positive=True, integer=True), Integer(2))``.

    Raises:
        ValueError: it is none.
        NotImplementedError: it has an operation that is not known.
    """
    return _constructed(_checked(text))


def _constructed(node: ast.AST) -> Expression:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
        raise ValueError(f"{ast.unparse(node)[:80]!r} is no length")
    word, first = node.func.id, node.args[0]
    if word == "Symbol" and isinstance(first, ast.Constant) and isinstance(first.value, str):
        if first.value.isidentifier():
            return Expression("symbol", first.value)
    elif word == "Integer":
        return of_node(first, lambda _: None)
    elif word in _CONSTRUCTORS:
        return Expression(_CONSTRUCTORS[word], None, tuple(map(_constructed, node.args)))
    else:
        raise NotImplementedError(f"lengths with {word}")
    raise ValueError(f"{ast.unparse(node)[:80]!r} is no length")
