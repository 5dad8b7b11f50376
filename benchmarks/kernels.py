"""Time single operations, forward and backward, on us and on torch eager.

Each side is a process of its own that stays alive; the two take turns, row by row, ``--rounds``
times for ``--seconds`` each, so that both see the same machine. Printed are the smallest times, the
ratio of these minima, and the median of the rounds' ratios (ours / torch's; below 1 is faster).
On one thread, times are those of the processor (``--clock wall`` for the wall's), which a busy
machine disturbs less; on several, the wall's.

    python benchmarks/kernels.py [--rounds 30] [--threads 1 2] [--only gelu softmax] [--write]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- kernels measured -->", "<!-- kernels end -->"
Run = Callable[[], Any]


def there_and_back(torch: Any, function: Callable[..., Any], *shapes: Any) -> Run:
    """``function`` of normal tensors, and its gradients for all of them."""
    inputs = [torch.randn(shape, requires_grad=True) for shape in shapes]
    slope = torch.randn_like(function(*inputs)) if function(*inputs).ndim else None

    def run() -> None:
        for x in inputs:
            x.grad = None
        function(*inputs).backward(slope)

    return run


def gemm(torch: Any) -> Run:
    a, b = torch.randn(512, 512), torch.randn(512, 512)
    return lambda: a @ b


def convolution(torch: Any) -> Run:
    def function(x: Any, weight: Any) -> Any:
        return torch.nn.functional.conv2d(x, weight, padding=1)

    return there_and_back(torch, function, (32, 64, 32, 32), (64, 64, 3, 3))


def attention(torch: Any) -> Run:
    function = torch.nn.functional.scaled_dot_product_attention
    return there_and_back(torch, function, *[(8, 8, 256, 64)] * 3)


def layer_norm(torch: Any) -> Run:
    def function(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.layer_norm(x, (1024,), weight, bias)

    return there_and_back(torch, function, (1024, 1024), (1024,), (1024,))


def batch_norm(torch: Any) -> Run:
    mean, variance = torch.zeros(64), torch.ones(64)

    def function(x: Any, weight: Any, bias: Any) -> Any:
        return torch.nn.functional.batch_norm(x, mean, variance, weight, bias, training=True)

    return there_and_back(torch, function, (16, 64, 32, 32), (64,), (64,))


def gelu(torch: Any) -> Run:
    return there_and_back(torch, torch.nn.functional.gelu, (1024, 1024))


def softmax(torch: Any) -> Run:
    return there_and_back(torch, lambda x: torch.softmax(x, -1), (1024, 1024))


def max_pool(torch: Any) -> Run:
    def function(x: Any) -> Any:
        return torch.nn.functional.max_pool2d(x, 2)

    return there_and_back(torch, function, (16, 64, 32, 32))


def cross_entropy(torch: Any) -> Run:
    target = torch.randint(0, 50000, (20,))
    function = torch.nn.functional.cross_entropy
    return there_and_back(torch, lambda x: function(x, target), (20, 50000))


def adam(torch: Any) -> Run:
    parameters = [torch.nn.Parameter(torch.randn(16384)) for _ in range(40)]
    for parameter in parameters:
        parameter.grad = torch.randn(16384)
    step: Run = torch.optim.Adam(parameters, lr=1e-3, fused=True).step
    return step


def lstm(torch: Any) -> Run:
    network, head = torch.nn.LSTM(64, 64, num_layers=2), torch.nn.Linear(64, 8)
    parameters = [*network.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    x, target = torch.randn(32, 16, 64), torch.randint(0, 8, (16,))

    def run() -> None:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(head(network(x)[0][-1]), target)
        loss.backward()
        optimizer.step()

    return run


ROWS: dict[str, tuple[str, Callable[[Any], Run]]] = {
    "gemm": ("matrix product 512x512x512", gemm),
    "convolution": ("convolution 3x3, 64 channels, 32x32, batch 32, and back", convolution),
    "attention": ("attention (8, 8, 256, 64), and back", attention),
    "layer_norm": ("layer norm 1024x1024, and back", layer_norm),
    "batch_norm": ("batch norm (16, 64, 32, 32), and back", batch_norm),
    "gelu": ("gelu, 1M elements, and back", gelu),
    "softmax": ("softmax 1024x1024, and back", softmax),
    "max_pool": ("max pool 2x2 of (16, 64, 32, 32), and back", max_pool),
    "cross_entropy": ("cross entropy, 20 rows of 50k classes, and back", cross_entropy),
    "adam": ("Adam(fused=True), 40 parameters of 16k", adam),
    "lstm": ("LSTM 2x64, batch 16, 32 steps: a training step", lstm),
}


def smallest(run: Run, seconds: float, clock: Callable[[], float]) -> float:
    """Microseconds of the fastest of the calls that fit, at least two."""
    best, calls, end = float("inf"), 0, time.perf_counter() + seconds
    while calls < 2 or time.perf_counter() < end:
        began = clock()
        run()
        best = min(best, clock() - began)
        calls += 1
    return best * 1e6


def serve(side: str, threads: int, clock: Callable[[], float]) -> None:
    """Answer each line "row seconds" with the smallest time of that row."""
    sys.path.insert(0, str(ROOT))
    if side == "torch":
        import torch
    else:
        import mindtorch.torch as torch
    torch.set_num_threads(threads)
    runs: dict[str, Run] = {}
    for line in sys.stdin:
        row, seconds = line.split()
        if row not in runs:
            runs[row] = ROWS[row][1](torch)
            runs[row]()
        print(json.dumps(smallest(runs[row], float(seconds), clock)), flush=True)


def start(side: str, threads: int, clock: str) -> Any:
    """The process of a side; with one thread, both sides run on the same core."""
    command = [
        sys.executable, __file__, "--serve", side, "--threads", str(threads), "--clock", clock,
    ]  # fmt: skip
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    served = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    if threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(served.pid, {max(os.sched_getaffinity(0))})
    return served


def ask(served: Any, row: str, seconds: float) -> float:
    served.stdin.write(f"{row} {seconds}\n")
    served.stdin.flush()
    return float(json.loads(served.stdout.readline()))


def measure(row: str, sides: Any, rounds: int, seconds: float) -> tuple[float, float, float]:
    """(our smallest time, torch's, the median of the rounds' ratios)."""
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(ask(sides[0], row, seconds))
        theirs.append(ask(sides[1], row, seconds))
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return min(ours), min(theirs), statistics.median(ratios)


def table(arguments: Any) -> list[str]:
    lines = [
        "| operation, float32 | threads | ours (us) | torch (us) | ratio: minima | median |",
        "|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for threads in arguments.threads:
        clock = arguments.clock or ("processor" if threads == 1 else "wall")
        sides = [start(side, threads, clock) for side in ("mindtorch", "torch")]
        for row in arguments.only or ROWS:
            ours, theirs, median = measure(row, sides, arguments.rounds, arguments.seconds)
            lines.append(
                f"| {ROWS[row][0]} | {threads} | {ours:.0f} | {theirs:.0f} | "
                f"**{ours / theirs:.2f}** | {median:.2f} |"
            )
            print(lines[-1], flush=True)
        for served in sides:
            served.stdin.close()
            served.wait()
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0.06)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--clock", choices=("processor", "wall"))
    parser.add_argument("--only", nargs="+", choices=ROWS)
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        clock = time.perf_counter if arguments.clock == "wall" else time.process_time
        serve(arguments.serve, arguments.threads[0], clock)
        return
    lines = table(arguments)
    if arguments.write:
        page = PAGE.read_text()
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text("\n".join([f"{before}{BEGIN}", *lines, f"{END}{after}"]))


if __name__ == "__main__":
    main()
