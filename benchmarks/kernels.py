"""Time kernels of linear algebra, convolution and pooling against torch's, in turns.

Each side is a process of its own; they take turns, ``--rounds`` times, so that both see the same
machine. Printed are the smallest times and their ratio (ours / torch's; below 1 is faster).

    python benchmarks/kernels.py [--rounds 3] [--threads 1 2]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent

# rows, inner length, columns
PRODUCTS = [(64, 64, 64), (512, 512, 512), (64, 784, 512), (64, 512, 10), (2048, 128, 512)]
# title, input, weight, stride, padding, groups
CONVOLUTIONS: list[tuple[str, Any, Any, int, int, int]] = [
    ("LeNet 1, 5x5", (64, 1, 28, 28), (6, 1, 5, 5), 1, 2, 1),
    ("LeNet 2, 5x5", (64, 6, 14, 14), (16, 6, 5, 5), 1, 0, 1),
    ("ResNet stem", (32, 3, 32, 32), (64, 3, 3, 3), 1, 1, 1),
    ("ResNet 64", (32, 64, 32, 32), (64, 64, 3, 3), 1, 1, 1),
    ("ResNet 64-128, stride 2", (32, 64, 32, 32), (128, 64, 3, 3), 2, 1, 1),
    ("ResNet 64-128, 1x1, stride 2", (32, 64, 32, 32), (128, 64, 1, 1), 2, 0, 1),
    ("ResNet 128", (32, 128, 16, 16), (128, 128, 3, 3), 1, 1, 1),
    ("ResNet 256", (32, 256, 8, 8), (256, 256, 3, 3), 1, 1, 1),
    ("ResNet 512", (32, 512, 4, 4), (512, 512, 3, 3), 1, 1, 1),
    ("depthwise 64", (32, 64, 32, 32), (64, 1, 3, 3), 1, 1, 64),
    ("1x1, 64-256", (32, 64, 32, 32), (256, 64, 1, 1), 1, 0, 1),
]
# input, window, stride, padding
POOLS: list[tuple[Any, int, int, int]] = [
    ((64, 6, 28, 28), 2, 2, 0),
    ((32, 64, 32, 32), 3, 2, 1),
]


def normal(shape: Any) -> Any:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


def smallest(run: Callable[[], Any]) -> float:
    """Microseconds of the fastest of many calls, after two to warm up, for half a second."""
    run()
    run()
    best, end = float("inf"), time.perf_counter() + 0.5
    while time.perf_counter() < end:
        began = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - began)
    return best * 1e6


def result_shape(x: Any, channels: int, window: int, stride: int, padding: int) -> Any:
    return (x[0], channels, *[(n + 2 * padding - window) // stride + 1 for n in x[2:]])


class Flat:
    """What a plan is told of a contiguous or transposed matrix."""

    def __init__(self, array: Any) -> None:
        self.shape, self.dtype = array.shape, array.dtype
        self.strides = tuple(s // array.itemsize for s in array.strides)


def ours() -> dict[str, float]:
    from mindtorch.kernels.cpu import convolution, matmul, pooling

    times = {}
    for m, k, n in PRODUCTS:
        a, b, w, c = normal((m, k)), normal((k, n)), normal((n, k)), np.empty((m, n), np.float32)
        bias = normal(n)
        product: Any = matmul.matmul.plan((Flat(c),), (Flat(a), Flat(b)))  # type: ignore[attr-defined]
        affine: Any = matmul.linear.plan((Flat(c),), (Flat(a), Flat(w), Flat(bias)))  # type: ignore[attr-defined]
        operands = [v.reshape(-1) for v in (c, a, b, w)]
        times[f"matmul {m}x{k}x{n}"] = smallest(lambda: product(*operands[:3]))  # noqa: B023
        times[f"linear {m}x{k}x{n}"] = smallest(
            lambda: affine(operands[0], operands[1], operands[3], bias)  # noqa: B023
        )
    for title, xs, ws, stride, padding, groups in CONVOLUTIONS:
        x, w, g = normal(xs), normal(ws), normal(result_shape(xs, ws[0], ws[2], stride, padding))
        y, dx, dw = np.empty_like(g), np.empty_like(x), np.empty_like(w)
        params: Any = {
            "stride": (stride, stride), "padding": (padding, padding), "dilation": (1, 1),
            "groups": groups,
        }  # fmt: skip
        times[f"{title}, forward"] = smallest(
            lambda: convolution.convolution(y, x, w, None, **params)  # noqa: B023
        )
        times[f"{title}, input gradient"] = smallest(
            lambda: convolution.convolution_input_gradient(dx, g, w, **params)  # noqa: B023
        )
        times[f"{title}, weight gradient"] = smallest(
            lambda: convolution.convolution_weight_gradient(dw, g, x, **params)  # noqa: B023
        )
    for xs, window, stride, padding in POOLS:
        x, g = normal(xs), normal(result_shape(xs, xs[1], window, stride, padding))
        y, places, dx = np.empty_like(g), np.empty(g.shape, np.int64), np.empty_like(x)
        params = {
            "kernel_size": (window,) * 2, "stride": (stride,) * 2, "padding": (padding,) * 2,
            "dilation": (1, 1),
        }  # fmt: skip
        times[f"max pool {window}x{window}, forward"] = smallest(
            lambda: pooling.max_pool((y, places), x, **params)  # noqa: B023
        )
        times[f"max pool {window}x{window}, gradient"] = smallest(
            lambda: pooling.max_pool_gradient(dx, g, places)  # noqa: B023
        )
    return times


def theirs() -> dict[str, float]:
    import torch

    times = {}
    for m, k, n in PRODUCTS:
        a, b, w, bias = (torch.from_numpy(normal(s)) for s in ((m, k), (k, n), (n, k), n))
        times[f"matmul {m}x{k}x{n}"] = smallest(lambda: a @ b)  # noqa: B023
        times[f"linear {m}x{k}x{n}"] = smallest(
            lambda: torch.nn.functional.linear(a, w, bias)  # noqa: B023
        )
    backward = torch.ops.aten.convolution_backward
    for title, xs, ws, stride, padding, groups in CONVOLUTIONS:
        shape = result_shape(xs, ws[0], ws[2], stride, padding)
        x, w, g = (torch.from_numpy(normal(s)) for s in (xs, ws, shape))
        rest = [None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups]
        times[f"{title}, forward"] = smallest(
            lambda: torch.conv2d(x, w, None, stride, padding, 1, groups)  # noqa: B023
        )
        for name, mask in (("input", [True, False, False]), ("weight", [False, True, False])):
            times[f"{title}, {name} gradient"] = smallest(
                lambda: backward(g, x, w, *rest, mask)  # noqa: B023
            )
    for xs, window, stride, padding in POOLS:
        x = torch.from_numpy(normal(xs))
        pool = (window, stride, padding)
        times[f"max pool {window}x{window}, forward"] = smallest(
            lambda: torch.nn.functional.max_pool2d(x, *pool, return_indices=True)  # noqa: B023
        )
        tracked = x.clone().requires_grad_()
        y = torch.nn.functional.max_pool2d(tracked, *pool)
        g = torch.ones_like(y)
        times[f"max pool {window}x{window}, gradient"] = smallest(
            lambda: torch.autograd.grad(y, tracked, g, retain_graph=True)  # noqa: B023
        )
    return times


def child(side: str, threads: int) -> None:
    sys.path.insert(0, str(ROOT))
    if side == "torch":
        import torch

        torch.set_num_threads(threads)
    else:
        from mindtorch.kernels.cpu.threads import set_num_threads

        set_num_threads(threads)
    print(json.dumps(theirs() if side == "torch" else ours()))


def in_turns(threads: int, rounds: int) -> dict[str, dict[str, float]]:
    """The smallest times of each side."""
    best: dict[str, dict[str, float]] = {"mindtorch": {}, "torch": {}}
    for _ in range(rounds):
        for side, held in best.items():
            command = [sys.executable, __file__, "--child", side, "--threads", str(threads)]
            environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
            for name, seconds in json.loads(done.stdout).items():
                held[name] = min(held.get(name, float("inf")), seconds)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments, others = parser.parse_known_args()
    if arguments.child:
        child(arguments.child, arguments.threads[0])
        return
    if others:
        print(f"not for this script: {' '.join(others)}")
    for threads in arguments.threads:
        best = in_turns(threads, arguments.rounds)
        print(f"| kernel, float32, {threads} thread(s) | ours (us) | torch (us) | ratio |")
        print("|---|---|---|---|")
        for name, time_of_torch in best["torch"].items():
            time_of_ours = best["mindtorch"][name]
            print(
                f"| {name} | {time_of_ours:.1f} | {time_of_torch:.1f} | "
                f"**{time_of_ours / time_of_torch:.2f}** |"
            )


if __name__ == "__main__":
    main()
