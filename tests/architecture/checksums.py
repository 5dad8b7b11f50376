"""Checksums of what seven models learn in six steps, eager, compiled and under lazy mode.

    python tests/architecture/checksums.py > after.txt
    PYTHONPATH=/path/to/other/checkout python tests/architecture/checksums.py > before.txt

Two checkouts that compute the same bits print the same lines on the same machine. Other machines
have other instruction sets and other bits, which is why nothing of this is stored as a test.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent.parent
WAYS = ("eager", "compiled", "lazy")
STEPS = 6

# The workloads of benchmarks/training.py; the larger ones in a smaller batch.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "mlp": ("mlp", {"batch": 64}),
    "lenet": ("lenet", {"batch": 16}),
    "gpt": ("gpt", {"batch": 4, "length": 64, "layers": 4, "width": 128}),
    "resnet18": ("resnet18", {"batch": 4}),
    "lstm": ("layered_lstm", {}),
    "small_gpt": ("gpt", {}),
    "tiny": ("mlp", {"batch": 32, "sizes": (4, 64, 64, 2), "adam": True}),
}


def checksum(parts: list[bytes]) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def models() -> Any:
    """The module of the models, of this checkout for both sides."""
    path = next((REPOSITORY / "tests").rglob("models.py"))
    spec = importlib.util.spec_from_file_location("models", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def line(name: str, way: str, steps: int) -> str:
    """The checksums of a model's losses and of its parameters and buffers after some steps."""
    import mindtorch.torch as torch

    torch.set_num_threads(1)
    model, sizes = MODELS[name]
    modules, step = models().build(torch, model, **sizes)
    update = torch.compile(step.update) if way == "compiled" else step.update
    losses = [update().detach().numpy().copy() for _ in range(steps)]
    state = [
        value.detach().numpy().tobytes()
        for module in modules
        for _, value in sorted(module.state_dict().items())
    ]
    text = " ".join(f"{float(loss):.6f}" for loss in losses)
    sums = f"losses {checksum([x.tobytes() for x in losses])} parameters {checksum(state)}"
    return f"{name:<10} {way:<9} {sums} ({text})"


def main() -> None:
    parser = argparse.ArgumentParser(description="Checksums of seven models.")
    parser.add_argument("--only", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        name, way = arguments.child
        print(line(name, way, arguments.steps))
        return
    for name in arguments.only:
        for way in WAYS:
            path = os.environ.get("PYTHONPATH") or str(REPOSITORY)
            environment = dict(
                os.environ, PYTHONPATH=path, OMP_NUM_THREADS="1",
                MINDTORCH_GRAPH=str(int(way == "lazy")),
            )  # fmt: skip
            command = [sys.executable, __file__, "--child", name, way]
            command += ["--steps", str(arguments.steps)]
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False
            )
            said = done.stderr.strip().splitlines() or ["nothing"]
            print(done.stdout.strip() or f"{name:<10} {way:<9} failed: {said[-1]}", flush=True)


if __name__ == "__main__":
    main()
