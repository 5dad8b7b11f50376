"""Time models of ordinary size: a training step, and inference of one example and of many.

Processor time, so that other programs on the machine count little; each measurement is a process of
its own, and the sides take turns. Printed are the minima over all rounds, their ratios to torch's
eager mode (below 1 we are faster), and the most memory a process has held.

    python benchmarks/larger_models.py [--rounds 2] [--threads 1 2] [--only resnet50 bert]
        [--what train infer] [--sides mindtorch compiled torch torch.compile]
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from typing import Any

from _larger_models import build
from training import machine, namespace, peak_memory, reported, summary

SIDES = ("mindtorch", "compiled", "torch")
# of a training step, and of inference with many examples
BATCHES = {
    "resnet50": (8, 32), "vit": (8, 32), "bert": (8, 32), "gpt2": (1, 4), "unet": (8, 32),
    "lstm": (20, 32), "mobilenet_v2": (8, 32), "dlrm": (128, 1024),
}  # fmt: skip
TIMED, SECONDS = 12, 20.0  # calls at most, and seconds after which no further one begins


def called(side: str, name: str, what: str, batch: int) -> Any:
    """The function that is timed."""
    torch = namespace(side)
    model, inputs, loss_of = build(torch, name, batch)
    if what == "infer":
        model.eval()
        forward = model if side in ("mindtorch", "torch") else torch.compile(model)

        def infer() -> Any:
            with torch.no_grad():
                return forward(*inputs)

        return infer
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(model(*inputs))
        loss.backward()
        optimizer.step()
        return loss

    if side in ("mindtorch", "torch"):
        return step
    return torch.compile(step)


def child(arguments: argparse.Namespace) -> None:
    """Measure one side, and print what came."""
    threads = arguments.threads[0]
    namespace(arguments.side).set_num_threads(threads)
    function = called(arguments.side, arguments.child, arguments.what[0], arguments.batch)
    began = time.perf_counter()
    function()
    first = time.perf_counter() - began
    function()
    times: list[float] = []
    began = time.perf_counter()
    while len(times) < TIMED and (len(times) < 2 or time.perf_counter() - began < SECONDS):
        start = time.process_time()
        function()
        times.append((time.process_time() - start) / threads)
    print(json.dumps({"times": times, "first": first, "memory": peak_memory()}))


def measured(
    name: str, what: str, batch: int, threads: int, arguments: argparse.Namespace
) -> str:
    """A line of the table."""
    found: dict[str, list[Any]] = {side: [] for side in arguments.sides}
    for _ in range(arguments.rounds):
        for side, held in found.items():
            command = [
                "--child", name, "--what", what, "--batch", str(batch), "--side", side,
            ]  # fmt: skip
            held.append(reported(__file__, command, threads))
    every = {side: summary(held) for side, held in found.items()}
    theirs = every["torch"][0]
    times = " | ".join(f"{s[0] * 1e3:.1f} ({s[0] / theirs:.2f})" for s in every.values())
    memory = " / ".join(f"{held / 2**20:.0f}" for _, _, held in every.values())
    return f"| {name}, {what}, batch {batch} | {threads} | {times} | {memory} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--only", nargs="+", choices=BATCHES, default=list(BATCHES))
    parser.add_argument("--what", nargs="+", choices=("train", "infer"), default=["train", "infer"])
    parser.add_argument("--sides", nargs="+", default=list(SIDES))
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--side", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments)
        return
    if "torch" not in arguments.sides:
        parser.error("--sides needs torch, to which the others are compared")
    print(f"{machine()}; processor time by threads, minima")
    titles = ["what", "threads", *[f"{s} (ms, ratio)" for s in arguments.sides], "MiB"]
    print(f"| {' | '.join(titles)} |")
    print("|---" * len(titles) + "|")
    for name in arguments.only:
        train, many = BATCHES[name]
        batches = {"train": (train,), "infer": (1, many)}
        for what in arguments.what:
            chosen = (arguments.batch,) if arguments.batch else batches[what]
            for batch, threads in itertools.product(chosen, arguments.threads):
                print(measured(name, what, batch, threads, arguments), flush=True)


if __name__ == "__main__":
    main()
