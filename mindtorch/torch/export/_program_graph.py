"""The graph of a program while its forward is traced: what stands for parameters, buffers,
constants, arguments and lengths, and what it returns."""

from __future__ import annotations

import keyword
import operator
from dataclasses import dataclass
from typing import Any

from mindtorch.engine.autograd import tape
from mindtorch.engine.symbolic_sizes import KINDS
from mindtorch.engine.tensor import Tensor
from mindtorch.exporting.errors import ExportError
from mindtorch.torch._aten.lowerings import overload
from mindtorch.torch._subclasses.fake_tensor import fake
from mindtorch.torch.fx.graph import Graph
from mindtorch.torch.fx.graph_module import GraphModule
from mindtorch.torch.fx.node import Node
from mindtorch.torch.nn import Module

from ._sizing import Sizing
from ._symbols import Expression, SymInt
from .graph_signature import (
    ArgumentSpec,
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)

__all__ = ["RESERVED", "Argument", "GraphOfProgram", "Inputs", "drop_unused", "is_plain"]


# what the code of a graph calls other things
RESERVED = frozenset({"device", "inf", "nan", "NoneType", "self", "torch", *keyword.kwlist})


@dataclass
class Argument:
    """Something that the forward is called with.

    Attributes:
        name: in the graph.
        source: the code that finds it among the arguments.
        value: a tensor, or a number, a text or None.
    """

    name: str
    source: str
    value: Any


def is_plain(value: Any) -> bool:
    """Whether a value is part of a program."""
    return value is None or isinstance(value, (bool, int, float, str))


class Inputs:
    """A graph with parameters and nodes of open lengths.

    Args:
        symbols: the open lengths, in the trace's order.

    Attributes:
        traced: the traced tensors of the parameters, with their nodes.
        root: has the graphs that nodes call.
    """

    traced: list[tuple[Tensor, Node]]

    def __init__(self, symbols: list[Expression]) -> None:
        self.graph, self.root = Graph(), Module()
        self.sizing = Sizing(symbols)
        self._lengths: dict[int, Node] = {}
        self._places: dict[Expression, tuple[Node, int]] = {}

    def named(self, name: str) -> Node:
        """A parameter of this name, also where Python has one of it."""
        node = self.graph.placeholder(name)
        taken = {each.name for each in self.graph.find_nodes(op="placeholder")}
        if name.isidentifier() and name not in taken and name not in RESERVED:
            node.name = name
        node.target = node.name
        return node

    def place(self, node: Node) -> None:
        """Note which open lengths a parameter has."""
        for axis, n in enumerate(node.meta["val"].shape):
            if isinstance(n, SymInt):
                self._places.setdefault(n.expression, (node, axis))

    def length(self, place: int) -> Node:
        """The node of an open length."""
        found = self._lengths.get(place)
        if found is None:
            name = self.sizing.names[place]
            node, axis = self._places[name]
            before = [*self.graph.find_nodes(op="placeholder"), *self._lengths.values()]
            with self.graph.inserting_after(before[-1]):
                found = self.graph.call_function(
                    overload("sym_size.int"), (node, axis), name="sym_size_int"
                )
            found.meta["val"] = node.meta["val"].shape[axis]
            self._lengths[place] = found
        return found


class GraphOfProgram(Inputs):
    """The graph of a forward that is traced.

    Args:
        module: whose forward it is.
        state: the traced parameters and buffers, by name.
        leaves: all arguments; given: the traced tensors among them.
        symbols: the open lengths, in the trace's order.
    """

    def __init__(
        self, module: Module, state: dict[str, Tensor], leaves: list[Argument],
        given: list[Tensor], symbols: list[Expression],
    ) -> None:  # fmt: skip
        super().__init__(symbols)
        self.constants: dict[str, Tensor] = {}
        self.traced = []
        self._inputs: list[InputSpec] = []
        self._outputs: list[OutputSpec] = []
        self._module = module
        self._own: dict[int, Node] = {}
        self._names = attribute_names(module)
        self._state_inputs(state)
        self._before_constants = len(self._inputs)
        self._user_inputs(leaves, given)

    # --- inputs -----------------------------------------------------------------------------------

    def _placeholder(self, name: str, tensor: Tensor, described: Tensor) -> Node:
        """A parameter of the graph.

        Args:
            tensor: what it stands for; described: the same with open lengths.
        """
        node = self.named(name)
        shown = self.sizing.shown
        lengths = [shown(n) for n in described.aval.shape]
        strides = [shown(n) for n in described.aval.strides]
        node.meta["val"] = fake(
            lengths, tensor.aval.dtype, strides, tensor.aval.device, tensor.requires_grad
        )
        self.place(node)
        return node

    def _state_inputs(self, state: dict[str, Tensor]) -> None:
        module = self._module
        kept = module.state_dict(keep_vars=True)
        parameters = dict(module.named_parameters(remove_duplicate=False))
        buffers = dict(module.named_buffers(remove_duplicate=False))
        traced = {id(x): state[name] for name, x in {**parameters, **buffers}.items()
                  if name in state}  # fmt: skip
        for name, tensor in (*parameters.items(), *buffers.items()):
            own = traced[id(tensor)]
            kind = InputKind.PARAMETER if name in parameters else InputKind.BUFFER
            short = "p" if kind is InputKind.PARAMETER else "b"
            flat = name.removeprefix("self_").replace(".", "_")
            node = self._placeholder(f"{short}_{flat}", tensor, own)
            persistent = None if kind is InputKind.PARAMETER else name in kept
            self._inputs.append(InputSpec(kind, TensorArgument(node.name), name, persistent))
            if persistent is False:
                self.constants[name] = tensor
            self._own[id(tensor)] = node
            self.traced.append((own, node))

    def _user_inputs(self, leaves: list[Argument], given: list[Tensor]) -> None:
        left = iter(given)
        for leaf in leaves:
            if isinstance(leaf.value, Tensor):
                own = next(left)
                node = self._placeholder(leaf.name, leaf.value, own)
                self.traced.append((own, node))
                arg: ArgumentSpec = TensorArgument(node.name)
            elif is_plain(leaf.value):
                node = self.named(leaf.name)
                node.meta["val"] = leaf.value
                arg = ConstantArgument(node.name, leaf.value)
            else:
                raise ExportError(
                    f"the argument {leaf.name} is of type {type(leaf.value).__name__}: a program "
                    "takes tensors, numbers, texts and None, in containers that "
                    "torch.utils._pytree knows"
                )
            self._inputs.append(InputSpec(InputKind.USER_INPUT, arg, None))

    def constant(self, tensor: Tensor) -> Node:
        """The node of a tensor that the forward found, or made of numbers."""
        found = self._own.get(id(tensor))
        if found is not None:
            return found
        name = self._names.get(id(tensor))
        if name is None:  # one that the call made has the history of the trace
            count = sum(n.startswith("lifted_tensor_") for n in self.constants)
            name, held = f"lifted_tensor_{count}", tape.detached(tensor)
        else:
            held = tensor
        place = self._before_constants + sum(
            spec.kind is InputKind.CONSTANT_TENSOR for spec in self._inputs
        )
        placeholders = self.graph.find_nodes(op="placeholder")
        with self._after(placeholders, place):
            node = self._placeholder(f"c_{name.replace('.', '_')}", held, held)
        spec = InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), name)
        self._inputs.insert(place, spec)
        self.constants[name] = held
        self._own[id(tensor)] = node
        return node

    def _after(self, placeholders: list[Node], place: int) -> Any:
        if place:
            return self.graph.inserting_after(placeholders[place - 1])
        return self.graph.inserting_before()

    # --- outputs ----------------------------------------------------------------------------------

    def finish(self, recorder: Any, replaced: dict[str, Tensor], results: list[Any]) -> None:
        """Close the graph.

        Args:
            recorder: knows the nodes.
            replaced: what took the places of buffers.
            results: of the forward.
        """
        for name, tensor in replaced.items():
            spec = next(spec for spec in self._inputs if spec.target == name)
            target = next(n for n in self.graph.nodes if n.name == spec.arg.name)
            value = recorder.node_of(tensor)
            recorder.emit(overload("copy_.default"), (target, value), {}).meta["val"] = (
                target.meta["val"]
            )
        made = []
        for each in results:
            if isinstance(each, Tensor):
                made.append(recorder.node_of(each))
                arg: ArgumentSpec = TensorArgument(made[-1].name)
            elif type(each) in KINDS:
                made.append(recorder.value(each))
                arg = SymIntArgument(made[-1].name)
            elif is_plain(each):
                made.append(each)
                arg = ConstantArgument("", each)
            else:
                raise ExportError(f"the forward returns a {type(each).__name__}")
            self._outputs.append(OutputSpec(OutputKind.USER_OUTPUT, arg, None))
        self.graph.output(tuple(made))
        drop_unused(self.graph)

    def signature(self) -> ExportGraphSignature:
        """What the inputs and outputs are."""
        return ExportGraphSignature(list(self._inputs), list(self._outputs))

    def module_of_graph(self) -> GraphModule:
        """The module that runs the graph."""
        return GraphModule(self.root, self.graph)


def drop_unused(graph: Graph) -> None:
    """Take out what nobody needs, but no part of what a needed node gives."""
    needed: set[Node] = set()
    for node in reversed(graph.nodes):
        part = node.target is operator.getitem and node.args[0] in needed
        if node.is_impure() or part or any(user in needed for user in node.users):
            needed.add(node)
    for node in graph.nodes:
        if node.target is operator.getitem and node.args[0] in needed:
            needed.add(node)
    for node in reversed(graph.nodes):
        if node not in needed:
            graph.erase_node(node)


def attribute_names(module: Module) -> dict[int, str]:
    """By id, the dotted names of tensors that modules have as attributes."""
    return {
        id(value): f"{path}.{name}" if path else name
        for path, each in module.named_modules() for name, value in vars(each).items()
        if isinstance(value, Tensor)
    }  # fmt: skip

