"""Time tensor parallel training in two processes with one thread each, beside real PyTorch's.

Both libraries cut the same models in the same way and exchange on the CPU: mindtorch by MPI or
sockets, PyTorch by gloo. Pairs of processes take turns; the smallest times of a step are shown, by
the clock and by the first process's threads on a core, which says more on a busy machine.

    python benchmarks/tensor_parallel.py [--rounds 3] [--steps 15] [--models mlp,gpt]
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def pair(namespace: str, model: str, steps: int) -> tuple[float, float]:
    """The smallest times of a step in two processes, in milliseconds: on the clock, on a core."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as folder:
        processes = [
            subprocess.Popen(
                [sys.executable, __file__, "--worker", namespace, str(rank), f"file://{folder}/s",
                 model, str(steps)],
                env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )
            for rank in range(2)
        ]  # fmt: skip
        told = [process.communicate()[0] for process in processes]
    clock, core = told[0].split()[-2:]
    return float(clock), float(core)


def work(namespace: str, rank: str, url: str, kind: str, steps: str) -> None:
    """What one process does."""
    sys.path.insert(0, str(ROOT))
    torch = importlib.import_module(namespace)
    torch.set_num_threads(1)
    dist: Any = importlib.import_module(f"{namespace}.distributed")
    dist.init_process_group("gloo", init_method=url, rank=int(rank), world_size=2)
    T: Any = importlib.import_module(f"{namespace}.distributed.tensor")  # noqa: N806
    parallel: Any = importlib.import_module(f"{namespace}.distributed.tensor.parallel")
    program = importlib.import_module("tests.programs.distributed.tensor_parallel_program")
    nn = torch.nn
    torch.manual_seed(0)
    if kind == "mlp":
        sizes = [512, 2048, 512, 2048, 512]
        layers = [nn.Linear(a, b) for a, b in itertools.pairwise(sizes)]
        model = nn.Sequential(*[m for layer in layers for m in (layer, nn.ReLU())])
        plan = {"0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel(),
                "4": parallel.ColwiseParallel(), "6": parallel.RowwiseParallel()}  # fmt: skip
        x, y = torch.randn(128, 512), torch.randint(0, 512, (128,))
    else:
        gpt, _ = program.build(torch, width=256, heads=8, depth=4, words=512, places=64)
        model, plan = gpt(), program.plan_of_gpt(parallel, T, False)
        x, y = torch.randint(0, 512, (8, 64)), torch.randint(0, 512, (8 * 64,))
    parallel.parallelize_module(model, T.init_device_mesh("cpu", (2,)), plan)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    best = worked = float("inf")
    for _ in range(int(steps)):
        begun, core = time.perf_counter(), time.process_time()
        optimizer.zero_grad()
        scores = model(x)
        torch.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), y).backward()
        optimizer.step()
        best = min(best, time.perf_counter() - begun)
        worked = min(worked, time.process_time() - core)
    print(best * 1e3, worked * 1e3)
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--models", default="mlp,gpt")
    options = parser.parse_args()
    for model in options.models.split(","):
        found: dict[str, list[tuple[float, float]]] = {"mindtorch.torch": [], "torch": []}
        for _ in range(options.rounds):
            for namespace, times in found.items():
                times.append(pair(namespace, model, options.steps))
        for place, what in enumerate(("clock", "core")):
            own, theirs = (min(each[place] for each in times) for times in found.values())
            print(f"{model:6}{what:6} mindtorch {own:8.1f} ms   PyTorch {theirs:8.1f} ms   "
                  f"x{own / theirs:.2f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(*sys.argv[2:])
    else:
        main()
