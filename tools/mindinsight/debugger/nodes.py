"""Nodes of a dump, and the tensors that they were given and gave."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .dump_folder import read_array

__all__ = ["DebuggerTensor", "Node"]


class Node:
    """A module, an op, a parameter or a gradient of one rank.

    Args:
        name: with the path of its scope.
        rank, graph: where it ran.
        kind: its class, or the type of the op.
        stack: the lines of the program that led to it, where they are known.

    Attributes:
        files: of its outputs (True) and inputs (False): iteration -> slot -> path.
        sources: the outputs that it was given, where that is known: iteration -> (node, slot).
        users: the nodes that were given what it gave.
        order: iteration -> when it was written.
    """

    def __init__(
        self, name: str, rank: int, graph: int, kind: str, stack: list[dict[str, Any]]
    ) -> None:
        self.name = name
        self.rank = rank
        self.root_graph_id = graph
        self.node_type = kind
        self.stack = stack
        self.files: dict[bool, dict[int, dict[int, Path]]] = {True: {}, False: {}}
        self.sources: dict[int, list[tuple[Node, int]]] = {}
        self.users: list[Node] = []
        self.order: dict[int, int] = {}

    @property
    def graph_name(self) -> str:
        return f"kernel_graph_{self.root_graph_id}"

    @property
    def iterations(self) -> list[int]:
        """Those in which it has files."""
        return sorted({*self.files[True], *self.files[False]})

    def get_input_tensors(
        self, iterations: Iterable[int] | None = None, slots: Iterable[int] | None = None
    ) -> list[DebuggerTensor]:
        """What it was given, as outputs of the nodes that made it, or as files of its own.

        Args:
            iterations: None: all.
            slots: positions among the inputs; None: all.
        """
        chosen = None if slots is None else set(slots)
        found = []
        for iteration in self.iterations if iterations is None else iterations:
            given = self.sources.get(iteration, [])
            tensors = [DebuggerTensor(node, slot, iteration) for node, slot in given]
            own = self.files[False].get(iteration, {})
            tensors = tensors or [
                DebuggerTensor(self, slot, iteration, is_output=False) for slot in sorted(own)
            ]
            found += [x for at, x in enumerate(tensors) if chosen is None or at in chosen]
        return found

    def get_output_tensors(
        self, iterations: Iterable[int] | None = None, slots: Iterable[int] | None = None
    ) -> list[DebuggerTensor]:
        """What it gave.

        Args:
            iterations: None: all.
            slots: positions among the outputs; None: all.
        """
        every = {x for own in self.files[True].values() for x in own}
        chosen = sorted(every) if slots is None else list(slots)
        wanted = self.iterations if iterations is None else iterations
        return [DebuggerTensor(self, slot, each) for each in wanted for slot in chosen]

    def __str__(self) -> str:
        return f"rank: {self.rank}\ngraph_name: {self.graph_name}\nnode_name: {self.name}"


class DebuggerTensor:
    """One tensor of a dump.

    Args:
        node: that gave it, or was given it.
        slot: its position.
        iteration: counted from 0.
        is_output: whether the node gave it.
    """

    def __init__(self, node: Node, slot: int, iteration: int, is_output: bool = True) -> None:
        self.node = node
        self.slot = slot
        self.iteration = iteration
        self._is_output = is_output

    @property
    def rank(self) -> int:
        return self.node.rank

    @property
    def path(self) -> Path | None:
        """Its file; None where it was not dumped."""
        return self.node.files[self._is_output].get(self.iteration, {}).get(self.slot)

    def has_value(self) -> bool:
        """Whether it was dumped."""
        return self.path is not None

    def value(self) -> np.ndarray | None:
        """The array; None where it was not dumped.

        Raises:
            DumpError: its file cannot be read.
        """
        return None if self.path is None else read_array(self.path)

    def __str__(self) -> str:
        return f"{self.node}\nslot: {self.slot}\niteration: {self.iteration}"
