"""The card's ceilings: a large copy and large matrix products, by cupy, else by real torch.

Prints a JSON object for each figure as soon as it is known; the last has "done".
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy


class Cupy:
    """Figures by cupy."""

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy
        self.name = f"cupy {cupy.__version__}"

    def milliseconds(self, function: Callable[[], Any]) -> float:
        start, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        start.record()
        function()
        end.record()
        end.synchronize()
        return float(self.cupy.cuda.get_elapsed_time(start, end))

    def copy(self, n: int) -> Callable[[], Any]:
        source, target = (self.cupy.zeros(n, self.cupy.float32) for _ in range(2))
        return lambda: self.cupy.copyto(target, source)

    def product(self, n: int, dtype: str) -> Callable[[], Any]:
        numbers = numpy.random.default_rng(0).random((2, n, n), numpy.float32)
        a, b = map(self.cupy.asarray, numbers.astype(dtype))  # cupy's own need two more libraries
        return lambda: self.cupy.matmul(a, b)


class Torch:
    """Figures by a CUDA build of torch."""

    def __init__(self) -> None:
        import torch

        if not torch.cuda.is_available():
            raise RuntimeError(f"torch {torch.__version__} finds no CUDA device")
        torch.backends.cuda.matmul.allow_tf32 = False
        self.torch: Any = torch
        self.name = f"torch {torch.__version__}"

    def milliseconds(self, function: Callable[[], Any]) -> float:
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end))

    def copy(self, n: int) -> Callable[[], Any]:
        source, target = (self.torch.zeros(n, device="cuda") for _ in range(2))
        return lambda: target.copy_(source)

    def product(self, n: int, dtype: str) -> Callable[[], Any]:
        kind = getattr(self.torch, dtype)
        a, b = (self.torch.rand(n, n, device="cuda").to(kind) for _ in range(2))
        return lambda: a @ b


def say(name: str, value: Any) -> None:
    print(json.dumps({name: value}), flush=True)


def library() -> Any:
    """The first of cupy and torch that works."""
    reasons = []
    for kind in (Cupy, Torch):
        try:
            found = kind()
            found.milliseconds(found.copy(16))
            return found
        except Exception as error:
            reasons.append(f"{kind.__name__}: {type(error).__name__}: {error}"[:200])
    raise RuntimeError("; ".join(reasons))


def median(measure: Callable[[], float], count: int = 15) -> float:
    for _ in range(3):
        measure()
    return sorted(measure() for _ in range(count))[count // 2]


def main() -> None:
    small = "--small" in sys.argv
    try:
        vendor = library()
    except RuntimeError as error:
        say("error", str(error))
        say("done", True)
        return
    say("by", vendor.name)
    n, m = (64, 8) if small else (1 << 28, 8192)
    works: list[tuple[str, Callable[[], Any], float]] = [
        ("copy GB/s", lambda: vendor.copy(n), 8 * n / 1e6),
        *[(f"matmul {d} TFLOP/s", lambda d=d: vendor.product(m, d), 2 * m**3 / 1e9)
          for d in ("float32", "float16")],
    ]  # fmt: skip
    for name, make, amount in works:
        try:
            work = make()
            say(name, round(amount / median(lambda w=work: vendor.milliseconds(w)), 1))
        except Exception as error:
            say(name, f"failed: {type(error).__name__}: {error}"[:200])
    say("done", True)


if __name__ == "__main__":
    main()
