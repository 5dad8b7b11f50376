"""Models from files: the one place where serving reads a model, by a module for its format."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch._distribution import install_extra
from mindtorch.machine_memory import gigabytes, memory_of_machine
from mindtorch.serving.columns import MAX_INSTANCES
from mindtorch.serving.server.register.model import Declaration

from .graph_network import graph_of
from .model_inputs import InputInfo

__all__ = ["LoadedModel", "load_model", "model_file_in"]

DEFAULT_BATCH_SIZE = 32

# the modules that read files, by format; one that serves another format does not import them
_READERS = {"pth": "reading_weights", "safetensors": "reading_weights",
            "ckpt": "reading_checkpoint", "mindir": "reading_mindir", "onnx": "reading_onnx",
            "mindir_lite": "reading_lite"}  # fmt: skip


@dataclass
class LoadedModel:
    """A model that is ready to run.

    Attributes:
        run: takes an array for each input, gives back a list of arrays.
        inputs: what is known of its inputs.
        outputs: the names of its outputs, where nobody gives others.
        batch_size: how many instances at most go into one run.
        fixed: whether it must be exactly so many.
        with_batch_dim: whether arrays have an axis of instances.
        unbatched: the positions of inputs that have none nevertheless.
    """

    run: Callable[[Sequence[np.ndarray[Any, Any]]], list[np.ndarray[Any, Any]]]
    inputs: list[InputInfo]
    outputs: list[str]
    batch_size: int
    fixed: bool = False
    with_batch_dim: bool = True
    unbatched: frozenset[int] = field(default_factory=frozenset)


def load_model(
    declaration: Declaration, folder: Path, key: bytes | None = None, mode: str = "AES-GCM"
) -> LoadedModel:
    """The model that was declared, from the folder of a version.

    Args:
        declaration: what `declare_model` was told.
        folder: the version's folder.
        key: of an encrypted file.
        mode: how it is encrypted.

    Raises:
        RuntimeError: the file is missing, cannot be read, or is of a format that is not read.
    """
    file = folder / declaration.files[0]
    if not file.is_file():
        raise RuntimeError(f"Load model failed: there is no file {file}")
    if declaration.context is not None and declaration.context.in_half:
        raise RuntimeError("precision_mode='fp16' is not supported on the CPU; use 'origin'")
    _use_threads(declaration)
    if key is not None and declaration.model_format != "mindir":
        raise RuntimeError(f"dec_key is for MindIR files, {file.name} is none")
    reading = _reader(declaration.model_format, file)
    network, inputs, outputs, batch = reading.read(declaration, file, key, mode)
    if declaration.inputs:
        inputs = [InputInfo(name, dtype, shape) for name, dtype, shape in declaration.inputs]
    _check(declaration, inputs)
    _check_batch(file, inputs, batch or declaration.batch_size or DEFAULT_BATCH_SIZE)
    run = _runner(network)
    graph = graph_of(run, network, inputs, declaration, batch)
    return LoadedModel(
        run if graph is None else _runner(graph),
        inputs,
        outputs,
        batch or declaration.batch_size or DEFAULT_BATCH_SIZE,
        fixed=batch > 0,
        with_batch_dim=declaration.with_batch_dim,
        unbatched=frozenset(declaration.without_batch_dim_inputs),
    )


def _reader(model_format: str, file: Path) -> Any:
    """The module that reads a format."""
    try:
        return importlib.import_module(f"{__package__}.{_READERS[model_format]}")
    except ModuleNotFoundError as error:
        text = f"{file.name} needs {error.name}: {install_extra('export')}"
        raise RuntimeError(text) from None


def _check(declaration: Declaration, inputs: list[InputInfo]) -> None:
    for info in inputs:
        if info.dtype is not None:
            np.dtype(info.dtype)
    wrong = [each for each in declaration.without_batch_dim_inputs if each >= len(inputs)]
    if inputs and wrong:
        raise RuntimeError(f"without_batch_dim_inputs: there is no input {wrong[0]}")


def _check_batch(file: Path, inputs: list[InputInfo], rows: int) -> None:
    """Raise where one batch is more than a request may have, or than there is memory for."""
    if rows > MAX_INSTANCES:
        text = f"a batch of {rows} instances, {MAX_INSTANCES} are allowed"
        raise RuntimeError(f"Load model failed: {file.name} asks for {text}")
    size = rows * sum(
        np.dtype(each.dtype or "float32").itemsize * math.prod(map(abs, each.shape or ()))
        for each in inputs
    )
    free = memory_of_machine()[1]
    if size > free:
        raise RuntimeError(
            f"Load model failed: the inputs of a batch of {rows} instances of {file.name} take "
            f"{gigabytes(size)}, and {gigabytes(free)} are free"
        )


def _use_threads(declaration: Declaration) -> None:
    context = declaration.context
    if context is None:
        return
    if context.thread_num is not None:
        torch.set_num_threads(context.thread_num)
    if context.thread_affinity_core_list:
        os.sched_setaffinity(0, context.thread_affinity_core_list)


def _runner(network: Any) -> Callable[..., list[np.ndarray[Any, Any]]]:
    """Runs a module of torch's or a cell of MindSpore's on arrays."""
    tensor_of = getattr(network, "tensor_of", torch.from_numpy)

    def run(arrays: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        with torch.no_grad():
            given = network(*(tensor_of(np.ascontiguousarray(each)) for each in arrays))
        return [_array(each) for each in _flat(given)]

    return run


def _flat(given: Any) -> Iterator[Any]:
    """The tensors of a result, which may be a tuple, a list or a dict of them."""
    if isinstance(given, dict):
        given = tuple(given.values())
    if isinstance(given, tuple | list):
        for each in given:
            yield from _flat(each)
    elif given is not None:
        yield given


def _array(tensor: Any) -> np.ndarray[Any, Any]:
    if isinstance(tensor, np.ndarray):
        return tensor
    return np.asarray(tensor.asnumpy() if hasattr(tensor, "asnumpy") else tensor.numpy())


# -- folders without a configuration


def model_file_in(folder: Path) -> tuple[Path, str]:
    """The one model file of a version's folder, and its format.

    Raises:
        RuntimeError: there is none, or there are several.
    """
    formats = {".mindir": "mindir", ".onnx": "onnx", ".ms": "mindir_lite", ".pth": "pth",
               ".pt": "pth", ".ckpt": "ckpt", ".safetensors": "safetensors"}  # fmt: skip
    found = sorted(path for path in folder.iterdir() if path.suffix in formats)
    if len(found) != 1:
        which = "no model file" if not found else ", ".join(path.name for path in found)
        raise RuntimeError(
            f"{folder}: {which}; without servable_config.py a version has one model file "
            f"({', '.join(formats)})"
        )
    return found[0], formats[found[0].suffix]


def share_cores(workers: int) -> None:
    """Let the workers of one servable share the cores.

    Args:
        workers: how many there are.
    """
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // workers))
