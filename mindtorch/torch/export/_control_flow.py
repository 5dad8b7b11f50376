"""Branches and loops of a forward as nodes that call graphs, which are traced once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mindtorch.engine.tensor import Tensor
from mindtorch.exporting.errors import ExportError
from mindtorch.torch._higher_order_ops.cond import cond_op
from mindtorch.torch._higher_order_ops.while_loop import while_loop_op
from mindtorch.torch.functions.comparison import where
from mindtorch.torch.fx.graph import Graph
from mindtorch.torch.fx.graph_module import GraphModule
from mindtorch.torch.fx.node import Node
from mindtorch.torch.nn import Module
from mindtorch.torch.utils._pytree import tree_flatten, tree_unflatten

from ._program_graph import RESERVED, drop_unused

__all__ = ["ControlFlow"]


class _Part:
    """A graph within a graph, while it is written.

    Args:
        around: the graph around it, whose names it does not take: PyTorch reads no file where it
            does.

    Attributes:
        given: by node of the graph around it, the parameter that stands for it, in order.
        tensors: from outside, which must not be written to.
        results: what the function gave, without its containers; spec: these.
    """

    def __init__(self, around: Graph) -> None:
        self.graph, self.root = Graph(), Module()
        self.graph._names.avoid(around._names)
        self.given: dict[Node, Node] = {}
        self.tensors: list[Tensor] = []
        self.results: list[Any] = []
        self.spec: Any = None

    def parameter(self, outer: Node) -> Node:
        """The parameter that stands for a node of the graph around."""
        found = self.given.get(outer)
        if found is None:
            before = list(self.given.values())
            place = self.graph.inserting_after(before[-1]) if before else (
                self.graph.inserting_before(next(iter(self.graph.nodes), None))
            )
            with place:
                found = self.graph.placeholder(outer.name)
            if outer.name.isidentifier() and outer.name not in RESERVED:
                found.name = found.target = outer.name
            found.meta = {"val": outer.meta["val"]}
            self.given[outer] = found
        return found

    def closed(self, order: Sequence[Node]) -> GraphModule:
        """What runs it, with the parameters in this order."""
        for outer in order:
            self.parameter(outer)
        for outer in reversed(order):
            first = next(iter(self.graph.nodes))
            first.prepend(self.given[outer])
        return GraphModule(self.root, self.graph)


class ControlFlow:
    """What a recorder does with functions over functions.

    A tensor from outside is a parameter of the graph that uses it. Results are values of their own:
    for the trace, one of both branches' or those of one round of a loop.
    """

    graph: Graph
    root: Module
    _books: tuple[str, ...] = ("_nodes", "_values", "_numbers", "_ended")

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._outer_books: list[tuple[Any, ...]] = []

    # --- graphs within graphs ---------------------------------------------------------------------

    @contextmanager
    def _around(self) -> Iterator[None]:
        """A block in which the graph around the innermost one is written."""
        part, books = self._parts.pop(), tuple(getattr(self, name) for name in self._books)
        self._swap(self._outer_books.pop())
        try:
            yield
        finally:
            self._outer_books.append(self._books_now())
            self._swap((part.graph, part.root, *books))
            self._parts.append(part)

    def _books_now(self) -> tuple[Any, ...]:
        return (self.graph, self.root, *(getattr(self, name) for name in self._books))

    def _swap(self, kept: tuple[Any, ...]) -> None:
        self.graph, self.root = kept[:2]
        for name, book in zip(self._books, kept[2:], strict=True):
            setattr(self, name, book)

    def within(self) -> bool:
        """Whether a graph within a graph is written."""
        return bool(self._parts)

    def from_around(self, find: Callable[[], Any]) -> Any:
        """What the graph around the innermost one has, as that one's parameter; numbers stay."""
        with self._around():
            outer = find()
        return self._parts[-1].parameter(outer) if isinstance(outer, Node) else outer

    def tensor_from_around(self, tensor: Tensor, find: Callable[[], Any]) -> Any:
        """The same of a tensor."""
        self._parts[-1].tensors.append(tensor)
        return self.from_around(find)

    def check_write(self, target: Any) -> None:
        """Raise where a branch or a loop writes to a tensor from outside."""
        for part in self._parts:
            for each in part.tensors:
                if each is target or each._shared.memory is target._shared.memory:
                    raise ExportError(
                        "torch.cond and while_loop: a function writes to a tensor that it has "
                        "not made"
                    )

    def _traced(
        self, function: Callable[..., Any], arguments: Any, given: Sequence[tuple[Tensor, Node]],
        what: str,
    ) -> _Part:  # fmt: skip
        """A function's graph, whose first parameters stand for these tensors' nodes."""
        part = _Part(self.graph)
        self._outer_books.append(self._books_now())
        self._swap((part.graph, part.root, *({} for _ in self._books)))
        self._parts.append(part)
        try:
            for tensor, node in given:
                part.tensors.append(tensor)
                self.note(tensor, part.parameter(node))
            part.results, part.spec = tree_flatten(function(*arguments))
            if not all(isinstance(x, Tensor) for x in part.results):
                raise ExportError(f"{what} must return tensors only")
            part.graph.output(tuple([self.value(x) for x in part.results]))
            drop_unused(part.graph)
        finally:
            self._parts.pop()
            self._swap(self._outer_books.pop())
        return part

    def _attribute(self, name: str, module: GraphModule) -> Node:
        count = sum(each.startswith(f"{name}_") for each in self.root._modules)
        setattr(self.root, f"{name}_{count}", module)
        return self.graph.get_attr(f"{name}_{count}")

    def _called(self, target: Any, name: str, arguments: Any, results: Sequence[Tensor]) -> None:
        node = self.graph.call_function(target, arguments, name=name)
        self._name_parts(node, tuple(results))

    # --- functions over functions -----------------------------------------------------------------

    def choose(self, pred: Any, true_fn: Any, false_fn: Any, operands: Any) -> Any:
        """The node of `torch.cond`."""
        leaves, _ = tree_flatten(operands)
        given = [(x, self.value(x)) for x in leaves]
        predicate = self.value(pred)
        parts = [
            self._traced(function, operands, given, "torch.cond: a branch")
            for function in (true_fn, false_fn)
        ]
        one, other = parts
        if one.spec != other.spec or not all(map(_alike, one.results, other.results)):
            raise ExportError(
                "torch.cond: the branches return other things: "
                f"{_shown(one)} where the condition holds, {_shown(other)} where it does not"
            )
        order = list(dict.fromkeys(node for part in parts for node in part.given))
        graphs = [
            self._attribute(name, part.closed(order))
            for name, part in zip(("true_graph", "false_graph"), parts, strict=True)
        ]
        scalar = self.outside(pred.reshape, ())
        results = [
            self.outside(where, scalar, a, b)
            for a, b in zip(one.results, other.results, strict=True)
        ]
        self._called(cond_op, "cond", (predicate, *graphs, tuple(order)), results)
        return tree_unflatten(results, one.spec)

    def repeat(self, cond_fn: Any, body_fn: Any, carried: Any, more: Any = ()) -> Any:
        """The node of `while_loop`."""
        leaves, spec = tree_flatten(tuple(carried))
        if not all(isinstance(x, Tensor) for x in leaves):
            raise ExportError("while_loop: numbers that change must be tensors to be exported")
        nodes = [self.value(x) for x in leaves]
        # in a round they have other elements than at the beginning
        inside = [self.outside(x.clone) for x in leaves]
        given, arguments = list(zip(inside, nodes, strict=True)), tree_unflatten(inside, spec)
        if len({*nodes}) != len(nodes):
            raise ExportError("while_loop: one tensor is carried twice: clone it")
        test = self._traced(cond_fn, (*arguments, *more), given, "while_loop: cond_fn")
        body = self._traced(body_fn, (*arguments, *more), given, "while_loop: body_fn")
        if [x.aval.shape for x in test.results] != [()] or test.spec.num_children:
            raise ExportError("while_loop: cond_fn must return one tensor without axes")
        if body.spec.num_children != len(carried) or not all(map(_alike, leaves, body.results)):
            raise ExportError(
                f"while_loop: body_fn must return what it takes, but takes {_listed(leaves)} and "
                f"returns {_shown(body)}"
            )
        order = list(dict.fromkeys([*nodes, *test.given, *body.given]))
        output = test.graph.output_node()
        output.args = (output.args[0][0],)
        graphs = [
            self._attribute(f"while_loop_{name}_graph", part.closed(order))
            for name, part in (("cond", test), ("body", body))
        ]
        results = [self.outside(x.clone) for x in body.results]
        self._called(
            while_loop_op, "while_loop",
            (*graphs, tuple(nodes), tuple(order[len(nodes) :])), results,
        )  # fmt: skip
        return tree_unflatten(results, spec)

    # --- of the recorder ----------------------------------------------------------------------

    note: Callable[[Tensor, Node], None]
    value: Callable[[Any], Any]
    outside: Callable[..., Any]
    _name_parts: Callable[[Node, Any], None]


def _alike(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one type and shape."""
    a, b = one.aval, other.aval
    return a.dtype is b.dtype and a.device is b.device and (
        len(a.shape) == len(b.shape) and all(map(operator.eq, a.shape, b.shape))
    )


def _listed(tensors: Sequence[Tensor]) -> str:
    return ", ".join(f"{x.aval.dtype.name}{list(map(int, x.aval.shape))}" for x in tensors)


def _shown(part: _Part) -> str:
    return f"({_listed(part.results)})"
