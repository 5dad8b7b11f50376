"""What the stages of a pipeline that was cut from one module know of one another."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from ...fx.graph import Graph


@dataclass
class PipeInfo:
    """A pipeline without its modules.

    Attributes:
        graph: calls the stages one after another.
        num_stages: how many there are.
        has_loss_and_backward: False; losses are the schedules'.
    """

    graph: Graph
    num_stages: int
    has_loss_and_backward: bool


def stage_name(index: int) -> str:
    """The name of a stage among the submodules of a pipeline."""
    return f"submod_{index}"


def sources_of(graph: Graph) -> list[list[tuple[int, int]]]:
    """For each stage where its arguments come from: the stage, and the place in what it returns."""
    calls = [node for node in graph.nodes if node.op == "call_module"]
    numbers = {node: int(str(node.target).removeprefix("submod_")) for node in calls}
    found: list[list[tuple[int, int]]] = [[] for _ in calls]
    for call in calls:
        for argument in call.args:
            known: Any = argument
            if getattr(known, "target", None) is operator.getitem:
                found[numbers[call]].append((numbers[known.args[0]], known.args[1]))
    return found
