"""Which function writes which op in a format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.engine.compile.ir.ir import DRAW

from .errors import UnsupportedOperatorError

__all__ = ["Writers", "Writing"]

Writing = Callable[[Any, Any], Any]


class Writers(dict[Any, Writing]):
    """{op: the function that writes it}.

    ``write(writer, node)`` gives the name of the node's result, or of each of its results, None for
    one that cannot be had. ``writer`` is what the format writes with: ``writer.Add(a, b)`` appends
    a node of the format and gives the name of its result.
    """

    def writes(self, *ops: Any) -> Callable[[Writing], Writing]:
        """Make a function the writer of these ops."""

        def register(function: Writing) -> Writing:
            self.update(dict.fromkeys(ops, function))
            return function

        return register

    def write(self, writer: Any, node: Any, system: str) -> tuple[Any, ...]:
        """Write a node; the names of its results.

        Args:
            system: what the format is called in errors.

        Raises:
            UnsupportedOperatorError: the op has no counterpart; the user's line is named.
        """
        at = f" (at {node.line})" if node.line else ""
        if node.op is DRAW:
            raise UnsupportedOperatorError(
                f"random numbers are drawn at {node.line or 'a layer that drops elements'}: "
                "call model.eval() first"
            )
        function = self.get(node.op)
        if function is None:
            raise UnsupportedOperatorError(
                f"the operator {node.op.name!r} has no counterpart in {system} here{at}"
            )
        try:
            made = function(writer, node)
        except UnsupportedOperatorError as error:
            raise UnsupportedOperatorError(f"{node.op.name}: {error}{at}") from None
        except KeyError as error:
            raise UnsupportedOperatorError(
                f"{node.op.name} reads what {system}'s operator before it does not give "
                f"({error}){at}"
            ) from None
        return made if isinstance(made, tuple) else (made,)
