"""Time single calls of 400 functions on us and on torch, at three sizes, worst first.

One process and one thread; the two take turns, and of each the least processor time of a call
counts. A ratio is ours / torch's: below 1 we are faster.

    python benchmarks/ops.py [--size 10 1000] [--only softmax] [--worst 40] [--back] [--rounds N]

``--back`` times a call together with the gradient of what it returns. ``--record`` adds the ratios
to a JSON file, and prints how they differ from those that it held.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _op_calls import CALLS, DIFFERENTIABLE, SIZES, named
from training import ROOT, machine

sys.path.insert(0, str(ROOT))
ours: Any = importlib.import_module("mindtorch.torch")
theirs: Any = importlib.import_module("torch")

LIMIT = 1.3
BURST = 2e-4  # seconds of one turn, at least one call
LONGEST = 0.1  # seconds of all rounds of a call, unless three take longer


def back(function: Callable[[], Any], leaves: list[Any]) -> Callable[[], None]:
    """``function()``, and the gradient of its first result."""

    def result() -> Any:
        found = function()
        return found if hasattr(found, "backward") else found[0]

    slope = result().detach().clone()

    def run() -> None:
        result().backward(slope)
        for leaf in leaves:
            leaf.grad = None

    return run


def call_of(torch: Any, call: str, size: int, gradient: bool) -> Callable[[], Any]:
    names = named(torch, call, size, gradient)
    function: Callable[[], Any] = eval(f"lambda: {call}", names)
    if not gradient:
        return function
    return back(function, [x for x in names.values() if getattr(x, "requires_grad", False)])


def seconds(function: Callable[[], Any], number: int) -> float:
    turns = range(number)
    began = time.thread_time()
    for _ in turns:
        function()
    return (time.thread_time() - began) / number


def compared(call: str, size: int, gradient: bool, rounds: int) -> tuple[float, float]:
    """The least seconds of a call, ours and torch's, of at most so many rounds."""
    pair = [call_of(torch, call, size, gradient) for torch in (ours, theirs)]
    least = []
    for function in pair:
        function()
        best = seconds(function, 1)
        for _ in range(6 if best < LONGEST else 1):  # plans, kernels, recorded calls
            best = min(best, seconds(function, 1))
        least.append(best)
    number = max(1, min(500, int(BURST / min(least))))  # the same: caches know what came before
    gc.disable()
    for _ in range(min(rounds, max(3, int(LONGEST / sum(least))))):
        for side, function in enumerate(pair):
            least[side] = min(least[side], seconds(function, number))
    gc.enable()
    return least[0], least[1]


def measured(arguments: argparse.Namespace) -> list[tuple[float, str, int, float, float]]:
    """(ratio, call, size, our seconds, torch's seconds), worst first; failures are printed."""
    rows = []
    for group, calls in CALLS.items():
        if arguments.back and group not in DIFFERENTIABLE:
            continue
        for call in calls:
            if not any(word == group or word in call for word in arguments.only):
                continue
            for size in arguments.size:
                try:
                    mine, other = compared(call, size, arguments.back, arguments.rounds)
                except Exception as error:
                    gc.enable()
                    print(f"failed: {call}, {size}: {error!r:.150}", flush=True)
                    continue
                rows.append((mine / other, call, size, mine, other))
                if arguments.verbose:
                    print(f"{mine / other:.2f} {call}, {size}", file=sys.stderr, flush=True)
    return sorted(rows, reverse=True)


def kept(path: Path, rows: list[tuple[float, str, int, float, float]], gradient: bool) -> None:
    """Add the ratios to the file, and print those that changed by a tenth."""
    before = json.loads(path.read_text()) if path.exists() else {}
    for ratio, call, size, *_ in rows:
        key = f"{call}, {size}{', back' * gradient}"
        old = before.get(key, ratio)
        if not 0.9 < ratio / old < 1.1:
            print(f"{key:<60} {old:>7.2f} -> {ratio:.2f}")
        before[key] = ratio
    path.write_text(json.dumps(before, indent=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", type=int, nargs="+", default=SIZES, choices=SIZES, metavar="N")
    parser.add_argument("--only", nargs="+", default=[""], help="groups, or parts of calls")
    parser.add_argument("--worst", type=int, default=0, help="print so many; 0: all above 1.3")
    parser.add_argument("--back", action="store_true", help="with gradients")
    parser.add_argument("--verbose", action="store_true", help="each ratio as it is measured")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--record", type=Path, help="a file of ratios")
    arguments = parser.parse_args()
    ours.set_num_threads(1)
    theirs.set_num_threads(1)
    rows = measured(arguments)
    if arguments.record:
        kept(arguments.record, rows, arguments.back)
    print(f"{machine()}; one thread, microseconds of processor time")
    print(f"{'':<70} {'size':>8} {'ours':>10} {'torch':>10} {'ratio':>6}")
    above = [row for row in rows if row[0] > LIMIT]
    for ratio, call, size, mine, other in rows[: arguments.worst] or above:
        print(f"{call:<70} {size:>8} {mine * 1e6:>10.2f} {other * 1e6:>10.2f} {ratio:>6.2f}")
    for size in arguments.size:
        ratios = [row[0] for row in rows if row[2] == size]
        if ratios:
            count = sum(ratio > LIMIT for ratio in ratios)
            middle = statistics.geometric_mean(ratios)
            print(f"{size}: {count} of {len(ratios)} above {LIMIT}, geometric mean {middle:.2f}")


if __name__ == "__main__":
    main()
