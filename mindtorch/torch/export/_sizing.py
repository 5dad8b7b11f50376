"""A trace's numbers, which follow from open lengths, in a program's words."""

from __future__ import annotations

import ast
from typing import Any

from mindtorch.engine.symbolic_sizes import KINDS, plain

from ._symbols import Expression, SymInt, of_node

__all__ = ["Sizing"]


class Sizing:
    """What a trace's numbers are in the words of a program.

    Args:
        names: the open lengths.
    """

    def __init__(self, names: list[Expression]) -> None:
        self.names = names
        self._known: dict[int, Expression] = {}

    def expression(self, sizes: Any, place: int) -> Expression:
        """What the trace's number at ``place`` is."""
        if place < len(self.names):
            return self.names[place]
        found = self._known.get(place)
        if found is None:

            def leaf(node: ast.AST) -> Expression | None:
                return self._inner(sizes, node)

            text = sizes.definition(place)
            found = simplified(of_node(ast.parse(text, mode="eval").body, leaf))
            self._known[place] = found
        return found

    def _inner(self, sizes: Any, node: ast.AST) -> Expression | None:
        if isinstance(node, ast.Name) and node.id[:1] == "v":
            return self.expression(sizes, int(node.id[1:]))
        return None

    def shown(self, number: Any) -> Any:
        """A number of the trace as a program's."""
        if type(number) not in KINDS:
            return number
        return SymInt(self.expression(number.sizes, number.place), int(plain(number)))


def simplified(found: Expression) -> Expression:
    """Without factors of 1; sums with their number last."""
    operands = tuple(map(simplified, found.operands))
    if found.kind == "*":
        operands = tuple(x for x in operands if x != Expression("number", 1))
        if len(operands) == 1:
            return operands[0]
        operands = tuple(sorted(operands, key=lambda x: x.kind != "number"))
    if found.kind == "+":
        flat: list[Expression] = []
        for each in operands:
            flat += each.operands if each.kind == "+" else [each]
        operands = tuple(sorted(flat, key=lambda x: x.kind == "number"))
    return Expression(found.kind, found.value, operands)
