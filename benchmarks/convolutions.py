"""Time every distinct convolution of some networks, forward and both gradients, against torch.

Kernels are called as eager steps call them and, where these are others, as compiled ones do; torch
runs its own (oneDNN) in the same process, in turns. Times are minima of the thread's processor
time, on one thread. Rows are in the order of what torch would be ahead over all layers of a shape.

    python benchmarks/convolutions.py [--rounds 7] [--only resnet18 resnet50 mobilenet_v2 lenet]
        [--what forward input weight]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from _larger_models import build
from training import ROOT, machine, namespace

from mindtorch.kernels.cpu import amx_convolution, convolution, winograd
from mindtorch.kernels.cpu.elementwise import Operand
from mindtorch.kernels.cpu.threads import thread_pool

sys.path.insert(0, str(ROOT))
from tests.support import models

torch = namespace("torch")
Run = Callable[[], Any]
NETWORKS = ("lenet", "resnet18", "resnet50", "mobilenet_v2")
WHAT = ("forward", "input", "weight")
KERNELS = dict(
    zip(
        WHAT,
        ("convolution", "convolution_input_gradient", "convolution_weight_gradient"),
        strict=True,
    )
)


class Case(NamedTuple):
    """One shape of a convolution."""

    image: tuple[int, ...]
    window: tuple[int, ...]
    result: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int


def cases(name: str) -> dict[Case, int]:
    """The convolutions of a network's forward pass, and how often each is there."""
    found: Counter[Case] = Counter()

    def seen(module: Any, inputs: Any, result: Any) -> None:
        if isinstance(module, torch.nn.Conv2d):
            how = (module.stride, module.padding, module.dilation, module.groups)
            found[Case(inputs[0].shape, module.weight.shape, result.shape, *how)] += 1

    hook = torch.nn.modules.module.register_module_forward_hook(seen)
    if name in ("lenet", "resnet18"):
        models.build(torch, name)[1]()
    else:
        model, inputs, _ = build(torch, name, 1)
        model.eval()(*inputs)
    hook.remove()
    return found


def sides(case: Case, what: str) -> dict[str, Run]:
    """What eager and compiled steps call, and torch."""
    rng = np.random.default_rng(0)
    image, window, result = (
        rng.standard_normal(s).astype(np.float32) for s in (case.image, case.window, case.result)
    )
    how = {"stride": case.stride, "padding": case.padding, "dilation": case.dilation}
    given = {"forward": (image, window), "input": (result, window), "weight": (result, image)}
    shape = {"forward": case.result, "input": case.image, "weight": case.window}[what]
    out, ins = np.empty(shape, np.float32), given[what]
    name = KERNELS[what]
    first, *rest = [Operand(x.shape, [s // 4 for s in x.strides], x.dtype) for x in (out, *ins)]
    eager = getattr(convolution, name).plan((first,), rest, **how, groups=case.groups)
    extra = {} if what == "forward" else {"shape": shape}
    makes = [getattr(module, name) for module in (amx_convolution, winograd)]
    plans = [make((first,), rest, **how, groups=case.groups, **extra) for make in makes]
    other = next((plan for plan in plans if plan is not None), None)
    flat = [x.reshape(-1) for x in (out, *ins)]
    made: dict[str, Run] = {"eager": lambda: eager(*flat)}
    if other is not None:
        made["compiled"] = lambda: other(*flat)
    g, x, weight = (torch.from_numpy(a) for a in (result, image, window))
    if what == "forward":
        function = torch.nn.functional.conv2d
        made["torch"] = lambda: function(x, weight, None, *how.values(), case.groups)
    else:
        mask = [what == "input", what == "weight", False]
        made["torch"] = lambda: torch.ops.aten.convolution_backward(
            g, x, weight, None, *map(list, how.values()), False, [0, 0], case.groups, mask
        )
    return made


def measured(runs: dict[str, Run], rounds: int) -> dict[str, float]:
    """The smallest time of each, in milliseconds."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            run()
            began, count = time.thread_time(), 0
            while True:
                start = time.thread_time()
                run()
                now = time.thread_time()
                best[name] = min(best[name], (now - start) * 1e3)
                count += 1
                if now - began > 0.02 or count == 20:
                    break
    return best


def text(case: Case) -> str:
    grouped = f" in {case.groups} groups" if case.groups > 1 else ""
    kernel = "x".join(map(str, case.window[2:]))
    return (
        f"{case.image[0]}x{case.image[1]}x{case.image[2]}, {kernel} to {case.window[0]}, "
        f"stride {case.stride[0]}{grouped}"
    )


def table(name: str, what: str, rounds: int) -> None:
    rows, totals = [], {"eager": 0.0, "compiled": 0.0, "torch": 0.0}
    for case, count in cases(name).items():
        best = measured(sides(case, what), rounds)
        best.setdefault("compiled", best["eager"])
        for side in totals:
            totals[side] += count * best[side]
        work = 2 * np.prod(case.result) * np.prod(case.window[1:]) / 1e6
        rate = " / ".join(f"{work / best[side]:.0f}" for side in totals)
        times = " | ".join(f"{best[side]:.3f}" for side in totals)
        ratios = " | ".join(f"{best[side] / best['torch']:.2f}" for side in ("eager", "compiled"))
        lost = count * (best["compiled"] - best["torch"])
        rows.append((lost, f"| {text(case)} | {count} | {times} | {ratios} | {rate} |"))
    print(f"\n{name}, {what}: " + ", ".join(f"{s} {t:.1f} ms" for s, t in totals.items()))
    print("| convolution | layers | eager (ms) | compiled | torch | eager / torch |"
          " compiled / torch | GFLOP/s |\n|---|---|---|---|---|---|---|---|")  # fmt: skip
    for _, row in sorted(rows, reverse=True):
        print(row, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--what", nargs="+", choices=WHAT, default=list(WHAT))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    thread_pool.set_num_threads(1)
    print(f"{machine()}; one thread, the thread's processor time, minima")
    for name in arguments.only:
        for what in arguments.what:
            table(name, what, arguments.rounds)


if __name__ == "__main__":
    main()
