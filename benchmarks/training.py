"""Time training steps, imports and small ops on us and on torch eager, in turns.

"compiled" is ``torch.compile`` of the whole step, "--graph" the same script as it is, under
``MINDTORCH_GRAPH=1``. Each measurement is a process of its own; the sides take turns,
``--rounds`` times, so that all see the same machine. Printed are minima and medians over all steps
of all rounds, and their ratios (ours / torch's; below 1 is faster).

    python benchmarks/training.py [--rounds 3] [--threads 1 2] [--only mlp lenet] [--write]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WORKLOADS: dict[str, dict[str, Any]] = {
    "mlp": {"model": "mlp", "sizes": {"batch": 64}, "steps": 60},
    "lenet": {"model": "lenet", "sizes": {"batch": 64}, "steps": 40},
    "gpt": {
        "model": "gpt",
        "sizes": {"batch": 16, "length": 128, "layers": 4, "width": 128},
        "steps": 5,
    },
    "resnet18": {"model": "resnet18", "sizes": {"batch": 32}, "steps": 3},
    "lstm": {"model": "layered_lstm", "sizes": {}, "steps": 40},
    "small_gpt": {"model": "gpt", "sizes": {}, "steps": 40},
    "tiny": {
        "model": "mlp",
        "sizes": {"batch": 32, "sizes": (4, 64, 64, 2), "adam": True},
        "steps": 400,
    },
}
TITLES = {
    "mlp": "MLP 784-512-512-10, batch 64",
    "lenet": "LeNet, batch 64",
    "gpt": "GPT 4 layers, d=128, T=128, batch 16",
    "resnet18": "ResNet-18, 3x32x32, batch 32",
    "lstm": "LSTM 2x64, 32 steps, batch 16",
    "small_gpt": "GPT 2 layers, d=64, T=32, batch 4",
    "tiny": "MLP 4-64-64-2, batch 32, Adam",
}


def namespace(side: str) -> Any:
    """The torch namespace of a side: "torch" and "torch.compile", or ours: "mindtorch", "compiled",
    and "graph", a script as it is under MINDTORCH_GRAPH=1."""
    if side.startswith("torch"):
        import torch

        return torch
    import mindtorch.torch

    return mindtorch.torch


def measure_training(side: str, name: str, threads: int) -> dict[str, Any]:
    """Times of the steps of one workload, after three to warm up."""
    workload = WORKLOADS[name]
    step = prepared(side, workload, threads)
    began = time.perf_counter()
    step()
    first = time.perf_counter() - began
    for _ in range(2):
        step()
    times = []
    for _ in range(workload["steps"]):
        began = time.perf_counter()
        step()
        times.append(time.perf_counter() - began)
    return {"times": times, "first": first, "memory": peak_memory()}


def prepared(side: str, workload: dict[str, Any], threads: int) -> Any:
    """The workload's training step on a side."""
    if side == "jax":
        # XLA takes as many threads as it may use cores
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        import _jax_models

        return _jax_models.build(workload["model"], **workload["sizes"])
    sys.path.insert(0, str(ROOT))
    from tests.support.models import build

    torch = namespace(side)
    torch.set_num_threads(threads)
    _, step = build(torch, workload["model"], **workload["sizes"])
    if side == "compiled":
        return torch.compile(step.update, fullgraph=True)  # type: ignore[attr-defined]
    if side == "torch.compile":  # its graphs end where a tensor's backward is called
        update = torch.compile(step.update)  # type: ignore[attr-defined]
        return lambda: update().item()
    return step


def peak_memory() -> int:
    """The most memory this process has held, in bytes."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure_import(side: str) -> dict[str, Any]:
    """Seconds to import the namespace."""
    began = time.perf_counter()
    namespace(side)
    return {"times": [time.perf_counter() - began], "memory": peak_memory()}


def measure_ops(side: str) -> dict[str, Any]:
    """Microseconds of ops on ten floats."""
    torch = namespace(side)
    torch.set_num_threads(1)
    x, y = torch.randn(10), torch.randn(10)
    tracked = torch.randn(10, requires_grad=True)
    matrix = torch.randn(3, 4)
    cases = {
        "x + y": lambda: x + y,
        "x + y, recorded": lambda: x + tracked,
        "x * 2.0": lambda: x * 2.0,
        "torch.add(x, y)": lambda: torch.add(x, y),
        "x.exp()": lambda: x.exp(),
        "x.sum()": lambda: x.sum(),
        "x.view(2, 5)": lambda: x.view(2, 5),
        "m.t()": lambda: matrix.t(),
        "m @ m.t()": lambda: matrix @ matrix.t(),
        "x[3]": lambda: x[3],
        "x.add_(y)": lambda: x.add_(y),
    }
    return {"ops": {name: best_of(case) for name, case in cases.items()}}


def best_of(case: Any, number: int = 5000, repeats: int = 7) -> float:
    for _ in range(200):
        case()
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        for _ in range(number):
            case()
        best = min(best, (time.perf_counter() - began) / number)
    return best * 1e6


def child(arguments: argparse.Namespace) -> None:
    if arguments.child == "import":
        result = measure_import(arguments.side)
    elif arguments.child == "ops":
        result = measure_ops(arguments.side)
    else:
        result = measure_training(arguments.side, arguments.child, arguments.threads[0])
    print(json.dumps(result))


def reported(
    script: str, arguments: list[str], threads: int, python: str | None = None, graph: bool = False
) -> Any:
    """What a script of this folder prints as its last line, run in a process of its own.

    Args:
        script: the script's path.
        arguments: those of its command line; ``--threads`` is added.
        python: the interpreter; this one if not given.
        graph: the script runs under ``MINDTORCH_GRAPH=1``.
    """
    environment = dict(
        os.environ, PYTHONPATH=str(ROOT), OMP_NUM_THREADS=str(threads),
        MINDTORCH_GRAPH=str(int(graph)),
    )  # fmt: skip
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # byte code is kept, as with users
    command = [python or sys.executable, script, *arguments, "--threads", str(threads)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd=ROOT, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def in_turns(
    what: str,
    threads: int,
    rounds: int,
    sides: tuple[str, ...] = ("mindtorch", "torch"),
    pythons: dict[str, str] | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """What each side measures, ``rounds`` times, a process each, the sides taking turns.

    Args:
        what: a workload, "import" or "ops".
        pythons: the interpreters of the sides that this one cannot run.
    """
    results: dict[str, list[dict[str, Any]]] = {side: [] for side in sides}
    for _ in range(rounds):
        for side, held in results.items():
            command = ["--child", what, "--side", side]
            python = (pythons or {}).get(side)
            held.append(reported(__file__, command, threads, python, side == "graph"))
    return results


def summary(results: list[dict[str, Any]]) -> tuple[float, float, float]:
    """(minimum, median, largest memory) over all rounds."""
    times = [t for r in results for t in r["times"]]
    return min(times), statistics.median(times), max(r["memory"] for r in results)


OURS = ("mindtorch", "compiled", "graph")


def training_table(names: list[str], threads: list[int], rounds: int) -> list[str]:
    lines = [
        "| training step | threads | ours min / median (ms) | compiled (ms) | script under --graph "
        "(ms) | torch eager (ms) | ours / torch: minima, medians | compiled / torch | --graph / "
        "torch | first compiled step (s) | peak memory ours / compiled / --graph / torch (MiB) |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in names:
        for count in threads:
            results = in_turns(name, count, rounds, (*OURS, "torch"))
            every = {side: summary(found) for side, found in results.items()}
            theirs = every["torch"]
            times = " | ".join(f"{s[0] * 1e3:.2f} / {s[1] * 1e3:.2f}" for s in every.values())
            ratios = " | ".join(
                f"**{every[s][0] / theirs[0]:.2f}** {every[s][1] / theirs[1]:.2f}" for s in OURS
            )
            memory = " / ".join(f"{s[2] / 2**20:.0f}" for s in every.values())
            first = min(r["first"] for r in results["compiled"])
            lines.append(
                f"| {TITLES[name]} | {count} | {times} | {ratios} | {first:.2f} | {memory} |"
            )
            print(lines[-1], flush=True)
    return lines


def import_lines(rounds: int) -> list[str]:
    results = in_turns("import", 1, rounds + 2)
    ours, theirs = summary(results["mindtorch"]), summary(results["torch"])
    return [
        "| import | ours min / median (s) | torch min / median (s) | ratio of minima |",
        "|---|---|---|---|",
        f"| `import` of the namespace | {ours[0]:.2f} / {ours[1]:.2f} | {theirs[0]:.2f} / "
        f"{theirs[1]:.2f} | **{ours[0] / theirs[0]:.2f}** |",
    ]


def op_lines(rounds: int) -> list[str]:
    results = in_turns("ops", 1, rounds)
    lines = ["| op on ten floats | ours (us) | torch (us) | ratio |", "|---|---|---|---|"]
    for name in results["torch"][0]["ops"]:
        ours = min(r["ops"][name] for r in results["mindtorch"])
        theirs = min(r["ops"][name] for r in results["torch"])
        lines.append(f"| `{name}` | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} |")
    return lines


def machine() -> str:
    model = platform.processor()
    flags: set[str] = set()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
            if line.startswith("flags"):
                flags = set(line.partition(":")[2].split())
    except OSError:
        pass
    widest = next((f for f in ("avx512f", "avx2", "avx") if f in flags), "no AVX")
    return f"{model}, {os.cpu_count()} cores, {widest}, Python {platform.python_version()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+", default=list(WORKLOADS), choices=list(WORKLOADS))
    parser.add_argument("--write", action="store_true", help="write docs/performance.md's tables")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--side", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments)
        return
    print(machine(), flush=True)
    lines = [f"Machine: {machine()}. {arguments.rounds} rounds in turns.", ""]
    lines += import_lines(arguments.rounds) + [""] + op_lines(arguments.rounds) + [""]
    print("\n".join(lines), flush=True)
    lines += training_table(arguments.only, arguments.threads, arguments.rounds)
    if arguments.write:
        write(lines)


def write(lines: list[str], begin: str = "<!-- measured -->", end: str = "<!-- end -->") -> None:
    """Replace the part of docs/performance.md between two marks."""
    path = ROOT / "docs" / "performance.md"
    text = path.read_text()
    before, after = text.partition(begin)[0], text.partition(end)[2]
    path.write_text(before + begin + "\n" + "\n".join(lines) + "\n" + end + after)


if __name__ == "__main__":
    main()
