"""`mindtorch export model.py:build --format mindir`: a model of a script as a file."""

import argparse
import pickle
import runpy
import sys
from pathlib import Path
from typing import Any

import mindtorch
from mindtorch.module_hooker import torch_disable, torch_pop

__all__ = [
    "DESCRIPTION", "ExportFailedError", "add_arguments", "example_of", "load_weights", "main",
    "model_of",
]  # fmt: skip

DESCRIPTION = """\
NAME is a module, a cell, or a function without arguments that gives one. An input is a shape and an
element type: 1,3,224,224 or 2,16:int64; it is filled with ones of floats and zeros of whole
numbers. Exit status 0: the file is written; 2: it is not.
"""


class ExportFailedError(Exception):
    """The text says what is wrong."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="SCRIPT.py:NAME", help="where the model is")
    parser.add_argument(
        "--input", action="append", required=True, metavar="SHAPE[:TYPE]", dest="inputs",
        help="an argument of the model; once for each",
    )
    parser.add_argument(
        "--format", choices=["mindir", "onnx"], default="mindir", help="of the file (mindir)"
    )
    parser.add_argument("--output", type=Path, help="the file (NAME.mindir or NAME.onnx)")
    parser.add_argument("--weights", type=Path, help="a .pth or .ckpt file to load first")
    parser.add_argument("--open-batch", action="store_true", help="the first axis takes any length")
    parser.add_argument(
        "--fold-batch-norm", action="store_true", help="multiply batch norms into convolutions"
    )
    parser.add_argument("--key", help="encrypt the file with this key, in hexadecimal digits")


def example_of(text: str, torch: Any) -> Any:
    """A tensor from its description."""
    shape, _, kind = text.partition(":")
    try:
        lengths = [int(n) for n in shape.split(",") if n]
        dtype = getattr(torch, kind or "float32")
        make = torch.ones if dtype.is_floating_point else torch.zeros
        return make(lengths, dtype=dtype)
    except (ValueError, AttributeError, TypeError, RuntimeError):
        raise ExportFailedError(
            f"--input {text!r} is no shape and type such as 1,3,8,8:float32"
        ) from None


def model_of(place: str) -> Any:
    """The model that a script holds under a name."""
    path, _, name = place.rpartition(":")
    if not path:
        raise ExportFailedError(f"{place!r} is not of the form SCRIPT.py:NAME")
    if not Path(path).is_file():
        raise ExportFailedError(f"{path}: no such file")
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        found = runpy.run_path(path, run_name="mindtorch_export")
    finally:
        sys.path.pop(0)
    if name not in found:
        raise ExportFailedError(f"{path} has no {name!r}")
    value = found[name]
    if isinstance(value, mindtorch.torch.nn.Module):
        return value
    if not callable(value):
        raise ExportFailedError(f"{name} is no module and no function: {type(value).__name__}")
    made = value()
    if not callable(made):
        raise ExportFailedError(f"{name}() gives no module: {type(made).__name__}")
    return made


def load_weights(model: Any, path: Path) -> None:
    """Put a .pth or .ckpt file's parameters into a model."""
    if path.suffix == ".ckpt":
        mindtorch.mindspore.load_checkpoint(path, model)
    else:
        try:
            state = mindtorch.torch.load(path)
        except pickle.UnpicklingError as error:
            first = str(error).partition("\n")[0]
            raise ExportFailedError(f"{path} holds no parameters alone: {first}") from None
        model.load_state_dict(state)


def key_of(text: str | None) -> bytes | None:
    """The key that hexadecimal digits are."""
    try:
        return bytes.fromhex(text) if text else None
    except ValueError:
        raise ExportFailedError("--key must be hexadecimal digits, two for each byte") from None


def _export(options: argparse.Namespace) -> Path:
    """Write the file; its path."""
    model = model_of(options.model)
    if options.weights is not None:
        load_weights(model, options.weights)
    inputs = [example_of(text, mindtorch.torch) for text in options.inputs]
    path: Path = options.output or Path(options.model.rpartition(":")[2])
    if path.suffix != f".{options.format}":
        path = path.with_name(f"{path.name}.{options.format}")
    mindtorch.mindspore.export(
        model, *inputs, file_name=path, file_format=options.format.upper(),
        enc_key=key_of(options.key),
        open_batch=options.open_batch, fold_batch_norm=options.fold_batch_norm,
    )  # fmt: skip
    return path


def main(options: argparse.Namespace) -> int:
    torch_disable()
    try:
        path = _export(options)
    except (ExportFailedError, OSError, RuntimeError, ValueError, TypeError, ImportError) as error:
        print(f"mindtorch export: {error}", file=sys.stderr)
        return 2
    finally:
        torch_pop()
    print(f"{path}: {path.stat().st_size} bytes")
    return 0
