"""Prove and measure CUDA on a machine that has a GPU; writes docs/gpu.md.

    python benchmarks/cuda.py [--quick] [--out docs/gpu.md]

One command for a machine with numba, numba-cuda, cupy, real torch and no network:

1. the op table on the GPU against the CPU's kernels in float64,
2. the checks of tensors, memory, streams and errors (``tests/cuda_program.py``),
3. three training steps of the seven models against the CPU,
4. the card's ceilings: a large copy and a large matrix product, by cupy,
5. times against real torch on the same GPU, in turns, by device events: each side is a process of
   its own that waits for its turn, so that neither has the device while the other is timed.

Each part runs in a process of its own with a limit, and what fails is written down, not raised:
the page always says which parts ran.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SIDES = ("mindtorch", "torch")
HEADER = """# CUDA on a GPU

Written by `python benchmarks/cuda.py`.
"""


# --- one side of the measurements ----------------------------------------------------------------


def namespace(side: str) -> Any:
    """``mindtorch.torch``, or real torch."""
    if side == "torch":
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        return torch
    import mindtorch.torch

    return mindtorch.torch


def works(torch: Any, quick: bool) -> dict[str, tuple[Callable[[], Any], float, float]]:
    """What is timed, by name: (function, bytes that it must move, operations that it must do)."""
    functional = torch.nn.functional
    scale = 4 if quick else 1
    torch.manual_seed(0)

    def randn(*shape: int, dtype: Any = None) -> Any:
        return torch.randn(*shape, device="cuda", dtype=dtype or torch.float32)

    n = (1 << 26) // scale
    x, y, z = randn(n), randn(n), randn(n)
    rows = randn(16384 // scale, 4096)
    weight, bias = randn(4096), randn(4096)
    a, b = randn(4096 // scale, 4096), randn(4096, 4096)
    half = torch.float16
    ah, bh = a.to(half), b.to(half)
    image, kernel = randn(64 // scale, 64, 56, 56), randn(64, 64, 3, 3)
    index = torch.randint(0, 50000, (65536 // scale,), device="cuda")
    table, slopes = randn(50000, 256), randn(65536 // scale, 256)
    q, k, v = (randn(8, 16, 512, 64) for _ in range(3))
    size, width = x.numel() * 4, rows.numel() * 4
    m = a.shape[0]
    places = image.shape[0] * 56 * 56
    return {
        "copy 64M": (x.clone, 2.0 * size, 0),
        "add 64M": (lambda: x + y, 3.0 * size, 0),
        "chain of 5 elementwise ops": (
            lambda: torch.sigmoid((x * y + z).tanh() * 0.5), 4.0 * size, 0),
        "sum of all": (x.sum, 1.0 * size, 0),
        "sum of rows": (lambda: rows.sum(1), 1.0 * width, 0),
        "sum of columns": (lambda: rows.sum(0), 1.0 * width, 0),
        "softmax": (lambda: functional.softmax(rows, -1), 2.0 * width, 0),
        "layer_norm": (lambda: functional.layer_norm(rows, (4096,), weight, bias), 2.0 * width, 0),
        "transpose, copied": (lambda: rows.t().contiguous(), 2.0 * width, 0),
        "embedding": (lambda: functional.embedding(index, table), 2.0 * slopes.numel() * 4, 0),
        "index_add": (lambda: table.index_add(0, index, slopes), 3.0 * slopes.numel() * 4, 0),
        "sort 1M": (lambda: x[: 1 << 20].sort(), 0, 0),
        "cumsum of rows": (lambda: rows.cumsum(1), 2.0 * width, 0),
        "matmul float32": (lambda: a @ b, 0, 2.0 * m * 4096 * 4096),
        "matmul float16": (lambda: ah @ bh, 0, 2.0 * m * 4096 * 4096),
        "conv 3x3, 64 channels": (
            lambda: functional.conv2d(image, kernel, padding=1), 0, 2.0 * places * 64 * 64 * 9),
        "max_pool 2x2": (lambda: functional.max_pool2d(image, 2), 1.25 * image.numel() * 4, 0),
        "attention 512": (
            lambda: functional.scaled_dot_product_attention(q, k, v), 0,
            4.0 * 8 * 16 * 512 * 512 * 64),
    }  # fmt: skip


def steps(torch: Any) -> dict[str, Callable[[], Any]]:
    """A training step of each model, on the GPU, in its full size."""
    from tests.models import MODELS, build

    found = {}
    torch.set_default_device("cuda")
    try:
        for name in MODELS:
            found[f"step of {name}"] = build(torch, name)[1]
    finally:
        torch.set_default_device(None)
    return found


def milliseconds(torch: Any, function: Callable[[], Any], repeat: int) -> float:
    """The time of one call by device events, of ``repeat`` calls in a row."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(repeat):
        function()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / repeat


def serve(side: str, quick: bool) -> None:
    """Answer lines of JSON: {"time": name} with {"ms": ...}; the other side waits meanwhile."""
    torch = namespace(side)
    timed = works(torch, quick)
    functions = {name: work[0] for name, work in timed.items()} | steps(torch)
    facts = {name: (moved, done) for name, (_, moved, done) in timed.items()}
    print(json.dumps({"names": list(functions), "facts": facts}), flush=True)
    repeats: dict[str, int] = {}
    for line in sys.stdin:
        name = json.loads(line)["time"]
        try:
            if name.startswith("step"):
                torch.set_default_device("cuda")
            if name not in repeats:  # compile, and see how many calls fill 50 ms
                functions[name]()
                once = milliseconds(torch, functions[name], 2)
                repeats[name] = max(1, min(100, int(50 / max(once, 1e-3))))
            answer = {"ms": milliseconds(torch, functions[name], repeats[name])}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:200]}
        finally:
            torch.set_default_device(None)
        print(json.dumps(answer), flush=True)


# --- the whole -----------------------------------------------------------------------------------


def run(program: str, *arguments: str, limit: float = 1800) -> Any:
    """What a program prints last, read as JSON; {"error": ...} where it fails."""
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    command = [sys.executable, str(ROOT / program), *arguments]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, cwd=ROOT, check=False,
            timeout=limit,
        )  # fmt: skip
        return json.loads(done.stdout.strip().splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {limit:.0f} s"}
    except (IndexError, ValueError):
        return {"error": done.stderr[-600:]}


def ceilings() -> dict[str, Any]:
    """Bytes a second of a large copy, and operations a second of large products, by cupy."""
    import cupy

    def best(function: Callable[[], Any]) -> float:
        times = []
        for _ in range(20):
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            function()
            end.record()
            end.synchronize()
            times.append(cupy.cuda.get_elapsed_time(start, end) / 1e3)
        return float(sorted(times)[len(times) // 2])

    n, m = 1 << 28, 8192
    source, target = cupy.random.random(n // 8), cupy.empty(n // 8)
    found = {"copy GB/s": 2 * n / best(lambda: cupy.copyto(target, source)) / 1e9}
    for name in ("float32", "float16"):
        a = cupy.random.random((m, m)).astype(name)
        cupy.matmul(a, a)
        found[f"matmul {name} TFLOP/s"] = 2 * m**3 / best(lambda a=a: cupy.matmul(a, a)) / 1e12
    device = cupy.cuda.runtime.getDeviceProperties(0)
    return {"card": device["name"].decode(), **found}


class Side:
    """A process that times one side when it is asked to."""

    def __init__(self, side: str, quick: bool) -> None:
        command = [sys.executable, __file__, "--serve", side, *(["--quick"] if quick else [])]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
            env=dict(os.environ, PYTHONPATH=str(ROOT)),
        )  # fmt: skip
        self.hello = self.read()

    def read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the side has ended")
        return json.loads(line)

    def time(self, name: str) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"time": name}) + "\n")
        self.process.stdin.flush()
        return self.read()


def measure(quick: bool, rounds: int) -> dict[str, Any]:
    """The median time of each work on each side, taken in turns."""
    sides = {side: Side(side, quick) for side in SIDES}
    found: dict[str, Any] = {}
    for name in sides["mindtorch"].hello["names"]:
        times: dict[str, list[float]] = {side: [] for side in SIDES}
        errors = {}
        for _ in range(rounds):
            for side, process in sides.items():
                answer = process.time(name)
                if "ms" in answer:
                    times[side].append(answer["ms"])
                else:
                    errors[side] = answer["error"]
        medians = {side: sorted(t)[len(t) // 2] for side, t in times.items() if t}
        found[name] = {**medians, "errors": errors,
                       "facts": sides["mindtorch"].hello["facts"].get(name)}  # fmt: skip
    for process in sides.values():
        process.process.terminate()
    return found


def page(results: dict[str, Any]) -> str:
    """docs/gpu.md from the results."""
    lines = [HEADER, f"Machine: {results['machine']}.", ""]
    table = results["table"]
    lines += ["## Right", "", "| part | result |", "|---|---|"]
    if "error" in table:
        lines.append(f"| op table | did not run: {table['error']} |")
    else:
        differ = len(table["different"])
        lines.append(f"| op table | {table['count']} comparisons, {differ} differ |")
    program = results["program"]
    lines.append(f"| tensors | {program.get('checks')} checks, failed: "
                 f"{sorted(program.get('failed', program))} |")  # fmt: skip
    for name, found in results["models"].items():
        lines.append(f"| {name} | {json.dumps(found)} |")
    lines += ["", *[f"- {k}: {v}" for k, v in table.get("different", {}).items()], ""]
    lines += ["## Ceilings", "", f"{json.dumps(results['ceilings'])}", "", "## Times", "",
              "Median of turns, by device events; rate: of the bytes or operations that the work "
              "cannot avoid.", "", "| work | ms | torch ms | ratio | rate |",
              "|---|---|---|---|---|"]  # fmt: skip
    for name, found in results["times"].items():
        lines.append(_row(name, found))
    return "\n".join(lines) + "\n"


def _row(name: str, found: Any) -> str:
    if not isinstance(found, dict) or any(side not in found for side in SIDES):
        return f"| {name} | {json.dumps(found)[:160]} | | | |"
    mine, theirs = (found[side] for side in SIDES)
    moved, done = found.get("facts") or (0, 0)
    rate = f"{moved / mine / 1e6:.0f} GB/s" if moved else f"{done / mine / 1e9:.1f} TFLOP/s" if (
        done) else ""  # fmt: skip
    return f"| {name} | {mine:.3f} | {theirs:.3f} | {mine / theirs:.2f} | {rate} |"


def attempt(function: Callable[[], Any]) -> Any:
    """The function's result; {"error": ...} for whatever it raises."""
    try:
        return function()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:300]}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="smaller sizes, fewer turns")
    parser.add_argument("--out", default=str(ROOT / "docs" / "gpu.md"))
    parser.add_argument("--serve", choices=SIDES)
    options = parser.parse_args()
    if options.serve:
        sys.path.insert(0, str(ROOT))
        serve(options.serve, options.quick)
        return 0
    sys.path.insert(0, str(ROOT))
    from mindtorch.engine import cuda

    if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1" or not cuda.device_count():
        print("there is no GPU here: nothing was measured, docs/gpu.md stays as it is")
        return 1
    begun = time.time()
    machine = f"{platform.platform()}, Python {platform.python_version()}"
    results: dict[str, Any] = {"machine": machine}
    arguments = () if options.quick else ("--all",)
    results["table"] = run("tests/cuda_table.py", "--float64", *arguments)
    results["program"] = run("tests/cuda_program.py")
    results["models"] = run("tests/cuda_models.py")
    results["ceilings"] = attempt(ceilings)
    results["times"] = attempt(lambda: measure(options.quick, 3 if options.quick else 9))
    Path(options.out).write_text(page(results))
    print(f"{options.out} written after {time.time() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
