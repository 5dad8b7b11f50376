"""Time steps of models under fully_shard, under DistributedDataParallel (--kind ddp), or in each
process by itself (--kind alone): two processes of one thread each, here and in PyTorch.

Jobs of the two libraries take turns; of each the smallest time of a step of all processes counts,
and the smallest time that the first one's threads had a core, which says more on a busy machine.

    python benchmarks/sharded.py [--kind fsdp] [--rounds 3] [--steps 5] [--models mlp gpt resnet18]
                                 [--compiled]

With --compiled the whole step is a function under torch.compile, in both libraries. What a kind
takes beyond "alone" is what sharing gradients and parameters adds.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LAUNCHERS = {"mindtorch.torch": "mindtorch.torch.distributed.run", "torch": "torch.distributed.run"}


def parts_of(torch: Any, name: str) -> tuple[Any, list[Any], Any, Any]:
    """A network, the modules to shard, a batch and its targets."""
    from tests.support.models import gpt, resnet18

    nn = torch.nn
    if name == "mlp":
        net = nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(1024, 1024), nn.ReLU())],
                            nn.Linear(1024, 10))  # fmt: skip
        return net, list(net[:8:2]), torch.randn(64, 1024), torch.randint(0, 10, (64,))
    if name == "gpt":
        net = gpt(torch, batch=1, length=128, layers=4, width=128, dropout=0.0)[0][0]
        tokens = torch.randint(0, 65, (8, 129))
        return net, list(net.layers), tokens[:, :-1], tokens[:, 1:]
    net = resnet18(torch, batch=1)[0][0]
    blocks = [m for m in net.modules() if type(m).__name__ == "Block"]
    return net, blocks, torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))


def measure(namespace: str, kind: str, name: str, steps: int, compiled: bool) -> None:
    """Print the smallest time of a step, in one of the processes of a job."""
    torch = importlib.import_module(namespace)
    dist = importlib.import_module(f"{namespace}.distributed")
    fsdp = importlib.import_module(f"{namespace}.distributed.fsdp")
    mesh_of = importlib.import_module(f"{namespace}.distributed.device_mesh").init_device_mesh
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    net, inner, x, y = parts_of(torch, name)
    if kind == "ddp":
        net = torch.nn.parallel.DistributedDataParallel(net)
    elif kind == "fsdp":
        mesh = mesh_of("cpu", (dist.get_world_size(),))
        for module in (*inner, net):
            fsdp.fully_shard(module, mesh=mesh)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)

    def step() -> None:
        loss = torch.nn.functional.cross_entropy(net(x).flatten(0, -2), y.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    if compiled:
        step = torch.compile(step)
    best = worked = float("inf")
    for i in range(steps + 3):
        dist.barrier()
        begun, core = time.perf_counter(), time.process_time()
        step()
        dist.barrier()
        if i >= 3:
            best = min(best, time.perf_counter() - begun)
            worked = min(worked, time.process_time() - core)
    if dist.get_rank() == 0:
        sys.stdout.write(f"best {best} {worked}\n")
    dist.barrier()
    dist.destroy_process_group()


def job(
    namespace: str, kind: str, name: str, steps: int, compiled: bool
) -> tuple[float, float]:  # fmt: skip
    """The smallest times of a step in a job of two processes: on the clock, and on a core."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", LAUNCHERS[namespace], "--nproc-per-node=2", __file__,
               "--measure", namespace, "--models", name, "--steps", str(steps),
               "--kind", kind, *["--compiled"] * compiled]  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr + done.stdout)
    line = next(x for x in done.stdout.splitlines() if x.startswith("best "))
    clock, core = map(float, line.split()[1:])
    return clock, core


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--models", nargs="*", default=["mlp", "gpt", "resnet18"])
    parser.add_argument("--kind", choices=["fsdp", "ddp", "alone"], default="fsdp")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--measure", choices=list(LAUNCHERS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        model = options.models[0]
        measure(options.measure, options.kind, model, options.steps, options.compiled)
        return
    for name in options.models:
        best: dict[str, list[tuple[float, float]]] = {namespace: [] for namespace in LAUNCHERS}
        for _ in range(options.rounds):
            for namespace in LAUNCHERS:
                found = job(namespace, options.kind, name, options.steps, options.compiled)
                best[namespace].append(found)
        for place, what in enumerate(("clock", "core")):
            mine, theirs = (min(times[place] for times in found) for found in best.values())
            print(f"{options.kind:5}{name:10}{what:8}{mine * 1e3:10.1f} ms"
                  f"{theirs * 1e3:10.1f} ms   x{mine / theirs:.2f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
