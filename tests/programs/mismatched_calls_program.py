"""What two processes do in tests/torch/distributed/test_mismatched_calls.py: other things.

``mismatched_calls_program.py <folder>`` runs every case in a group of its own and writes the errors
as JSON. Processes that do not fit are told by the operation; nobody goes on with numbers that are
none.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindtorch.torch as torch
import mindtorch.torch.distributed as dist
from mindtorch.torch.distributed import _failure, _waits
from mindtorch.torch.distributed._group import about
from mindtorch.torch.distributed.device_mesh import DeviceMesh
from mindtorch.torch.distributed.fsdp import fully_shard
from mindtorch.torch.distributed.tensor.parallel import RowwiseParallel, parallelize_module
from mindtorch.torch.nn.parallel import DistributedDataParallel

CASES: dict[str, Callable[[Any, bool, int], Any]] = {}


def case(function: Callable[[Any, bool, int], Any]) -> Any:
    CASES[function.__name__] = function
    return function


@case
def another_operation(group: Any, first: bool, size: int) -> None:
    x = torch.ones(size)
    if first:
        dist.all_reduce(x, group=group)
    else:
        dist.all_gather([torch.ones(size), torch.ones(size)], x, group=group)


@case
def another_shape(group: Any, first: bool, size: int) -> None:
    dist.all_reduce(torch.ones(size if first else size + 8), group=group)


@case
def another_type(group: Any, first: bool, size: int) -> None:
    dist.all_reduce(torch.ones(size, dtype=None if first else torch.float64), group=group)


@case
def another_combination(group: Any, first: bool, size: int) -> None:
    op = dist.ReduceOp.SUM if first else dist.ReduceOp.MAX
    dist.all_reduce(torch.ones(size), op=op, group=group)


@case
def one_is_missing(group: Any, first: bool, size: int) -> None:
    if first:
        dist.all_reduce(torch.ones(size), group=group)
    dist.broadcast(torch.ones(size), 0, group=group)


@case
def other_data(group: Any, first: bool, size: int) -> None:
    with about("0.weight" if first else "1.weight"):
        dist.all_reduce(torch.ones(size), group=group)


@case
def a_message_that_nobody_sends(group: Any, first: bool, size: int) -> None:
    if first:
        dist.all_reduce(torch.ones(size), group=group)
    else:
        dist.recv(torch.ones(size), 0, group)


@case
def another_group(group: Any, first: bool, size: int) -> None:
    other = dist.new_group([0, 1])
    dist.all_reduce(torch.ones(size), group=group if first else other)


@case
def in_the_background(group: Any, first: bool, size: int) -> None:
    """The main thread waits for what a group's thread waits for."""
    work = None if first else dist.all_reduce(torch.ones(3), group=group, async_op=True)
    if work is None:
        dist.recv(torch.ones(size), 1, group)
    else:
        work.wait()


@case
def sharded_layers_in_another_order(group: Any, first: bool, size: int) -> None:
    """Each is a root, whose parameters have the other one's names."""
    mesh = DeviceMesh.from_group(group, "cpu")
    layers = [fully_shard(torch.nn.Linear(size // 10, 10), mesh=mesh) for _ in range(2)]
    for layer in layers if first else layers[::-1]:
        layer(torch.ones(1, size // 10))


@case
def replicas_in_another_order(group: Any, first: bool, size: int) -> None:
    layers = [torch.nn.Linear(size // 10, 10) for _ in range(2)]
    replicas = [DistributedDataParallel(each, process_group=group) for each in layers]
    for replica in replicas if first else replicas[::-1]:
        replica(torch.ones(1, size // 10)).sum().backward()


@case
def cut_layers_in_another_order(group: Any, first: bool, size: int) -> None:
    mesh = DeviceMesh.from_group(group, "cpu")
    layers = [
        parallelize_module(torch.nn.Linear(10, size), mesh, RowwiseParallel()) for _ in range(2)
    ]
    for layer in layers if first else layers[::-1]:
        layer(torch.ones(1, 5))


def late(rank: int) -> bool:
    """Who is only late is waited for: in a message, and in an operation while others compute."""
    x = torch.zeros(4)
    if rank:
        time.sleep(1.5)
        dist.send(x + 1, 0)
    else:
        dist.recv(x, 1)
        time.sleep(1.5)
    dist.all_reduce(x)
    return bool((x == 1).all())


def main(folder: str) -> None:
    _failure.PATIENCE, _waits._LEAST, _waits._AGAIN = 0.2, 0.15, 0.1
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    found: dict[str, list[str]] = {}
    for name, run in CASES.items():
        for size in (10, 100_000):
            group = dist.new_group([0, 1])
            dist.barrier(group)
            try:
                run(group, rank == 0, size)
                found.setdefault(name, []).append("nothing was noticed")
            except RuntimeError as error:
                found.setdefault(name, []).append(str(error))
    dist.barrier()
    text = json.dumps([type(group).__name__, found, late(rank)])
    Path(folder, f"{rank}.json").write_text(text)


if __name__ == "__main__":
    main(sys.argv[1])
