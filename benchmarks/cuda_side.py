"""One side of ``benchmarks/cuda.py``: times works on the GPU when it is asked to.

    python benchmarks/cuda_side.py mindtorch|torch --size full|quick|tiny

Prints {"names": [...], "device": ...}; then answers each line {"time": name} with {"ms": ...} or
{"error": ...}. A work's tensors are made when it is first timed, so that one that cannot be made
spoils nothing else. ``"dead"`` in an answer says that the device's context is lost and the process
must be started again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SIDES = ("mindtorch", "torch")
GRAPHED = ("mlp", "lenet", "gpt", "resnet18")
SCALE = {"full": 1, "quick": 4, "tiny": 1 << 20}


class Work(NamedTuple):
    """What is timed, the bytes that it must move and the operations that it must do."""

    run: Callable[[], Any]
    moved: float = 0
    done: float = 0


def namespace(side: str) -> Any:
    """``mindtorch.torch``, or real torch, both with float32 products in float32.

    Raises:
        RuntimeError: this torch has no CUDA.
    """
    if side == "mindtorch":
        import mindtorch.torch as torch
    else:
        import torch  # type: ignore[no-redef]

        if not torch.cuda.is_available():
            raise RuntimeError(f"torch {torch.__version__} finds no CUDA device")
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    return torch


class Works:
    """The works of one namespace, each made when asked for."""

    def __init__(self, torch: Any, size: str) -> None:
        self.torch = torch
        self.size = size
        self.functional = torch.nn.functional
        self.n = max((1 << 26) // SCALE[size], 64)
        self.rows = max(16384 // SCALE[size], 4)
        self.width = 8 if size == "tiny" else 4096
        self.made: dict[str, Work] = {}

    def names(self) -> list[str]:
        from tests.support.models import MODELS

        own = [name for name in TABLE if self.size != "tiny" or name in TINY]
        models = ("mlp",) if self.size == "tiny" else tuple(MODELS)
        own += [f"step of {name}" for name in models]
        compiled = ("mlp",) if self.size == "tiny" else GRAPHED
        return own + [f"step of {n}, {how}" for n in compiled for how in ("compiled", "CUDA graph")]

    def work(self, name: str) -> Work:
        if name not in self.made:
            self.made.clear()  # one work's memory at a time
            self.torch.manual_seed(0)
            if name.startswith("step of "):
                model, _, how = name.removeprefix("step of ").partition(", ")
                self.made[name] = self.step(model, how)
            else:
                self.made[name] = TABLE[name](self)
        return self.made[name]

    def randn(self, *shape: int, dtype: Any = None) -> Any:
        return self.torch.randn(*shape, device="cuda").to(dtype or self.torch.float32)

    def matrix(self) -> Any:
        return self.randn(self.rows, self.width)

    def step(self, model: str, how: str) -> Work:
        """A training step on the GPU; compiled as each side's users would."""
        from tests.programs.cuda_models import TINY as SMALL
        from tests.support.models import build

        torch = self.torch
        sizes = SMALL[model] if self.size == "tiny" else {}
        torch.set_default_device("cuda")
        modules, step = build(torch, model, **sizes)
        run = getattr(step, "update", step)
        mode = "reduce-overhead" if how == "CUDA graph" else None
        if how and torch.__name__ == "torch":
            for module in modules:
                module.compile(mode=mode)
        elif how:
            run = torch.compile(run, fullgraph=True, mode=mode)
        return Work(run)

    def product(self, dtype: Any) -> Work:
        n = self.width
        a, b = self.randn(n, n, dtype=dtype), self.randn(n, n, dtype=dtype)
        return Work(lambda: a @ b, 0, 2.0 * n**3)


def _vectors(w: Works, count: int) -> list[Any]:
    return [w.randn(w.n) for _ in range(count)]


def _copy(w: Works) -> Work:
    return Work(w.randn(w.n).clone, 8.0 * w.n)


def _add(w: Works) -> Work:
    x, y = _vectors(w, 2)
    return Work(lambda: x + y, 12.0 * w.n)


def _chain(w: Works) -> Work:
    x, y, z = _vectors(w, 3)
    return Work(lambda: w.torch.sigmoid((x * y + z).tanh() * 0.5), 16.0 * w.n)


def _chain_compiled(w: Works) -> Work:
    x, y, z = _vectors(w, 3)
    torch = w.torch
    chain = torch.compile(lambda a, b, c: torch.sigmoid((a * b + c).tanh() * 0.5))
    return Work(lambda: chain(x, y, z), 16.0 * w.n)


def _sum(w: Works) -> Work:
    return Work(w.randn(w.n).sum, 4.0 * w.n)


def _of_rows(
    make: Callable[[Works, Any], Callable[[], Any]], passes: float
) -> Callable[[Works], Work]:
    def work(w: Works) -> Work:
        x = w.matrix()
        return Work(make(w, x), passes * x.numel() * 4)

    return work


def _layer_norm(w: Works, x: Any) -> Callable[[], Any]:
    weight, bias = w.randn(w.width), w.randn(w.width)
    return lambda: w.functional.layer_norm(x, (w.width,), weight, bias)


def _embedding(w: Works) -> Work:
    table = w.randn(w.n // 1024 + 8, 256)
    index = w.torch.randint(0, table.shape[0], (w.rows * 4,), device="cuda")
    return Work(lambda: w.functional.embedding(index, table), 2.0 * index.numel() * 1024)


def _index_add(w: Works) -> Work:
    table = w.randn(w.n // 1024 + 8, 256)
    index = w.torch.randint(0, table.shape[0], (w.rows * 4,), device="cuda")
    given = w.randn(index.numel(), 256)
    return Work(lambda: table.index_add(0, index, given),
                (2.0 * table.numel() + given.numel()) * 4)  # fmt: skip


def _sort(w: Works) -> Work:
    x = w.randn(min(w.n, 1 << 20))
    return Work(x.sort)


def _convolution(dtype: str) -> Callable[[Works], Work]:
    def work(w: Works) -> Work:
        kind = getattr(w.torch, dtype)
        batch, side, c = max(64 // SCALE[w.size], 1), 56, 64
        if w.size == "tiny":
            side, c = 4, 2
        x, k = w.randn(batch, c, side, side, dtype=kind), w.randn(c, c, 3, 3, dtype=kind)
        return Work(lambda: w.functional.conv2d(x, k, padding=1), 0,
                    2.0 * batch * side * side * c * c * 9)  # fmt: skip

    return work


def _max_pool(w: Works) -> Work:
    x = w.randn(max(64 // SCALE[w.size], 1), 64, 56, 56)
    return Work(lambda: w.functional.max_pool2d(x, 2), 1.25 * x.numel() * 4)


def _attention(w: Works) -> Work:
    q, k, v = (w.randn(8, 16, 512, 64) for _ in range(3))
    return Work(lambda: w.functional.scaled_dot_product_attention(q, k, v), 0,
                4.0 * 8 * 16 * 512 * 512 * 64)  # fmt: skip


TABLE: dict[str, Callable[[Works], Work]] = {
    "copy 64M": _copy,
    "add 64M": _add,
    "chain of 5 elementwise ops": _chain,
    "the same chain, compiled": _chain_compiled,
    "sum of all": _sum,
    "sum of rows": _of_rows(lambda w, x: lambda: x.sum(1), 1),
    "sum of columns": _of_rows(lambda w, x: lambda: x.sum(0), 1),
    "softmax": _of_rows(lambda w, x: lambda: w.functional.softmax(x, -1), 2),
    "layer_norm": _of_rows(_layer_norm, 2),
    "transpose, copied": _of_rows(lambda w, x: lambda: x.t().contiguous(), 2),
    "cumsum of rows": _of_rows(lambda w, x: lambda: x.cumsum(1), 2),
    "embedding": _embedding,
    "index_add": _index_add,
    "sort 1M": _sort,
    "matmul float32": lambda w: w.product(w.torch.float32),
    "matmul float16": lambda w: w.product(w.torch.float16),
    "matmul bfloat16": lambda w: w.product(w.torch.bfloat16),
    "conv 3x3, 64 channels": _convolution("float32"),
    "conv 3x3, 64 channels, float16": _convolution("float16"),
    "max_pool 2x2": _max_pool,
    "attention 512": _attention,
}
TINY = ("copy 64M", "the same chain, compiled", "matmul float32")


def milliseconds(torch: Any, function: Callable[[], Any], repeat: int) -> float:
    """The time of one call by device events, of ``repeat`` calls in a row."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(repeat):
        function()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / repeat


def lost(torch: Any) -> bool:
    """Whether the device does nothing more for this process."""
    try:
        torch.set_default_device(None)
        torch.cuda.synchronize()
        return bool((torch.ones(1, device="cuda") + 1).item() != 2)
    except Exception:
        return True


class Timer:
    """Answers for one namespace."""

    def __init__(self, torch: Any, size: str) -> None:
        self.torch = torch
        self.works = Works(torch, size)
        self.repeats: dict[str, int] = {}

    def answer(self, name: str) -> dict[str, Any]:
        try:
            work = self.works.work(name)
            if name not in self.repeats:  # compile, and see how many calls fill 50 ms
                began = time.perf_counter()
                for _ in range(3):
                    work.run()
                once = milliseconds(self.torch, work.run, 2)
                self.repeats[name] = max(1, min(100, int(50 / max(once, 1e-3))))
                first = time.perf_counter() - began
            else:
                first = None
            found = milliseconds(self.torch, work.run, self.repeats[name])
            return {"ms": found, "moved": work.moved, "done": work.done, "first": first}
        except Exception as error:
            self.works.made.clear()
            text = f"{type(error).__name__}: {error}"[:300]
            return {"error": text, "dead": lost(self.torch)}
        finally:
            self.torch.set_default_device(None)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=SIDES)
    parser.add_argument("--size", choices=tuple(SCALE), default="full")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if options.size == "tiny":
        sys.setswitchinterval(1e-4)  # the simulator's threads wait for one another
    torch = namespace(options.side)
    timer = Timer(torch, options.size)
    hello = {"names": timer.works.names(), "version": torch.__version__,
             "device": torch.cuda.get_device_name()}  # fmt: skip
    print(json.dumps(hello), flush=True)
    for line in sys.stdin:
        print(json.dumps(timer.answer(json.loads(line)["time"])), flush=True)


if __name__ == "__main__":
    main()
