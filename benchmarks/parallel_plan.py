"""Predicted memory and times of a step beside those of real processes with one thread each.

    python benchmarks/parallel_plan.py [--ranks 2,4] [--models mlp,gpt,...] [--rounds 3] [--core]

prints, for each number of processes and model, predicted and real milliseconds of each plan, their
ratio, bytes, and at last how many of all ratios are within 25 %. All processes measure at once what
predictions are made of, as AUTO_PARALLEL's search does: cores, caches and memory are shared then as
in the steps. Of several rounds the smallest times count. With --core seconds of a processor are
compared, in which nobody waits: on a busy machine the clock tells of the other programs.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.programs.distributed.planned_step_program import MICROBATCHES  # noqa: E402
from tests.torch.distributed.jobs import started_ranks  # noqa: E402

PROGRAM = ROOT / "tests" / "programs" / "distributed" / "planned_step_program.py"


def processes(kind: str, ranks: int, plans: list[str]) -> list[dict[str, Any]]:
    """What the processes found."""
    with tempfile.TemporaryDirectory() as folder:
        return started_ranks(
            PROGRAM, ranks, Path(folder), kind, "large", *plans, PYTHONWARNINGS="ignore"
        )


def compare(kind: str, ranks: int, rounds: int, core: bool) -> list[float]:
    """Print a table; the ratios of predicted to real times."""
    names = {
        "ddp": f"DDP {ranks}", "fsdp": f"FSDP {ranks}", "tp": f"TP {ranks}",
        "pp": f"PP {ranks} of {MICROBATCHES} microbatches",
    }  # fmt: skip
    if ranks == 4:
        names["fsdp-tp"] = "FSDP 2 x TP 2"
    if kind == "lstm":  # no pair of linear layers, and no list of layers
        names = {short: names[short] for short in ("ddp", "fsdp")}
    told = dict.fromkeys(names, float("inf"))
    times = dict.fromkeys(names, float("inf"))
    case, unit = ("predicted on a core", "core") if core else ("predicted", "seconds")
    for _ in range(rounds):
        found = processes(kind, ranks, [case, *names])
        for short, name in names.items():
            plans = [each[case][name] for each in found]
            slowest = max(plan["seconds"] - core * plan["waiting"] for plan in plans)
            told[short] = min(told[short], slowest)
            times[short] = min(times[short], max(each[short][unit] for each in found))
    print(f"{kind}, {ranks} processes")
    for short, name in names.items():
        memory = found[0][case][name]["memory"]
        states = sum(memory[part] for part in ("parameters", "gradients", "optimizer"))
        own = [max(each[short][part] for each in found) for part in ("states", "activations")]
        print(
            f"  {name:26} ms {told[short] * 1e3:6.1f}, real {times[short] * 1e3:6.1f} "
            f"({told[short] / times[short]:.2f})   MB states {states / 1e6:6.2f}, real "
            f"{own[0] / 1e6:6.2f}; kept {memory['activations'] / 1e6:6.2f}, real "
            f"{own[1] / 1e6:6.2f}"
        )
    chosen, best = min(told, key=told.__getitem__), min(times.values())
    print(f"  chosen: {names[chosen]}, {times[chosen] / best:.2f} times the fastest", flush=True)
    return [told[short] / times[short] for short in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--models", default="mlp,gpt")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--core", action="store_true")
    options = parser.parse_args()
    found = []
    for ranks in map(int, options.ranks.split(",")):
        for kind in options.models.split(","):
            found += compare(kind, ranks, options.rounds, options.core)
    near = sum(1 / 1.25 <= ratio <= 1.25 for ratio in found)
    print(f"{near} of {len(found)} predictions are within 25 %")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
