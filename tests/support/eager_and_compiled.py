"""Programs whose cases are run eagerly and compiled, each of which is to give the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mindtorch.torch as torch

Compiler = Callable[[Any], Any]
CASES: list[Callable[[Compiler], Iterator[Any]]] = []


def case(function: Any) -> Any:
    CASES.append(function)
    return function


def x(i: int = 0, n: int = 3) -> Any:
    return torch.arange(float(n)) + i + 1


def described(value: Any) -> Any:
    """A value with lists for tensors, to compare."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype), value.requires_grad, value.tolist()
    if isinstance(value, (list, tuple)):
        return [described(each) for each in value]
    return value


def main() -> None:
    """Print of each case whether compiled calls gave the same results, and left the same objects,
    over several calls."""
    for run in CASES:
        eager = [described(each) for each in run(lambda function: function)]
        compiled = [described(each) for each in run(torch.compile)]
        assert len(eager) > 2
        same = repr(compiled) == repr(eager)
        print(run.__name__, "same" if same else f"{eager} eagerly, {compiled} compiled")
