"""What files of a training hold, whoever wrote them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "Finding", "Graph", "Histogram", "Node", "Scalar", "Series", "StepTimes", "Stored", "Text",
]  # fmt: skip


class Scalar(NamedTuple):
    """A number at a step; `time` in seconds since 1970."""

    tag: str
    step: int
    time: float
    value: float


class Histogram(NamedTuple):
    """Counts of a tensor's elements in buckets.

    Attributes:
        edges: one more than there are counts.
        mean, deviation: of the finite elements.
        number: how many elements; `odd` of them are NaN or infinite.
    """

    tag: str
    step: int
    time: float
    edges: np.ndarray
    counts: np.ndarray
    least: float
    most: float
    mean: float
    deviation: float
    number: int
    odd: int = 0

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """Below which values these shares of the elements lie, linear within a bucket."""
        total = self.counts.sum()
        if not total:
            return np.full(len(shares), np.nan)
        sums = np.concatenate([[0.0], np.cumsum(self.counts) / total])
        return np.clip(np.interp(shares, sums, self.edges), self.least, self.most)


class Stored(NamedTuple):
    """A picture or a sound that stays in its file until it is looked at.

    Attributes:
        media: "image/png", ...; what is sent to a browser.
        file, place, length: the record it is in; `position` counts the record's values.
    """

    tag: str
    step: int
    time: float
    media: str
    words: str
    file: Path
    place: int
    length: int
    position: int


class Text(NamedTuple):
    """A string, or a small tensor in words."""

    tag: str
    step: int
    time: float
    text: str


@dataclass
class Node:
    """An operation or a module of a graph.

    Attributes:
        path: its place, modules joined by "/".
        kind: the operation, or the module's class.
        inputs: paths of nodes.
        shape: of its results, in words.
        seconds: of its forward pass; None where it was not taken.
        parameters: elements of the parameters it holds itself.
    """

    path: str
    kind: str
    inputs: list[str] = field(default_factory=list)
    shape: str = ""
    seconds: float | None = None
    parameters: int = 0
    words: str = ""


@dataclass
class Graph:
    """A model's graph.

    Attributes:
        nodes: by path.
        version: changes when the nodes do.
    """

    nodes: dict[str, Node] = field(default_factory=dict)
    version: int = 0


class StepTimes(NamedTuple):
    """Seconds of a step by what they were spent on."""

    step: int
    parts: dict[str, float]


class Finding(NamedTuple):
    """What a check of this training found.

    Attributes:
        origin: the command, or the file.
        verdict: a word.
        good: whether there is nothing to do.
        lines: the rest.
    """

    origin: str
    verdict: str
    good: bool
    lines: list[str]


class Series:
    """Values of one tag by step; over `most` of them every second one goes, first and last stay."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.stride = 1
        self._kept: list[Any] = []
        self._newest: Any = None  # where that is none of those kept
        self._seen = 0

    @property
    def items(self) -> list[Any]:
        """The values that are there, as a list of its own."""
        return [*self._kept, self._newest] if self._newest is not None else list(self._kept)

    @property
    def last(self) -> Any:
        """The newest value; None where there is none."""
        if self._newest is not None:
            return self._newest
        return self._kept[-1] if self._kept else None

    def add(self, item: Any) -> None:
        """Take a value. One of a step that was there, or before it, is of a training that was
        resumed: it takes the place of all from its step on."""
        last = self.last
        if last is not None and item.step <= last.step:
            self._kept = [each for each in self._kept if each.step < item.step]
            self._seen = len(self._kept) * self.stride
        if self._seen % self.stride:
            self._newest = item
        else:
            self._kept.append(item)
            self._newest = None
        self._seen += 1
        if len(self._kept) > self.most:
            last, self._kept = self._kept[-1], self._kept[::2]
            self.stride *= 2
            self._newest = last if self._kept[-1] is not last else None
