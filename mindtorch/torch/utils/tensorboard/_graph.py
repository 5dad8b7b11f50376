"""A model's graph for TensorBoard: the nodes of our own graphs, in the modules that make them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

from mindtorch.engine.compile.capture.tracer import trace
from mindtorch.engine.compile.ir.ir import Graph, Value
from mindtorch.engine.dispatch import state
from mindtorch.engine.tensor import Tensor

__all__ = ["graph_of"]


class _Scopes:
    """While a model is traced: which modules run when a node is written down."""

    def __init__(self, model: Any) -> None:
        self.open = [type(model).__name__]
        self.of_node: dict[int, str] = {}
        self.handles: list[Any] = []
        for name, module in model.named_modules():
            label = f"{type(module).__name__}[{name.rpartition('.')[2]}]" if name else ""
            enter, leave = self._hooks(label)
            self.handles.append(module.register_forward_pre_hook(enter))
            self.handles.append(module.register_forward_hook(leave))

    def _hooks(self, label: str) -> tuple[Callable[..., None], Callable[..., None]]:
        def enter(*given: Any) -> None:
            self.assign()
            self.open.append(label)

        def leave(*given: Any) -> None:
            self.assign()
            self.open.pop()

        return enter, leave

    def assign(self) -> None:
        """Nodes written since the last time belong to the modules that are open now."""
        scope = "/".join(filter(None, self.open))
        for node in reversed(state.interpreters[-1].graph.nodes):
            if id(node) in self.of_node:
                break
            self.of_node[id(node)] = scope

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def _traced(model: Any, given: Any) -> tuple[Graph, dict[int, str]]:
    """The graph, and the scope of each node."""
    examples = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if not all(isinstance(example, Tensor) for example in examples):
        raise TypeError("add_graph: input_to_model must be a tensor, or a tuple of tensors")
    scopes = _Scopes(model)

    def call(*inputs: Any) -> Any:
        result = model(*inputs)
        scopes.assign()
        if isinstance(result, dict):
            return [each for each in result.values() if isinstance(each, Tensor)]
        return result

    try:
        return trace(call, *examples), scopes.of_node
    finally:
        scopes.remove()


def _shapes(values: Any) -> AttrValue:
    shapes = [
        TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in value.aval.shape])
        for value in values
    ]
    return AttrValue(list=AttrValue.ListValue(shape=shapes))


def _node(name: str, op: str, inputs: list[str], values: Any, text: str = "") -> NodeDef:
    attributes = {"_output_shapes": _shapes(values)}
    if text:
        attributes["attr"] = AttrValue(s=text.encode())
    return NodeDef(name=name, op=op, input=inputs, attr=attributes)


def _held(model: Any) -> dict[int, str]:
    """Names of parameters and buffers, in the scopes of their modules."""
    found: dict[int, str] = {}
    root = type(model).__name__
    for path, module in model.named_modules():
        parts, scope, walked = path.split(".") if path else [], root, model
        for part in parts:
            walked = getattr(walked, part)
            scope += f"/{type(walked).__name__}[{part}]"
        for name, tensor in (*module._parameters.items(), *module._buffers.items()):
            if tensor is not None:
                found.setdefault(id(tensor), f"{scope}/{name}")
    return found


def _params(node: Any) -> str:
    given = {key: value for key, value in sorted(node.params.items()) if not callable(value)}
    return ", ".join(f"{key}={value}" for key, value in given.items())


def graph_of(model: Any, given: Any) -> GraphDef:
    """The operations of ``model(given)``: traced, not run.

    Args:
        given: a tensor, or a tuple of those that the model takes.

    Raises:
        TypeError: something else was given.
        TracingError: the model needs a tensor's data.
    """
    graph, scopes = _traced(model, given)
    names: dict[int, str] = {}
    nodes: list[NodeDef] = []
    for place, value in enumerate(graph.inputs):
        names[value.number] = f"input/input.{place}"
        nodes.append(_node(names[value.number], "IO Node", [], [value]))
    held = _held(model)
    for value, tensor in graph.captured:
        names[value.number] = held.get(id(tensor), f"constants/{value.number}")
        nodes.append(_node(names[value.number], "parameter", [], [value]))
    used: dict[str, int] = {}
    for node in graph.nodes:
        base = f"{scopes.get(id(node), type(model).__name__)}/{node.op.name}"
        used[base] = used.get(base, -1) + 1
        name = f"{base}_{used[base]}" if used[base] else base
        for place, value in enumerate(node.outputs):
            names[value.number] = f"{name}:{place}" if place else name
        inputs = [names[value.number] for value in node.inputs if value is not None]
        nodes.append(_node(name, node.op.name, inputs, node.outputs, _params(node)))
    for place, value in enumerate(graph.outputs):
        nodes.append(_output(place, value, names))
    return GraphDef(node=nodes, versions=VersionDef(producer=22))


def _output(place: int, value: Value, names: dict[int, str]) -> NodeDef:
    return _node(f"output/output.{place}", "IO Node", [names[value.number]], [value])
