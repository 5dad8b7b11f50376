"""A graph divided into parts, each a module of its own."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from mindtorch.torch.nn.modules.module import Module

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node, map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """One part: its nodes, what it takes and gives, and which parts it takes from."""

    def __init__(self, name: Any) -> None:
        self.name = name
        self.submod_name = f"submod_{str(name).replace('.', '_')}"
        self.nodes: list[Node] = []
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.depends_on: dict[Any, None] = {}


def split_module(
    m: GraphModule,
    root_m: Module,
    split_callback: Callable[[Node], int],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
) -> GraphModule:
    """A module that calls one module for each part of the graph of `m`, and computes the same.

    Args:
        m: the traced module.
        root_m: the module whose parts the graph names.
        split_callback: the part of a node; parts are numbered, or named.
        qualname_map: gets the new paths of parameters and modules -> the old ones.
        keep_original_order: parts are called in the order in which their first nodes stand.
        keep_original_node_name: nodes keep their names within the parts.
        keep_original_input_name: inputs of parts are called as what is given for them.

    Raises:
        RuntimeError: parts that need one another's results.
    """
    parts: dict[Any, Partition] = {}
    part_of: dict[Node, Any] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        part_of[node] = name
        parts.setdefault(name, Partition(name)).nodes.append(node)
    _find_connections(m.graph, parts, part_of)
    order = list(parts) if keep_original_order else _sorted(parts)
    if keep_original_order:
        _sorted(parts)  # raises where parts need one another
    outer: dict[Node, Any] = {}
    whole = Graph(tracer_cls=m.graph._tracer_cls)
    base: dict[str, Any] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            outer[node] = whole.node_copy(node, lambda n: outer[n])
            if node.op == "get_attr":
                base[str(node.target)] = _found(root_m, str(node.target))
    for name in order:
        part = parts[name]
        base[part.submod_name] = _module_of(
            part, root_m, m, qualname_map, bool(keep_original_node_name), keep_original_input_name
        )
        called = whole.call_module(part.submod_name, tuple(outer[n] for n in part.inputs))
        if len(part.outputs) == 1:
            outer[next(iter(part.outputs))] = called
            continue
        for i, node in enumerate(part.outputs):
            outer[node] = whole.call_function(operator.getitem, (called, i))
    result = m.graph.output_node()
    whole.output(map_arg(result.args[0], lambda n: outer[n]))
    made = GraphModule(base, whole)
    made.train(m.training)
    return made





def _find_connections(graph: Graph, parts: dict[Any, Partition], part_of: Any) -> None:
    """What each part takes from others and gives to them."""
    for node in graph.nodes:
        own = part_of.get(node)
        for given in node.all_input_nodes:
            source = part_of.get(given)
            if source is not None and source != own:
                parts[source].outputs[given] = None
            if own is not None and source != own and node.op != "output":
                parts[own].inputs[given] = None
                if source is not None:
                    parts[own].depends_on[source] = None


def _sorted(parts: dict[Any, Partition]) -> list[Any]:
    """The parts, each after those that it depends on."""
    done: list[Any] = []
    waiting = list(parts)
    while waiting:
        ready = [name for name in waiting if all(d in done for d in parts[name].depends_on)]
        if not ready:
            raise RuntimeError("cycle exists between partitions!")
        done.append(ready[0])
        waiting.remove(ready[0])
    return done


def _module_of(
    part: Partition, root: Module, m: GraphModule, qualname_map: dict[str, str] | None,
    keep_names: bool, keep_input_names: bool,
) -> GraphModule:  # fmt: skip
    """The module of one part."""
    graph = Graph(tracer_cls=m.graph._tracer_cls)
    inner: dict[Node, Node] = {}
    for i, node in enumerate(part.inputs):
        inner[node] = graph.placeholder(node.name if keep_input_names else f"arg_{i}")
        inner[node].meta = node.meta.copy()
    parts: dict[str, Any] = {}
    for node in part.nodes:
        target = node.target
        if node.op == "call_module":
            target = str(node.target).replace(".", "_")
            parts[target] = _found(root, str(node.target))
            if qualname_map is not None:
                qualname_map[f"{part.submod_name}.{target}"] = str(node.target)
        args, kwargs = map_arg((node.args, dict(node.kwargs)), lambda n: inner[n])
        name = node.name if keep_names else None
        inner[node] = graph.create_node(node.op, target, args, kwargs, name, node.type)
        inner[node].meta = node.meta.copy()
    given = tuple(inner[node] for node in part.outputs)
    graph.output(given[0] if len(given) == 1 else given)
    return GraphModule(parts, graph)


def _found(root: Any, path: str) -> Any:
    for name in path.split("."):
        root = getattr(root, name)
    return root
