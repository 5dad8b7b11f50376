"""Summary folders with made-up trainings and a server of their pages, for tests and browsers."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch.insight.run_file import RunFile
from mindtorch.torch.utils.tensorboard import SummaryWriter
from tests.support.paths import ROOT

__all__ = ["EVIL", "make_run", "module_rows", "served"]

# a text that tries to run in the browser: as HTML, in a template of Vue's, in one of JavaScript's
EVIL = (
    "<img src=x onerror=\"document.title='broken into'\">{{document.title='broken into'}}"
    "`${document.title='broken into'}"
)


def module_rows(layers: int, blocks: int = 4) -> list[dict[str, Any]]:
    """Nodes of a network with `layers` stages of `blocks` blocks of three modules."""
    rows: list[dict[str, Any]] = []
    last = ""
    for layer in range(layers):
        rows.append({"path": f"layer{layer}", "kind": "Sequential", "seconds": 0.004})
        for block in range(blocks):
            base = f"layer{layer}/{block}"
            rows.append({"path": base, "kind": "Block", "seconds": 0.001})
            for name in ("conv", "norm", "act"):
                path = f"{base}/{name}"
                rows.append({
                    "path": path, "kind": name.title(), "inputs": [last] if last else [],
                    "shape": "8x16x32x32", "seconds": 0.0003, "parameters": 432,
                })  # fmt: skip
                last = path
    return rows


def make_run(
    folder: Path, number: int = 0, steps: int = 60, tensors: int = 4, layers: int = 3,
    extra_tag: str = "",
) -> Path:  # fmt: skip
    """A training with everything that the pages show."""
    random = np.random.default_rng(number)
    rate = [0.1, 0.03, 0.01][number % 3]
    writer = SummaryWriter(str(folder), flush_secs=1)
    for step in range(1, steps + 1):
        loss = 2 * math.exp(-step * rate / 4) + 0.1 * random.random()
        writer.add_scalar("loss", loss, step)
        writer.add_scalar("accuracy", 1 - loss / 2.2, step)
        if extra_tag:
            writer.add_scalar(extra_tag, float("nan") if step > steps // 2 else loss, step)
        if step % max(steps // 10, 1) == 0:
            for at in range(tensors):
                values = random.standard_normal(200) * (1 + at) * math.exp(-step / steps)
                writer.add_histogram(f"parameters/layer{at // 2}.{at % 2}.weight", values, step)
            picture = random.random((3, 16, 16)) * step / steps
            writer.add_image("inputs", picture, step)
            writer.add_text("sample", f"step {step}: {EVIL} *a text*", step)
    writer.close()
    own = RunFile(folder)
    own.add(
        "lineage",
        parameters={"lr": rate, "optimizer": ["SGD", "Adam"][number % 2], "layers": layers},
        code={"script": "train.py", "commit": f"{number % 4}" * 40, "changed": False},
        data=[{"name": "train", "path": "/data/digits", "size": 60000, "batch size": 32}],
        environment={"python": "3.11", "processor": EVIL},
    )
    own.add("graph", nodes=module_rows(layers))
    for step in range(1, steps + 1):
        parts = {"data": 0.002, "forward": 0.01 + 0.002 * random.random(), "backward": 0.02,
                 "optimizer": 0.003}  # fmt: skip
        own.add("step", step=step, parts=parts)
    names = ("convolution", "convolution_backward", "batch_norm", "relu", "addmm", EVIL)
    ops = [
        {"name": name, "calls": 10 + at, "seconds": 0.1 / (at + 1), "self_seconds": 0.1 / (at + 1)}
        for at, name in enumerate(names)
    ]
    own.add("ops", step=steps, ops=ops)
    own.add("end", error="")
    own.close()
    return folder


@contextmanager
def served(base: Path, *options: str) -> Iterator[str]:
    """The command `mindtorch insight` on a free port; gives the address that it prints.

    In a process of its own: NiceGUI asks all objects of its process what they are when it starts,
    and other tests leave objects that answer with an error.
    """
    command = [sys.executable, "-m", "mindtorch", "insight", "--summary-base-dir", str(base),
               "--port", "0", "--reload-interval", "0.5", *options]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(2)]
        assert lines[1].startswith("http"), f"the server has ended after {lines}"
        yield lines[1].strip()
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()
