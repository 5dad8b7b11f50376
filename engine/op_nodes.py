"""Applications of ops as they are written down: by captures, lazy mode and the call cache."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .aval import Aval


class NodeValue:
    """An input or a result of nodes: a number and an aval."""

    __slots__ = ("aval", "number")

    def __init__(self, number: int, aval: Aval) -> None:
        self.number = number
        self.aval = aval

    def __repr__(self) -> str:
        return f"%{self.number}"


class Node:
    """One application of an op: ``outputs = op(*inputs, **params)``, asked for by ``line``."""

    __slots__ = ("inputs", "line", "op", "outputs", "params")

    def __init__(
        self, op: Any, inputs: tuple[Any | None, ...], params: dict[str, Any],
        outputs: tuple[Any, ...], line: str = "",
    ) -> None:  # fmt: skip
        self.line = line
        self.op = op
        self.inputs = inputs
        self.params = params
        self.outputs = outputs

    def plan(self) -> Any:
        """How the op runs on these inputs: what eager execution uses."""
        return self.op.plan_for(self.inputs, self.params)

    def __repr__(self) -> str:
        made = ", ".join(f"{v}: {v.aval!r}" for v in self.outputs)
        given = [("none" if v is None else repr(v)) for v in self.inputs]
        given += [f"{name}={_text(value)}" for name, value in sorted(self.params.items())]
        return f"{made} = {self.op.name}({', '.join(given)})"


def run_steps(
    steps: Iterable[tuple[Callable[..., None], Sequence[Any]]], seconds: list[float] | None = None
) -> None:
    """The loop that runs graphs: ``step(*given)`` for each (step, given).

    ``seconds``: takes how long each of them took (on CUDA: to launch).
    """
    if seconds is None:
        for step, given in steps:
            step(*given)
        return
    seconds.clear()
    for step, given in steps:
        began = time.perf_counter()
        step(*given)
        seconds.append(time.perf_counter() - began)


def evaluate(node: Node, operands: list[Any]) -> Any:
    """A node's results on real tensors, which the tape does not record."""
    return node.op.evaluate(0, tuple(operands), node.params)


def run_nodes(
    nodes: Sequence[Node], held: dict[int, Any],
    apply: Callable[[Node, list[Any]], Any] = evaluate, dying: Iterable[Sequence[int]] = (),
    seconds: list[float] | None = None,
) -> None:  # fmt: skip
    """Put the results of ``apply(node, operands)`` into ``held``, by the values' numbers.

    Args:
        dying: for each node the numbers that are dropped after it, see :func:`last_uses`.
        seconds: as :func:`run_steps` has it.
    """
    dead = itertools.chain(dying, itertools.repeat(()))
    steps = ((_apply_to, (n, apply, held, d)) for n, d in zip(nodes, dead, strict=False))
    run_steps(steps, seconds)


def _apply_to(node: Node, apply: Any, held: dict[int, Any], dead: Sequence[int]) -> None:
    made = apply(node, [None if v is None else held[v.number] for v in node.inputs])
    results = made if isinstance(made, tuple) else (made,)
    for value, result in zip(node.outputs, results, strict=True):
        held[value.number] = result
    for number in dead:
        del held[number]


def run_until_error(nodes: Sequence[Node], held: dict[int, Any]) -> int:
    """:func:`run_nodes` up to the node that raises; how many were done."""
    done = 0

    def count(node: Node, operands: list[Any]) -> Any:
        nonlocal done
        result = evaluate(node, operands)
        done += 1
        return result

    with contextlib.suppress(Exception):  # the error has been raised, or will be
        run_nodes(nodes, held, count)
    return done


def last_uses(nodes: list[Node], kept: set[int]) -> list[list[int]]:
    """For each node the values that nothing after it needs, but for those that are kept."""
    seen = set(kept)
    found = []
    for node in reversed(nodes):
        numbers = {v.number for v in (*node.inputs, *node.outputs) if v is not None} - seen
        seen |= numbers
        found.append(sorted(numbers))
    return found[::-1]


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        inner = ", ".join(_text(v) for v in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return getattr(value, "__qualname__", "") or repr(value)
