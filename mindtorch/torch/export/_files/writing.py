"""Programs as the data that a file's JSON holds."""

from __future__ import annotations

import math
import operator
from typing import Any

from mindtorch.engine.devices.device import Device
from mindtorch.engine.dtypes import DType
from mindtorch.torch._aten.overloads import OpOverload
from mindtorch.torch._subclasses.fake_tensor import FakeTensor
from mindtorch.torch.fx.graph import Graph
from mindtorch.torch.fx.graph_module import GraphModule
from mindtorch.torch.fx.node import Node

from .._symbols import Expression, SymInt
from .._tracing import Guard, Traced
from ..graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)
from .words import (
    DTYPE_NUMBERS,
    LAYOUTS,
    MEMORY_FORMATS,
    OPSET,
    SCHEMA,
    fields_of,
    length_word,
    spec_text,
)

__all__ = ["program_data", "tensor_data"]

_NOTHING: dict[str, Any] = {"as_none": True}
_POSITIONAL, _KEYWORD = 1, 2


# --- values -----------------------------------------------------------------------------------


def _number(value: float) -> Any:
    """A float; JSON has no word for some."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _length(value: int) -> dict[str, Any]:
    if not isinstance(value, SymInt):
        return {"as_int": int(value)}
    return {"as_expr": {"expr_str": value.expression.constructors(),
                        "hint": {"as_int": int(value)}}}  # fmt: skip


def _device(device: Device) -> dict[str, Any]:
    return {"type": device.type, "index": device.index if device.type != "cpu" else None}


def tensor_data(tensor: Any, requires_grad: bool, offset: int = 0) -> dict[str, Any]:
    """What a file says of a tensor.

    Args:
        offset: where its first element lies in what is stored.
    """
    return {
        "dtype": DTYPE_NUMBERS[tensor.dtype], "sizes": [_length(n) for n in tensor.shape],
        "requires_grad": requires_grad, "device": _device(tensor.device),
        "strides": [_length(n) for n in tensor.stride()], "storage_offset": {"as_int": offset},
        "layout": 7,
    }  # fmt: skip


def _plain(value: Any) -> dict[str, Any]:
    """A number, a text or None."""
    if value is None:
        return _NOTHING
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": int(value)}
    if isinstance(value, float):
        return {"as_float": _number(value)}
    if isinstance(value, str):
        return {"as_string": value}
    raise NotImplementedError(f"torch.export.save: a {type(value).__name__} in a graph")


class GraphData:
    """A graph as data.

    Args:
        module: whose graph it is.
    """

    def __init__(self, module: GraphModule) -> None:
        self.module = module
        self.tensors: dict[str, Any] = {}
        self.lengths: dict[str, Any] = {}
        self.nodes: list[dict[str, Any]] = []
        self.inputs: list[dict[str, Any]] = []
        self.outputs: list[dict[str, Any]] = []
        self.single = False
        for node in module.graph.nodes:
            self._add(node)

    def data(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "inputs": self.inputs, "outputs": self.outputs, "nodes": self.nodes,
            "tensor_values": self.tensors, "sym_int_values": self.lengths, "sym_bool_values": {},
            "is_single_tensor_return": self.single, "custom_obj_values": {}, "sym_float_values": {},
        }  # fmt: skip

    def _add(self, node: Node) -> None:
        if node.op == "placeholder":
            self.inputs.append(self._given(node))
        elif node.op == "output":
            results: Any = node.args[0]
            self.single = isinstance(results, Node)
            results = [results] if self.single else results
            self.outputs = [self.argument(each) for each in results]
        elif node.op == "call_function":
            if node.target is not operator.getitem:
                self._call(node)
        elif node.op != "get_attr":
            raise NotImplementedError(f"torch.export.save: the node {node.format_node()}")

    def _given(self, node: Node) -> dict[str, Any]:
        value = node.meta.get("val")
        return self._named(node.name, value) if isinstance(value, (FakeTensor, SymInt)) else (
            _plain(value)
        )

    def _named(self, name: str, value: Any, requires_grad: Any = None) -> dict[str, Any]:
        """The argument that a value with a name is, which is described from now on."""
        if isinstance(value, FakeTensor):
            own = value.requires_grad if requires_grad is None else requires_grad
            self.tensors[name] = tensor_data(value, own)
            return {"as_tensor": {"name": name}}
        if isinstance(value, SymInt):
            self.lengths[name] = _length(value)
            return {"as_sym_int": {"as_name": name}}
        raise NotImplementedError(
            f"torch.export.save: nothing is known of what the node {name} gives; nodes that were "
            'added need meta["val"]'
        )

    # --- arguments ------------------------------------------------------------------------------

    def argument(self, value: Any, kind: str = "") -> dict[str, Any]:
        """An argument.

        Args:
            kind: its type in the operator's schema.
        """
        if isinstance(value, Node):
            held = value.meta.get("val")
            if isinstance(held, SymInt):
                return {"as_sym_int": {"as_name": value.name}}
            return {"as_tensor": {"name": value.name}}
        if isinstance(value, DType):
            return {"as_scalar_type": DTYPE_NUMBERS[value]}
        if isinstance(value, Device):
            return {"as_device": _device(value)}
        if isinstance(value, complex):
            return {"as_complex": {"real": _number(value.real), "imag": _number(value.imag)}}
        for word, known in (("as_memory_format", MEMORY_FORMATS), ("as_layout", LAYOUTS)):
            number = next((n for n, each in known.items() if each is value), None)
            if number is not None:
                return {word: number}
        if isinstance(value, (list, tuple)):
            return self._list(list(value), kind)
        return _plain(value)

    def _list(self, values: list[Any], kind: str) -> dict[str, Any]:
        if kind.startswith("Tensor?["):
            return {"as_optional_tensors": [
                _NOTHING if x is None else {"as_tensor": {"name": x.name}} for x in values
            ]}  # fmt: skip
        nodes = [x for x in values if isinstance(x, Node)]
        if kind.startswith("Tensor[") or (nodes and not any(_is_length(x) for x in nodes)):
            return {"as_tensors": [{"name": x.name} for x in values]}
        if nodes:
            return {"as_sym_ints": [
                {"as_name": x.name} if isinstance(x, Node) else {"as_int": int(x)} for x in values
            ]}  # fmt: skip
        if kind.startswith("float[") or (values and all(isinstance(x, float) for x in values)):
            return {"as_floats": [_number(float(x)) for x in values]}
        if values and all(isinstance(x, bool) for x in values):
            return {"as_bools": values}
        if values and all(isinstance(x, str) for x in values):
            return {"as_strings": values}
        if all(isinstance(x, int) for x in values):
            return {"as_ints": [int(x) for x in values]}
        raise NotImplementedError(f"torch.export.save: the list {values} in a graph")

    # --- nodes ----------------------------------------------------------------------------------

    def _call(self, node: Node) -> None:
        target = node.target
        if isinstance(target, OpOverload) and target.namespace == "mindtorch":
            word, inputs = "", []
        elif isinstance(target, OpOverload):
            word, inputs = f"torch.ops.{target}", self._operands(node, target)
        elif (found := length_word(target)) is not None:
            word = found
            inputs = [
                {"name": name, "arg": self.argument(x), "kind": _POSITIONAL}
                for name, x in zip("ab", node.args, strict=False)
            ]  # fmt: skip
        else:
            word = getattr(target, "file_word", "")
            inputs = [{"name": "", "arg": self._graph_or(x), "kind": _POSITIONAL}
                      for x in node.args]  # fmt: skip
        if not word:
            raise NotImplementedError(
                f"torch.export.save: the node {node.name} calls {node._pretty_print_target(target)}"
                ", which PyTorch does not have"
            )
        self.nodes.append({
            "target": word, "inputs": inputs, "outputs": self._results(node),
            "metadata": {}, "is_hop_single_tensor_return": None, "name": node.name,
        })  # fmt: skip

    def _graph_or(self, value: Any) -> dict[str, Any]:
        if isinstance(value, Node) and value.op == "get_attr":
            name = str(value.target)
            inner = GraphData(getattr(self.module, name)).data()
            return {"as_graph": {"name": name, "graph": inner}}
        return self.argument(value)

    def _operands(self, node: Node, target: OpOverload) -> list[dict[str, Any]]:
        schema = target._schema
        if schema is None:
            raise NotImplementedError(f"torch.export.save: the schema of {target} is not known")
        made = []
        for argument, value in zip(schema.arguments, node.args, strict=False):
            arg = self.argument(value, argument.type)
            made.append({"name": argument.name, "arg": arg, "kind": _POSITIONAL})
        kinds = {argument.name: argument.type for argument in schema.arguments}
        for name, value in node.kwargs.items():
            arg = self.argument(value, kinds.get(name, ""))
            made.append({"name": name, "arg": arg, "kind": _KEYWORD})
        return made

    def _results(self, node: Node) -> list[dict[str, Any]]:
        value = node.meta.get("val")
        schema = node.target._schema if isinstance(node.target, OpOverload) else None
        if schema is not None and not schema.returns:
            return []
        if not isinstance(value, (list, tuple)):
            return [self._named(node.name, value, False)]
        parts = {
            user.args[1]: user.name for user in node.users if user.target is operator.getitem
        }  # fmt: skip
        names = [parts.get(at, f"{node.name}_unused_{at}") for at in range(len(value))]
        made = [self._named(n, x, False) for n, x in zip(names, value, strict=True)]
        several = schema is None or len(schema.returns) > 1
        return made if several else [{"as_tensors": [each["as_tensor"] for each in made]}]


def _is_length(node: Node) -> bool:
    return isinstance(node.meta.get("val"), SymInt)


# --- signature --------------------------------------------------------------------------------


def _input_data(spec: InputSpec) -> dict[str, Any]:
    name: Any = {"name": spec.arg.name}
    if isinstance(spec.arg, ConstantArgument):
        return {"constant_input": {"name": spec.arg.name, "value": _plain(spec.arg.value)}}
    if spec.kind is InputKind.PARAMETER:
        return {"parameter": {"arg": name, "parameter_name": spec.target}}
    if spec.kind is InputKind.BUFFER:
        return {"buffer": {"arg": name, "buffer_name": spec.target,
                           "persistent": bool(spec.persistent)}}  # fmt: skip
    if spec.kind is InputKind.CONSTANT_TENSOR:
        return {"tensor_constant": {"arg": name, "tensor_constant_name": spec.target}}
    if isinstance(spec.arg, SymIntArgument):
        return {"user_input": {"arg": {"as_sym_int": {"as_name": spec.arg.name}}}}
    return {"user_input": {"arg": {"as_tensor": name}}}


_WRITES = {
    OutputKind.BUFFER_MUTATION: ("buffer_mutation", "buffer_name"),
    OutputKind.PARAMETER_MUTATION: ("parameter_mutation", "parameter_name"),
    OutputKind.USER_INPUT_MUTATION: ("user_input_mutation", "user_input_name"),
}


def _output_data(spec: OutputSpec) -> dict[str, Any]:
    written = _WRITES.get(spec.kind)
    if written is not None:
        return {written[0]: {"arg": {"name": spec.arg.name}, written[1]: spec.target}}
    if isinstance(spec.arg, TensorArgument):
        return {"user_output": {"arg": {"as_tensor": {"name": spec.arg.name}}}}
    if isinstance(spec.arg, SymIntArgument):
        return {"user_output": {"arg": {"as_sym_int": {"as_name": spec.arg.name}}}}
    return {"user_output": {"arg": _plain(spec.arg.value)}}


def _signature_data(signature: ExportGraphSignature) -> dict[str, Any]:
    return {
        "input_specs": [_input_data(each) for each in signature.input_specs],
        "output_specs": [_output_data(each) for each in signature.output_specs],
    }


def _guard_text(guard: Guard, sources: dict[str, str]) -> str:
    def side(expression: Expression) -> str:
        if expression.kind == "symbol":
            return sources[expression.value]
        if expression.kind == "number":
            return str(expression.value)
        return "(" + f" {expression.kind} ".join(map(side, expression.operands)) + ")"

    return f"{side(guard.left)} {guard.comparison} {side(guard.right)}"


def _calls(traced: Traced) -> dict[str, Any]:
    signature = {
        "inputs": [], "outputs": [], "in_spec": spec_text(traced.in_spec),
        "out_spec": spec_text(traced.out_spec), "forward_arg_names": traced.argument_names,
    }  # fmt: skip
    return {"fqn": "", "signature": signature}


def program_data(traced: Traced, dialect: str, version: str) -> dict[str, Any]:
    """A program as JSON has it.

    Args:
        dialect: of the program.
        version: of PyTorch, as which the file counts.

    Raises:
        NotImplementedError: it has what the format has no word for.
    """
    graph: Graph = traced.graph_module.graph
    graph.lint()
    return {
        "graph_module": {
            "graph": GraphData(traced.graph_module).data(),
            "signature": _signature_data(traced.signature),
            "module_call_graph": [_calls(traced)], "metadata": {},
            "treespec_namedtuple_fields": fields_of(traced.in_spec, traced.out_spec),
        },
        "opset_version": {"aten": OPSET},
        "range_constraints": {
            str(name): {"min_val": span.lower, "max_val": span.upper}
            for name, span in traced.ranges.items()
        },
        "schema_version": {"major": SCHEMA[0], "minor": SCHEMA[1]},
        "verifiers": [dialect], "torch_version": version,
        "guards_code": [_guard_text(each, traced.sources) for each in traced.guards],
    }  # fmt: skip
