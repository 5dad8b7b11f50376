"""Small networks that the tests of Lite convert."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch import lite, torch
from mindtorch.torch import nn


def lenet() -> nn.Module:
    """LeNet with a batch norm, whose statistics are no zeros and ones, and two activations."""
    torch.manual_seed(0)
    norm = nn.BatchNorm2d(6)
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2, bias=False), norm, nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU6(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120),
        nn.Sigmoid(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    with torch.no_grad():
        norm.running_mean.uniform_(-1, 1)
        norm.running_var.uniform_(0.5, 2)
        norm.weight.uniform_(0.5, 2)
        norm.bias.uniform_(-1, 1)
    return net.eval()


def images(count: int, seed: int = 1) -> np.ndarray:
    """Numbers of the size that LeNet takes."""
    made = np.random.default_rng(seed).standard_normal((count, 1, 28, 28))
    return made.astype(np.float32)


def eager(net: Any, *arrays: np.ndarray) -> np.ndarray:
    """What a network gives."""
    with torch.no_grad():
        return np.asarray(net(*[torch.from_numpy(x) for x in arrays]).numpy())


def converted(net: Any, inputs: Any, folder: Path, config: str = "", **options: Any) -> Path:
    """A Lite file of a network."""
    converter = lite.Converter()
    for name, value in options.items():
        setattr(converter, name, value)
    file = ""
    if config:
        file = str(folder / "settings.cfg")
        Path(file).write_text(config)
    path = folder / "net.ms"
    converter.convert_module(net, inputs, str(path), file)
    return path


def loaded(path: Path, threads: int = 0) -> lite.Model:
    """A model that runs a file."""
    model, context = lite.Model(), lite.Context()
    context.cpu.thread_num = threads
    model.build_from_file(str(path), lite.ModelType.MINDIR_LITE, context)
    return model


def predicted(model: lite.Model, *arrays: np.ndarray) -> np.ndarray:
    """The first output for these inputs, whatever their shapes."""
    inputs = model.get_inputs()
    if any(x.shape != list(array.shape) for x, array in zip(inputs, arrays, strict=True)):
        model.resize(inputs, [array.shape for array in arrays])
        inputs = model.get_inputs()
    for x, array in zip(inputs, arrays, strict=True):
        x.set_data_from_numpy(array)
    return model.predict(inputs)[0].get_data_to_numpy()


def sections(path: Path) -> tuple[Any, bytes]:
    """A file's graph, as JSON has it, and its weights."""
    content = path.read_bytes()
    begins = struct.unpack_from("<Q", content, 40)[0]
    return json.loads(zlib.decompressobj().decompress(content[128:begins])), content[begins:]
