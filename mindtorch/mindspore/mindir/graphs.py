"""The graph of a MindIR file, checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .errors import MindIRError
from .primitives import Primitive, primitive_of
from .schema import PrimType
from .values import Beside, array_of, shape_of, value_of

__all__ = ["Call", "FuncGraph", "Function", "graph_of"]

_REFERENCE = "REF::"
_NEWEST = 3  # the version of the format that is known


class Call(NamedTuple):
    """A node.

    Attributes:
        primitive: what it computes; else ``callee`` names a function, or a value that holds one.
        inputs, output: names of values.
        attributes: of the primitive.
        function: whether the last inputs are the primitive's settings.
    """

    primitive: Primitive | None
    callee: str
    inputs: tuple[str, ...]
    output: str
    attributes: dict[str, Any]
    function: bool
    name: str


@dataclass
class Function:
    """A graph of the file: its parameters, its calls in order, the names of what it returns."""

    name: str
    parameters: tuple[str, ...]
    calls: list[Call]
    outputs: tuple[str, ...]


@dataclass
class FuncGraph:
    """What `mindspore.load` gives: a network as calls of primitives.

    Attributes:
        main: the network itself; the others are called by it.
        functions: all by name.
        constants: values by name, for all functions.
        weights: {name of the value: (name of the parameter, its elements)}.
        inputs: (name, shape with -1 for lengths that are open, number of the element type).
        version: of the format.
    """

    main: Function
    functions: dict[str, Function]
    constants: dict[str, Any]
    weights: dict[str, tuple[str, np.ndarray]]
    inputs: list[tuple[str, tuple[int, ...], int]] = field(default_factory=list)
    version: int = 1

    @property
    def name(self) -> str:
        return self.main.name

    @property
    def output_names(self) -> list[str]:
        """The names of what the network gives, those of its elements where that is a tuple."""
        names = self.main.outputs
        maker = next((call for call in self.main.calls if (call.output,) == names), None)
        if maker is not None and maker.primitive is not None:
            if maker.primitive.run is primitive_of("MakeTuple").run:
                names = maker.inputs
        return [_short(name) for name in names]

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}: {list(shape)}" for name, shape, _ in self.inputs)
        return f"FuncGraph({self.name!r}, {shapes}, {len(self.main.calls)} nodes)"


def _short(name: str) -> str:
    """A name without the graph's before it."""
    return name.partition(":")[2] or name


def _text(value: Any) -> str:
    """A name; protobuf leaves one that is no text as bytes."""
    if not isinstance(value, str):
        raise MindIRError(f"the file has the name {value!r}, which is no text")
    return value


class _Reader:
    """Makes functions of the messages of one model."""

    def __init__(self, model: Any, beside: Beside) -> None:
        self.model, self.beside = model, beside
        self.constants: dict[str, Any] = {}
        self.primitives: dict[str, tuple[Primitive, dict[str, Any], bool]] = {}
        self.declared = {_text(each.name): each for each in model.primitives}

    def weights(self) -> dict[str, tuple[str, np.ndarray]]:
        found = {}
        if self.model.graph.map_parameter:
            raise MindIRError("the model has a hash table as a parameter, which is not read")
        for each in self.model.graph.parameter:
            name = _text(each.ref_key) or _short(_text(each.name))
            found[_text(each.name)] = name, array_of(each, self.beside)
        return found

    def function(self, graph: Any) -> Function:
        calls = [call for node in graph.node if (call := self.call(node)) is not None]
        parameters = tuple(_text(each.name) for each in graph.input)
        if not graph.output:
            raise MindIRError(f"the graph {graph.name!r} returns nothing")
        outputs = tuple(_text(each.name) for each in graph.output)
        return Function(_text(graph.name), parameters, calls, outputs)

    def call(self, node: Any) -> Call | None:
        if len(node.output) != 1:
            raise MindIRError(f"the node {node.name!r} has {len(node.output)} results, not one")
        output, op_type, name = _text(node.output[0]), _text(node.op_type), _text(node.name)
        if op_type == "Constant":
            values = [each for each in node.attribute if each.name == "value"]
            if len(values) != 1:
                raise MindIRError(f"the constant {node.name!r} has no value")
            self.constants[output] = value_of(values[0])
            return None
        kind = op_type.removeprefix(_REFERENCE)
        inputs = tuple(_text(each) for each in node.input)
        if kind not in self.declared and op_type.startswith(_REFERENCE):
            return Call(None, kind, inputs, output, {}, False, name)
        primitive, attributes, function = self.primitive(kind, node)
        return Call(primitive, "", inputs, output, attributes, function, name)

    def primitive(self, kind: str, node: Any) -> tuple[Primitive, dict[str, Any], bool]:
        """What a node names: a primitive of the model's, or one with attributes of its own."""
        proto = self.declared.get(kind)
        if proto is None:
            attributes = {a.name: value_of(a) for a in node.attribute if a.name != "shape"}
            return primitive_of(kind), attributes, False
        if kind not in self.primitives:
            attributes = {a.name: value_of(a) for a in proto.attribute}
            self.primitives[kind] = (
                primitive_of(_text(proto.op_type) or kind.partition(":")[0]), attributes,
                proto.prim_type == PrimType.PRIMITIVE_FUNCTION,
            )  # fmt: skip
        return self.primitives[kind]


def _check_names(graph: FuncGraph) -> None:
    """Raise where a node reads what nothing makes before it."""
    everywhere = graph.constants.keys() | graph.weights.keys() | graph.functions.keys()
    for function in graph.functions.values():
        known = set(function.parameters)
        for call in function.calls:
            callee = (call.callee,) if call.callee else ()
            for name in (*call.inputs, *callee):
                if name not in known and name not in everywhere:
                    raise MindIRError(f"the node {call.name!r} reads {name!r}, which is not there")
            known.add(call.output)
        for name in function.outputs:
            if name not in known and name not in everywhere:
                raise MindIRError(f"{function.name!r} returns {name!r}, which is not there")


def graph_of(model: Any, beside: Beside) -> FuncGraph:
    """The graph of a model.

    Args:
        beside: the files with parameters that it may name.

    Raises:
        MindIRError: it is incomplete, or newer than what is known.
        UnsupportedPrimitiveError: a primitive is not known.
    """
    version = model.mind_ir_version
    if version > _NEWEST:
        raise MindIRError(
            f"the file is of version {version} of MindIR, {_NEWEST} is the newest that is known"
        )
    if not model.HasField("graph") or not model.graph.output:
        raise MindIRError("the file has no graph")
    if model.HasField("little_endian") and not model.little_endian:
        raise MindIRError("the file has numbers with the highest byte first, which is not read")
    reader = _Reader(model, beside)
    functions = {each.name: reader.function(each) for each in (*model.functions, model.graph)}
    inputs = []
    for each in model.graph.input:
        if len(each.tensor) > 1:
            raise MindIRError(f"the input {_short(each.name)!r} is said to be several tensors")
        (tensor,) = each.tensor or (None,)
        inputs.append((
            _short(each.name), shape_of(tensor) if tensor is not None else (),
            tensor.data_type if tensor is not None else 0,
        ))  # fmt: skip
    made = FuncGraph(
        functions[model.graph.name], functions, reader.constants, reader.weights(), inputs, version
    )
    _check_names(made)
    return made
