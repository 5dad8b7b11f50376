"""Where a graph has the shape of another one, the pattern."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mindtorch.torch.nn.modules.module import Module

from ...graph import Graph
from ...node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One place that has the pattern's shape.

    Attributes:
        anchors: the pattern's nodes that a match begins with: what it returns.
        nodes_map: the pattern's nodes -> the graph's.
        placeholder_nodes: what stands for the pattern's inputs, in their order.
        returning_nodes: the graph's nodes that the pattern returns.
        name_node_map: names that the pattern returns in a dictionary -> the graph's nodes.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)


class SubgraphMatcher:
    """Finds a pattern in graphs.

    Args:
        pattern: its placeholders stand for anything, its other nodes for a node of the same op and
            target (of modules their path) whose arguments match; a node that is not returned must
            be used within the match only.
        match_output: the graph's output must match, too.
        match_placeholder: placeholders stand for placeholders only.
        remove_overlapping_matches: of matches that share a node the first is kept.
        ignore_literals: numbers and texts match any others.

    Raises:
        ValueError: the pattern has no node that is returned.
    """

    def __init__(
        self, pattern: Graph, match_output: bool = False, match_placeholder: bool = False,
        remove_overlapping_matches: bool = True, ignore_literals: bool = False,
    ) -> None:  # fmt: skip
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.users:
                raise AssertionError(
                    "SubgraphMatcher cannot be initialized with an pattern with dead code"
                )
        output = pattern.output_node()
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = (
            [output]
            if match_output
            else [n for n in output.all_input_nodes if len(n.users) == 1]
        )

    def _attributes_match(self, pattern: Node, node: Node) -> bool:
        found = [_attribute(each) for each in (pattern, node)]
        return type(found[0]) is type(found[1]) and found[0] is not None

    def _nodes_are_equal(self, pattern: Node, node: Node) -> bool:
        if pattern.op == "placeholder" and not self.match_placeholder:
            return True
        if pattern.op != node.op:
            return False
        if pattern.op in ("placeholder", "output"):
            return True
        if pattern.op == "get_attr":
            return self._attributes_match(pattern, node)
        return bool(pattern.target == node.target)

    def _is_contained(self, nodes_map: dict[Node, Any]) -> bool:
        """Whether no node within the match is used outside of it, but for what is returned."""
        found = {each for each in nodes_map.values() if isinstance(each, Node)}
        for pattern, node in nodes_map.items():
            if pattern.op == "placeholder" or pattern in self.pattern_returning_nodes:
                continue
            if isinstance(node, Node) and any(user not in found for user in node.users):
                return False
        return True

    def _match_argument(self, pattern: Any, given: Any, match: InternalMatch) -> bool:
        if isinstance(pattern, Node) and isinstance(given, Node):
            return self._match_nodes(pattern, given, match)
        if isinstance(pattern, Node):  # a number where the pattern has an input
            if pattern.op != "placeholder" or self.match_placeholder:
                return False
            if pattern in match.nodes_map:
                return bool(match.nodes_map[pattern] == given)
            match.nodes_map[pattern] = given
            return True
        if isinstance(given, Node):
            return False
        if isinstance(pattern, (list, tuple)) and isinstance(given, (list, tuple)):
            pairs = zip(pattern, given, strict=False)
            return len(pattern) == len(given) and all(
                self._match_argument(*pair, match) for pair in pairs
            )
        if isinstance(pattern, dict) and isinstance(given, dict):
            return pattern.keys() == given.keys() and all(
                self._match_argument(value, given[key], match) for key, value in pattern.items()
            )
        if isinstance(pattern, slice) and isinstance(given, slice):
            own, other = ((s.start, s.stop, s.step) for s in (pattern, given))
            return self._match_argument(own, other, match)
        return self.ignore_literals or (type(pattern) is type(given) and pattern == given)

    def _match_nodes(self, pattern: Node, node: Node, match: InternalMatch) -> bool:
        if pattern in match.nodes_map:
            return match.nodes_map[pattern] is node
        if any(node is each for each in match.nodes_map.values()):
            return False
        if not self._nodes_are_equal(pattern, node):
            return False
        saved = dict(match.nodes_map)
        match.nodes_map[pattern] = node
        if pattern.op == "placeholder":
            return True
        if self._match_argument(pattern.args, node.args, match) and self._match_argument(
            dict(pattern.kwargs), dict(node.kwargs), match
        ):
            return True
        match.nodes_map = saved
        return False

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """The places of `graph` that have the pattern's shape.

        Args:
            node_name_match: if given, a part of the name of some node of each match.
        """
        found = [InternalMatch(list(self.pattern_anchors))]
        for anchor in self.pattern_anchors:
            grown = []
            for node in graph.nodes:
                if not self._nodes_are_equal(anchor, node):
                    continue
                for before in found:
                    match = InternalMatch(before.anchors, dict(before.nodes_map))
                    if self._match_nodes(anchor, node, match):
                        grown.append(match)
            found = grown
        kept: list[InternalMatch] = []
        taken: set[Node] = set()
        for match in found:
            if not match.nodes_map or not self._is_contained(match.nodes_map):
                continue
            own = {
                node
                for pattern, node in match.nodes_map.items()
                if pattern.op not in ("placeholder", "output") and isinstance(node, Node)
            }
            if node_name_match and not any(node_name_match in node.name for node in own):
                continue
            if self.remove_overlapping_matches and own & taken:
                continue
            taken |= own
            self._complete(match)
            kept.append(match)
        return kept

    def _complete(self, match: InternalMatch) -> None:
        match.placeholder_nodes = [
            match.nodes_map[node]
            for node in self.pattern_placeholder_nodes
            if node in match.nodes_map
        ]
        match.returning_nodes = [match.nodes_map[node] for node in self.pattern_returning_nodes]


def _attribute(node: Node) -> Any:
    """What a `get_attr` or `call_module` node names."""
    holder: Any = node.graph.owning_module
    if not isinstance(holder, Module):
        return None
    for part in str(node.target).split("."):
        holder = getattr(holder, part, None)
    return holder
