"""From a Lite graph to C code."""

from __future__ import annotations

import os

from mindtorch.engine.tensor import from_array, make
from mindtorch.exporting.errors import ExportError
from mindtorch.exporting.inference_graph import InferenceGraph

from ..config import Config
from ..errors import ConvertError
from ..execution import TypedNodes
from ..graph import LiteGraph, LiteNode, LiteTensor
from ..quantization.calibration import examples_of
from ..quantization.full import corrected_biases
from .inference import generate
from .project import Report
from .writer import identifier

__all__ = ["inference_graph", "write_project"]


def write_project(graph: LiteGraph, config: Config, folder: str | os.PathLike[str]) -> Report:
    """Write the C project that settings ask for; C names begin with the folder's. Quantised, it
    is int8, with examples' ranges; biases are corrected before.

    Raises:
        ConvertError: the graph cannot be written as C, or the examples cannot be read.
    """
    samples = None
    if config.quant_type:
        examples = examples_of(graph, config)
        if config.bias_correction:
            corrected_biases(graph, examples)
        samples = [tuple(from_array(array) for array in row) for row in examples]
    name = identifier(os.path.basename(os.path.normpath(folder)))
    try:
        return generate(
            inference_graph(graph), (), folder, name, samples, f"A model for {config.target}, in C"
        )
    except ExportError as error:
        raise ConvertError(str(error)) from error


def inference_graph(graph: LiteGraph) -> InferenceGraph:
    """The nodes of a Lite graph for the lengths that it was converted with."""
    typed = TypedNodes(_without_steps(graph), graph.lengths, {})
    constants = {value.number: make(flat, value.aval) for value, flat in typed.held}
    places = {value.number: place for place, value in typed.values.items()}
    weights = {
        number: graph.tensors[places[number]].name
        for number, tensor in constants.items() if tensor.aval.shape
    }  # fmt: skip
    inputs = [typed.values[place] for place in graph.inputs]
    outputs = [typed.values[place] for place in graph.outputs]
    names = [graph.tensors[place].name for place in graph.outputs]
    return InferenceGraph(
        typed.ir.nodes,
        inputs,
        outputs,
        [{} for _ in inputs],
        names,
        None,
        constants,
        weights,
        [graph.tensors[place].name for place in graph.inputs],
    )


def _without_steps(graph: LiteGraph) -> LiteGraph:
    """What is computed in the place of a node's result as nodes of its own."""
    tensors, nodes = list(graph.tensors), []
    for node in graph.nodes:
        inputs, op, params = node.inputs, node.op, node.params
        for step in node.then:
            tensors.append(LiteTensor(f"{node.name}:{op}", "float32", ()))
            between = len(tensors) - 1
            nodes.append(LiteNode(op, inputs, (between,), params, name=node.name))
            inputs = tuple(between if i < 0 else i for i in step.inputs)
            op, params = step.op, step.params
        nodes.append(LiteNode(op, inputs, node.outputs, params, name=node.name))
    return LiteGraph(
        tensors, nodes, graph.inputs, graph.outputs, graph.sizes, graph.lengths, graph.information
    )
