"""Graphs: a list of nodes in order, their names, and the Python code they mean."""

from __future__ import annotations

import builtins
import collections
import contextlib
import copy
import keyword
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from .node import MAGIC, Node, argument_text, map_arg, qualified_name, type_name

__all__ = ["CodeGen", "Graph", "PythonCode"]

_TAKEN = {"inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree"}


class PythonCode(NamedTuple):
    """Source code, and the names that it finds in its globals."""

    src: str
    globals: dict[str, Any]


class Names:
    """Names that are given out once: ``relu``, ``relu_1``, ``relu_2``."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._counts: dict[str, int] = collections.defaultdict(int)

    def create(self, candidate: str) -> str:
        """The name nearest to ``candidate`` that is legal and free."""
        plain = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        plain = f"_{plain}" if plain[0].isdigit() else plain
        found = re.match(r"(.*)_(\d+)$", plain)
        base, number = (plain, 0) if found is None else (found[1], int(found[2]))
        name = plain
        number = number or self._counts[base]
        while name in self._used or self._refused(name):
            number += 1
            name = f"{base}_{number}"
        self._used.add(name)
        self._counts[base] = number
        return name

    @staticmethod
    def _refused(name: str) -> bool:
        return keyword.iskeyword(name) or name in vars(builtins) or name in _TAKEN


def _snake_case(text: str) -> str:
    """``BatchNorm2d`` as ``batch_norm2d``."""
    words = re.sub(r"(?<=[a-z0-9])([A-Z])|(?<=[A-Z])([A-Z])(?=[a-z])", r"_\g<0>", text)
    return words.lower()


def _base_name(target: Any) -> str:
    text = target if isinstance(target, str) else target.__name__
    if text.startswith("__") and text.endswith("__"):
        text = text[2:-2]
    return _snake_case(text)


class NodeList:
    """The nodes of a graph in order; ``reversed`` works."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self._graph, self._direction = graph, direction

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Node]:
        root = self._graph._root
        node = getattr(root, self._direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, self._direction)

    def __reversed__(self) -> NodeList:
        return NodeList(self._graph, "_prev" if self._direction == "_next" else "_next")


class CodeGen:
    """How a graph becomes code; kept for those who look at ``graph._codegen``."""


class Graph:
    """A function as a list of calls.

    ``str(graph)`` lists its nodes and ``python_code`` is the function that they mean.
    """

    def __init__(
        self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None
    ) -> None:
        self.owning_module = owning_module
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._names = Names()
        self._root = Node(self, "", "placeholder", "", (), {})
        self._insert = self._root.prepend
        self._codegen = CodeGen()

    @property
    def nodes(self) -> NodeList:
        return NodeList(self)

    def output_node(self) -> Node:
        """The node that returns the result."""
        last = self._root._prev
        if last.op != "output":
            raise AssertionError("the graph has no output")
        return last

    def find_nodes(self, *, op: str, target: Any = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, of one target where it is named."""
        return [n for n in self.nodes if n.op == op and target in (None, n.target)]

    # --- making nodes ------------------------------------------------------------------------

    def create_node(
        self, op: str, target: Any, args: Any = None, kwargs: Any = None, name: str | None = None,
        type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """A new node where nodes are being inserted; its name is made unique."""
        chosen = self._names.create(name if name is not None else _base_name(target))
        node = Node(self, chosen, op, target, args or (), kwargs or {}, type_expr)
        self._insert(node)
        return node

    def placeholder(
        self, name: str, type_expr: Any = None, default_value: Any = ...
    ) -> Node:
        """An argument of the function."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """An attribute of the module: a parameter, say."""
        return self.create_node(
            "get_attr", qualified_name, name=qualified_name.replace(".", "_"), type_expr=type_expr
        )

    def call_module(
        self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        return self.create_node(
            "call_module", module_name, args, kwargs, module_name.replace(".", "_"), type_expr
        )

    def call_method(
        self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None
    ) -> Node:
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self, the_function: Any, args: Any = None, kwargs: Any = None, type_expr: Any = None,
        name: str | None = None,
    ) -> Node:  # fmt: skip
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Any = lambda x: x) -> Node:
        """A node of another graph, its arguments mapped into this one."""
        args, kwargs = map_arg((node.args, node.kwargs), arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
                   ) -> Any:  # fmt: skip
        """All nodes of ``g`` but its output; gives what it would return."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: Any = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls)
        mapped: dict[Node, Node] = {}
        result = made.graph_copy(self, mapped, return_output_node=True)
        if result is not None:
            made.output(result[0], result[1].type).meta = copy.copy(result[1].meta)
        return made

    # --- editing -----------------------------------------------------------------------------

    @contextlib.contextmanager
    def _inserting(self, insert: Any) -> Iterator[None]:
        before, self._insert = self._insert, insert
        try:
            yield
        finally:
            self._insert = before

    def inserting_before(self, n: Node | None = None) -> Any:
        """A block in which new nodes come before ``n`` (or the first node)."""
        return self._inserting((self._root._next if n is None else self._own(n)).prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """A block in which new nodes come after ``n`` (or before the first node)."""
        place = self._root if n is None else self._own(n)

        def insert(node: Node) -> None:
            nonlocal place
            place.append(node)
            place = node

        return self._inserting(insert)

    def _own(self, n: Node) -> Node:
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return n

    def erase_node(self, to_erase: Node) -> None:
        """Take away a node that nobody uses."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in "
                f"the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        to_erase._unlink()
        to_erase._erased = True
        to_erase._set_arguments((), {})

    def eliminate_dead_code(self, is_impure_node: Any = None) -> bool:
        """Take away all nodes without users or effects; whether there were any."""
        self.lint()
        changed = False
        for node in reversed(self.nodes):
            impure = node.is_impure() if is_impure_node is None else is_impure_node(node)
            if not impure and not node.users:
                self.erase_node(node)
                changed = True
        return changed

    def lint(self) -> None:
        """Check that names are unique, that nodes come before their users, that targets exist."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node.all_input_nodes:
                if used not in seen:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' was used before it has been defined! "
                        "Please check that Nodes in the graph are topologically ordered\n"
                        f"{self}"
                    )
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
            if self.owning_module is not None and node.op in ("call_module", "get_attr"):
                self._check_target(node)

    def _check_target(self, node: Node) -> None:
        holder = self.owning_module
        for part in node.target.split("."):
            if not hasattr(holder, part):
                raise RuntimeError(
                    f"Node {node} target {node.target} references nonexistent attribute {part} of "
                    f"{node.target.rpartition('.')[0]}"
                )
            holder = getattr(holder, part)

    # --- text --------------------------------------------------------------------------------

    def __str__(self) -> str:
        return "graph():" + "".join(f"\n    {n.format_node()}" for n in self.nodes)

    def print_tabular(self) -> None:
        """Print the nodes as a table of five columns."""
        rows = [["opcode", "name", "target", "args", "kwargs"]]
        rows += [[n.op, n.name, str(n.target), str(n.args), str(n.kwargs)] for n in self.nodes]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        rows.insert(1, ["-" * w for w in widths])
        for row in rows:
            print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())

    def python_code(self, root_module: str = "self", **options: Any) -> PythonCode:
        """The function ``forward`` that the nodes mean; ``root_module`` is the module's name."""
        last_uses = self._last_uses()
        found: dict[str, Any] = {}
        arguments: list[str] = []
        body: list[str] = []
        returned = ""
        for node in self.nodes:
            line = _line(node, root_module, arguments, found)
            if node.op == "output" and node.type is not None:
                returned = f" -> {type_name(node.type)}"
            if line is None:
                continue
            gone = [] if node.op in ("placeholder", "output") else last_uses.get(node, [])
            if not node.users and node.op not in ("placeholder", "output"):
                gone = [*gone, node]
            if gone:
                line += f";  {' = '.join([n.name for n in gone])} = None"
            body.append(line)
        text = "".join(f"    {line}\n" for line in body or ["pass"])
        header = f"def forward({', '.join([root_module, *arguments])}){returned}:"
        return PythonCode(f"\n\n\n{header}\n{text}    ", {**_common_globals(), **found})

    def _last_uses(self) -> dict[Node, list[Node]]:
        last: dict[Node, Node] = {}
        uses: dict[Node, list[Node]] = {}
        for node in reversed(self.nodes):
            for used in node.all_input_nodes:
                if used not in last:
                    last[used] = node
                    uses.setdefault(node, []).append(used)
        return uses


def _common_globals() -> dict[str, Any]:
    import mindtorch.torch as torch
    from mindtorch.engine.device import Device

    return {"torch": torch, "device": Device, "inf": math.inf, "nan": math.nan,
            "NoneType": type(None)}  # fmt: skip


def _path(base: str, target: str) -> str:
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f'getattr({base}, "{part}")'
    return base


def _call_arguments(args: Any, kwargs: Any) -> str:
    words = [argument_text(a) for a in args]
    return ", ".join([*words, *(f"{k} = {argument_text(v)}" for k, v in kwargs.items())])


def _line(node: Node, root: str, arguments: list[str], found: dict[str, Any]) -> str | None:
    """The statement that a node means; None where an argument needs none."""
    kind = "" if node.type is None else f" : {type_name(node.type)}"
    if node.op == "placeholder":
        default = f" = {argument_text(node.args[0])}" if node.args else ""
        arguments.append(f"{node.target}{kind}{default}")
        plain = node.target.replace("*", "")
        return None if plain == node.name else f"{node.name} = {plain}"
    if node.op == "output":
        return f"return {argument_text(node.args[0])}"
    left = f"{node.name}{kind} ="
    if node.op == "get_attr":
        return f"{left} {_path(root, node.target)}"
    if node.op == "call_module":
        return f"{left} {_path(root, node.target)}({_call_arguments(node.args, node.kwargs)})"
    if node.op == "call_method":
        holder = _path(argument_text(node.args[0]), node.target)
        return f"{left} {holder}({_call_arguments(node.args[1:], node.kwargs)})"
    if node.target in MAGIC and not node.kwargs:
        return f"{left} {MAGIC[node.target].format(*(argument_text(a) for a in node.args))}"
    name = qualified_name(node.target)
    plain_getattr = node.target is getattr and len(node.args) == 2
    if plain_getattr and isinstance(node.args[1], str) and node.args[1].isidentifier():
        return f"{left} {_path(argument_text(node.args[0]), node.args[1])}"
    if not name.startswith("torch.") and name not in vars(builtins):
        name = name.replace(".", "_").replace("<", "_").replace(">", "_")
        found[name] = node.target
    return f"{left} {name}({_call_arguments(node.args, node.kwargs)})"
