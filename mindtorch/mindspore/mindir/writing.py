"""`mindspore.export`: from a network to a MindIR (or ONNX) file."""

from __future__ import annotations

import os
from typing import Any

from mindtorch import torch
from mindtorch.engine.symbolic_sizes import Count
from mindtorch.exporting import batch_norm
from mindtorch.exporting.errors import ExportError
from mindtorch.exporting.inference_graph import InferenceGraph
from mindtorch.kernels.support.atomic_file import replacing
from mindtorch.torch.nn.modules.module import Module

from ..nn.cell import Cell
from . import writers_networks, writers_shapes  # noqa: F401  # the writers register themselves
from .encryption import check_key, encrypted
from .open_inputs import traced
from .values import name_tensor
from .writer import WRITERS, Writer

__all__ = ["export", "mindir_of"]

_LARGEST = 1 << 30  # bytes of parameters that lie in the model's own file
_HEAD, _ALIGNED = 64, 64  # of a file of parameters: its first bytes, and where parameters begin


def mindir_of(
    graph: InferenceGraph, input_names: list[str], name: str = "main_graph"
) -> Writer:
    """The model of a graph.

    Raises:
        UnsupportedOperatorError: an op has no counterpart.
    """
    w = Writer(name)
    for value, axes, given in zip(graph.inputs, graph.input_axes, input_names, strict=True):
        w.names[value.number] = w.named(given)
        for axis in axes:
            length = value.aval.shape[axis]
            if type(length) is Count:
                w.open_inputs.setdefault(length.place, (w.names[value.number], axis, value.aval))
    used = graph.used()
    for number, tensor in graph.constants.items():
        if number in used:
            weight = graph.weights.get(number)
            array = tensor.array()
            w.names[number] = w.parameter(array, weight) if weight else w.constant(array)
    for node in graph.nodes:
        for value, made in zip(node.outputs, WRITERS.write(w, node, "MindIR"), strict=True):
            if made is not None:
                w.names[value.number] = made
                w.makers[value.number] = node
    _describe(w, graph)
    w.drop_unused()
    w.model.graph.CopyFrom(w.graph)
    return w


def _describe(w: Writer, graph: InferenceGraph) -> None:
    """Write what the model takes and gives."""
    for value in graph.inputs:
        _shape(w.graph.input.add(name=w.of(value)), value)
    outputs = [w.names.get(value.number, "") for value in graph.outputs]
    if not outputs or "" in outputs:
        raise ExportError("the model returns what MindSpore's primitives do not give")
    given = {w.of(value) for value in graph.inputs} | w.arrays.keys()
    outputs = [w.Identity(name) if name in given else name for name in outputs]
    result = outputs[0] if len(outputs) == 1 else w.MakeTuple(*outputs)
    made = w.graph.output.add(name=result)
    for value in graph.outputs:
        _shape(made, value)


def _shape(info: Any, value: Any) -> None:
    shape = [-1 if type(n) is Count else int(n) for n in value.aval.shape]
    name_tensor(info.tensor.add(name=info.name), shape, value.aval.dtype.np)


# --- files ----------------------------------------------------------------------------------------


def _save(model: Any, path: str, key: bytes | None, mode: Any, beside: bool | None) -> None:
    """Write a model; its parameters beside it where they are too large for one file."""
    size = sum(len(each.raw_data) for each in model.graph.parameter)
    if beside is None:
        beside = size > _LARGEST
    if beside:
        stem = path.removesuffix(".mindir")
        _save_parameters(model, f"{stem}_variables", key, mode)
        path = f"{stem}_graph.mindir"
    with replacing(path) as file:
        file.write(_hidden(model.SerializeToString(), key, mode))


def _save_parameters(model: Any, folder: str, key: bytes | None, mode: Any) -> None:
    """Write the parameters to a file of their own, to which ``model`` then refers."""
    os.makedirs(folder, exist_ok=True)
    location = os.path.join(os.path.basename(folder), "data_0")
    with replacing(os.path.join(folder, "data_0")) as file:
        file.write(_hidden(b"\1" + bytes(_HEAD - 1), key, mode))
        end = _HEAD
        for each in model.graph.parameter:
            content = bytes(each.raw_data)
            each.ClearField("raw_data")
            place = each.external_data
            place.location, place.offset, place.length = location, end, len(content)
            content += bytes(-len(content) % _ALIGNED)
            file.write(_hidden(content, key, mode))
            end += len(content)


def _hidden(content: bytes, key: bytes | None, mode: Any) -> bytes:
    if key is None:
        return content
    if callable(mode):
        return bytes(mode(content, key))
    return encrypted(content, key, mode)


# --- mindspore.export -----------------------------------------------------------------------------

_FORMATS = ("MINDIR", "ONNX")
_OPSET = 18  # of ONNX


def _checked(inputs: tuple[Any, ...], file_name: Any, file_format: Any) -> str:
    if not inputs:
        raise ValueError("For 'export', the argument 'inputs' must not be empty.")
    if not isinstance(file_name, (str, os.PathLike)):
        raise ValueError(
            "For 'export', the argument 'file_name' must be string, but got "
            f"{type(file_name)}."
        )
    if file_format not in _FORMATS:
        raise ValueError(
            f"For 'export', 'file_format' must be one of {list(_FORMATS)}, but got {file_format}."
        )
    ending = f".{file_format.lower()}"
    name = os.fspath(file_name)
    return name if name.endswith(ending) else name + ending


def export(
    net: Any, *inputs: Any, file_name: str | os.PathLike[str], file_format: str,
    enc_key: bytes | None = None, enc_mode: Any = "AES-GCM", open_batch: bool = False,
    fold_batch_norm: bool = False, save_together: bool | None = None,
) -> None:  # fmt: skip
    """Write what ``net(*inputs)`` computes in inference to a file, which appears when it is whole.

    Args:
        net: a cell, a module of torch's or a function of tensors.
        inputs: tensors like those that it will get; lengths of `Tensor(shape=[None, 3], dtype=...)`
            may be others then.
        file_name: ".mindir" or ".onnx" is put at its end where it is missing.
        file_format: "MINDIR" (version 1) or "ONNX".
        enc_key: of 16, 24 or 32 bytes: MINDIR files are encrypted.
        enc_mode: "AES-GCM", "AES-CBC", or a function of (content, key) that gives what is written.
        open_batch: whether the first axis of all inputs may have another length.
        fold_batch_norm: multiply the weights of convolutions by what batch norms do after them.
        save_together: whether parameters are in the model's file; False writes them to
            NAME_variables/data_0 beside NAME_graph.mindir, None where they are over 1 GiB.

    Raises:
        ValueError: no inputs, another format, a wrong key's length.
        ExportError: the network needs data in Python, or an op has no counterpart.
    """
    path = _checked(inputs, file_name, file_format)
    if enc_key is not None and not callable(enc_mode):
        if file_format == "ONNX":
            raise ValueError(f"AIR/ONNX only support customized encryption, but got {enc_mode}.")
        check_key("export", enc_key, enc_mode)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    call = net.construct if isinstance(net, Cell) else getattr(net, "forward", net)
    graph, names = traced(net, call, inputs, open_batch)
    if isinstance(net, Module):  # MindSpore's parameters have names of their own
        own = {path: getattr(p, "name", None) or path for path, p in net.named_parameters()}
        graph.weights = {number: own.get(path, path) for number, path in graph.weights.items()}
    if fold_batch_norm:
        batch_norm.fold_batch_norm(graph)
    graph.fold_constants()
    name = type(net).__name__ if isinstance(net, Module) else getattr(net, "__name__", "graph")
    if file_format == "ONNX":
        proto = torch.onnx.model_writer.model_of(
            net, graph, names, [], _OPSET, keep_inputs=False, parameters=True
        )
        with replacing(path) as file:
            file.write(_hidden(proto.SerializeToString(), enc_key, enc_mode))
        return
    w = mindir_of(graph, names, name)
    _save(w.model, path, enc_key, enc_mode, None if save_together is None else not save_together)
