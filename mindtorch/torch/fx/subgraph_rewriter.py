"""Parts of graphs that have the shape of a pattern, replaced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, copy_attribute
from .node import Node
from .passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A part that was replaced.

    Attributes:
        anchor: the pattern's node that the match began with.
        nodes_map: the pattern's nodes -> the graph's.
    """

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A part that was replaced, with the nodes that took its place."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node] = field(default_factory=list)


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace every part of `gm` that has the shape of `pattern`, and make its code again.

    Args:
        gm: the module, changed in place.
        pattern: a function or module that is traced, or a GraphModule or Graph.
        replacement: the same for what takes its place; its inputs are the pattern's, in order.

    Returns:
        The parts that were replaced.
    """
    replaced = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(each.anchor, each.nodes_map) for each in replaced]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Callable[[InternalMatch, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """:func:`replace_pattern` of those matches that every filter accepts.

    Args:
        match_filters: ``filter(match, the graph, the pattern's graph) -> bool``.
        ignore_literals: numbers and texts of the pattern match any others.
        replacement_callback: makes the replacement's graph of a match, in place of `replacement`.
        node_name_match: a part of the name of some node of each match.
    """
    if not isinstance(gm, GraphModule):
        raise AssertionError(f"Expected a GraphModule, got {type(gm)}")
    shape, place = _graph_of(pattern), None if replacement is None else _graph_of(replacement)
    matcher = SubgraphMatcher(shape, ignore_literals=ignore_literals)
    matches = [
        match
        for match in matcher.match(gm.graph, node_name_match)
        if all(accept(match, gm.graph, shape) for accept in match_filters or ())
    ]
    changed: dict[Node, Node] = {}
    replaced = []
    for match in matches:
        if replacement_callback is not None:
            new = replacement_callback(match, gm.graph, shape)
        elif place is None:
            raise AssertionError("Must provide either a replacement or a replacement_callback")
        else:
            new = place
        replaced.append(_replace(gm, match, new, changed))
    if replaced:
        gm.recompile()
    for source in (replacement,):
        if isinstance(source, GraphModule):
            _bring_attributes(gm, source)
        elif place is not None and isinstance(place.owning_module, GraphModule):
            _bring_attributes(gm, place.owning_module)
    if replaced:
        gm.recompile()
    return replaced


def _graph_of(given: Any) -> Graph:
    if isinstance(given, GraphModule):
        return given.graph
    if isinstance(given, Graph):
        return given
    graph: Graph = symbolic_trace(given).graph
    return graph


def _replace(
    gm: GraphModule, match: InternalMatch, new: Graph, changed: dict[Node, Node]
) -> ReplacedPatterns:
    """Put a copy of `new` in the place of one match."""
    inputs = [n for n in new.nodes if n.op == "placeholder"]
    if len(inputs) != len(match.placeholder_nodes):
        raise AssertionError(
            f"the replacement has {len(inputs)} inputs, the pattern {len(match.placeholder_nodes)}"
        )
    values: dict[Node, Any] = {}
    for node, given in zip(inputs, match.placeholder_nodes, strict=True):
        while isinstance(given, Node) and given in changed:
            given = changed[given]
        values[node] = given
    own = [
        node
        for pattern, node in match.nodes_map.items()
        if pattern.op not in ("placeholder", "output") and isinstance(node, Node)
    ]
    users = {user for node in match.returning_nodes for user in node.users if user not in own}
    before = next((node for node in gm.graph.nodes if node in users), None)
    known = set(gm.graph.nodes)
    with gm.graph.inserting_before(before if before is not None else gm.graph.output_node()):
        result = gm.graph.graph_copy(new, values)
    results = result if isinstance(result, (tuple, list)) else (result,)
    if len(results) != len(match.returning_nodes):
        raise AssertionError(
            f"the replacement returns {len(results)} values, the pattern "
            f"{len(match.returning_nodes)}"
        )
    for old, made in zip(match.returning_nodes, results, strict=True):
        if isinstance(made, Node):
            old.replace_all_uses_with(made)
            changed[old] = made
    for node in reversed([each for each in gm.graph.nodes if each in own]):
        gm.graph.erase_node(node)
    made_nodes = [node for node in gm.graph.nodes if node not in known]
    return ReplacedPatterns(match.anchors[0], match.nodes_map, made_nodes)


def _bring_attributes(gm: GraphModule, source: GraphModule) -> None:
    """Give `gm` the parts of the replacement that its graph now names."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        if _has(gm, str(node.target)):
            continue
        if _has(source, str(node.target)):
            copy_attribute(source, gm, str(node.target))


def _has(module: Any, path: str) -> bool:
    for part in path.split("."):
        module = getattr(module, part, None)
    return module is not None
