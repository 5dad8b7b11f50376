"""Count the Python frames of warm calls, and the wrappers around public functions.

    python tests/architecture/measured_calls.py          # a table
    python tests/architecture/measured_calls.py --json   # for counts.py
"""

from __future__ import annotations

import functools
import gc
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = str(Path(__file__).resolve().parent.parent.parent) + "/"
sys.path.insert(0, ROOT)  # this checkout, whichever is installed

import mindtorch.torch as torch  # noqa: E402
import mindtorch.torch.nn.functional as F  # noqa: E402, N812

CALLS = 5


def frames_of(call: Callable[[], Any]) -> list[tuple[str, str]]:
    """(file, function) of each frame of ours that a call enters, in order."""
    found: list[tuple[str, str]] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            code = frame.f_code
            if not code.co_filename.endswith("measured_calls.py"):
                found.append((code.co_filename.removeprefix(ROOT), code.co_name))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def moves(frames: list[tuple[str, str]]) -> int:
    """How often the next frame is of another file."""
    return sum(a[0] != b[0] for a, b in itertools.pairwise(frames))


def cases() -> dict[str, tuple[str, Callable[[], Any]]]:
    """By what they are: the function's name, and a call of it on small tensors."""
    found: dict[str, tuple[str, Callable[[], Any]]] = {}
    for tracked in (False, True):
        x = torch.randn(8, 16, requires_grad=tracked)
        weight = torch.randn(4, 16, requires_grad=tracked)
        bias = torch.randn(4, requires_grad=tracked)
        calls: dict[str, tuple[str, Callable[[], Any]]] = {
            "torch.relu": ("relu", functools.partial(torch.relu, x)),
            "F.relu": ("relu", functools.partial(F.relu, x)),
            "F.linear": ("linear", functools.partial(F.linear, x, weight, bias)),
            "torch.softmax": ("softmax", functools.partial(torch.softmax, x, -1)),
            "F.softmax": ("softmax", functools.partial(F.softmax, x, -1)),
            "torch.sum": ("sum", functools.partial(torch.sum, x)),
            "x.sum": ("sum", x.sum),
        }
        suffix = ", tracked" if tracked else ""
        found.update({name + suffix: call for name, call in calls.items()})
    return found


def backward_frames() -> list[list[tuple[str, str]]]:
    """The frames of the backward passes of the same three nodes, one after the other."""
    weight = torch.randn(4, 16, requires_grad=True)
    bias = torch.randn(4, requires_grad=True)
    x = torch.randn(8, 16)
    found = []
    for _ in range(CALLS):
        weight.grad = bias.grad = None
        loss = torch.relu(F.linear(x, weight, bias)).sum()
        found.append(frames_of(loss.backward))
    return found


def wrappers(function: Any) -> int:
    """How many wrappers stand around a function's body."""
    depth = 0
    while (inner := getattr(function, "__wrapped__", None)) is not None:
        function, depth = inner, depth + 1
    return depth


def public_functions() -> dict[str, Any]:
    """The functions that users call: those of torch and of torch.nn.functional."""
    found = {}
    for label, module in (("torch", torch), ("F", F)):
        for name in dir(module):
            value = getattr(module, name)
            if callable(value) and not isinstance(value, type) and not name.startswith("_"):
                found[f"{label}.{name}"] = value
    return found


def known_names() -> list[str]:
    """The names of ops and of public functions."""
    tables = [getattr(module, "OPS", None) for module in list(sys.modules.values())]
    ops = next(table for table in tables if isinstance(table, dict))
    return sorted({*ops, *(name.partition(".")[2] for name in public_functions())})


def measure() -> dict[str, Any]:
    """The counts with the places they come from, and the known names."""
    gc.disable()  # what it calls would count
    longer, nameless, warm = [], [], []
    for name, (word, call) in cases().items():
        every = [frames_of(call) for _ in range(CALLS)]
        first, third = every[1], every[3]
        if len(first) > len(third):
            longer.append(f"{name}: {len(first)} frames at the 2nd call, {len(third)} at the 4th")
        if not any(word in function for _, function in third):
            nameless.append(f"{name}: {' > '.join(f'{f}:{n}' for f, n in third)}")
        warm.append(f"{name}: {len(third)} frames")
    backward = backward_frames()
    depths = {name: wrappers(function) for name, function in public_functions().items()}
    several = sorted(f"{name}: {depth}" for name, depth in depths.items() if depth > 1)
    deepest = max(depths.values())
    most = [name for name, depth in depths.items() if depth == deepest]
    total = sum(int(text.split(": ")[1].split()[0]) for text in warm)
    paths = [f"{file}:{function}" for file, function in backward[-1]]
    return {
        "counts": {
            "calls whose first warm call has more frames": (len(longer), longer),
            "calls without the function's name in the stack": (len(nameless), nameless),
            "frames of the warm calls in all": (total, warm),
            "moves between files in a warm backward pass": (moves(backward[-1]), paths),
            "wrappers around a public function, at most": (deepest, most),
            "public functions in several wrappers": (len(several), several),
        },
        "names": known_names(),
    }


def main() -> None:
    found = measure()
    if "--json" in sys.argv:
        print(json.dumps(found))
        return
    for name, (value, places) in found["counts"].items():
        print(f"{name}: {value}")
        for place in places[:30]:
            print(f"    {place}")


if __name__ == "__main__":
    main()
