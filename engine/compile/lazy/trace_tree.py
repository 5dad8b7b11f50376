"""What was seen of a function or a script: a tree of the ops that followed one another."""

from __future__ import annotations

from typing import Any

from mindtorch.kernels.support.fork_safe_lock import lock

from ..ir.ir import Graph, Node, Value
from ..runtime.partition import ARGUMENT, CONSTANT, Segment, Source, compiled
from .backward_cache import Seen

# how many entries and segments a tree holds before it is cut down to nothing
MOST_ENTRIES, MOST_SEGMENTS = 200_000, 64
# after so many segments in a row that were never met again, lazy mode is given up; after fewer
# where they have so many ops
PATIENCE, FEW, MANY_OPS = 24, 6, 4_000


class Fill:
    """Draws what the draw at this place of the present run draws."""

    __slots__ = ("__name__", "now")

    def __init__(self) -> None:
        self.now: Any = None

    def __call__(self, *arrays: Any) -> None:
        self.now(*arrays)


class Entry:
    """An op (or a tensor from outside, where ``op`` is None) after what its parents are.

    Attributes:
        value: of a tensor from outside; ``number`` is its element where it is a constant.
        reach: from where to where its memory is needed, counted from its first element.
        children: what has followed, the latest first.
        segments: the ways the path to here was run, by the values that were needed.
        passes: the backward passes that began here.
        met: how often data was needed here.
    """

    __slots__ = (
        "children", "depth", "inputs", "line", "met", "number", "offset", "op", "outputs", "params",
        "parent", "passes", "plan", "reach", "segments", "several", "value",
    )  # fmt: skip

    def __init__(self, parent: Entry | None, op: Any, inputs: Any, params: Any) -> None:
        self.parent = parent
        self.line = ""
        self.op = op
        self.inputs = inputs
        self.params = params
        self.children: list[Entry] = []
        self.segments: dict[Any, Segment] = {}
        self.met = 0
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.outputs: tuple[Value, ...] = ()
        self.plan: Any = None
        self.offset = 0
        self.several = False
        self.passes: tuple[Seen, ...] = ()
        self.value: Value | None = None
        self.number: Any = None
        self.reach: tuple[int, int] | None = None

    def path(self) -> list[Entry]:
        found = []
        entry: Entry | None = self
        while entry is not None and entry.parent is not None:
            found.append(entry)
            entry = entry.parent
        return found[::-1]


class Tree:
    """What was seen of a function, or of a script.

    Attributes:
        entries, compiled: how many entries and segments there are.
        runs: how many segments were run compiled.
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
        self.root = Entry(None, None, (), None)
        self.entries = 0
        self.compiled = 0

    def segments(self) -> list[Segment]:
        """What was compiled."""
        found: list[Segment] = []
        waiting = [self.root]
        while waiting:
            entry = waiting.pop()
            found += entry.segments.values()
            waiting += entry.children
        return found

    @property
    def hopeless(self) -> bool:
        return self.fresh > PATIENCE or (self.fresh > FEW and self.lost > MANY_OPS)


def segment_of(
    path: list[Entry], count: int, given: list[Any], outputs: list[Value], writes: Any, bind: bool
) -> Segment:
    """The segment of a path.

    Args:
        count: how many values the path has.
        given: the tensors from outside, in the order of the path.
        outputs: the values that are needed.
        writes: pairs of the place of a tensor in ``given`` and the value that goes there.
        bind: whether it will run again, so that binding it to memory is worth the time.
    """
    graph = Graph()
    graph._count = count
    sources: list[tuple[Value, Source]] = []
    for entry in path:
        if entry.op is not None:
            graph.nodes.append(
                Node(entry.op, entry.inputs, dict(entry.params), entry.outputs, entry.line)
            )
            continue
        value: Any = entry.value
        if entry.number is None or entry.number is Ellipsis:
            source = Source(ARGUMENT, len(sources), False, value.aval)
        else:
            source = Source(CONSTANT, given[len(sources)].flat, False, value.aval)
        sources.append((value, source))
    owners = [(sources[place][1], v) for place, v in writes]
    return compiled(
        graph, sources, list(enumerate(outputs)), owners, [], "" if bind else "met once", exact=True
    )
