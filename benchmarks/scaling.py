"""How the time of a compiled training step grows, and what share of the machine it uses.

    python benchmarks/scaling.py [--rounds 1] [--threads 1] [--only batch] [--write]

One table for each of batch size, width, depth and length. Arithmetic is that of the products and
convolutions, traffic what the compiled kernels read and write, the optimizer's update included;
both are counted in the compiled step's graphs and held against this machine's own peaks: a
product of 1024x1024 matrices, and a copy of 64 MiB.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from typing import Any

import numpy as np
from training import ROOT, machine, prepared, reported, write

_GPT = {"batch": 8, "length": 64, "layers": 2, "width": 128}
SERIES: dict[str, tuple[str, list[tuple[str, dict[str, Any]]]]] = {
    "batch": (
        "Batch size: MLP 784-512-512-10",
        [(str(n), {"model": "mlp", "sizes": {"batch": n}}) for n in (1, 16, 64, 256, 1024)],
    ),
    "width": (
        "Width: MLP 784-w-w-10, batch 64",
        [
            (str(n), {"model": "mlp", "sizes": {"sizes": (784, n, n, 10)}})
            for n in (32, 128, 512, 2048)
        ],
    ),
    "depth": (
        "Depth: MLP of layers of 256, batch 64",
        [
            (str(n), {"model": "mlp", "sizes": {"sizes": (784, *[256] * n, 10)}})
            for n in (1, 4, 16, 64)
        ],
    ),
    "parameters": (
        "Parameters: GPT of 2 layers, T=64, batch 8, of widths 64 to 512",
        [
            (str(n), {"model": "gpt", "sizes": {**_GPT, "width": n}})
            for n in (64, 128, 256, 512)
        ],
    ),
    "length": (
        "Length: GPT of 2 layers of 128, batch 8",
        [(str(n), {"model": "gpt", "sizes": {**_GPT, "length": n}}) for n in (16, 64, 256)],
    ),
}  # fmt: skip
_UPDATE_BYTES = {"mlp": 20, "gpt": 28}  # of SGD with momentum and of AdamW, for each parameter


def operations(node: Any) -> int:
    """Multiplications and additions of a product or convolution; 0 for other ops."""
    name, inputs, made = node.op.name, node.inputs, node.outputs[0].aval
    if name in ("linear", "matmul"):
        return int(2 * made.size * inputs[0].aval.shape[-1])
    if name in ("convolution", "convolution_input_gradient"):
        slopes = made if name == "convolution" else inputs[0].aval
        weight = inputs[1].aval
        return int(2 * slopes.size * weight.size // weight.shape[0])
    if name == "convolution_weight_gradient":
        return int(2 * inputs[0].aval.size * made.size // made.shape[0])
    return 0


def moved(node: Any) -> int:
    """Bytes that a node's kernel reads and writes at least."""
    avals = [v.aval for v in (*node.inputs, *node.outputs) if v is not None]
    return sum(a.size * a.dtype.itemsize for a in avals)


def counts(workload: dict[str, Any]) -> dict[str, int]:
    """Parameters, operations and bytes of one compiled step."""
    import mindtorch.torch as torch
    from mindtorch.engine.compile.explain import explain
    from tests.support.models import build

    modules, step = build(torch, workload["model"], **workload["sizes"])
    found = explain(step.update)()  # type: ignore[attr-defined]
    nodes = [node for graph in found.graphs for node in graph.nodes]
    parameters = sum(p.numel() for module in modules for p in module.parameters())
    return {
        "parameters": parameters,
        "operations": sum(map(operations, nodes)),
        "bytes": sum(map(moved, nodes)) + parameters * _UPDATE_BYTES[workload["model"]],
    }


def peaks(threads: int) -> dict[str, float]:
    """GFLOP/s of a product and GB/s of a copy, the best of several."""
    import mindtorch.torch as torch

    torch.set_num_threads(threads)
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    x = np.ones(2**24, np.float32)
    y = np.empty_like(x)
    product = min(seconds(lambda: a @ b) for _ in range(10))
    copy = min(seconds(lambda: np.copyto(y, x)) for _ in range(10))
    return {"rate": 2 * 1024**3 / product / 1e9, "bandwidth": 2 * x.nbytes / copy / 1e9}


def seconds(call: Any) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def child(side: str, workload: dict[str, Any], threads: int) -> None:
    """Print what one side measured."""
    if side == "peaks":
        print(json.dumps(peaks(threads)))
        return
    if side == "counts":
        sys.path.insert(0, str(ROOT))
        print(json.dumps(counts(workload)))
        return
    step = prepared(side, workload, threads)
    step()
    once = min(seconds(step) for _ in range(2))
    number = max(5, min(400, int(1.5 / once)))
    print(json.dumps([seconds(step) for _ in range(number)]))


def run(side: str, workload: dict[str, Any], threads: int) -> Any:
    """What ``child`` prints, in a process of its own."""
    return reported(__file__, ["--child", side, "--workload", json.dumps(workload)], threads)


def table(name: str, threads: int, rounds: int, peak: dict[str, float]) -> list[str]:
    """One series, ours and torch's eager step in turns."""
    title, points = SERIES[name]
    lines = [
        f"{title}, {threads} thread{'s' * (threads > 1)}", "",
        f"| {name} | parameters | compiled min / median (ms) | torch eager (ms) | ratio | "
        "GFLOP/s (share of peak) | GB/s (share of a copy's) |",
        "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for label, workload in points:
        held: dict[str, list[float]] = {"compiled": [], "torch": []}
        for _ in range(rounds):
            for side, times in held.items():
                times += run(side, workload, threads)
        known = run("counts", workload, threads)
        ours, theirs = min(held["compiled"]), min(held["torch"])
        rate, traffic = known["operations"] / ours / 1e9, known["bytes"] / ours / 1e9
        lines.append(
            f"| {label} | {known['parameters']} | {ours * 1e3:.2f} / "
            f"{statistics.median(held['compiled']) * 1e3:.2f} | {theirs * 1e3:.2f} / "
            f"{statistics.median(held['torch']) * 1e3:.2f} | **{ours / theirs:.2f}** | "
            f"{rate:.1f} ({rate / peak['rate']:.0%}) | "
            f"{traffic:.1f} ({traffic / peak['bandwidth']:.0%}) |"
        )
        print(lines[-1], flush=True)
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=list(SERIES), choices=list(SERIES))
    parser.add_argument("--write", action="store_true", help="write docs/performance.md's tables")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--workload", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, json.loads(arguments.workload), arguments.threads)
        return
    peak = run("peaks", {}, arguments.threads)
    lines = [
        f"Machine: {machine()}. Peaks: {peak['rate']:.0f} GFLOP/s in a product, "
        f"{peak['bandwidth']:.1f} GB/s in a copy.",
        "",
    ]
    print(lines[0], flush=True)
    for name in arguments.only:
        lines += table(name, arguments.threads, arguments.rounds, peak)
    if arguments.write:
        write(lines[:-1], "<!-- scaling measured -->", "<!-- scaling end -->")


if __name__ == "__main__":
    main()
