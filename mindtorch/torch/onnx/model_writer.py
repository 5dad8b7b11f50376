"""From a graph for inference to an ONNX model: the constants, the nodes, inputs and outputs."""

from __future__ import annotations

import warnings
from typing import Any

import onnx
from onnx import helper

from mindtorch.engine.symbolic_sizes import Count
from mindtorch.exporting.arguments import Arguments
from mindtorch.exporting.inference_graph import InferenceGraph, trace
from mindtorch.torch.nn import Module

from . import _networks, _shapes  # noqa: F401  # the writers register themselves
from ._writer import WRITERS, NewerOpsetError, Writer, element_type
from .errors import OnnxExporterWarning, UnsupportedOperatorError

__all__ = ["OLDEST", "Arguments", "model_of", "newest", "trace"]

OLDEST = 13  # what writers know; older opsets are converted to


def newest() -> int:
    """The newest opset that onnx and the writers know."""
    return int(min(onnx.defs.onnx_opset_version(), 23))


# --- the model ------------------------------------------------------------------------------------


def _described(name: str, value: Any, sizes: Any) -> Any:
    shape = [sizes.shown(n) if type(n) is Count else int(n) for n in value.aval.shape]
    return helper.make_tensor_value_info(name, element_type(value.aval.dtype), shape)


def _write(w: Writer, node: Any) -> None:
    w.begin(node.op.name)
    for value, name in zip(node.outputs, WRITERS.write(w, node, "ONNX"), strict=True):
        if name is not None:
            w.names[value.number] = name
            w.makers[value.number] = node


def _outputs(w: Writer, graph: InferenceGraph, given: list[str], wanted: list[str]) -> list[str]:
    """The names of the outputs, each made by a node of its own."""
    taken: dict[str, str] = {}
    names = []
    for i, value in enumerate(graph.outputs):
        name = w.names.get(value.number)
        if name is None:
            raise UnsupportedOperatorError("the model returns what ONNX's operators do not give")
        own = graph.output_names[i] or name
        asked = wanted[i] if i < len(wanted) else (own if not own.isdigit() else f"output_{own}")
        if name in given or name in w.arrays or name in taken:
            name = str(w.Identity(name))
        taken[name] = asked if i < len(wanted) else (name if asked == name else w.named(asked))
        names.append(taken[name])
    for node in w.nodes:
        for row in (node.input, node.output):
            for i, name in enumerate(row):
                if name in taken:
                    row[i] = taken[name]
    return names


def model_of(
    model: Any, graph: InferenceGraph, input_names: list[str], output_names: list[str], opset: int,
    **options: bool,
) -> onnx.ModelProto:  # fmt: skip
    """The ONNX model of a traced one: of this opset, or of one that has all its operators.

    Args:
        options: keep_inputs, whether constants are inputs, too; parameters, whether they are in
            the model.
    """
    asked = opset = max(opset, OLDEST)
    while True:
        try:
            made = _model_of(model, graph, input_names, output_names, opset, **options)
        except NewerOpsetError as error:
            opset = error.version
            continue
        if opset > asked:
            warnings.warn(
                f"opset {opset} is written, {asked} lacks operators that the model needs",
                OnnxExporterWarning, stacklevel=3,
            )  # fmt: skip
        return made


def _model_of(
    model: Any, graph: InferenceGraph, input_names: list[str], output_names: list[str], opset: int,
    *, keep_inputs: bool, parameters: bool,
) -> onnx.ModelProto:  # fmt: skip
    places = {
        name: (input_names[i], axis)
        for i in reversed(range(len(graph.input_axes)))
        for axis, name in graph.input_axes[i].items()
    }
    sizes = graph.sizes
    w = Writer(opset, sizes, [places[name] for name in sizes.names])
    for value, name in zip(graph.inputs, input_names, strict=True):
        w.names[value.number] = w.named(name)
    used = graph.used()
    weights = []
    for number, tensor in graph.constants.items():
        if number not in used:
            continue
        element_type(tensor.aval.dtype)
        name = graph.weights.get(number, "")
        w.names[number] = w.constant(tensor.array(), name)
        if name:
            weights.append(w.names[number])
    for node in graph.nodes:
        _write(w, node)
    names = _outputs(w, graph, [w.names[v.number] for v in graph.inputs], output_names)
    inputs = [
        _described(name, value, sizes)
        for name, value in zip(input_names, graph.inputs, strict=True)
    ]
    initializers = w.initializers
    if keep_inputs or not parameters:
        inputs += [
            helper.make_tensor_value_info(each.name, each.data_type, list(each.dims))
            for each in initializers if keep_inputs or each.name in weights
        ]  # fmt: skip
    if not parameters:
        initializers = [each for each in initializers if each.name not in weights]
    made = helper.make_graph(
        w.nodes, type(model).__name__ if isinstance(model, Module) else "main_graph", inputs,
        [_described(name, v, sizes) for name, v in zip(names, graph.outputs, strict=True)],
        initializers,
    )  # fmt: skip
    return helper.make_model(
        made, producer_name="mindtorch", ir_version=helper.find_min_ir_version_for(
            [helper.make_opsetid("", opset)]), opset_imports=[helper.make_opsetid("", opset)],
    )  # fmt: skip


