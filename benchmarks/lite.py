"""Lite against onnxruntime on one thread, batch 1, in alternation: the minima and their ratio.

    python benchmarks/lite.py PYTHON_OF_ONNXRUNTIME [resnet18 lenet mobilenet_v2 ...]

onnxruntime runs in a process of its own, whose Python has it; each of the rounds lets either side
make some calls, so that what else the machine does falls on both. Times are the calling thread's
processor time, which does all the work: of a round the tenth part from below (a virtual machine's
clock may lose time of single calls), the least of all rounds.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mindtorch import torch
from mindtorch.module_hooker import torch_as_mindtorch

ROUNDS, CALLS = 15, {"lenet": 300}
_CHILD = """
import sys, time
import numpy as np
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options)
shape = [n if isinstance(n, int) else 1 for n in session.get_inputs()[0].shape]
x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
given = {session.get_inputs()[0].name: x}
for line in sys.stdin:
    found = []
    for _ in range(int(line)):
        began = time.thread_time()
        session.run(None, given)
        found.append(time.thread_time() - began)
    print(sorted(found)[len(found) // 10], flush=True)
"""


def network(name: str) -> tuple[Any, Any]:
    """A network and its input."""
    nn = torch.nn
    if name == "lenet":
        net = nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5),
            nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(),
            nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
        )  # fmt: skip
        return net.eval(), torch.randn(1, 1, 28, 28)
    with torch_as_mindtorch():
        import torchvision

        return getattr(torchvision.models, name)().eval(), torch.randn(1, 3, 224, 224)


def quantised(net: Any, x: Any, folder: str) -> str:
    """A file of settings for eight bits, and its examples."""
    examples = Path(folder) / "examples"
    examples.mkdir(exist_ok=True)
    for number in range(4):
        torch.randn(*x.shape).numpy().tofile(examples / f"{number}.bin")
    settings = Path(folder) / "settings.cfg"
    name = "input" if isinstance(net, torch.nn.Sequential) else "x"
    settings.write_text(
        "[common_quant_param]\nquant_type=FULL_QUANT\nmin_quant_weight_channel=0\n"
        f"[data_preprocess_param]\ncalibrate_path={name}:{examples}\ncalibrate_size=4\n"
    )
    return str(settings)


def model(path: str) -> Any:
    """A file on one thread."""
    from mindtorch import lite

    context = lite.Context()
    context.cpu.thread_num = 1
    made = lite.Model()
    made.build_from_file(path, lite.ModelType.MINDIR_LITE, context)
    return made


def seconds(model: Any, calls: int) -> float:
    """The time of a call."""
    inputs, found = model.get_inputs(), []
    model.predict(inputs)
    for _ in range(calls):
        began = time.thread_time()
        model.predict(inputs)
        found.append(time.thread_time() - began)
    return sorted(found)[calls // 10]


def main(python: str, names: list[str]) -> None:
    from mindtorch import lite

    for name in names:
        net, x = network(name)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/{name}"
            torch.onnx.export(net, (x,), f"{path}.onnx")
            lite.Converter().convert_module(net, [x], path)
            lite.Converter().convert_module(net, [x], f"{path}8", quantised(net, x, folder))
            models = [model(f"{path}.ms"), model(f"{path}8.ms")]
            child = subprocess.Popen(
                [python, "-c", _CHILD, f"{path}.onnx"], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            assert child.stdin is not None
            assert child.stdout is not None
            best = [float("inf")] * 3
            calls = CALLS.get(name, 6)
            for _ in range(ROUNDS):
                print(calls, file=child.stdin, flush=True)
                found = [float(child.stdout.readline())]
                found += [seconds(m, calls) for m in models]
                best = [min(a, b) for a, b in zip(best, found, strict=True)]
            child.stdin.close()
            child.wait()
        ort, ours, eight = best
        print(
            f"{name}: onnxruntime {ort * 1e3:.3f} ms, Lite {ours * 1e3:.3f} ms "
            f"({ours / ort:.2f}x), eight bits {eight * 1e3:.3f} ms ({eight / ours:.2f}x)"
        )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or ["lenet", "mobilenet_v2", "resnet18"])
