"""Files of exported programs.

A zip archive that nothing is executed from:

    mindtorch_export/version        "1"
    mindtorch_export/program.json   the signature, how arguments are put together, guards
    mindtorch_export/graph          the graph, as :mod:`mindtorch.lite.file` keeps one
    mindtorch_export/tensors        parameters, buffers, constants and examples, as `torch.save`
                                    writes them, read with ``weights_only=True``
    extra/NAME                      texts of the user's
"""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mindtorch.engine.tensor import Tensor
from mindtorch.exporting.replay import Replay
from mindtorch.kernels.support.atomic_file import replacing
from mindtorch.lite.errors import LiteFileError
from mindtorch.lite.file import content_of, graph_of
from mindtorch.torch import return_types, serialization
from mindtorch.torch.nn import Parameter
from mindtorch.torch.utils._pytree import LeafSpec, TreeSpec, tree_flatten

from ._module import COMPARISONS
from ._tracing import Guard, Traced
from .dynamic_shapes import ValueRange
from .exported_program import ExportedProgram
from .graph_signature import (
    ArgumentSpec,
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

__all__ = ["load", "save"]

_VERSION = 1
_FOLDER = "mindtorch_export"
_KINDS = {"tuple": tuple, "list": list, "dict": dict, "OrderedDict": OrderedDict}
_RESULTS = "torch.return_types"
_DAMAGED = (
    KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError, OverflowError,
    EOFError, RuntimeError, pickle.UnpicklingError, zipfile.BadZipFile,
)  # fmt: skip


# --- writing --------------------------------------------------------------------------------------


def _spec_text(spec: TreeSpec) -> Any:
    if spec.is_leaf():
        return "*"
    children = [_spec_text(each) for each in spec.children_specs]
    if spec.type is namedtuple and _result_type(spec.context.__name__) is spec.context:
        return [_RESULTS, spec.context.__name__, children]
    kinds = [name for name, each in _KINDS.items() if each is spec.type]
    keys = spec.context if kinds and issubclass(spec.type, dict) else None
    if not kinds or (keys is not None and not all(isinstance(k, (str, int)) for k in keys)):
        shown = spec.context if spec.type is namedtuple else spec.type
        raise NotImplementedError(
            f"torch.export.save: a {shown.__name__} among the arguments or results cannot be "
            "kept in a file, only tuples, lists, dicts with texts or numbers as keys, and torch's "
            "named tuples"
        )
    return [kinds[0], keys, children]


def _result_type(name: Any) -> Any:
    """The named tuple of torch's functions with this name, None for another name."""
    found = vars(return_types).get(name)
    return found if isinstance(found, type) and hasattr(found, "_fields") else None


def _argument_text(arg: ArgumentSpec) -> Any:
    tensor = isinstance(arg, TensorArgument)
    return [arg.name] if tensor else [arg.name, arg.value]  # type: ignore[union-attr]


def _program_text(traced: Traced) -> str:
    signature = traced.signature
    return json.dumps({
        "inputs": [
            [s.kind.name, _argument_text(s.arg), s.target, s.persistent]
            for s in signature.input_specs
        ],
        "outputs": [[s.kind.name, _argument_text(s.arg), s.target] for s in signature.output_specs],
        "in_spec": _spec_text(traced.in_spec), "out_spec": _spec_text(traced.out_spec),
        "lengths": traced.lengths,
        "ranges": [[name, r.lower, r.upper] for name, r in traced.ranges.items()],
        "guards": [[g.left, g.comparison, g.right, g.holds] for g in traced.guards],
    })  # fmt: skip


def _tensors(program: ExportedProgram) -> bytes:
    held = io.BytesIO()
    examples = tree_flatten(program.example_inputs)[0] if program.example_inputs else None
    parameters = set(program.graph_signature.parameters)
    serialization.save({
        "state_dict": dict(program.state_dict), "constants": dict(program.constants),
        "parameters": sorted(parameters), "examples": examples,
    }, held)  # fmt: skip
    return held.getvalue()


def save(
    ep: ExportedProgram,
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Write a program to a file, whole or not at all. Real torch does not read it.

    Args:
        ep: the program.
        f: a path, or a file open for writing bytes.
        extra_files: texts that are kept beside it, by name.
        opset_version: must not be set.
        pickle_protocol: of no effect: only tensors are pickled, in one way.

    Raises:
        TypeError: ``ep`` is no program.
        NotImplementedError: it takes or gives containers of one's own.
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            "The 'ep' parameter must be an instance of 'ExportedProgram', got "
            f"'{type(ep).__name__}' instead."
        )
    if opset_version:
        raise NotImplementedError("torch.export.save(opset_version=...): there is one version")
    entries = {
        f"{_FOLDER}/version": str(_VERSION).encode(),
        f"{_FOLDER}/program.json": _program_text(ep._traced).encode(),
        f"{_FOLDER}/graph": content_of(ep._traced.graph),
        f"{_FOLDER}/tensors": _tensors(ep),
    }
    for name, text in (extra_files or {}).items():
        entries[f"extra/{name}"] = text.encode() if isinstance(text, str) else bytes(text)
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    if hasattr(f, "write"):
        f.write(held.getvalue())
        return
    with replacing(f) as file:
        file.write(held.getbuffer())


# --- reading --------------------------------------------------------------------------------------


def _spec_of(stored: Any) -> TreeSpec:
    if stored == "*":
        return LeafSpec()
    kind, keys, children = stored
    specs = [_spec_of(each) for each in children]
    if kind == _RESULTS:
        made = _result_type(keys)
        if made is None or len(made._fields) != len(specs):
            raise ValueError(f"there are no results {keys!r}")
        return TreeSpec(namedtuple, made, specs)
    if not issubclass(_KINDS[kind], dict):
        return TreeSpec(_KINDS[kind], None, specs)
    if len(keys) != len(specs) or len(set(keys)) != len(keys):
        raise ValueError("a dict's keys do not fit")
    return TreeSpec(_KINDS[kind], keys, specs)


def _argument_of(stored: Any) -> ArgumentSpec:
    name, *value = stored
    plain = not value or value[0] is None or isinstance(value[0], (bool, int, float, str))
    if not isinstance(name, str) or not plain:
        raise ValueError("an argument is no name and value")
    return ConstantArgument(name, value[0]) if value else TensorArgument(name)


def _guard_of(stored: Any, count: int) -> Guard:
    left, comparison, right, holds = stored
    for side in (left, right):
        if isinstance(side, str):
            if not (side[:1] == "v" and side[1:].isdecimal() and int(side[1:]) < count):
                raise ValueError(f"a guard compares {side!r}")
        elif type(side) not in (int, float):
            raise ValueError(f"a guard compares {side!r}")
    if comparison not in COMPARISONS:
        raise ValueError(f"a guard compares by {comparison!r}")
    return Guard(left, comparison, right, bool(holds))


def _traced_of(stored: Any, graph: Any, constants: dict[str, Any]) -> Traced:
    inputs = [
        InputSpec(InputKind[kind], _argument_of(arg), target, persistent)
        for kind, arg, target, persistent in stored["inputs"]
    ]
    outputs = [
        OutputSpec(OutputKind[kind], _argument_of(arg), target)
        for kind, arg, target in stored["outputs"]
    ]
    tensors = [spec for spec in inputs if isinstance(spec.arg, TensorArgument)]
    if len(tensors) != len(graph.inputs):
        raise ValueError("the graph has other inputs than the signature")
    given = [s for s in outputs if isinstance(s.arg, TensorArgument)]
    if len(given) != len(graph.outputs):
        raise ValueError("the graph has other outputs than the signature")
    lengths = [(int(i), int(axis)) for i, axis in stored["lengths"]]
    for i, axis in lengths:
        if not (0 <= i < len(graph.inputs)) or not (
            0 <= axis < len(graph.tensors[graph.inputs[i]].shape)
        ):
            raise ValueError("an open length is that of no input")
    if len(lengths) != len(stored["ranges"]) or len(lengths) != len(graph.lengths):
        raise ValueError("the open lengths do not fit")
    in_spec, out_spec = _spec_of(stored["in_spec"]), _spec_of(stored["out_spec"])
    if [each.type for each in (in_spec, *in_spec.children_specs)] != [tuple, tuple, dict]:
        raise ValueError("the arguments are no tuple and dict")
    results = [s for s in outputs if s.kind is OutputKind.USER_OUTPUT]
    users = [s for s in inputs if s.kind is InputKind.USER_INPUT]
    if in_spec.num_leaves != len(users) or out_spec.num_leaves != len(results):
        raise ValueError("the arguments or results do not fit the signature")
    return Traced(
        graph, ExportGraphSignature(inputs, outputs), in_spec, out_spec, constants, lengths,
        {
            str(name): ValueRange(int(least), None if most is None else int(most))
            for name, least, most in stored["ranges"]
        },
        [_guard_of(each, len(graph.sizes)) for each in stored["guards"]],
    )  # fmt: skip


def _program_of(archive: zipfile.ZipFile) -> ExportedProgram:
    stored = json.loads(archive.read(f"{_FOLDER}/program.json"))
    graph = graph_of(archive.read(f"{_FOLDER}/graph"))
    held = serialization.load(io.BytesIO(archive.read(f"{_FOLDER}/tensors")), weights_only=True)
    state, constants = dict(held["state_dict"]), dict(held["constants"])
    traced = _traced_of(stored, graph, constants)
    Replay(graph)
    _check_tensors(traced, state, constants)
    examples = None
    if held["examples"] is not None:
        examples = traced.in_spec.unflatten(held["examples"])
    return ExportedProgram(traced, state, constants, examples)


def _check_tensors(traced: Traced, state: dict[str, Any], constants: dict[str, Any]) -> None:
    """Raise where a tensor is missing or is another one than the graph says."""
    places = iter(traced.graph.inputs)
    for spec in traced.signature.input_specs:
        if not isinstance(spec.arg, TensorArgument):
            continue
        tensor = traced.graph.tensors[next(places)]
        if spec.kind is InputKind.USER_INPUT:
            continue
        name = str(spec.target)
        aside = spec.kind is InputKind.CONSTANT_TENSOR or spec.persistent is False
        found = (constants if aside else state)[name]
        if not isinstance(found, Tensor) or tuple(found.shape) != tensor.shape:
            raise ValueError(f"{name} is not what the graph takes")
        if found.aval.dtype.name != tensor.dtype:
            raise ValueError(f"{name} is not what the graph takes")
        if spec.kind is InputKind.PARAMETER and not isinstance(found, Parameter):
            raise ValueError(f"{name} is no parameter")


@contextmanager
def opened(f: Any, name: str) -> Iterator[zipfile.ZipFile]:
    """The archive in a file, which says what is wrong where it is none of ours.

    Args:
        f: a path, or a file open for reading.
        name: of the function, for errors.
    """
    shown = os.fspath(f) if isinstance(f, (str, os.PathLike)) else "the file"
    try:
        with zipfile.ZipFile(f) as archive:
            names = archive.namelist()
            if f"{_FOLDER}/version" not in names:
                real = any(each.endswith("/archive_format") for each in names)
                raise NotImplementedError(
                    f"{name}: {shown} was written by real PyTorch, whose programs are not read: "
                    "export the module here, or load its state_dict"
                ) if real else RuntimeError(f"{name}: {shown} holds no exported program")
            version = archive.read(f"{_FOLDER}/version")
            if version != str(_VERSION).encode():
                raise NotImplementedError(
                    f"{name}: {shown} is of version {version[:20]!r}, {_VERSION} is the newest "
                    "that is known"
                )
            yield archive
    except NotImplementedError:
        raise
    except LiteFileError as error:
        raise RuntimeError(f"{name}: {shown} is damaged: {error}") from error
    except _DAMAGED as error:
        if str(error).startswith(name):
            raise
        raise RuntimeError(
            f"{name}: {shown} is damaged or no exported program: {error}"
        ) from error


def load(
    f: Any,
    *,
    extra_files: dict[str, Any] | None = None,
    expected_opset_version: dict[str, int] | None = None,
) -> ExportedProgram:
    """Read a program that :func:`save` wrote. Nothing in the file is executed.

    Args:
        f: a path, or a file open for reading bytes.
        extra_files: gets the texts that are kept under its keys.
        expected_opset_version: must not be set.

    Raises:
        FileNotFoundError: there is no such file.
        NotImplementedError: real PyTorch, or a newer version, wrote the file.
        RuntimeError: it is truncated, damaged or something else.
    """
    if expected_opset_version:
        raise NotImplementedError(
            "torch.export.load(expected_opset_version=...): there is one version"
        )
    with opened(f, "torch.export.load") as archive:
        program = _program_of(archive)
        for name in extra_files if extra_files is not None else ():
            if f"extra/{name}" in archive.namelist():
                extra_files[name] = archive.read(f"extra/{name}").decode()  # type: ignore[index]
    return program
