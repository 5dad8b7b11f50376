"""Threads that are started while ops wait to be compiled find what was computed before them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.engine.compile.lazy import script_mode
from tests.support.compiled_kinds import KINDS, running, wrapped


def started_and_joined(wrap: Callable[[Any], Any]) -> list[Any]:
    """A thread inside of the function reads what the function has computed."""

    def call(x: Any) -> Any:
        doubled = x * 2
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append((doubled + 1).sum()))
        thread.start()
        thread.join()
        return found[0] * doubled

    function = wrap(call)
    return [function(torch.full((2,), float(i))).tolist() for i in range(4)]


def given_work(wrap: Callable[[Any], Any]) -> list[Any]:
    """A worker reads a tensor that is written between its tasks, and results that it is sent."""
    tasks: queue.Queue[Any] = queue.Queue()
    answers: queue.Queue[Any] = queue.Queue()
    weight = torch.zeros(3)

    def work() -> None:
        while (x := tasks.get()) is not None:
            answers.put((x * weight).sum().item())

    def step(i: int) -> Any:
        weight.add_(1)
        return torch.full((3,), float(i)) * 2

    thread = threading.Thread(target=work, daemon=True)
    function = wrap(step)
    thread.start()
    found = []
    for i in range(4):
        tasks.put(function(i))
        found.append(answers.get(timeout=60))
    tasks.put(None)
    thread.join()
    return found


def pooled(wrap: Callable[[Any], Any]) -> list[Any]:
    """Workers that stay read what is written while they stay."""
    weight = torch.zeros(3)
    weight.add_(2)
    function = wrap(lambda i: (weight * i).sum())
    with ThreadPoolExecutor(2) as executor:
        found = list(executor.map(function, range(4)))
        weight.mul_(2)
        found += executor.map(function, range(4))
    return [x.item() for x in found]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("program", [started_and_joined, given_work, pooled])
def test_threads_find_what_was_computed_before_them(program: Any, kind: str) -> None:
    """Ops that waited were not there for threads, which then read old numbers or failed."""
    expected = program(lambda function: function)
    with running(kind):
        assert program(wrapped(kind)) == expected


def test_ops_are_compiled_again_after_the_thread_has_ended() -> None:
    """From the next optimizer's step on."""
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([parameter], lr=0.1)
    with running("script"):
        tree: Any = script_mode.trace_tree()
        for i in range(12):
            if i == 4:
                thread = threading.Thread(target=parameter.tolist)
                before = tree.runs
                thread.start()
                thread.join()
            optimizer.zero_grad()
            (parameter * parameter).sum().backward()
            optimizer.step()
        assert tree.runs > before
