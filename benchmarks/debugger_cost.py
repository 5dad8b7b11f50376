"""Measure what the debugger costs a training step: with ten watchpoints, and off.

Four watchpoints of weights, three of gradients, three of outputs, none of which is met. Steps
without and with it take turns in one process; minima of thread time, one thread.

    python benchmarks/debugger_cost.py [--rounds 30] [--only mlp lenet gpt]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
WATCHPOINTS = (
    "weight_overflow", "weight_change_too_large abs_mean_update_ratio_gt=1e6",
    "weight_too_large abs_mean_gt=1e9", "weight_too_small max_lt=-1e9",
    "gradient_exploding", "gradient_too_large abs_mean_gt=1e9", "gradient_vanishing max_lt=-1e9",
    "tensor_overflow", "tensor_too_large abs_mean_gt=1e9",
    "activation_range range_start_inclusive=-1e9 range_end_inclusive=1e9 range_percentage_lt=1",
)  # fmt: skip
MODELS = {
    "mlp": {"batch": 64}, "lenet": {"batch": 64}, "gpt": {},
    "larger gpt": {"batch": 16, "length": 128, "layers": 4, "width": 128},
}  # fmt: skip


def timed(step: Callable[[], object], times: int) -> float:
    """The least time of a step, in milliseconds of this thread."""
    found = []
    for _ in range(times):
        begin = time.thread_time()
        step()
        found.append(time.thread_time() - begin)
    return 1e3 * min(found)


def measure(name: str, rounds: int, steps: int = 12) -> tuple[float, float, float]:
    """(step without, with the debugger, median ratio of the rounds)."""
    import mindtorch.torch as torch
    from mindtorch.tools import debug
    from tests.support import models

    torch.set_num_threads(1)
    _, step = models.build(torch, name.split()[-1], **MODELS[name])
    timed(step, 3)
    plain, watched = [], []
    for _ in range(rounds):
        plain.append(timed(step, steps))
        with debug(*WATCHPOINTS, stop_at_start=False):
            timed(step, 3)
            watched.append(timed(step, steps))
    ratios = [b / a for a, b in zip(plain, watched, strict=True)]
    return min(plain), min(watched), statistics.median(ratios)


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--only", nargs="*", default=list(MODELS))
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for name in options.only:
        plain, watched, ratio = measure(name, options.rounds)
        told = f"{watched / plain:.2f} times (median of rounds {ratio:.2f})"
        print(f"{name}: {plain:.2f} ms, with ten watchpoints {watched:.2f} ms, {told}", flush=True)


if __name__ == "__main__":
    main()
