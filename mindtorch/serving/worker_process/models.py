"""Models from files: the one place where serving reads a model."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from safetensors.numpy import load_file

from mindtorch import torch
from mindtorch.serving.columns import ITEM_SIZES
from mindtorch.serving.server.register.model import Declaration

__all__ = ["InputInfo", "LoadedModel", "load_model", "model_file_in"]

DEFAULT_BATCH_SIZE = 32

# what is called, its inputs, the names of its outputs, its batch size (0: open)
_Read: TypeAlias = "tuple[Any, list[InputInfo], list[str], int]"


@dataclass(frozen=True)
class InputInfo:
    """What is known of one input.

    Attributes:
        name: its name.
        dtype: numpy's name of its type; None: any.
        shape: of one instance, -1 for open lengths; None: any.
    """

    name: str
    dtype: str | None = None
    shape: tuple[int, ...] | None = None


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
    network, inputs, outputs, batch = _READERS[declaration.model_format](
        declaration, file, key, mode
    )
    if declaration.inputs:
        inputs = [InputInfo(name, dtype, shape) for name, dtype, shape in declaration.inputs]
    _check(declaration, inputs)
    return LoadedModel(
        _runner(network),
        inputs,
        outputs,
        batch or declaration.batch_size or DEFAULT_BATCH_SIZE,
        fixed=batch > 0,
        with_batch_dim=declaration.with_batch_dim,
        unbatched=frozenset(declaration.without_batch_dim_inputs),
    )


def _check(declaration: Declaration, inputs: list[InputInfo]) -> None:
    for info in inputs:
        if info.dtype is not None:
            np.dtype(info.dtype)
    wrong = [each for each in declaration.without_batch_dim_inputs if each >= len(inputs)]
    if inputs and wrong:
        raise RuntimeError(f"without_batch_dim_inputs: there is no input {wrong[0]}")


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


# -- weights alone, and a function that makes the module


def _read_weights(declaration: Declaration, file: Path, key: bytes | None, mode: str) -> _Read:
    module = _make_module(declaration, file)
    module.load_state_dict(_state(declaration.model_format, file))
    module.eval()
    return module, _parameters_of(module.forward), ["output"], 0


def _parameters_of(function: Callable[..., Any]) -> list[InputInfo]:
    """The inputs that a forward function must have."""
    parameters = inspect.signature(function).parameters.values()
    return [
        InputInfo(each.name)
        for each in parameters
        if each.default is inspect.Parameter.empty
        and each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]


def _state(model_format: str, file: Path) -> dict[str, Any]:
    if model_format == "safetensors":
        return {name: torch.from_numpy(array) for name, array in load_file(file).items()}
    state = torch.load(file, weights_only=True)
    if not isinstance(state, dict):
        raise RuntimeError(f"{file.name} holds {type(state).__name__}, not a dict of weights")
    return state.get("state_dict", state)


def _make_module(declaration: Declaration, file: Path) -> Any:
    maker = declaration.module
    if maker is None:
        raise RuntimeError(
            f"{file.name} holds weights alone: declare_model needs module=, a function that makes "
            'the module, or "file.py:function"'
        )
    if isinstance(maker, str):
        maker = _function_in(maker, (file.parent, file.parent.parent))
    return maker()


def _function_in(text: str, folders: Sequence[Path]) -> Callable[[], Any]:
    """The function of "file.py:function", the file being in one of the folders."""
    name, colon, function = text.partition(":")
    found = [folder / name for folder in folders if (folder / name).is_file()]
    if not colon or not found:
        places = " or ".join(str(folder) for folder in folders)
        raise RuntimeError(f'module="{text}": "file.py:function", the file in {places}')
    spec = importlib.util.spec_from_file_location(found[0].stem, found[0])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[found[0].stem] = module
    spec.loader.exec_module(module)
    try:
        maker: Callable[[], Any] = getattr(module, function)
    except AttributeError:
        raise RuntimeError(f"there is no {function} in {found[0]}") from None
    return maker


# -- files that hold the whole model, and MindSpore's weights


class _Cell:
    """A cell of MindSpore's, which takes MindSpore's tensors."""

    def __init__(self, mindspore: Any, cell: Any) -> None:
        cell.set_train(False)
        self.cell = cell
        self.tensor_of = mindspore.Tensor

    def __call__(self, *tensors: Any) -> Any:
        return self.cell(*tensors)


def _read_mindir(declaration: Declaration, file: Path, key: bytes | None, mode: str) -> _Read:
    from mindtorch import mindspore
    from mindtorch.mindspore.mindir.values import data_type

    graph = mindspore.load(file, dec_key=key, dec_mode=mode)
    names = {data_type(name): name for name in ITEM_SIZES}
    given = [(name, names.get(number), shape) for name, shape, number in graph.inputs]
    inputs, batch = _without_batch(declaration, given)
    return _Cell(mindspore, mindspore.nn.GraphCell(graph)), inputs, ["output"], batch


def _read_onnx(declaration: Declaration, file: Path, key: bytes | None, mode: str) -> _Read:
    try:
        import onnx

        import mindtorch.onnx as reading
    except ImportError as error:
        raise RuntimeError(f"{file.name} needs {error.name}: pip install 'mindtorch-engine[export]'"
                           ) from None  # fmt: skip
    module = reading.load(file)
    graph = onnx.load(file, load_external_data=False).graph
    tensors = {each.name: each.type.tensor_type for each in graph.input}
    given = []
    for name in module.input_names:
        tensor = tensors[name]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name
        shape = [each.dim_value or -1 for each in tensor.shape.dim]
        given.append((name, dtype if dtype in ITEM_SIZES else None, shape))
    inputs, batch = _without_batch(declaration, given)
    return module, inputs, list(module.output_names), batch


def _read_checkpoint(declaration: Declaration, file: Path, key: bytes | None, mode: str) -> _Read:
    from mindtorch import mindspore

    cell = _make_module(declaration, file)
    missing, _ = mindspore.load_param_into_net(cell, mindspore.load_checkpoint(str(file)))
    if missing:
        raise RuntimeError(f"{file.name} has no weights for {', '.join(missing[:5])}")
    return _Cell(mindspore, cell), _parameters_of(cell.construct), ["output"], 0


class _Lite:
    """A file of Lite's. A network bound to memory is kept for each number of instances, so these
    are filled up to powers of two where the number is open."""

    tensor_of = staticmethod(np.asarray)

    def __init__(self, model: Any, tensor: Any, opened: Sequence[bool]) -> None:
        self.model, self.tensor, self.opened = model, tensor, opened

    def __call__(self, *arrays: Any) -> list[np.ndarray[Any, Any]]:
        rows = max((len(x) for x, o in zip(arrays, self.opened, strict=True) if o), default=0)
        count = 1 << max(rows - 1, 0).bit_length()
        given = [
            self.tensor(_filled_up(x, count) if o else x)
            for x, o in zip(arrays, self.opened, strict=True)
        ]
        known = self.model.get_inputs()
        if [x.shape for x in given] != [x.shape for x in known]:
            self.model.resize(known, [x.shape for x in given])
        made = [each.get_data_to_numpy() for each in self.model.predict(given)]
        return [x[:rows] if rows and len(x) == count else x for x in made]


def _filled_up(array: Any, count: int) -> Any:
    """The array with rows of zeros behind its own, so that there are so many."""
    return np.concatenate([array, np.zeros((count - len(array), *array.shape[1:]), array.dtype)])


def _read_lite(declaration: Declaration, file: Path, key: bytes | None, mode: str) -> _Read:
    from mindtorch import lite

    context = lite.Context()
    context.cpu.thread_num = torch.get_num_threads()
    model = lite.Model()
    model.build_from_file(file, lite.ModelType.MINDIR_LITE, context)
    given, opened = [], []
    for tensor, shape in zip(model.get_inputs(), model.open_shapes, strict=True):
        name = tensor.get_data_to_numpy().dtype.name
        given.append((tensor.name, name if name in ITEM_SIZES else None, shape))
        opened.append(shape[:1] == [-1])
    inputs, batch = _without_batch(declaration, given)
    outputs = [each.name for each in model.get_outputs()]
    return _Lite(model, lite.Tensor, opened), inputs, outputs, batch


def _without_batch(
    declaration: Declaration, given: Sequence[tuple[str, str | None, Sequence[int]]]
) -> tuple[list[InputInfo], int]:
    """The inputs' shapes of one instance, and the size of a batch that the file asks for."""
    inputs, batches = [], set()
    for number, (name, dtype, shape) in enumerate(given):
        if not declaration.with_batch_dim or number in declaration.without_batch_dim_inputs:
            inputs.append(InputInfo(name, dtype, tuple(shape)))
            continue
        if not shape:
            raise RuntimeError(f"input {name} has no axis of instances: declare it in "
                               "without_batch_dim_inputs, or with_batch_dim=False")  # fmt: skip
        inputs.append(InputInfo(name, dtype, tuple(shape[1:])))
        batches.add(shape[0] if shape[0] > 0 else 0)
    if len(batches - {0}) > 1:
        raise RuntimeError(f"inputs have the batch sizes {sorted(batches)}: declare those without "
                           "such an axis, or with_batch_dim=False")  # fmt: skip
    return inputs, max(batches, default=0)


_READERS: dict[str, Any] = {
    "pth": _read_weights,
    "safetensors": _read_weights,
    "ckpt": _read_checkpoint,
    "mindir": _read_mindir,
    "onnx": _read_onnx,
    "mindir_lite": _read_lite,
}


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
