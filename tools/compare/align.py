"""Bring the events of two steps together, and follow the tensors between them."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .record_format import Event, Recorded, Step

__all__ = ["Pair", "Pairing", "Wiring", "align", "timeline"]

MOST_COMPARED = 4000

Place = tuple[int, int]
Origin = Place | str


@dataclass
class Pair:
    """The same event on both sides; `number` counts pairs in the order in which calls begin."""

    number: int
    first: Event
    second: Event


@dataclass
class Pairing:
    """The events that both sides had, and where they part: the events there, None on a side that is
    at its end. `parting` is None where the sequences are the same."""

    pairs: list[Pair] = field(default_factory=list)
    parting: tuple[Event | None, Event | None] | None = None


def align(first: Sequence[Event], second: Sequence[Event]) -> Pairing:
    """Pair events of equal module path and name in order. Past a place where the sides part,
    pairing goes on with what they have in common."""
    keys = [[event.key for event in events] for events in (first, second)]
    result = Pairing()
    if keys[0] == keys[1]:
        matches = zip(first, second, strict=True)
        result.pairs = [Pair(number, a, b) for number, (a, b) in enumerate(matches)]
        return result
    shared = next(
        (at for at, (a, b) in enumerate(zip(*keys, strict=False)) if a != b), min(map(len, keys))
    )
    result.parting = (
        first[shared] if shared < len(first) else None,
        second[shared] if shared < len(second) else None,
    )
    places = [(at, at) for at in range(shared)]
    rest = [key[shared : shared + MOST_COMPARED] for key in keys]
    matcher = difflib.SequenceMatcher(None, rest[0], rest[1], autojunk=False)
    for a, b, size in matcher.get_matching_blocks():
        places += [(shared + a + at, shared + b + at) for at in range(size)]
    result.pairs = [Pair(n, first[a], second[b]) for n, (a, b) in enumerate(places)]
    return result


def timeline(pairs: Sequence[Pair]) -> Iterator[tuple[Pair, bool]]:
    """Every pair twice: (pair, False) where its calls begin, (pair, True) where they end."""
    waiting: list[Pair] = []
    for pair in pairs:
        while waiting and not _inside(pair, waiting[-1], pairs):
            yield waiting.pop(), True
        yield pair, False
        waiting.append(pair)
    while waiting:
        yield waiting.pop(), True


def _inside(pair: Pair, outer: Pair, pairs: Sequence[Pair]) -> bool:
    """Whether a call happened within another: its parents lead there."""
    if outer.first.kind != "module":
        return False
    parent = pair.first.parent
    if parent == outer.first.index:
        return True
    if parent < outer.first.index:
        return False
    known = {each.first.index: each.first for each in pairs[outer.number : pair.number]}
    while parent > outer.first.index and parent in known:
        parent = known[parent].parent
    return parent == outer.first.index


class Wiring:
    """Where the inputs of a side's events come from: outputs of earlier events of the step,
    batches, parameters; found by digest."""

    def __init__(self, step: Step) -> None:
        self.origins: dict[str, set[Origin]] = {}
        for name, recorded in step.before.items():
            self.origins.setdefault(recorded.digest, set()).add(name)
        for number, batch in enumerate(step.batches):
            for at, recorded in enumerate(batch):
                self.origins.setdefault(recorded.digest, set()).add(f"batch {number}.{at}")

    def of(self, recorded: Recorded) -> set[Origin]:
        return self.origins.get(recorded.digest, set())

    def made(self, number: int, outputs: Sequence[Recorded]) -> None:
        """The event of pair `number` has ended."""
        for position, recorded in enumerate(outputs):
            self.origins.setdefault(recorded.digest, set()).add((number, position))
