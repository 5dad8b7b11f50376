"""Time data-parallel training of ResNet-18: two processes with one thread each against one.

The phases take turns, so that all of them see the same machine: a step of one process while the
other sleeps, steps of both without communication, steps of both with averaged gradients. Beside
them, averaging the gradients of ResNet-18 and MPI's own all-reduce of as many bytes.

    python benchmarks/data_parallel.py [--processes 2] [--rounds 6] [--batch 32] [--side 32]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def start(options: argparse.Namespace) -> int:
    """Run this script again, in processes of torchrun."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "mindtorch.torch.distributed.run",
               f"--nproc-per-node={options.processes}", __file__, *sys.argv[1:]]  # fmt: skip
    return subprocess.run(command, env=environment, check=False).returncode


def timed(function: Callable[[], Any]) -> tuple[float, float]:
    """Seconds on the clock, and seconds of this process's threads on a core."""
    begun, worked = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - begun, time.process_time() - worked


class Timings:
    """The smallest times of each phase. On a busy machine the cores' seconds say more."""

    def __init__(self) -> None:
        self.best: dict[str, tuple[float, float]] = {}

    def note(self, name: str, seconds: tuple[float, float]) -> None:
        known = self.best.get(name, seconds)
        self.best[name] = min(seconds[0], known[0]), min(seconds[1], known[1])

    def show(self, name: str, beside: str, size: int = 0) -> None:
        (clock, core), (clock0, core0) = self.best[name], self.best[beside]
        rate = f"{size / clock / 1e9:7.2f} GB/s" if size else " " * 12
        print(f"{name:40}{clock * 1e3:9.1f} ms x{clock / clock0:.3f}"
              f"   core {core * 1e3:9.1f} ms x{core / core0:.3f} {rate}")  # fmt: skip


def steps(torch: Any, options: argparse.Namespace, best: Timings) -> None:
    """Times of training steps."""
    from tests.support.models import resnet18

    dist = torch.distributed
    torch.manual_seed(0)
    (net,), _ = resnet18(torch, batch=1)
    model = torch.nn.parallel.DistributedDataParallel(net)
    x = torch.randn(options.batch, 3, options.side, options.side)
    y = torch.randint(0, 10, (options.batch,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step(module: Any) -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(module(x), y).backward()
        optimizer.step()

    def apart() -> None:
        with model.no_sync():
            step(model)

    for _ in range(options.rounds):
        dist.barrier()
        if dist.get_rank() == 0:
            best.note("step, one process", timed(lambda: step(net)))
        for name, run in (("both, no communication", apart), ("both", lambda: step(model))):
            dist.barrier()
            best.note(f"step, {name}", timed(run))


def sums(torch: Any, options: argparse.Namespace, best: Timings) -> int:
    """Times of averaging gradients; how many bytes they have."""
    from mindtorch.torch.nn.parallel._reducer import Reducer
    from tests.support.models import resnet18

    dist = torch.distributed
    group = dist.group.WORLD
    parameters = list(resnet18(torch, batch=1)[0][0].parameters())
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    flat = torch.ones(sum(p.numel() for p in parameters))
    reducer = Reducer(parameters, group, [1 << 20, 25 << 20], keep_views=False, unused=False)
    views = Reducer(parameters, group, [1 << 20, 25 << 20], keep_views=True, unused=False)

    def average(chosen: Any) -> None:
        chosen.prepare(set())
        for parameter in reversed(parameters):
            chosen.take(parameter)

    mpi = getattr(group, "communicator", None)
    for _ in range(4 * options.rounds):
        if mpi is not None:
            from mpi4py import MPI

            dist.barrier()
            array = flat.numpy()
            best.note("MPI Allreduce", timed(lambda a=array: mpi.Allreduce(MPI.IN_PLACE, a)))
        dist.barrier()
        best.note("dist.all_reduce", timed(lambda: dist.all_reduce(flat)))
        dist.barrier()
        best.note("average of gradients", timed(lambda: average(reducer)))
    for _ in range(4 * options.rounds):
        dist.barrier()
        best.note("average of gradients, kept in buckets", timed(lambda: average(views)))
    return flat.numel() * 4


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--side", type=int, default=32)
    options = parser.parse_args()
    if "RANK" not in os.environ:
        return start(options)
    import mindtorch.torch as torch

    torch.distributed.init_process_group("gloo")
    best = Timings()
    size = sums(torch, options, best)
    steps(torch, options, best)
    if torch.distributed.get_rank() == 0:
        first = "MPI Allreduce" if "MPI Allreduce" in best.best else "dist.all_reduce"
        for name in best.best:
            alone = name.startswith("step")
            best.show(name, "step, one process" if alone else first, 0 if alone else size)
    torch.distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
