"""What was seen of a function or a script: a tree of the ops that followed one another."""

from __future__ import annotations

from typing import Any

from mindtorch.kernels.support.fork_safe_lock import lock

from ..ir.ir import Graph, Node, Value
from ..runtime.partition import ARGUMENT, CONSTANT, InputSpec, Partition, UnboundPartition
from .backward_cache import CachedBackward

# how many nodes and partitions a tree holds before it is cut down to nothing
MOST_NODES, MOST_PARTITIONS = 200_000, 64
# after so many partitions in a row that were never met again, lazy mode is given up; after fewer
# where they have so many ops
PATIENCE, FEW, MANY_OPS = 24, 6, 4_000


class TraceNode(Node):
    """A node after what its parents are; ``op`` is None for a tensor from outside.

    Attributes:
        aval, value: of a tensor from outside; ``number`` is its element where it is a constant.
        reach: from where to where its memory is needed, counted from its first element.
        traced_plan: avals of inputs and results, without a kernel.
        children: what has followed, the latest first.
        partitions: the ways the path to here was run, by the values that were needed.
        passes: the backward passes that began here.
        met: how often data was needed here.
        fill: of a draw: what the present run draws.
    """

    __slots__ = (
        "aval", "children", "depth", "fill", "met", "number", "offset", "parent",
        "partitions", "passes", "reach", "several", "traced_plan", "value",
    )  # fmt: skip

    def __init__(self, parent: TraceNode | None, op: Any, inputs: Any, params: Any) -> None:
        super().__init__(op, inputs, params, ())
        self.parent = parent
        self.children: list[TraceNode] = []
        self.partitions: dict[Any, Partition] = {}
        self.met = 0
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.traced_plan: Any = None
        self.offset = 0
        self.several = False
        self.passes: tuple[CachedBackward, ...] = ()
        self.aval: Any = None
        self.value: Value | None = None
        self.number: Any = None
        self.reach: tuple[int, int] | None = None
        self.fill: Any = None

    def draw(self, *arrays: Any) -> None:
        """Draw what the draw at this place of the present run draws."""
        self.fill(*arrays)

    def path(self) -> list[TraceNode]:
        found = []
        node: TraceNode | None = self
        while node is not None and node.parent is not None:
            found.append(node)
            node = node.parent
        return found[::-1]


class TraceTree:
    """What was seen of a function, or of a script.

    Attributes:
        nodes, compiled: how many nodes and partitions there are.
        runs: how many partitions were run compiled.
        fresh, lost: how many were new, since one was met again, and their ops.
        reasons: the lines where data was needed, in the order in which they were met.
    """

    def __init__(self) -> None:
        self.lock = lock()
        self.owner: int | None = None
        self.clear()
        self.runs = 0
        self.fresh = self.lost = 0

    def clear(self) -> None:
        self.root = TraceNode(None, None, (), None)
        self.nodes = 0
        self.compiled = 0

    def partitions(self) -> list[Partition]:
        """What was compiled."""
        found: list[Partition] = []
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            found += node.partitions.values()
            waiting += node.children
        return found

    @property
    def never_repeats(self) -> bool:
        return self.fresh > PATIENCE or (self.fresh > FEW and self.lost > MANY_OPS)


def partition_of(
    path: list[TraceNode], count: int, given: list[Any], outputs: list[Value], writes: Any,
    bind: bool,
) -> Partition:
    """The partition of a path.

    Args:
        count: how many values the path has.
        given: the tensors from outside, in the order of the path.
        outputs: the values that are needed.
        writes: pairs of the place of a tensor in ``given`` and the value that goes there.
        bind: whether it will run again, so that binding it to memory is worth the time.
    """
    graph = Graph()
    graph._count = count
    sources: list[tuple[Value, InputSpec]] = []
    for node in path:
        if node.op is not None:
            graph.nodes.append(
                Node(node.op, node.inputs, dict(node.params), node.outputs, node.line)
            )
            continue
        value: Any = node.value
        if node.number is None or node.number is Ellipsis:
            source = InputSpec(ARGUMENT, len(sources), False, value.aval)
        else:
            source = InputSpec(CONSTANT, given[len(sources)].flat, False, value.aval)
        sources.append((value, source))
    owners = [(sources[place][1], v) for place, v in writes]
    graph.refused = "" if bind else "met once"
    return UnboundPartition(
        graph, sources, list(enumerate(outputs)), owners, [], exact=True
    ).bind()
