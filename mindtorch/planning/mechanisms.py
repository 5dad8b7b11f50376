"""What replicas, sharded and cut modules take beside computation and exchange.

Each is a module that computes next to nothing, over a group of one process, in the very mechanism
that a step uses: gradients that go into buckets and out of them, memory of wholes that the system
gives and takes back, the calls around a cut layer. Nothing is exchanged, and so nobody waited for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from mindtorch import torch
from mindtorch.torch import distributed as dist
from mindtorch.torch.distributed.device_mesh import DeviceMesh
from mindtorch.torch.distributed.fsdp import fully_shard
from mindtorch.torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from mindtorch.torch.nn.parallel._reducer import Reducer

__all__ = [
    "MECHANISMS", "call_of_cut_layer", "calls_of_sharded_modules", "times_of_mechanisms"
]  # fmt: skip

MECHANISMS = ("average", "gather", "reduce")
_REPEATS = 8
_APART = 1 << 26  # bytes of arrays that take turns: a step comes back to one when caches forgot it
_MOST = 8  # of them
_CAPACITY = 25 << 20  # bytes of a bucket
_MANY = 12  # parameters
Clock = Callable[[], float]
Round = Iterator[tuple[Callable[[], None], Callable[[], None]]]


def _parameters(size: int) -> list[Any]:
    """As many of ``size`` elements as are not in a cache together."""
    count = max(1, min(_MOST, _APART // (4 * size)))
    return [torch.nn.Parameter(torch.zeros(size)) for _ in range(count)]


def _replicas(size: int, group: Any) -> Round:
    """By turns: a gradient appears, and becomes the average of all."""
    parameters = _parameters(size)
    reducers = [Reducer([p], group, [_CAPACITY], False, False) for p in parameters]

    def begin(parameter: Any, reducer: Reducer) -> None:
        parameter.grad = torch.ones_like(parameter)
        reducer.prepare(set())

    while True:
        for p, reducer in zip(parameters, reducers, strict=True):
            yield partial(begin, p, reducer), partial(reducer.take, p)


def _nothing() -> None:
    """What a turn without a beginning begins with."""


class _Weight(torch.nn.Module):
    """A module that has a parameter."""

    def __init__(self, parameter: Any) -> None:
        super().__init__()
        self.weight = parameter

    def forward(self) -> Any:
        return self.weight[0]


def _sharded(size: int, group: Any) -> list[Any]:
    """Groups of :func:`fully_shard`, ready for a step."""
    mesh = DeviceMesh.from_group(group, "cpu")
    modules = [
        fully_shard(_Weight(p), mesh=mesh, reshard_after_forward=True) for p in _parameters(size)
    ]
    for module in modules:
        module().backward()
    return [group for module in modules for group in module._groups(False)]


def _copied(size: int) -> Round:
    """By turns: an array is copied, which a group of one does in place of an exchange."""
    pairs = [(p.detach(), torch.zeros(size)) for p in _parameters(size)]
    while True:
        for given, taken in pairs:
            yield _nothing, partial(taken.copy_, given)


def _gathered(groups: list[Any]) -> Round:
    """By turns: parameters become whole, and are freed."""

    def both(group: Any) -> None:
        group.unshard()
        group.wait_for_unshard()
        group.reshard()

    while True:
        for group in groups:
            yield _nothing, partial(both, group)


def _reduced(groups: list[Any]) -> Round:
    """By turns: the gradient of a whole is there, and each process has its part of the sum."""

    def begin(group: Any) -> None:
        for p in group.parameters:
            p.unsharded.grad = torch.ones(p.shape)
            p.sharded.grad = None

    def both(group: Any) -> None:
        group.end_backward()
        group.finish_backward()

    while True:
        for group in groups:
            yield partial(begin, group), partial(both, group)


def _least(turns: Round, clock: Clock) -> float:
    """The smallest time of the second function of each turn, after a round that may compile; all
    processes of the job take their turns at once, and so share what they share in a step."""
    best = float("inf")
    for i, (begin, function) in zip(range(_MOST + _REPEATS), turns, strict=False):
        begin()
        dist.barrier()
        begun = clock()
        function()
        if i >= _MOST:
            best = min(best, clock() - begun)
    return best


def times_of_mechanisms(
    alone: Any, sizes: tuple[int, ...], clock: Clock = time.perf_counter
) -> dict[str, list[float]]:
    """Least seconds of each of MECHANISMS for each size.

    Args:
        alone: the group of this process; all processes of the job come.
        sizes: of a module's parameters, in elements of float32.
        clock: what they are timed by.
    """
    found: dict[str, list[float]] = {name: [] for name in MECHANISMS}
    for size in sizes:
        found["average"].append(_least(_replicas(size, alone), clock))
        groups, copy = _sharded(size, alone), _least(_copied(size), clock)
        for name, turns in (("gather", _gathered(groups)), ("reduce", _reduced(groups))):
            found[name].append(max(_least(turns, clock) - copy, 0.0))
    return found


def _steps(model: Any) -> Round:
    """By turns: a step of a model that computes next to nothing."""
    x = torch.zeros(4, 4, requires_grad=True)

    def step() -> None:
        model(x).sum().backward()

    while True:
        yield _nothing, step


def call_of_cut_layer(alone: Any, clock: Clock = time.perf_counter) -> float:
    """Seconds that a cut layer's forward and backward take beyond a whole one's.

    Args:
        alone: the group of this process.
    """
    mesh = DeviceMesh.from_group(alone, "cpu")

    def pair() -> Any:
        return torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))

    cut = parallelize_module(pair(), mesh, {"0": ColwiseParallel(), "1": RowwiseParallel()})
    times = [_least(_steps(model), clock) for model in (cut, pair())]
    return max(times[0] - times[1], 0.0) / 2


class _Added(torch.nn.Module):
    """Adds all of its parameters."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.parts = torch.nn.ParameterList(torch.zeros(4) for _ in range(count))

    def forward(self, x: Any) -> Any:
        for part in self.parts:
            x = x + part
        return x


def calls_of_sharded_modules(
    alone: Any, clock: Clock = time.perf_counter
) -> tuple[float, float]:
    """Seconds that a sharded module's forward and backward take beyond a whole one's, of small
    parameters: for the module, and for each of its parameters.

    Args:
        alone: the group of this process.
    """
    mesh = DeviceMesh.from_group(alone, "cpu")
    beyond = []
    for count in (1, 1 + _MANY):
        sharded, plain = (torch.nn.Sequential(_Added(count), _Added(count)) for _ in range(2))
        for module in (*sharded, sharded):
            fully_shard(module, mesh=mesh, reshard_after_forward=True)
        times = [_least(_steps(model), clock) for model in (sharded, plain)]
        beyond.append(max(times[0] - times[1], 0.0) / 2)
    each = max(beyond[1] - beyond[0], 0.0) / _MANY
    return max(beyond[0] - each, 0.0), each
