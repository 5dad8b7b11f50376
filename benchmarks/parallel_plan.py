"""Predicted memory and times of a step beside those of real processes with one thread each.

    python benchmarks/parallel_plan.py [--ranks 2] [--models mlp,gpt] [--rounds 3]

A loaded machine gives each of several processes less than it gave the one that was measured, so
that the same model without any exchange is timed in as many processes too ("alone"): the column
"scaled" has predictions whose computation takes as long as there.
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

import mindtorch.torch as torch  # noqa: E402
from mindtorch.planning.costs import Plan, Planner  # noqa: E402
from mindtorch.planning.facts import measure  # noqa: E402
from mindtorch.planning.link import measured_link  # noqa: E402
from tests.programs.distributed.planned_step_program import MICROBATCHES, make  # noqa: E402
from tests.torch.distributed.jobs import started_ranks  # noqa: E402

PROGRAM = ROOT / "tests" / "programs" / "distributed" / "planned_step_program.py"
EXCHANGE = ("gradients", "parameters and gradients", "tensor parallel", "between stages")


def real(kind: str, ranks: int, plans: list[str]) -> list[dict[str, Any]]:
    """What the processes measured."""
    with tempfile.TemporaryDirectory() as folder:
        return started_ranks(
            PROGRAM, ranks, Path(folder), kind, "large", *plans, PYTHONWARNINGS="ignore"
        )


def predicted(kind: str, ranks: int) -> dict[str, Plan]:
    model, x = make(torch, kind, "large")
    facts = measure(model, (x,), {}, torch.optim.AdamW(model.parameters()))
    planner = Planner(facts, model, measured_link(), ranks, ranks * facts.samples)
    return {plan.name: plan for plan in planner.plans()}


def compare(kind: str, ranks: int, rounds: int) -> None:
    names = {
        "ddp": f"DDP {ranks}", "fsdp": f"FSDP {ranks}", "tp": f"TP {ranks}",
        "pp": f"PP {ranks} of {MICROBATCHES} microbatches",
    }  # fmt: skip
    if ranks == 4:
        names["fsdp-tp"] = "FSDP 2 x TP 2"
    plans: dict[str, Plan] = {}
    times = dict.fromkeys(["alone", *names], float("inf"))
    found: list[dict[str, Any]] = []
    for _ in range(rounds):
        for name, plan in predicted(kind, ranks).items():
            if name not in plans or plan.seconds < plans[name].seconds:
                plans[name] = plan
        found = real(kind, ranks, list(times))
        for short in times:
            times[short] = min(times[short], max(each[short]["seconds"] for each in found))
    whole = plans[names["ddp"]].times
    factor = times["alone"] / (whole["computation"] + whole["update"])
    print(f"{kind}, {ranks} processes: alone {factor:.2f} times as long as in one process")
    for short, name in names.items():
        plan, memory = plans[name], plans[name].memory
        exchange = sum(plan.times.get(part, 0.0) for part in EXCHANGE)
        scaled = (plan.seconds - exchange) * factor + exchange
        states = sum(memory[part] for part in ("parameters", "gradients", "optimizer"))
        own = [max(each[short][part] for each in found) for part in ("states", "activations")]
        print(
            f"  {name:26} ms {plan.seconds * 1e3:6.1f}, scaled {scaled * 1e3:6.1f}, real "
            f"{times[short] * 1e3:6.1f}   MB states {states / 1e6:6.2f}, real {own[0] / 1e6:6.2f}; "
            f"kept {memory['activations'] / 1e6:6.2f}, real {own[1] / 1e6:6.2f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--models", default="mlp,gpt")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for kind in options.models.split(","):
        compare(kind, options.ranks, options.rounds)
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
