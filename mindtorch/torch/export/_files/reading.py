"""Programs of the data in a file's JSON, all of which is checked: nothing of it is executed."""

from __future__ import annotations

import ast
import keyword
import operator
from collections import namedtuple
from collections.abc import Iterator
from typing import Any

from mindtorch.engine.devices.device import Device
from mindtorch.torch import ops
from mindtorch.torch._aten.overloads import OpOverload
from mindtorch.torch._higher_order_ops import cond_op, while_loop_op, wrap_with_set_grad_enabled
from mindtorch.torch._subclasses.fake_tensor import FakeTensor, fake
from mindtorch.torch.fx.graph import Graph
from mindtorch.torch.fx.graph_module import GraphModule
from mindtorch.torch.fx.node import Node
from mindtorch.torch.nn import Module
from mindtorch.torch.utils._pytree import TreeSpec

from .._program_graph import RESERVED
from .._symbols import Expression, SymInt, parsed, parsed_constructors
from .._tracing import Guard, Traced
from ..dynamic_shapes import ValueRange
from ..graph_signature import (
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
from .words import DTYPES, LAYOUTS, MEMORY_FORMATS, SCHEMA, length_function, spec_of

__all__ = ["device_of", "length_of", "numbers_of", "traced_of"]

_COMPARISONS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_FLOATS = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}
_DEVICES = ("cpu", "cuda", "meta")
_KEYWORD = 2


def _one(data: Any) -> tuple[str, Any]:
    """The word and the value of a union."""
    if not isinstance(data, dict) or len(data) != 1:
        raise ValueError("a value of the file is not one of the known kinds")
    ((word, value),) = data.items()
    return word, value


def _identifier(name: Any) -> str:
    """A name that code may have."""
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"{str(name)[:80]!r} is no name")
    return name


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"{str(value)[:80]!r} is no whole number")
    return value


def length_of(data: Any) -> int:
    """A length, which may be open."""
    word, value = _one(data)
    if word == "as_int":
        return _whole(value)
    if word != "as_expr":
        raise ValueError(f"a length is given as {word}")
    hint = value.get("hint")
    number = 2 if hint is None else _whole(_one(hint)[1])
    return SymInt(parsed_constructors(value["expr_str"]), number)


def device_of(data: Any) -> Device:
    """A device."""
    kind, index = data["type"], data.get("index")
    if kind not in _DEVICES:
        raise NotImplementedError(f"tensors on the device {str(kind)[:40]!r}")
    return Device(kind, None if index is None else _whole(index))


def _dtype(number: Any) -> Any:
    if number not in DTYPES:
        raise NotImplementedError(f"element types of the number {str(number)[:20]}")
    return DTYPES[number]


def numbers_of(data: Any) -> tuple[Any, list[int], list[int], int]:
    """(element type, lengths, strides, offset) of a tensor."""
    if data["layout"] not in LAYOUTS:
        raise NotImplementedError("tensors that are not strided")
    sizes, strides = [[length_of(n) for n in data[key]] for key in ("sizes", "strides")]
    if len(sizes) != len(strides) or any(n < 0 for n in (*sizes, *strides)):
        raise ValueError("a tensor's lengths and strides do not fit")
    return _dtype(data["dtype"]), sizes, strides, length_of(data["storage_offset"])


def _tensor(data: Any) -> FakeTensor:
    dtype, sizes, strides, _ = numbers_of(data)
    gradient = bool(data["requires_grad"]) and (dtype.is_floating_point or dtype.is_complex)
    return fake(sizes, dtype, strides, device_of(data["device"]), gradient)


def _overload(word: str) -> OpOverload:
    """The operator of a name: ``torch.ops.aten.add.Tensor``."""
    parts = word.split(".")
    if len(parts) not in (4, 5) or parts[:2] != ["torch", "ops"]:
        raise NotImplementedError(f"the operator {word[:80]} is not known")
    name = ".".join(parts[2:])
    try:
        packet = getattr(getattr(ops, parts[2]), parts[3])
        found = getattr(packet, parts[4] if len(parts) == 5 else "default")
    except AttributeError:
        raise NotImplementedError(f"the operator {name[:80]} is not available") from None
    if not isinstance(found, OpOverload) or found._schema is None:
        raise NotImplementedError(f"the operator {name[:80]} is not available")
    return found


def _is_graph(value: Any) -> bool:
    return isinstance(value, Node) and value.op == "get_attr"


def _are_values(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(x, (Node, int)) for x in values)


# by the file's word, the function that calls graphs, and what its arguments are
_FITTING: tuple[tuple[Any, Any], ...] = (
    (
        wrap_with_set_grad_enabled,
        lambda a: len(a) > 1 and type(a[0]) is bool and _is_graph(a[1]),
    ),
    (
        cond_op,
        lambda a: len(a) == 4 and isinstance(a[0], Node) and all(map(_is_graph, a[1:3]))
        and _are_values(a[3]),
    ),
    (
        while_loop_op,
        lambda a: len(a) == 4 and all(map(_is_graph, a[:2])) and all(map(_are_values, a[2:])),
    ),
)  # fmt: skip
_OVER_GRAPHS = {each.file_word: (each, fits) for each, fits in _FITTING}


class _GraphReader:
    """A graph of the data of one."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.graph = Graph()
        self.nodes: dict[str, Node] = {}
        self.root = Module()
        self._tensors = {name: _tensor(each) for name, each in data["tensor_values"].items()}
        self._lengths = {name: length_of(each) for name, each in data["sym_int_values"].items()}
        lengths = [n for x in self._tensors.values() for n in (*x.shape, *x.stride())]
        self.symbols = {
            name for n in (*lengths, *self._lengths.values()) if isinstance(n, SymInt)
            for name in n.expression.symbols()
        }  # fmt: skip
        for word in ("sym_bool_values", "custom_obj_values", "sym_float_values"):
            if data.get(word):
                raise NotImplementedError(f"graphs with {word}")

    def module(self) -> GraphModule:
        """What runs it."""
        self.graph.lint()
        return GraphModule(self.root, self.graph)

    def _keep(self, name: str, node: Node, value: Any) -> None:
        if name in self.nodes or name in RESERVED:
            raise ValueError(f"the name {name} cannot be used, or is used twice")
        node.name = name
        self.nodes[name] = node
        node.meta["val"] = value

    def value(self, name: str) -> Any:
        """What is said of a name."""
        if name in self._tensors:
            return self._tensors[name]
        if name in self._lengths:
            return self._lengths[name]
        raise ValueError(f"nothing is said of {name}")

    # --- arguments ------------------------------------------------------------------------------

    def _node(self, name: Any) -> Node:
        found = self.nodes.get(name)
        if found is None:
            raise ValueError(f"{str(name)[:80]!r} is used before it is made")
        return found

    def argument(self, data: Any) -> Any:
        """A value of a node's arguments."""
        word, value = _one(data)
        kind, several = word.removeprefix("as_"), word.endswith("s") and isinstance(value, list)
        single = kind[:-1] if several else kind
        if single in ("tensor", "sym_int", "optional_tensor"):
            return [self._named(x) for x in value] if several else self._named(value)
        if single in ("int", "float", "bool", "string", "none"):
            return [plain(single, x) for x in value] if several else plain(single, value)
        if kind == "scalar_type":
            return _dtype(value)
        if kind == "device":
            return device_of(value)
        if kind == "complex":
            return complex(plain("float", value["real"]), plain("float", value["imag"]))
        for name, known in (("memory_format", MEMORY_FORMATS), ("layout", LAYOUTS)):
            if kind == name and value in known:
                return known[value]
        if kind == "graph":
            return self._inner(value)
        raise NotImplementedError(f"arguments of the kind {word[:40]}")

    def _named(self, data: Any) -> Any:
        if "name" in data:
            return self._node(data["name"])
        word, value = _one(data)
        if word in ("as_name", "as_tensor"):
            return self._node(value if word == "as_name" else value["name"])
        return plain(word.removeprefix("as_"), value)

    def _inner(self, data: Any) -> Node:
        name = _identifier(data["name"])
        inner = _GraphReader(data["graph"])
        inner.read(data["graph"], None)
        self.symbols |= inner.symbols
        setattr(self.root, name, inner.module())
        return self.graph.get_attr(name)

    # --- nodes ----------------------------------------------------------------------------------

    def read(self, data: dict[str, Any], constants: list[ArgumentSpec] | None) -> None:
        """Read inputs, nodes and outputs.

        Args:
            constants: of the inputs, those that are no tensors have a value; None: all are
                tensors or lengths.
        """
        for place, each in enumerate(data["inputs"]):
            word, value = _one(each)
            if word in ("as_tensor", "as_sym_int"):
                name = _identifier(value["name" if word == "as_tensor" else "as_name"])
                self._keep(name, self.graph.placeholder(name), self.value(name))
            elif constants is not None and isinstance(constants[place], ConstantArgument):
                name = _identifier(constants[place].name)
                self._keep(name, self.graph.placeholder(name), self.argument(each))
            else:
                raise NotImplementedError(f"inputs of the kind {word[:40]}")
        for each in data["nodes"]:
            self._call(each)
        made = [self.argument(each) for each in data["outputs"]]
        self.graph.output(made[0] if data.get("is_single_tensor_return") else tuple(made))

    def _call(self, data: dict[str, Any]) -> None:
        word = data["target"]
        target: Any
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        if length_function(word) is not None:
            target = length_function(word)
            args = [self.argument(each["arg"]) for each in data["inputs"]]
        elif word in _OVER_GRAPHS:
            target, fits = _OVER_GRAPHS[word]
            args = [self.argument(each["arg"]) for each in data["inputs"]]
            if not fits(args):
                raise ValueError(f"the arguments of {word} do not fit")
        else:
            target = _overload(word)
            args, kwargs = self._operands(target, data["inputs"])
        self._results(data, target, tuple(args), kwargs)

    def _operands(self, target: OpOverload, inputs: Any) -> tuple[list[Any], dict[str, Any]]:
        schema: Any = target._schema
        known = {argument.name: argument for argument in schema.arguments}
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for each in inputs:
            name = each["name"]
            argument = known.get(name)
            if argument is None or name in kwargs:
                raise ValueError(f"{target} has no argument {str(name)[:40]!r}")
            value = self.argument(each["arg"])
            kind = each.get("kind")
            by_name = argument.keyword_only if kind is None else kind == _KEYWORD
            if by_name or kwargs:
                kwargs[name] = value
            elif len(args) < len(schema.arguments) and schema.arguments[len(args)].name == name:
                args.append(value)
            else:
                kwargs[name] = value
        missing = [
            a.name for a in schema.arguments[len(args) :]
            if a.name not in kwargs and not a.has_default and not a.type.endswith("?")
        ]  # fmt: skip
        if missing:
            raise ValueError(f"{target} is called without {', '.join(missing)}")
        return args, kwargs

    def _results(self, data: dict[str, Any], target: Any, args: Any, kwargs: Any) -> None:
        outputs = [_one(each) for each in data["outputs"]]
        several = len(outputs) > 1 or (outputs and outputs[0][0] == "as_tensors")
        schema = target._schema if isinstance(target, OpOverload) else None
        graph = getattr(target, "file_word", "") in _OVER_GRAPHS
        if not outputs or several or graph or (schema is not None and len(schema.returns) > 1):
            fallback = getattr(target, "_opname", getattr(target, "__name__", "call"))
            node = self.graph.call_function(
                target, args, kwargs, name=_identifier(data.get("name") or fallback)
            )
            values = [
                each for word, value in outputs
                for each in (value if word == "as_tensors" else [value])
            ]  # fmt: skip
            parts = []
            for place, value in enumerate(values):
                name = _identifier(value.get("name", value.get("as_name")))
                part = self.graph.call_function(operator.getitem, (node, place), name=name)
                self._keep(name, part, self.value(name))
                parts.append(self.value(name))
            node.meta["val"] = tuple(parts) if parts else None
            return
        word, value = outputs[0]
        if word not in ("as_tensor", "as_sym_int"):
            raise NotImplementedError(f"results of the kind {word[:40]}")
        name = _identifier(value["name" if word == "as_tensor" else "as_name"])
        self._keep(name, self.graph.call_function(target, args, kwargs, name=name),
                   self.value(name))  # fmt: skip


def plain(kind: str, value: Any) -> Any:
    """A number, a text or None of the kind that the file says."""
    if kind == "none":
        return None
    if kind == "float":
        found = _FLOATS.get(value) if isinstance(value, str) else value
        if isinstance(found, (int, float)) and not isinstance(found, bool):
            return float(found)
    known: dict[str, type] = {"int": int, "bool": bool, "string": str}
    if kind in known and type(value) is known[kind]:
        return value
    raise ValueError(f"{str(value)[:80]!r} is no {kind}")


# --- signature --------------------------------------------------------------------------------


def _argument(data: Any) -> ArgumentSpec:
    word, value = _one(data)
    if word == "as_tensor":
        return TensorArgument(_identifier(value["name"]))
    if word == "as_sym_int" and "as_name" in value:
        return SymIntArgument(_identifier(value["as_name"]))
    return ConstantArgument("", plain(word.removeprefix("as_"), value))


_INPUTS = {
    "parameter": (InputKind.PARAMETER, "parameter_name"),
    "buffer": (InputKind.BUFFER, "buffer_name"),
    "tensor_constant": (InputKind.CONSTANT_TENSOR, "tensor_constant_name"),
}
_OUTPUTS = {
    "buffer_mutation": (OutputKind.BUFFER_MUTATION, "buffer_name"),
    "parameter_mutation": (OutputKind.PARAMETER_MUTATION, "parameter_name"),
    "user_input_mutation": (OutputKind.USER_INPUT_MUTATION, "user_input_name"),
}


def _input_spec(data: Any) -> InputSpec:
    word, value = _one(data)
    if word in _INPUTS:
        kind, key = _INPUTS[word]
        name, target = _identifier(value["arg"]["name"]), value[key]
        if not isinstance(target, str) or not all(target.split(".")):
            raise ValueError(f"{str(target)[:80]!r} is no name")
        persistent = bool(value["persistent"]) if word == "buffer" else None
        return InputSpec(kind, TensorArgument(name), target, persistent)
    if word == "constant_input":
        kind_of, held = _one(value["value"])
        fixed = plain(kind_of.removeprefix("as_"), held)
        return InputSpec(
            InputKind.USER_INPUT, ConstantArgument(_identifier(value["name"]), fixed), None
        )
    if word != "user_input":
        raise NotImplementedError(f"inputs of the kind {word[:40]}")
    return InputSpec(InputKind.USER_INPUT, _argument(value["arg"]), None)


def _output_spec(data: Any) -> OutputSpec:
    word, value = _one(data)
    if word in _OUTPUTS:
        kind, key = _OUTPUTS[word]
        return OutputSpec(kind, TensorArgument(_identifier(value["arg"]["name"])), value[key])
    if word != "user_output":
        raise NotImplementedError(f"outputs of the kind {word[:40]}")
    return OutputSpec(OutputKind.USER_OUTPUT, _argument(value["arg"]), None)


# --- lengths ----------------------------------------------------------------------------------


def _paths(spec: TreeSpec, start: str) -> Iterator[str]:
    """The code that finds each leaf of a container."""
    if spec.is_leaf():
        yield start
        return
    is_dict = spec.type is not namedtuple and issubclass(spec.type, dict)
    keys = spec.context if is_dict else range(len(spec.children_specs))
    for key, each in zip(keys, spec.children_specs, strict=True):
        yield from _paths(each, f"{start}[{key!r}]")


def _places(spec: TreeSpec, names: list[str]) -> list[str]:
    """The same of all arguments, by the names of the forward's."""
    positional, named = spec.children_specs
    found: list[str] = []
    for place, each in enumerate(positional.children_specs):
        name = names[place] if place < len(names) else f"args_{place}"
        found += _paths(each, f"L[{name!r}]")
    for name, each in zip(named.context, named.children_specs, strict=True):
        found += _paths(each, f"L[{name!r}]")
    return found


def _by_source(
    signature: ExportGraphSignature, graph: Graph, places: list[str]
) -> dict[str, Expression]:
    """What the lengths of the arguments' tensors are, by the code that finds them."""
    values = {n.name: n.meta["val"] for n in graph.find_nodes(op="placeholder")}
    users = [s for s in signature.input_specs if s.kind is InputKind.USER_INPUT]
    found: dict[str, Expression] = {}
    for spec, place in zip(users, places, strict=True):
        if isinstance(spec.arg, TensorArgument):
            for axis, n in enumerate(values[spec.arg.name].shape):
                fixed = Expression("number", int(n))
                found[f"{place}.size()[{axis}]"] = (
                    n.expression if isinstance(n, SymInt) else fixed
                )
    return found


def _guard(text: Any, lengths: dict[str, Expression]) -> Guard:
    try:
        node = ast.parse(str(text), mode="eval").body
    except (SyntaxError, RecursionError, ValueError, MemoryError):
        raise ValueError(f"the guard {str(text)[:80]!r} is no comparison") from None
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        raise NotImplementedError(f"the guard {str(text)[:80]!r}")
    comparison = _COMPARISONS.get(type(node.ops[0]))
    if comparison is None:
        raise NotImplementedError(f"the guard {str(text)[:80]!r}")

    def leaf(each: ast.AST) -> Expression | None:
        return lengths.get(ast.unparse(each))

    sides = [parsed(ast.unparse(each), leaf) for each in (node.left, node.comparators[0])]
    return Guard(sides[0], comparison, sides[1])


def _ranges(data: Any) -> dict[Expression, ValueRange]:
    def leaf(node: ast.AST) -> Expression | None:
        return Expression("symbol", node.id) if isinstance(node, ast.Name) else None

    found = {}
    for name, span in data.items():
        least, most = span["min_val"], span["max_val"]
        found[parsed(name, leaf)] = ValueRange(
            0 if least is None else _whole(least), None if most is None else _whole(most)
        )
    return found


# --- programs ---------------------------------------------------------------------------------


def _check_version(data: Any) -> None:
    major, minor = data["major"], data["minor"]
    if _whole(major) != SCHEMA[0] or _whole(minor) > SCHEMA[1]:
        raise NotImplementedError(
            f"files of the schema {major}.{minor}; {SCHEMA[0]}.{SCHEMA[1]} is the newest that is "
            "known"
        )


def _check_signature(
    signature: ExportGraphSignature, graph: Graph, in_spec: TreeSpec, out_spec: TreeSpec
) -> None:
    """Raise where the signature is not that of the graph."""
    given = [n.name for n in graph.find_nodes(op="placeholder")]
    if [spec.arg.name for spec in signature.input_specs] != given:
        raise ValueError("the graph has other inputs than the signature")
    returned: Any = graph.output_node().args[0]
    if len(returned) != len(signature.output_specs):
        raise ValueError("the graph has other outputs than the signature")
    for spec, value in zip(signature.output_specs, returned, strict=True):
        found = value.name if isinstance(value, Node) else value
        wanted = spec.arg.value if isinstance(spec.arg, ConstantArgument) else spec.arg.name
        if found != wanted or isinstance(value, Node) is isinstance(spec.arg, ConstantArgument):
            raise ValueError("the graph has other outputs than the signature")
    if [each.type for each in (in_spec, *in_spec.children_specs)] != [tuple, tuple, dict]:
        raise ValueError("the arguments are no tuple and dict")
    users = [s for s in signature.input_specs if s.kind is InputKind.USER_INPUT]
    results = [s for s in signature.output_specs if s.kind is OutputKind.USER_OUTPUT]
    if in_spec.num_leaves != len(users) or out_spec.num_leaves != len(results):
        raise ValueError("the arguments or results do not fit the signature")
    targets = {str(s.target) for s in signature.input_specs if s.kind is not InputKind.USER_INPUT}
    targets |= {s.arg.name for s in users}
    for written in signature.output_specs:
        if written.kind is not OutputKind.USER_OUTPUT and written.target not in targets:
            raise ValueError("something is written to that is no input")


def traced_of(data: dict[str, Any], constants: dict[str, Any]) -> Traced:
    """A program.

    Args:
        data: of the JSON.
        constants: tensors that are not in the ``state_dict``.

    Raises:
        NotImplementedError: the file has an operator, or something else, that is not known.
        ValueError, KeyError, ...: it contradicts itself, or is none.
    """
    _check_version(data["schema_version"])
    held = data["graph_module"]
    specs = held["signature"]
    signature = ExportGraphSignature(
        [_input_spec(each) for each in specs["input_specs"]],
        [_output_spec(each) for each in specs["output_specs"]],
    )
    reader = _GraphReader(held["graph"])
    reader.read(held["graph"], [spec.arg for spec in signature.input_specs])
    call = next(each for each in held["module_call_graph"] if each["fqn"] == "")["signature"]
    in_spec, out_spec = spec_of(call["in_spec"]), spec_of(call["out_spec"])
    _check_signature(signature, reader.graph, in_spec, out_spec)
    names = [_identifier(name) for name in call.get("forward_arg_names") or ()]
    lengths = _by_source(signature, reader.graph, _places(in_spec, names))
    guards = [_guard(text, lengths) for text in data.get("guards_code") or ()]
    sources: dict[str, str] = {}
    for source, expression in lengths.items():
        if expression.kind == "symbol":
            sources.setdefault(expression.value, source)
    ranges = {
        expression: span for expression, span in _ranges(data["range_constraints"]).items()
        # PyTorch leaves those of a loop's trace, which no tensor has
        if expression.symbols() <= sources.keys() or expression.symbols() & reader.symbols
    }  # fmt: skip
    for expression in (*ranges, *[side for g in guards for side in (g.left, g.right)]):
        unknown = expression.symbols() - sources.keys()
        if unknown:
            raise NotImplementedError(f"the length {sorted(unknown)[0]}, which no argument has")
    return Traced(
        reader.module(), signature, in_spec, out_spec, constants, ranges, sources, guards, names
    )
