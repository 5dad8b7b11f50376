"""Graphs: lists of nodes in the order in which they run."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons

from ._codegen import PythonCode, generate
from ._names import NameSpace, short_name
from .node import OPS, Argument, Node, Target, map_arg

__all__ = ["Graph", "PythonCode"]


class _NodeList:
    """The nodes of a graph in order; also from the end."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __len__(self) -> int:
        return self._graph._length

    def __iter__(self) -> Iterator[Node]:
        node = self._graph._root._next
        while node is not self._graph._root:
            if not node._erased:
                yield node
            node = node._next

    def __reversed__(self) -> Iterator[Node]:
        node = self._graph._root._prev
        while node is not self._graph._root:
            if not node._erased:
                yield node
            node = node._prev


class NodeName:
    """A node in a pickle of a graph.

    Args:
        name: its name, unique in the graph.
    """

    def __init__(self, name: str) -> None:
        self.name = name


class Graph:
    """What a function or a module does, as nodes.

    Args:
        owning_module: the module whose attributes and submodules the nodes name.
        tracer_cls: the class of the tracer that made it.
        tracer_extras: kept for the tracer.
    """

    def __init__(
        self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._length = 0
        self._insert: Callable[[Node], None] = self._root.prepend
        self._names = NameSpace()
        self.owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras

    @property
    def nodes(self) -> _NodeList:
        """The nodes in the order in which they run."""
        return _NodeList(self)

    def output_node(self) -> Node:
        """The node that returns."""
        return next(node for node in reversed(self.nodes) if node.op == "output")

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, and of a target where that is given, in order."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node at the place where nodes are inserted; ``name`` is made unique."""
        if op not in OPS:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        args, kwargs = args or (), kwargs or {}
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple")
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict")
        node = Node(self, "", op, target, args, kwargs, type_expr)
        node.name = self._names.create(short_name(target) if name is None else name, node)
        self._insert(node)
        self._length += 1
        return node

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out that nobody uses.

        Raises:
            RuntimeError: it has users.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in "
                f"the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        to_erase._set((), {})
        to_erase._unlink()
        to_erase._erased = True
        self._names.forget(to_erase)
        self._length -= 1

    @contextlib.contextmanager
    def _inserting(self, insert: Callable[[Node], None]) -> Iterator[None]:
        before, self._insert = self._insert, insert
        try:
            yield
        finally:
            self._insert = before

    def inserting_before(self, n: Node | None = None) -> Any:
        """A block in which nodes are added before ``n``, or before all others."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return self._inserting(n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """A block in which each node is added right after ``n``, or after all others."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return self._inserting(n.append)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """A parameter; with a default where one is given."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """An attribute of the module, by its dotted path."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """A call of a submodule, by its dotted path."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        """A call of a method of ``args[0]``."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self, the_function: Callable[..., Any], args: Any = None, kwargs: Any = None,
        type_expr: Any = None, name: str | None = None,
    ) -> Node:  # fmt: skip
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """What is returned: a node, or nodes in containers."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(
        self, node: Node, arg_transform: Callable[[Node], Argument] = lambda n: n
    ) -> Node:
        """Add a node like that of another graph; ``arg_transform`` maps the nodes it uses."""
        args = map_arg(node.args, arg_transform)
        kwargs = map_arg(node.kwargs, arg_transform)
        result = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        result.meta = copy.copy(node.meta)
        return result

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Add the nodes of ``g`` but its output, and give what that would return.

        Args:
            val_map: which nodes of this graph stand for nodes of ``g``; filled with the new ones.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda n: val_map[n])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: Any = None) -> Graph:
        result = Graph(tracer_cls=self._tracer_cls)
        copies: dict[Node, Node] = {}
        for node in self.nodes:
            copies[node] = result.node_copy(node, lambda n: copies[n])
        return result

    def listed(self) -> tuple[Any, list[tuple[Any, ...]]]:
        """The nodes as values that a pickle holds: other nodes stand as a :class:`NodeName`."""

        def plain(each: Any) -> Any:
            if isinstance(each, Node):
                return NodeName(each.name)
            if isinstance(each, (tuple, list)):
                items = [plain(item) for item in each]
                if isinstance(each, list):
                    return items
                return type(each)(*items) if hasattr(each, "_fields") else tuple(items)
            if isinstance(each, dict):
                return {key: plain(item) for key, item in each.items()}
            if isinstance(each, slice):
                return slice(plain(each.start), plain(each.stop), plain(each.step))
            return each

        rows = [(n.op, n.name, n.target, plain(n.args), plain(n.kwargs), n.type, n.meta)
                for n in self.nodes]  # fmt: skip
        return self._tracer_cls, rows

    @classmethod
    def of_list(cls, tracer_cls: Any, rows: list[tuple[Any, ...]]) -> Graph:
        """The graph of what :meth:`listed` gave."""
        made = cls(tracer_cls=tracer_cls)
        nodes: dict[str, Node] = {}

        def meant(each: Any) -> Any:
            if isinstance(each, NodeName):
                return nodes[each.name]
            if isinstance(each, tuple):
                items = [meant(item) for item in each]
                return type(each)(*items) if hasattr(each, "_fields") else tuple(items)
            if isinstance(each, list):
                return [meant(item) for item in each]
            if isinstance(each, dict):
                return {key: meant(item) for key, item in each.items()}
            if isinstance(each, slice):
                return slice(meant(each.start), meant(each.stop), meant(each.step))
            return each

        for op, name, target, args, kwargs, kind, meta in rows:
            node = made.create_node(op, target, meant(args), meant(kwargs), name, kind)
            node.meta = meta
            nodes[name] = node
        return made

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Take out what nobody uses and does nothing else; whether anything went."""
        impure = Node.is_impure if is_impure_node is None else is_impure_node
        before = self._length
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
        return self._length != before

    def lint(self) -> None:
        """Check that names are unique, arguments come before their users, and paths exist.

        Raises:
            RuntimeError: they do not.
        """
        names: set[str] = set()
        seen: set[Node] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            for used in node.all_input_nodes:
                if used not in seen:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' was used before it has been defined! "
                        f"Please check that Nodes in the graph are topologically ordered\n{self}"
                    )
            names.add(node.name)
            seen.add(node)
            if self.owning_module is not None and node.op in ("get_attr", "call_module"):
                self._check_path(node)

    def _check_path(self, node: Node) -> None:
        found = self.owning_module
        for part in str(node.target).split("."):
            if not hasattr(found, part):
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {part} "
                    f"of {type(found).__name__}"
                )
            found = getattr(found, part)

    def python_code(self, root_module: str = "self", **options: Any) -> PythonCode:
        """The source of `forward`, and its globals.

        Raises:
            NotImplementedError: options of torch's printer.
        """
        if options:
            raise NotImplementedError(f"Graph.python_code: no {', '.join(options)} in mindtorch")
        return generate(self, root_module)

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [(n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self.nodes]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        rows.insert(1, tuple("-" * width for width in widths))  # type: ignore[arg-type]
        for row in rows:
            pairs = zip(row, widths, strict=True)
            print("  ".join(cell.ljust(width) for cell, width in pairs).rstrip())

    def __str__(self) -> str:
        lines: Iterable[str | None] = (node.format_node() for node in self.nodes)
        return "graph():\n    " + "\n    ".join(line for line in lines if line)


_give_reasons(globals())
