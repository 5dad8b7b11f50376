"""Libraries that are built on torch run unchanged, and give what they give under PyTorch.

einops and safetensors come with the test extra. The others depend on torch, of which pip would
fetch a second one: `pip install --no-deps` of those in LARGE, and then of what their imports ask
for. A library that is not installed is skipped.
"""

import importlib.util
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.paths import PROGRAMS

PROGRAM = PROGRAMS / "library_program.py"
# Of the largest value of an array, for gradients of the largest of all: float32 rounds at 6e-8,
# and a gradient has passed some tens of sums.
TOLERANCE = 5e-6


def results_of(side: str, name: str, folder: Path) -> Any:
    """What the program kept, run in a process of its own."""
    file = folder / side
    environment = {**os.environ, "SIDE": side, "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, str(PROGRAM), name, str(file)]
    place = folder / f"{side} files"
    place.mkdir()
    done = subprocess.run(command, env=environment, cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return pickle.loads(file.read_bytes())


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, f"{path}/{key}")
    else:
        yield path, np.asarray(value)


def assert_same(name: str, folder: Path) -> None:
    ours, theirs = (dict(leaves(results_of(side, name, folder))) for side in ("ours", "real"))
    assert list(ours) == list(theirs)
    top = max((np.abs(v).max() for k, v in theirs.items() if "/gradients/" in k), default=1.0)
    for path, expected in theirs.items():
        found = ours[path]
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype), path
        if expected.dtype.kind != "f":
            assert np.array_equal(found, expected), path
            continue
        largest = top if "/gradients/" in path else max(np.abs(expected).max(initial=0), 1e-30)
        error = np.abs(found - expected).max(initial=0) / largest
        assert error <= (2e-7 if "/built/" in path else TOLERANCE), (path, error)


@pytest.mark.parametrize("name", ["einops", "safetensors"])
def test_a_small_library_gives_what_it_gives_under_torch(name: str, tmp_path: Path) -> None:
    """They find their backend by the name `torch`, and reach into its internals."""
    pytest.importorskip("torch")
    assert_same(name, tmp_path)


LARGE = [
    "torchmetrics", "timm:resnet18", "timm:vit_tiny_patch16_224", "timm:convnext_atto",
    "timm:regnetx_002", "transformers:bert", "transformers:gpt2", "transformers:llama",
    "transformers_trainer", "lightning", "accelerate", "fastai", "ignite", "skorch", "optuna",
    "higher", "stable_baselines3", "pytorch_optimizer", "peft", "sentence_transformers",
    "open_clip", "x_transformers", "vit_pytorch", "diffusers", "segmentation_models_pytorch",
    "monai", "kornia", "lightly", "lpips", "pytorch_msssim", "torch_geometric", "pyro",
    "gpytorch", "botorch", "torchdiffeq", "torchsde", "nflows", "normflows", "e3nn", "captum",
    "torchinfo", "torchsummary", "thop", "fvcore", "einx", "opacus",
    "schedulefree", "vector_quantize_pytorch", "geoopt", "pytorch_metric_learning",
]  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", LARGE)
def test_a_large_library_gives_what_it_gives_under_torch(name: str, tmp_path: Path) -> None:
    """From one seed: the same parameters, losses and gradients, the same words generated."""
    pytest.importorskip("torch")
    library = name.partition(":")[0].removesuffix("_trainer")
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed; see this module's text for how")
    assert_same(name, tmp_path)
