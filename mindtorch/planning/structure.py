"""Where a model can be cut: pairs of linear layers, and the list of its blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mindtorch.torch.nn import Linear, ModuleList, Sequential

from .facts import Call, Facts

__all__ = ["Block", "Pair", "blocks_of", "pairs_of", "stages_of"]


@dataclass
class Pair:
    """Layers cut by columns, and the one behind them that is cut by rows (Megatron-LM's plan).

    Attributes:
        columns: calls of those with one input.
        rows: the call of the last.
    """

    columns: list[Call]
    rows: Call

    @property
    def width(self) -> int:
        """What the number of processes has to divide."""
        return int(self.rows.module.in_features)

    @property
    def calls(self) -> list[Call]:
        """All of them."""
        return [*self.columns, self.rows]


@dataclass
class Block:
    """A module of the model's list of layers.

    Attributes:
        first, last: its slices.
        made: bytes that the next one is given.
        parameters: bytes of its trained parameters.
    """

    path: str
    first: int
    last: int
    made: int
    parameters: int = 0
    paths: list[str] = field(default_factory=list)


def pairs_of(facts: Facts, linear: type = Linear) -> list[Pair]:
    """Pairs among neighbouring linear layers that are called once in one module.

    Args:
        facts: of a step.
        linear: the class of linear layers.
    """
    counts: dict[str, int] = {}
    for call in facts.calls:
        counts[call.path] = counts.get(call.path, 0) + 1
    found: list[Pair] = []
    for group in _families(facts.calls, linear):
        usable = [call for call in group if counts[call.path] == 1]
        columns: list[Call] = []
        for call in usable:
            inner = call.module.in_features
            if columns and all(c.module.out_features % inner == 0 for c in columns):
                if call.source != columns[-1].source or call.path == "":
                    found.append(Pair(columns, call))
                    columns = []
                    continue
            same = columns and call.source == columns[-1].source
            columns = [*columns, call] if same else [call]
    return found


def _families(calls: list[Call], linear: type) -> Iterator[list[Call]]:
    """Linear layers by the module that they are in."""
    families: dict[str, list[Call]] = {}
    for call in calls:
        if type(call.module) is linear:
            families.setdefault(call.path.rpartition(".")[0], []).append(call)
    yield from families.values()


def blocks_of(facts: Facts, model: Any) -> list[Block]:
    """The members, in the order of their calls, of the list of layers with most parameters; none
    where there is no list of two that are called once each."""
    best: list[Block] = []
    most = 0
    for path, module in model.named_modules():
        if not isinstance(module, (ModuleList, Sequential)):
            continue
        names = [f"{path}.{name}" if path else name for name, _ in module.named_children()]
        calls = [call for call in facts.calls if call.path in names]
        if len(calls) < 2 or len({c.path for c in calls}) != len(calls):
            continue
        blocks = [_block(call, facts) for call in calls]
        size = sum(block.parameters for block in blocks)
        if size > most:
            best, most = blocks, size
    return best


def _block(call: Call, facts: Facts) -> Block:
    paths = [p for p in facts.parameters if p == call.path or p.startswith(f"{call.path}.")]
    size = sum(facts.parameters[p] for p in paths)
    return Block(call.path, call.first, call.last, call.made, size, paths)


def stages_of(facts: Facts, blocks: list[Block], count: int) -> list[list[int]]:
    """Neighbouring blocks, by number, for each of ``count`` stages; the slowest as fast as can be.

    What is in front of the blocks goes to the first stage, what is behind to the last.
    """
    times = [facts.share(*_reach(facts, blocks, i)) for i in range(len(blocks))]
    sums = [0.0]
    for each in times:
        sums.append(sums[-1] + each)
    best = {(0, 0): (0.0, 0)}
    for k in range(1, count + 1):
        for end in range(k, len(blocks) + 1):
            best[k, end] = min(
                (max(best[k - 1, start][0], sums[end] - sums[start]), start)
                for start in range(k - 1, end)
                if (k - 1, start) in best
            )
    found, end = [], len(blocks)
    for k in range(count, 0, -1):
        start = best[k, end][1]
        found.append(list(range(start, end)))
        end = start
    return found[::-1]


def _reach(facts: Facts, blocks: list[Block], place: int) -> tuple[int, int]:
    """The slices from the end of the block before to its own end; the ends of the model too."""
    first = 0 if place == 0 else blocks[place - 1].last + 1
    last = len(facts.slices) - 1 if place == len(blocks) - 1 else blocks[place].last
    return first, last
