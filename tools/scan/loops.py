"""Training loops rewritten: `backward()` and `step()` become a function's `value_and_grad`.

    for x, y in loader:                      def forward_fn(x, y):
        optimizer.zero_grad()                    out = model(x)
        out = model(x)                           loss = loss_fn(out, y)
        loss = loss_fn(out, y)                   return loss
        loss.backward()
        optimizer.step()                     grad_fn = value_and_grad(
                                                 forward_fn, None, optimizer.parameters)
                                             for x, y in loader:
                                                 loss, grads = grad_fn(x, y)
                                                 optimizer.step(grads)

Only where that is certain to mean the same: assignments, `backward()` and `step()` next to each
other, one of each. Everything else is left as it is, and told.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from typing import Any, ClassVar

import libcst as cst
from libcst import matchers as m
from libcst.metadata import PositionProvider

__all__ = ["LoopFixer"]

_ASSIGNMENT = m.SimpleStatementLine(body=[m.Assign() | m.AugAssign() | m.AnnAssign()])


class _LeftError(Exception):
    """A loop that is left as it is; the text says why."""


def _call_of(statement: cst.CSTNode, method: str, arguments: bool = False) -> str | None:
    """`name` where a statement is `name.method()`."""
    found = m.extract(
        statement,
        m.SimpleStatementLine(body=[m.Expr(m.Call(
            func=m.Attribute(value=m.SaveMatchedNode(m.Name(), "name"), attr=m.Name(method)),
            args=m.DoNotCare() if arguments else [],
        ))]),
    )  # fmt: skip
    return None if found is None else str(found["name"].value)  # type: ignore[union-attr]


def _tree(statements: Sequence[Any]) -> ast.Module:
    code = cst.Module(body=[s.with_changes(leading_lines=[]) for s in statements]).code
    return ast.parse(textwrap.dedent(code))


def _names(tree: ast.AST, context: type[ast.expr_context]) -> list[str]:
    return [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, context)]


def _targets(statement: ast.stmt) -> set[str]:
    return set(_names(statement, ast.Store))


def _reads(statement: ast.stmt) -> set[str]:
    found = set(_names(statement, ast.Load))
    return found | (_targets(statement) if isinstance(statement, ast.AugAssign) else set())


class LoopFixer(cst.CSTTransformer):
    """Rewrites the loops of a module.

    Attributes:
        count: how many were rewritten.
        told: the lines of those that were not, and why.
    """

    METADATA_DEPENDENCIES: ClassVar[tuple[Any, ...]] = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.told: list[str] = []
        self.enclosing: list[cst.CSTNode] = []

    def visit_Module(self, node: cst.Module) -> None:
        self.enclosing.append(node)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.enclosing.append(node)

    def leave_FunctionDef(self, original_node: Any, updated_node: Any) -> Any:
        self.enclosing.pop()
        return updated_node

    def leave_For(self, original_node: cst.For, updated_node: cst.For) -> Any:
        return self._fixed(original_node, updated_node)

    def leave_While(self, original_node: cst.While, updated_node: cst.While) -> Any:
        return self._fixed(original_node, updated_node)

    def _fixed(self, original: Any, updated: Any) -> Any:
        body = updated.body.body
        if not isinstance(updated.body, cst.IndentedBlock):
            return updated
        if not any(_call_of(s, "backward", arguments=True) for s in body):
            return updated
        try:
            return self._rewritten(updated)
        except _LeftError as reason:
            line = self.get_metadata(PositionProvider, original).start.line
            self.told.append(f"line {line}: the loop is left as it is: {reason}")
            return updated

    # -- one loop ---------------------------------------------------------------------------------

    def _rewritten(self, updated: Any) -> Any:
        body = list(updated.body.body)
        backward, loss, optimizer = self._found(body, updated)
        start = self._start(body, backward, loss)
        block = [s for s in body[start:backward] if _call_of(s, "zero_grad", True) is None]
        parameters, outputs = self._interface(updated, block, loss)
        function, gradient = self._fresh("forward_fn"), self._fresh("grad_fn")
        returned = ", ".join([loss, *outputs])
        made = cst.parse_statement(f"def {function}({', '.join(parameters)}):\n    pass\n")
        made = made.with_changes(
            body=cst.IndentedBlock([*block, cst.parse_statement(f"return {returned}")]),
            leading_lines=updated.leading_lines,
        )
        extra = ", has_aux=True" if outputs else ""
        bound = cst.parse_statement(
            f"{gradient} = value_and_grad({function}, None, {optimizer}.parameters{extra})"
        )
        left = f"({returned})" if outputs else loss
        call = cst.parse_statement(f"{left}, grads = {gradient}({', '.join(parameters)})")
        step = cst.parse_statement(f"{optimizer}.step(grads)")
        removed = [s for s in body[: backward + 2] if _call_of(s, "zero_grad", True) == optimizer]
        call = call.with_changes(leading_lines=self._above([*removed, *body[backward:][:2]]))
        kept = [s for s in body[:start] if _call_of(s, "zero_grad", True) != optimizer]
        new = [*kept, call, step, *body[backward + 2 :]]
        loop = updated.with_changes(
            body=updated.body.with_changes(body=new), leading_lines=[]
        )
        self.count += 1
        return cst.FlattenSentinel([made, bound, loop])

    @staticmethod
    def _above(statements: Sequence[Any]) -> list[cst.EmptyLine]:
        """The comments above statements that are taken away."""
        lines = [line for statement in statements for line in statement.leading_lines]
        return [line for line in lines if line.comment is not None]

    def _found(self, body: list[Any], loop: Any) -> tuple[int, str, str]:
        """(place of backward, the loss' name, the optimizer's name)."""
        tree = _tree([loop])
        calls = [n.func.attr for n in ast.walk(tree)
                 if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]  # fmt: skip
        if calls.count("backward") != 1:
            raise _LeftError("it has more than one backward()")
        if any(isinstance(n, ast.Attribute) and n.attr == "grad" for n in ast.walk(tree)):
            raise _LeftError("it looks at .grad")
        place = next(at for at, s in enumerate(body) if _call_of(s, "backward", True))
        loss = _call_of(body[place], "backward")
        if loss is None:
            raise _LeftError("backward() has arguments")
        after = body[place + 1] if place + 1 < len(body) else None
        optimizer = _call_of(after, "step") if after is not None else None
        if optimizer is None:
            raise _LeftError("backward() is not followed by an optimizer's step()")
        if not any(_call_of(s, "zero_grad", True) == optimizer for s in body):
            raise _LeftError(f"it has no {optimizer}.zero_grad(): gradients may be summed up")
        return place, loss, optimizer

    @staticmethod
    def _start(body: list[Any], backward: int, loss: str) -> int:
        """Where the statements begin that the loss is computed by."""
        needed, start = {loss}, backward
        for place in range(backward - 1, -1, -1):
            if _call_of(body[place], "zero_grad", True) is not None:
                continue
            if not m.matches(body[place], _ASSIGNMENT):
                break
            (statement,) = _tree([body[place]]).body
            if _targets(statement) & needed:
                needed |= _reads(statement)
                start = place
        if loss not in {n for s in body[start:backward] for n in _targets(_tree([s]).body[0])}:
            raise _LeftError(f"{loss} is not assigned right before backward()")
        return start

    def _interface(self, loop: Any, block: list[Any], loss: str) -> tuple[list[str], list[str]]:
        """(what the function takes, what it returns beside the loss)."""
        statements = _tree(block).body
        for node in ast.walk(_tree(block)):
            if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
                raise _LeftError("its forward pass yields, awaits, or assigns in an expression")
        if any(isinstance(n, (ast.Attribute, ast.Subscript)) and isinstance(n.ctx, ast.Store)
               for n in ast.walk(_tree(block))):  # fmt: skip
            raise _LeftError("its forward pass sets attributes or elements")
        made: set[str] = set()
        first: list[str] = []
        for statement in statements:
            first += [n for n in sorted(_reads(statement)) if n not in made and n not in first]
            made |= _targets(statement)
        bound = set(_names(_tree([loop]), ast.Store))
        parameters = [name for name in first if name in bound]
        everywhere = _names(self._scope(), ast.Load)
        inside = _names(_tree(block), ast.Load)
        outputs = [
            name
            for name in sorted(made - {loss})
            if everywhere.count(name) > inside.count(name)
        ]
        return parameters, outputs

    def _scope(self) -> ast.Module:
        node: Any = self.enclosing[-1]
        if isinstance(node, cst.Module):
            return ast.parse(node.bytes)
        return _tree([node])

    def _fresh(self, name: str) -> str:
        scope = self._scope()
        taken = {n.id for n in ast.walk(scope) if isinstance(n, ast.Name)}
        taken |= {n.name for n in ast.walk(scope) if isinstance(n, ast.FunctionDef)}
        if self.count == 0 and name not in taken:
            return name
        number = max(self.count, 0) + 1
        while f"{name}_{number}" in taken:
            number += 1
        return f"{name}_{number}"
