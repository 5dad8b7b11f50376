"""Graphs of ONNX models, prepared to run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import AttributeProto

from mindtorch.engine.compile.capture.tracer import Tracer
from mindtorch.engine.state import state

from .errors import ONNXError, UnsupportedOperatorError
from .registry import Operator, find, host_function
from .values import array_of, is_host

__all__ = ["Graph", "Model", "Subgraph"]

_REMARKS = {"doc_string"}
MOST_TURNS = 1 << 16  # of loops, whose nodes a captured graph has one after another


class Model:
    """A model: its graph, the opsets of its domains and its functions.

    Args:
        proto: the model.
        folder: where files with tensors are that it names.
    """

    def __init__(self, proto: onnx.ModelProto, folder: str) -> None:
        self.opsets = {("" if each.domain == "ai.onnx" else each.domain): each.version
                       for each in proto.opset_import}  # fmt: skip
        self.opset = self.opsets.get("", 1)
        self.folder = folder
        self.functions = {(each.domain, each.name): each for each in proto.functions}
        self.turns = 0  # of loops in this call
        self.graph = Graph(proto.graph, self, self.opsets)

    def count_turn(self) -> None:
        """Note that a subgraph runs once more.

        Raises:
            ONNXError: what is captured has a node for each turn of each loop: these are too many.
        """
        self.turns += 1
        if self.turns > MOST_TURNS and any(
            isinstance(each, Tracer) for each in state.interpreters
        ):
            raise ONNXError(f"a loop of more than {MOST_TURNS} turns is not captured")


class _Node(NamedTuple):
    """A node.

    Attributes:
        operator: what computes it, or a function of the model's.
        drop: names that nothing reads after it.
    """

    op_type: str
    name: str
    operator: Operator | None
    body: Graph | _Expansion | None
    on_host: Callable[..., Any] | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]


class _Expansion:
    """A function of ONNX's that hangs on the types of what it is called with."""

    def __init__(self, proto: Any, domain: str, opset: int, graph: Graph) -> None:
        self.proto, self.graph = proto, graph
        self.schema: Any = onnx.defs.get_schema(proto.op_type, opset, domain)
        self.opset = opset
        self.known: dict[Any, Graph] = {}

    def body(self, inputs: list[Any]) -> Graph:
        """What it computes of such inputs."""
        kinds = [_described(value) for value in inputs]
        key = tuple(each.SerializeToString() for each in kinds)
        if key not in self.known:
            versions = self.schema.context_dependent_function_opset_versions
            version = max((v for v in versions if v <= self.opset), default=versions[-1])
            made = self.schema.get_context_dependent_function_with_opset_version(
                version, self.proto.SerializeToString(), list(key)
            )
            function = onnx.FunctionProto.FromString(made)
            opsets = {each.domain: each.version for each in function.opset_import}
            given = {each.name: each for each in self.proto.attribute}
            filled = _with_attributes(function, given)
            self.known[key] = Graph(filled, self.graph.model, {**self.graph.opsets, **opsets})
        return self.known[key]


def _described(value: Any) -> onnx.TypeProto:
    """The type of a value."""
    made = onnx.TypeProto()
    if value is None or isinstance(value, list):
        return made
    array = value if is_host(value) else None
    kind = np.dtype(np.int64) if array is not None and array.dtype == object else (
        array.dtype if array is not None else value.aval.dtype.np
    )  # fmt: skip
    made.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    shape = made.tensor_type.shape
    for n in value.shape:
        length = shape.dim.add()
        if type(n) is int:
            length.dim_value = n
    return made


class Subgraph:
    """A graph that is an attribute of a node: it reads names from around it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def __call__(self, around: dict[str, Any], args: list[Any], training: bool) -> list[Any]:
        names = self.graph.inputs
        if len(args) > len(names):
            raise ONNXError(f"a subgraph takes {len(names)} inputs, got {len(args)}")
        given = dict(zip(names, args, strict=False))
        self.graph.model.count_turn()
        return self.graph.run({**around, **self.graph.initializers, **given}, training)


class Graph:
    """A graph prepared to run.

    Attributes:
        inputs, outputs: names.
        initializers: {name: array}.
        optional: the inputs that may be absent.
    """

    def __init__(self, proto: Any, model: Model, opsets: dict[str, int]) -> None:
        self.model, self.opsets = model, opsets
        if isinstance(proto, onnx.FunctionProto):
            self.inputs, self.outputs = list(proto.input), list(proto.output)
            self.initializers: dict[str, np.ndarray] = {}
            self.optional: list[str] = []
        else:
            if proto.sparse_initializer:
                raise UnsupportedOperatorError("sparse initializers are not supported here")
            self.initializers = {
                each.name: array_of(each, model.folder) for each in proto.initializer
            }
            names = [each.name for each in proto.input]
            self.inputs = [name for name in names if name not in self.initializers]
            self.optional = [
                each.name for each in proto.input
                if each.type.WhichOneof("value") == "optional_type"
            ]  # fmt: skip
            self.outputs = [each.name for each in proto.output]
        self.nodes = [self._node(each) for each in proto.node]

    # --- preparing --------------------------------------------------------------------------------

    def _node(self, proto: Any) -> _Node:
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        opset = self.opsets.get(domain, self.model.opset)
        attributes = {each.name: self._attribute(each) for each in proto.attribute}
        found = find(domain, proto.op_type, opset)
        body = None
        if found is None:
            body = self._body(domain, proto, opset)
        else:
            unknown = attributes.keys() - found.attributes - _REMARKS
            if unknown:
                names = ", ".join(sorted(map(str, unknown)))
                raise UnsupportedOperatorError(
                    f"{proto.op_type}({names}) of opset {opset} is not known here (node "
                    f"{proto.name!r})"
                )
            given = proto.input[: found.required]
            if len(given) < found.required or not all(given):
                raise ONNXError(
                    f"the node {proto.name!r} ({proto.op_type}) lacks one of its "
                    f"{found.required} inputs"
                )
        return _Node(
            proto.op_type, proto.name, found, body, host_function(proto.op_type) if not domain
            else None, tuple(proto.input), tuple(proto.output), attributes,
        )  # fmt: skip

    def _body(self, domain: str, proto: Any, opset: int) -> Graph | _Expansion:
        """What a function computes, one of the model's own or one of ONNX's."""
        function = self.model.functions.get((proto.domain, proto.op_type))
        if function is None and onnx.defs.has(proto.op_type, opset, domain):
            schema: Any = onnx.defs.get_schema(proto.op_type, opset, domain)
            if schema.has_function:
                function = schema.function_body
            elif schema.has_context_dependent_function:
                return _Expansion(proto, domain, opset, self)
        if function is None:
            raise UnsupportedOperatorError(
                f"the operator {(domain + '.') if domain else ''}{proto.op_type} of opset {opset} "
                f"is not known here (node {proto.name!r})"
            )
        opsets = {each.domain: each.version for each in function.opset_import} or self.opsets
        given = {each.name: each for each in proto.attribute}
        for each in function.attribute_proto:
            given.setdefault(each.name, each)
        return Graph(_with_attributes(function, given), self.model, {**self.opsets, **opsets})

    def _attribute(self, proto: Any) -> Any:
        kind = proto.type
        if kind == AttributeProto.TENSOR:
            return array_of(proto.t, self.model.folder)
        if kind == AttributeProto.GRAPH:
            return Subgraph(Graph(proto.g, self.model, self.opsets))
        value = onnx.helper.get_attribute_value(proto)
        if kind == AttributeProto.STRING:
            return value.decode()
        if kind == AttributeProto.STRINGS:
            return [each.decode() for each in value]
        return list(value) if kind in (AttributeProto.INTS, AttributeProto.FLOATS) else value

    # --- running ----------------------------------------------------------------------------------

    def run(
        self, values: dict[str, Any], training: bool, wanted: list[str] | None = None
    ) -> list[Any]:
        """The outputs (those ``wanted``) for values by name; ``values`` gets all results."""
        for node in self.nodes:
            inputs = [self._value(values, name, node) for name in node.inputs]
            made = self._call(node, inputs, values, training)
            results = made if isinstance(made, tuple) else (made,)
            for name, value in zip(node.outputs, results, strict=False):
                if name:
                    values[name] = value
        outputs = self.outputs if wanted is None else wanted
        return [self._value(values, name, None) for name in outputs]

    @staticmethod
    def _value(values: dict[str, Any], name: str, node: Any) -> Any:
        if not name:
            return None
        if name not in values:
            reader = f"the node {node.name!r} ({node.op_type})" if node else "the graph"
            raise ONNXError(f"{reader} reads {name!r}, which nothing makes before it")
        return values[name]

    def _call(self, node: _Node, inputs: list[Any], values: Any, training: bool) -> Any:
        if node.body is not None:
            body = node.body.body(inputs) if isinstance(node.body, _Expansion) else node.body
            given = dict(zip(body.inputs, inputs, strict=False))
            given |= dict.fromkeys(body.inputs[len(inputs):])
            wanted = [name for name, each in zip(body.outputs, node.outputs, strict=False) if each]
            made = dict(zip(
                wanted, body.run({**body.initializers, **given}, training, wanted), strict=True
            ))  # fmt: skip
            return tuple(made.get(name) for name in body.outputs)
        assert node.operator is not None
        options = dict(node.attributes)
        options.pop("doc_string", None)
        if "outputs" in node.operator.wants:
            options["outputs"] = len(node.outputs)
        if "graph" in node.operator.wants:
            options["graph"] = lambda body, args: body(values, args, training)
        try:
            if node.on_host is not None and all(x is None or is_host(x) for x in inputs) and inputs:
                made = node.on_host(*inputs, **options)
                if made is not None:
                    return np.asarray(made) if isinstance(made, np.generic) else made
            if "training" in node.operator.wants:
                options["training"] = training
            return node.operator.run(*node.operator.converted(inputs), **options)
        except MemoryError as error:
            raise ONNXError(f"the node {node.name!r} ({node.op_type}): {error}") from error
        except (TypeError, ValueError, RuntimeError, IndexError, KeyError) as error:
            if not isinstance(error, ONNXError):
                error.add_note(f"in the node {node.name!r} ({node.op_type}) of the ONNX model")
            raise


def _with_attributes(function: Any, given: dict[str, Any]) -> Any:
    """A function whose nodes have the attributes that it was called with."""
    made = onnx.FunctionProto()
    made.CopyFrom(function)

    def fill(nodes: Any) -> None:
        for node in nodes:
            kept = []
            for each in node.attribute:
                if each.ref_attr_name:
                    source = given.get(each.ref_attr_name)
                    if source is None:
                        continue
                    copy = AttributeProto()
                    copy.CopyFrom(source)
                    copy.name = each.name
                    kept.append(copy)
                    continue
                if each.type == AttributeProto.GRAPH:
                    fill(each.g.node)
                kept.append(each)
            copies = [AttributeProto.FromString(each.SerializeToString()) for each in kept]
            del node.attribute[:]
            node.attribute.extend(copies)

    fill(made.node)
    return made


