"""`mindtorch lite micro model.py:build --output DIR`: C code for microcontrollers."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

import mindtorch
from mindtorch.module_hooker import torch_disable, torch_pop

from .export import ExportFailedError, example_of, load_weights, model_of

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="SCRIPT.py:NAME", help="a module, or what gives one")
    parser.add_argument(
        "--input", action="append", required=True, metavar="SHAPE[:TYPE]", dest="inputs",
        help="an argument of the model, such as 1,1,28,28 or 1,16:int64; once for each",
    )
    parser.add_argument("--output", type=Path, required=True, help="the folder of the C project")
    parser.add_argument("--name", default="model", help="what C names and files begin with (model)")
    parser.add_argument("--weights", type=Path, help="a .pth or .ckpt file to load first")
    parser.add_argument(
        "--calibration", type=Path, metavar="FILE.npy",
        help="int8 code: samples of the model's one input along the first axis",
    )


def _samples(path: Path, example: Any) -> list[Any]:
    """The samples of a file, each as one call's input."""
    array = np.load(path, allow_pickle=False)
    shape = tuple(example.shape)
    if array.shape[1:] == shape[1:] and array.ndim == len(shape):
        count = len(array) // shape[0]  # a call takes several of them
        array = array[: count * shape[0]].reshape(count, *shape)
    if array.shape[1:] != shape:
        raise ExportFailedError(
            f"{path} holds an array of shape {array.shape}, not samples of shape {shape}"
        )
    return [mindtorch.torch.from_numpy(each.astype(np.float32)) for each in array]


def _generate(options: argparse.Namespace) -> Any:
    from mindtorch.lite import micro  # the engine, which other commands do not need

    model = model_of(options.model)
    if options.weights is not None:
        load_weights(model, options.weights)
    inputs = tuple(example_of(text, mindtorch.torch) for text in options.inputs)
    samples = None
    if options.calibration is not None:
        if len(inputs) != 1:
            raise ExportFailedError("--calibration is for models of one input")
        samples = _samples(options.calibration, inputs[0])
    return micro.generate(model, inputs, options.output, options.name, calibration=samples)


def main(options: argparse.Namespace) -> int:
    """Write the project; 0, or 1 where it cannot be."""
    torch_disable()
    try:
        report = _generate(options)
    except (ExportFailedError, OSError, RuntimeError, ValueError, TypeError, ImportError) as error:
        print(f"mindtorch lite micro: {error}", file=sys.stderr)
        return 1
    finally:
        torch_pop()
    print(report)
    return 0
