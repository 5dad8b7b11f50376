"""Training steps of the seven models on CUDA against the CPU: run as a program, on a GPU or in
numba's simulator, where sizes are tiny.

    python tests/programs/cuda_models.py [--compiled] [names...]

Prints a JSON object for each model: the largest relative difference of its losses, and of its
parameters and gradients after the steps. Adam makes steps of the size of its rate of gradients that
are nothing but rounding, so its parameters may differ by that.
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from typing import Any

import numpy as np

import mindtorch.torch
from mindtorch.kernels.cuda.launch import SIMULATED
from tests.support import cuda_simulator
from tests.support.models import MODELS, build

torch: Any = mindtorch.torch
TINY: dict[str, dict[str, Any]] = {
    "mlp": {"batch": 4, "sizes": (12, 8, 8, 5)},
    "lenet": {"batch": 1},
    "resnet18": {"batch": 2, "width": 1, "side": 4},
    "lstm": {"batch": 2, "steps": 3, "words": 20},
    "gpt": {"batch": 1, "length": 4, "layers": 1, "width": 8, "heads": 2, "words": 11},
    "vae": {"batch": 2},
    "dcgan": {"batch": 2},
}


def train(
    name: str, device: str, steps: int, compiled: bool = False
) -> tuple[list[float], list[Any], list[Any]]:
    """The losses of ``steps`` steps; the parameters and buffers, and the gradients, after them."""
    torch.set_default_device(device)
    try:
        modules, step = build(torch, name, **(TINY[name] if SIMULATED else {}))
        step = torch.compile(step) if compiled else step
        losses = [step() for _ in range(steps)]
    finally:
        torch.set_default_device(None)
    state = [value for module in modules for value in module.state_dict().values()]
    slopes = [p.grad for module in modules for p in module.parameters() if p.grad is not None]
    return losses, _arrays(state), _arrays(slopes)


def _arrays(tensors: list[Any]) -> list[Any]:
    return [np.asarray(t.detach().cpu().double().numpy()) for t in tensors]


def difference(mine: list[Any], theirs: list[Any]) -> float:
    """The largest, relative to the largest element of all."""
    scale = max(float(np.abs(b).max(initial=0)) for b in theirs)
    pairs = zip(mine, theirs, strict=True)
    return max(float(np.abs(a - b).max(initial=0)) for a, b in pairs) / max(scale, 1e-30)


def measured(name: str, compiled: bool) -> Any:
    """The largest differences of a model from its steps on the CPU, or from its eager steps on CUDA
    where it is ``compiled``; {"error": ...} for what it raises."""
    steps = 1 + compiled
    try:
        losses, state, slopes = train(name, "cuda", steps, compiled)
        expected, held, own = train(name, "cuda" if compiled else "cpu", steps)
    except Exception as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"[:400]}
    worst = max(abs(a - b) / max(abs(b), 1) for a, b in zip(losses, expected, strict=True))
    return {"loss": worst, "parameters": difference(state, held),
            "gradients": difference(slopes, own)}  # fmt: skip


def main() -> None:
    warnings.simplefilter("ignore")
    cuda_simulator.install()
    torch.backends.cudnn.allow_tf32 = False
    names = [name for name in sys.argv[1:] if name != "--compiled"]
    for name in names or MODELS:
        print(json.dumps({name: measured(name, "--compiled" in sys.argv)}), flush=True)
    print(json.dumps({"done": True}))


if __name__ == "__main__":
    main()
