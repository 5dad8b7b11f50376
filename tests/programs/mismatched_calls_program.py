"""What two processes do in tests/torch/distributed/test_mismatched_calls.py: other things.

``mismatched_calls_program.py <folder>`` runs every case in a group of its own and writes the errors
as JSON. Processes that do not fit are told by the operation; nobody goes on with numbers that are
none.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindtorch.torch as torch
import mindtorch.torch.distributed as dist
from mindtorch.torch.distributed import _failure

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


def main(folder: str) -> None:
    _failure.PATIENCE = 0.5
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
    Path(folder, f"{rank}.json").write_text(json.dumps([type(group).__name__, found]))


if __name__ == "__main__":
    main(sys.argv[1])
