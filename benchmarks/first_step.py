"""Time what a user waits for: a process until its first training step is done.

Ours with no kernels on disk, with no others than those that `mindtorch warm --installed` compiles,
and with all that the step needs; torch eager; JAX with ``--jax-python``. Each measurement is a
process of its own, the sides take turns, printed are minima of processor time and wall time: what
comes before the step (imports, the model and its numbers), and the step.

    python benchmarks/first_step.py [--rounds 3] [--threads 1] [--only mlp lenet] [--write]
                                    [--jax-python /path/to/python]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from training import ROOT, TITLES, WORKLOADS, machine, prepared, reported, write

NAMES = ("mlp", "lenet", "gpt", "resnet18")
EMPTY, INSTALLED, FULL = "no kernels", "kernels installed", "all kernels"
OURS = (EMPTY, INSTALLED, FULL)


def measure(side: str, name: str, threads: int) -> dict[str, float]:
    """Seconds before the first step and in it, of the processor and of the wall's clock."""
    began = time.perf_counter()
    step = prepared(side, WORKLOADS[name], threads)
    ready, there = time.process_time(), time.perf_counter()
    step()
    done, end = time.process_time(), time.perf_counter()
    return {
        "before": ready, "before wall": there - began,
        "first": done - ready, "first wall": end - there,
    }  # fmt: skip


def taken(side: str, name: str, folder: Path, arguments: argparse.Namespace) -> dict[str, float]:
    """What a process of a side measures, with its own folder of kernels."""
    installed = str(_warmed(folder, arguments)) if side == INSTALLED else "0"
    os.environ["MINDTORCH_INSTALLED_KERNELS"] = installed
    place = folder / ("copy" if side == INSTALLED else name)
    if side != FULL:
        shutil.rmtree(place, ignore_errors=True)
    os.environ["MINDTORCH_CACHE_DIR"] = str(place)
    code = "mindtorch" if side in OURS else side
    python = arguments.jax_python if side == "jax" else None
    found: dict[str, float] = reported(
        __file__, ["--child", name, "--side", code], arguments.threads, python
    )
    return found


def _warmed(folder: Path, arguments: argparse.Namespace) -> Path:
    """The kernels of `mindtorch warm`, which runs once."""
    if arguments.warmed:
        return Path(arguments.warmed)
    warmed = folder / "warmed"
    if not warmed.exists():
        environment = {**os.environ, "MINDTORCH_CACHE_DIR": str(warmed)}
        command = [sys.executable, "-m", "mindtorch", "warm"]
        subprocess.run(command, check=True, cwd=ROOT, env=environment, capture_output=True)
    return warmed


def row(name: str, arguments: argparse.Namespace, folder: Path) -> str:
    """One workload, the sides in turns."""
    sides = (*OURS, "torch", *(["jax"] if arguments.jax_python else []))
    held: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    for _ in range(arguments.rounds):
        for side, found in held.items():
            found.append(taken(side, name, folder, arguments))
    least: dict[str, dict[str, float]] = {
        side: {key: min(each[key] for each in found) for key in found[0]}
        for side, found in held.items()
    }
    cells = [f"{least[FULL]['before']:.2f} / {least['torch']['before']:.2f}"]
    cells += [f"{each['first']:.2f} / {each['first wall']:.2f}" for each in least.values()]
    return f"| {TITLES[name]} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=list(NAMES), choices=list(WORKLOADS))
    parser.add_argument("--jax-python")
    parser.add_argument("--warmed", help="MINDTORCH_CACHE_DIR of an earlier `mindtorch warm`")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md's table")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--side", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(measure(arguments.side, arguments.child, arguments.threads)))
        return
    titles = [f"ours, {side}" for side in OURS] + ["torch"]
    titles += ["JAX"] if arguments.jax_python else []
    columns = ["first training step", "before it, ours / torch, processor", *titles]
    lines = [
        f"Machine: {machine()}. {arguments.rounds} rounds in turns, {arguments.threads} threads. "
        "Seconds, processor / wall.", "",
        f"| {' | '.join(columns)} |", "|---" * len(columns) + "|",
    ]  # fmt: skip
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory(prefix="mindtorch-first-") as folder:
        for name in arguments.only:
            lines.append(row(name, arguments, Path(folder)))
            print(lines[-1], flush=True)
    if arguments.write:
        write(lines, "<!-- first step measured -->", "<!-- first step end -->")


if __name__ == "__main__":
    main()
