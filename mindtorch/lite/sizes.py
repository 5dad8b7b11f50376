"""Numbers that follow from open lengths, computed without running code from the file."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Sequence
from typing import Any

from .errors import LiteFileError

__all__ = ["evaluated"]

_OPERATORS: dict[type, Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_FUNCTIONS = {"floor": math.floor, "ceil": math.ceil}
_LONGEST = 4096  # characters of one expression
_LARGEST = 1 << 62


def evaluated(expressions: Sequence[str], lengths: Sequence[int]) -> list[Any]:
    """The numbers, of which the first are the lengths.

    Raises:
        LiteFileError: an expression is no arithmetic, or cannot be computed.
    """
    known: list[Any] = list(lengths)
    for text in expressions[len(known) :]:
        try:
            if len(text) > _LONGEST:
                raise ValueError("it is too long")
            value = _value(ast.parse(text, mode="eval").body, known)
            if abs(value) > _LARGEST:
                raise ValueError("it is too large")
        except (ValueError, SyntaxError, ArithmeticError, RecursionError, MemoryError) as error:
            raise LiteFileError(f"the length {text[:80]!r} cannot be computed: {error}") from None
        known.append(value)
    return known


def _value(node: ast.AST, known: list[Any]) -> Any:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    if isinstance(node, ast.Name) and node.id[:1] == "v" and node.id[1:].isdecimal():
        place = int(node.id[1:])
        if place < len(known):
            return known[place]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, known)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left, known), _value(node.right, known))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        function = _FUNCTIONS.get(node.func.id)
        if function is not None and not node.keywords:
            return function(_value(node.args[0], known))
    raise ValueError(f"{type(node).__name__} is not allowed in it")
