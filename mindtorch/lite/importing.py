"""From a model to a Lite graph."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.compile.ir.ir import DRAW, MAKE
from mindtorch.engine.symbolic_sizes import KINDS
from mindtorch.engine.tensor import Tensor, from_array
from mindtorch.exporting.arguments import Arguments
from mindtorch.exporting.errors import ExportError, ExportWarning
from mindtorch.exporting.inference_graph import InferenceGraph, trace
from mindtorch.torch.nn import Module

from .errors import ConvertError
from .graph import LiteGraph, LiteNode, LiteTensor, Size

__all__ = ["GraphWriter", "Shapes", "chosen_shape", "from_model", "name_outputs"]

_VALUE = re.compile(r"\bv(\d+)\b")
Shapes = Mapping[str, Sequence[int]]


class GraphWriter:
    """Makes a Lite graph of a traced one.

    Args:
        graph: the traced one.
        names: of its inputs.
    """

    def __init__(self, graph: InferenceGraph, names: Sequence[str]) -> None:
        self.graph, self.names = graph, names
        self.made = LiteGraph()
        self.places: dict[int, int] = {}
        self.numbers: dict[int, int] = {}  # of the places of sizes, those in the file

    def write(self) -> LiteGraph:
        graph, made = self.graph, self.made
        opened = len(graph.sizes.sizes)
        for place in range(opened):
            self.numbers[place] = place
            made.sizes.append(graph.sizes.names[place])
        made.lengths = [int(n) for n in graph.sizes.values[:opened]]
        for value, name in zip(graph.inputs, self.names, strict=True):
            made.inputs.append(self.value(value, name))
        used = graph.used()
        for number, tensor in graph.constants.items():
            if number in used:
                self._constant(number, tensor)
        for i, node in enumerate(graph.nodes):
            self.write_node(node, f"{node.op.name}_{i}")
        made.outputs = [self.places[v.number] for v in graph.outputs]
        several = len(made.outputs) > 1
        given = graph.output_names or [""] * len(made.outputs)
        default = [f"output_{i}" if several else "output" for i in range(len(made.outputs))]
        name_outputs(made, [name or other for name, other in zip(given, default, strict=True)])
        return made

    def value(self, value: Any, name: str) -> int:
        """A new tensor for a value; its place."""
        aval = value.aval
        shape = tuple(self.plain(n) for n in aval.shape)
        place = self.made.add(LiteTensor(name, aval.dtype.name, shape, weak=aval.weak))
        self.places[value.number] = place
        return place

    def _constant(self, number: int, tensor: Tensor) -> None:
        array = np.array(tensor.array(), order="C")
        name = self.graph.weights.get(number) or f"constant_{number}"
        self.places[number] = self.made.add(
            LiteTensor(name, tensor.aval.dtype.name, array.shape, array, weak=tensor.aval.weak)
        )

    def write_node(self, node: Any, name: str) -> None:
        """Append a node."""
        if node.op is DRAW:
            raise ConvertError(f"the model draws random numbers at {node.line}")
        if node.op is MAKE:
            raise ExportError(f"a tensor is made for open lengths at {node.line}")
        try:
            params = {key: self.plain(value) for key, value in node.params.items()}
        except TypeError as error:
            raise ConvertError(f"{node.op.name} (at {node.line}) cannot be kept: {error}") from None
        inputs = tuple(None if v is None else self.places[v.number] for v in node.inputs)
        outputs = tuple(self.value(v, f"{name}:{k}") for k, v in enumerate(node.outputs))
        self.made.nodes.append(LiteNode(node.op.name, inputs, outputs, params, name=name))

    def plain(self, value: Any) -> Any:
        """A parameter without the engine's own objects."""
        if type(value) in KINDS:
            return Size(self.size(value.place))
        if isinstance(value, tuple):
            return tuple(self.plain(each) for each in value)
        if value is None or isinstance(value, (bool, int, float, str, dtypes.DType)):
            return value
        raise TypeError(f"a parameter of type {type(value).__name__}")

    def size(self, place: int) -> int:
        """Where a number stands in the file, with what it follows from before it."""
        if place not in self.numbers:
            text = self.graph.sizes.definition(place)
            inner = {int(n): self.size(int(n)) for n in _VALUE.findall(text)}
            self.made.sizes.append(_VALUE.sub(lambda m: f"v{inner[int(m[1])]}", text))
            self.numbers[place] = len(self.made.sizes) - 1
        return self.numbers[place]


def name_outputs(graph: LiteGraph, names: Sequence[str]) -> None:
    """Give the outputs these names, unless they are not as many. An output that is an input or a
    constant, or another output as well, becomes a copy of it."""
    if len(names) != len(graph.outputs):
        return
    taken = {graph.tensors[place].name for place in graph.inputs}
    for number, (place, name) in enumerate(zip(graph.outputs, names, strict=True)):
        if not name or name in taken:
            continue
        tensor = graph.tensors[place]
        if place in graph.inputs or tensor.data is not None or place in graph.outputs[:number]:
            copied = graph.add(LiteTensor(name, tensor.dtype, tensor.shape))
            graph.nodes.append(LiteNode("clone", (place,), (copied,), name=f"clone_{number}"))
            graph.outputs[number] = copied
        else:
            tensor.name = name
        taken.add(name)


def _traced(model: Any, given: Arguments, axes: list[dict[int, str]]) -> LiteGraph:
    graph = trace(model, given, axes)
    graph.fold_constants()
    return GraphWriter(graph, given.names).write()


def from_model(
    model: Any, inputs: Sequence[Any], open_batch: bool | None = None, names: Any = None,
    output_names: Sequence[str] = (),
) -> LiteGraph:  # fmt: skip
    """The graph of a module (torch's or MindSpore's) or of a function of tensors, for inference.

    Args:
        inputs: examples: tensors or arrays.
        open_batch: whether the length of the inputs' first axis may be another later; None: where
            the model allows it.
        names: of the inputs; None: of the function's parameters.
        output_names: of the outputs; none: those of the containers that they are in.

    Raises:
        ConvertError: the model depends on data, or on the batch where that is to be open.
    """
    graph = _graph_of(model, inputs, open_batch, names)
    name_outputs(graph, output_names)
    return graph


def _graph_of(model: Any, inputs: Sequence[Any], open_batch: bool | None, names: Any) -> LiteGraph:
    tensors = tuple(x if isinstance(x, Tensor) else from_array(np.asarray(x)) for x in inputs)
    call = getattr(model, "forward", model)
    if isinstance(model, Module) and type(model).construct is not Module.construct:
        call = model.construct
    try:
        given = Arguments(call, tensors, {})
    except ExportError as error:
        raise ConvertError(str(error)) from None
    if names is not None:
        given.names = list(names)
    if open_batch is not False:
        made, reason = _with_open_batch(model, given)
        if made is not None:
            return made
        if open_batch:
            raise ConvertError(f"the model does not take other batches: {reason}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExportWarning)
            return _traced(model, given, [{} for _ in given.tensors])
    except ExportError as error:
        raise ConvertError(str(error)) from error


def _with_open_batch(model: Any, given: Arguments) -> tuple[LiteGraph | None, str]:
    """The graph for any length of the first axes, or why there is none."""
    shapes = [x.aval.shape for x in given.tensors]
    if not shapes or any(not s for s in shapes) or len({s[0] for s in shapes}) != 1:
        return None, "the inputs' first lengths differ"
    batch = shapes[0][0]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", ExportWarning)
            made = _traced(model, given, [{0: "batch"} for _ in shapes])
    except (ExportError, ExportWarning, RuntimeError, ValueError, TypeError) as error:
        return None, str(error)
    made.lengths = [batch]
    return made, ""


def chosen_shape(
    name: str, shape: Sequence[Any], shapes: Shapes, known: Sequence[str]
) -> tuple[int, ...]:
    """An input's shape, as the user or the file says; open lengths are 1.

    Args:
        name, shape: of the input in the file; open lengths are no positive numbers there.
        shapes: that the user gives, by names.
        known: all inputs.

    Raises:
        ConvertError: the user's shape does not fit, or names no input.
    """
    wrong = sorted(set(shapes) - set(known))
    if wrong:
        raise ConvertError(f"inputShape names {wrong[0]!r}; the model's inputs are {list(known)}")
    asked = shapes.get(name)
    if asked is None:
        return tuple(n if isinstance(n, int) and n > 0 else 1 for n in shape)
    if len(asked) != len(shape) or any(
        isinstance(n, int) and n > 0 and n != m for n, m in zip(shape, asked, strict=True)
    ):
        raise ConvertError(f"the input {name!r} has the shape {list(shape)}, not {list(asked)}")
    return tuple(asked)
