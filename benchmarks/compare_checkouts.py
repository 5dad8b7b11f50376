"""Time the same workloads on two checkouts, in turns, and print the ratios of the minima.

    python benchmarks/compare_checkouts.py /path/to/old [--new PATH] [--turns 5] [--only tiny ops]

Each measurement is a process of its own, with one thread; the checkouts take turns, the first one
changing with each turn, so that both see the same machine. The workloads, models included, are
this checkout's on both sides. A ratio is new / old: above 1 the new checkout is slower.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from training import ROOT, TITLES, WORKLOADS, best_of, machine

WAYS = ("eager", "compiled", "lazy")
STEPS = {"tiny": 400, "mlp": 60, "lenet": 20, "lstm": 40, "small_gpt": 40, "gpt": 4, "resnet18": 3}
WARM_UP = {"lazy": 8}  # a step is traced, and its trace compiled, in the first few
LIMIT = 1.03


def models() -> Any:
    """The module of the models, this checkout's for both sides."""
    path = ROOT / "tests" / "support" / "models.py"
    spec = importlib.util.spec_from_file_location("models", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def time_training(name: str, way: str) -> dict[str, float]:
    """The least milliseconds of a training step."""
    import mindtorch.torch as torch

    torch.set_num_threads(1)
    workload = WORKLOADS[name]
    _, step = models().build(torch, workload["model"], **workload["sizes"])
    if way == "compiled":
        step = torch.compile(step.update, fullgraph=True)
    for _ in range(WARM_UP.get(way, 3)):
        step()
    best = float("inf")
    for _ in range(STEPS[name]):
        began = time.perf_counter()
        step()
        best = min(best, time.perf_counter() - began)
    return {f"{TITLES[name]}, {way} (ms)": best * 1e3}


def time_ops() -> dict[str, float]:
    """The least microseconds of calls on ten floats."""
    import mindtorch.torch as torch

    f = torch.nn.functional
    torch.set_num_threads(1)
    x, y = torch.randn(10), torch.randn(10)
    tracked = torch.randn(10, requires_grad=True)
    row, weight, bias = torch.randn(1, 10), torch.randn(10, 10), torch.randn(10)
    own = torch.randn(10, 10, requires_grad=True)

    def backward() -> None:
        own.grad = None
        torch.relu(f.linear(row, own, bias)).sum().backward()

    cases = {
        "torch.relu(x)": lambda: torch.relu(x),
        "torch.relu(x), recorded": lambda: torch.relu(tracked),
        "F.relu(x)": lambda: f.relu(x),
        "x + y": lambda: x + y,
        "x + y, recorded": lambda: x + tracked,
        "x * 2.0": lambda: x * 2.0,
        "torch.add(x, y)": lambda: torch.add(x, y),
        "x.add_(y)": lambda: x.add_(y),
        "F.linear(x, w, b)": lambda: f.linear(row, weight, bias),
        "F.linear(x, w, b), recorded": lambda: f.linear(row, own, bias),
        "torch.softmax(x, -1)": lambda: torch.softmax(x, -1),
        "torch.softmax(x, -1), recorded": lambda: torch.softmax(tracked, -1),
        "x.sum()": lambda: x.sum(),
        "x.sum(), recorded": lambda: tracked.sum(),
        "x.view(2, 5)": lambda: x.view(2, 5),
        "m.t()": lambda: weight.t(),
        "m @ m": lambda: weight @ weight,
        "x[3]": lambda: x[3],
        "backward of relu(linear).sum()": backward,
    }
    return {f"{name} (us)": best_of(case, number=2000) for name, case in cases.items()}


def time_import() -> dict[str, float]:
    """Milliseconds until the namespace is imported."""
    began = time.perf_counter()
    import mindtorch.torch  # noqa: F401

    return {"import of mindtorch.torch (ms)": (time.perf_counter() - began) * 1e3}


def child(what: str, way: str) -> dict[str, float]:
    if what == "ops":
        return time_ops()
    return time_import() if what == "import" else time_training(what, way)


def measured(checkout: Path, what: str, way: str) -> dict[str, float]:
    """What a process with the modules of a checkout measures."""
    environment = dict(
        os.environ, PYTHONPATH=str(checkout), OMP_NUM_THREADS="1",
        MINDTORCH_GRAPH=str(int(way == "lazy")),
    )  # fmt: skip
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # byte code is kept, as with users
    command = [sys.executable, __file__, ".", "--child", what, way]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd=checkout, check=False
    )
    if done.returncode:
        raise SystemExit(f"{what}, {way}, in {checkout} failed:\n{done.stderr[-2000:]}")
    result: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def in_turns(old: Path, new: Path, what: str, way: str, turns: int) -> None:
    """Measure both checkouts and print a line for each number."""
    best: dict[Path, dict[str, float]] = {old: {}, new: {}}
    for turn in range(turns):
        for checkout in (old, new) if turn % 2 == 0 else (new, old):
            for name, value in measured(checkout, what, way).items():
                best[checkout][name] = min(value, best[checkout].get(name, value))
    for name, before in best[old].items():
        after = best[new][name]
        slower = "  slower" if after > LIMIT * before else ""
        print(f"{name:<55} {before:>9.3f} {after:>9.3f} {after / before:>6.3f}{slower}", flush=True)


def main() -> None:
    known = ["ops", "import", *WORKLOADS]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old", type=Path, help="the other checkout")
    parser.add_argument("--new", type=Path, default=ROOT, help="this one, unless given")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=known, choices=known)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(child(*arguments.child)))
        return
    old, new = arguments.old.resolve(), arguments.new.resolve()
    print(f"{machine()}; one thread, minima of {arguments.turns} turns")
    print(f"{'':<55} {'old':>9} {'new':>9} {'ratio':>6}")
    for what in arguments.only:
        for way in arguments.ways if what in WORKLOADS else ("eager",):
            in_turns(old, new, what, way, arguments.turns)


if __name__ == "__main__":
    main()
