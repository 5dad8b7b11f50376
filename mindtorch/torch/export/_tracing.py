"""A module's forward as a graph whose inputs are parameters, buffers, constants and arguments."""

from __future__ import annotations

import ast
import gc
import inspect
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import mindtorch
from mindtorch.engine.autograd import tape
from mindtorch.engine.aval import Aval
from mindtorch.engine.compile.capture.symbolic_tracer import SymbolicTracer, trace_for_sizes
from mindtorch.engine.compile.capture.tracer import TracingError
from mindtorch.engine.compile.ir.ir import GraphOp, Value, waits
from mindtorch.engine.compile.passes.cleanup import dead_code, identities
from mindtorch.engine.dispatch import GRAD, state
from mindtorch.engine.result_strides import preserved_strides
from mindtorch.engine.symbolic_sizes import KINDS
from mindtorch.engine.tensor import Tensor
from mindtorch.exporting.errors import ExportError
from mindtorch.exporting.inference_graph import InferenceGraph
from mindtorch.exporting.replay import program_graph
from mindtorch.lite.errors import ConvertError
from mindtorch.lite.graph import LiteGraph
from mindtorch.torch import enable_grad
from mindtorch.torch._dynamo.exc import UserError
from mindtorch.torch.func import functional_call
from mindtorch.torch.nn import Module
from mindtorch.torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves_with_path

from .dynamic_shapes import OpenLengths, open_lengths, specialized
from .graph_signature import (
    ArgumentSpec,
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

__all__ = ["Guard", "Traced", "combined", "trace_module"]

_LIBRARY = os.path.dirname(mindtorch.__file__) + os.sep
_OF_LAYOUTS = (Aval.__repr__.__code__.co_filename, preserved_strides.__code__.co_filename)
_CONDITION = re.compile(r"(\S+) (==|!=|<=|>=|<|>) (\S+)")


@dataclass(frozen=True)
class Guard:
    """A comparison of numbers that the graph relies on.

    Attributes:
        left, right: a number, or ``"v3"``: a place in the graph's numbers.
        comparison: an operator of Python's.
        holds: what it gives.
    """

    left: Any
    comparison: str
    right: Any
    holds: bool


@dataclass
class Traced:
    """What a module's forward computes.

    Attributes:
        graph: its inputs and outputs are those of the signature that are tensors.
        signature: what they are.
        in_spec, out_spec: how (args, kwargs) and the result are put together.
        constants: by name, tensors that are neither parameters nor in the ``state_dict``.
        lengths: (input of the graph, axis) of each open length.
        ranges: of the open lengths, in the same order.
        guards: what else the graph relies on.
    """

    graph: LiteGraph
    signature: ExportGraphSignature
    in_spec: TreeSpec
    out_spec: TreeSpec
    constants: dict[str, Tensor]
    lengths: list[tuple[int, int]]
    ranges: dict[str, Any]
    guards: list[Guard] = field(default_factory=list)


def _has_gradients(dtype: Any) -> bool:
    return bool(dtype.is_floating_point or dtype.is_complex)


class _Detach(GraphOp):
    """A value without its history."""

    name = "detach"

    def aval(self, x: Any) -> Any:
        return x


_DETACH: Any = _Detach()


class _GradientTracer(SymbolicTracer):
    """A trace that also writes down where gradients end: in `detach` and `no_grad`.

    A value is differentiable if it follows from a tracked argument. Where an op takes such a value
    without history, a `detach` stands before it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.differentiable: set[int] = set()

    def argument(self, tensor: Tensor, described: Any = None) -> Tensor:
        made = super().argument(tensor, described)
        if tape.requires_grad(made):
            self.differentiable.add(self.value_of(made).number)
        return made

    def _append(
        self, op: Any, inputs: Any, params: dict[str, Any], derived: Any
    ) -> tuple[Value, ...]:
        outputs = super()._append(op, inputs, params, derived)
        if op is not _DETACH and any(
            v is not None and v.number in self.differentiable for v in inputs
        ):
            self.differentiable.update(
                [v.number for v in outputs if _has_gradients(v.aval.dtype)]
            )
        return outputs

    def apply(self, op: Any, inputs: Any, params: dict[str, Any]) -> Any:
        if op.view is None:
            inputs = tuple([None if x is None else self._with_its_history(x) for x in inputs])
        return super().apply(op, inputs, params)

    def _with_its_history(self, x: Tensor) -> Tensor:
        tracked = state.mode & GRAD and tape.requires_grad(x)
        if tracked or not self.differentiable:
            return x
        value = self.value_of(x)
        if value.number not in self.differentiable:
            return x
        made = self._tensor(self.emit(_DETACH, (value,), {})[0])
        made._node = tape.node_of(x)
        return made

    def _write(self, target: Tensor, source: Tensor, whole: bool = False) -> Tensor:
        before = self.value_of(target).number in self.differentiable
        if before and not (state.mode & GRAD and tape.requires_grad(target)):
            raise TracingError(
                "a write in place that autograd does not see, to a tensor that has a gradient, "
                "is in the forward"
            )
        return super()._write(target, source, whole)


def combined(call: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by the names of the function's parameters.

    Raises:
        ExportError: they do not fit the function.
    """
    try:
        bound = inspect.signature(call).bind(*args, **kwargs)
    except TypeError as error:
        raise ExportError(f"the arguments do not fit the model: {error}") from None
    found = dict(bound.arguments)
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            found.update(found.pop(name, {}))
    return found


def _leaf_names(arguments: dict[str, Any]) -> list[tuple[str, Any]]:
    """(name in the graph, value) of everything in the arguments."""
    found = []
    for path, leaf in tree_leaves_with_path(arguments):
        parts = [next(iter(vars(key).values())) for key in path]  # a key, an index or a name
        found.append((re.sub(r"\W", "_", "_".join(map(str, parts))), leaf))
    return found


@dataclass
class _Call:
    """One trace of a forward, as it is under way.

    Attributes:
        held: the module's parameters and buffers, by name.
        leaves: what is in (args, kwargs); in_spec: how they are put together.
        results: what is in the result; out_spec: how it is put together.
    """

    module: Module
    held: dict[str, Tensor]
    leaves: list[Any]
    in_spec: TreeSpec
    results: list[Any] = field(default_factory=list)
    out_spec: Any = None

    def tensors(self) -> list[Tensor]:
        return [x for x in self.leaves if isinstance(x, Tensor)]

    def examples(self) -> list[Tensor]:
        """What the trace is made for; arguments may have gradients later."""
        given = [
            x.detach().requires_grad_() if _has_gradients(x.aval.dtype) else x
            for x in self.tensors()
        ]
        return [*self.held.values(), *given]

    def __call__(self, *traced: Tensor) -> list[Tensor]:
        """The state and the arguments afterwards, then the result's tensors."""
        count = len(self.held)
        given = [x.clone() if x.requires_grad else x for x in traced[count:]]  # no leaves
        left = iter(given)
        args, kwargs = self.in_spec.unflatten(
            next(left) if isinstance(x, Tensor) else x for x in self.leaves
        )
        now = dict(zip(self.held, traced[:count], strict=True))
        attributes = _attributes(self.module)
        try:
            made = functional_call(self.module, now, args, kwargs)
        finally:
            assigned = _taken_back(self.module, attributes)
        if assigned:
            raise ValueError(
                f"The tensor attributes {', '.join(assigned)} were assigned during export. Such "
                "attributes must be registered as buffers using the `register_buffer` API "
                "(https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module."
                "register_buffer)."
            )
        self.results, self.out_spec = tree_flatten(made)
        for each in self.results:
            if type(each) in KINDS:
                raise ExportError("the forward returns a length that is to be open")
        return [*now.values(), *given, *[x for x in self.results if isinstance(x, Tensor)]]


def _attributes(module: Module) -> dict[tuple[str, str], Any]:
    return {
        (path, name): value
        for path, each in module.named_modules() for name, value in vars(each).items()
        if isinstance(value, Tensor)
    }  # fmt: skip


def _taken_back(module: Module, before: dict[tuple[str, str], Any]) -> list[str]:
    """The attributes that hold traced tensors, which are again what they were."""
    found = []
    modules = dict(module.named_modules())
    for (path, name), value in _attributes(module).items():
        if waits(value) and before.get((path, name)) is not value:
            found.append(f"{path}.{name}" if path else name)
            if (path, name) in before:
                setattr(modules[path], name, before[path, name])
            else:
                delattr(modules[path], name)
    return found


def _existing() -> list[Tensor]:
    """All tensors that there are."""
    return [x for x in gc.get_objects() if issubclass(type(x), Tensor)]


def _refuse_writes(graph: Any, existing: list[Tensor]) -> None:
    """Raise for writes to tensors that are older than the call; others nobody can see."""
    memories = {id(x._shared.memory) for x in existing if x._storage is not None}
    if any(id(x._shared.memory) in memories for x, _ in graph.writes):
        raise ExportError(
            "the forward writes to a tensor that is no parameter, buffer or argument: make it a "
            "buffer with register_buffer"
        )


def _graph_of(call: _Call, opened: OpenLengths) -> tuple[Any, Any]:
    """The traced graph and its sizes; lengths that may be closed are, where the model fixes
    them."""
    while True:
        axes = [*({} for _ in call.held), *opened.axes]
        try:
            with enable_grad():
                graph, sizes = trace_for_sizes(call, call.examples(), axes, _GradientTracer())
        except TracingError as error:
            raise ExportError(
                f"{error}. What an exported program computes cannot depend on data in Python"
            ) from error
        except ValueError as error:
            if any(f"'{name}' is" in str(error) for name in opened.ranges):
                raise UserError(f"dynamic_shapes: lengths of one name differ: {error}") from None
            raise
        fixed = _fixed(sizes)
        if not fixed:
            return graph, sizes
        for name, value in fixed.items():
            if name not in opened.optional:
                raise specialized(opened.shown[name], value)
        opened.close(set(fixed))


def _roots(sizes: Any, place: int) -> set[int]:
    """The open lengths that a number follows from."""
    if place < len(sizes.sizes):
        return {place}
    inner = re.findall(r"\bv(\d+)\b", sizes.definition(place))
    return set().union(*[_roots(sizes, int(each)) for each in inner])


def _relied_on(sizes: Any) -> Iterator[tuple[str, str, str, bool]]:
    """The comparisons of lengths that decide what is computed. Those that only decide how results
    lie in memory are left out: they are asked again when the program runs, and
    :class:`.replay.Replay` checks the memory of views. So are those for special lengths."""
    for text, holds in sizes.conditions():
        parts = _CONDITION.fullmatch(text)
        if parts is None:
            raise ExportError(f"the condition {text} on open lengths cannot be kept")
        asked = sizes.origins.get(text, ())
        if asked and all(file in _OF_LAYOUTS and "broadcast" not in f for file, f in asked):
            continue
        equal = (parts[2] == "==") is holds if parts[2] in ("==", "!=") else True
        library = asked and all(file.startswith(_LIBRARY) for file, _ in asked)
        if not library or equal:
            yield parts[1], parts[2], parts[3], holds


def _fixed(sizes: Any) -> dict[str, Any]:
    """The lengths that the model compares for equality with a number, and these numbers."""
    found: dict[str, Any] = {}
    for left, comparison, right, holds in _relied_on(sizes):
        if comparison != ("==" if holds else "!="):
            continue
        left, right = (left, right) if left[0] == "v" else (right, left)
        if right[0] != "v":
            for root in _roots(sizes, int(left[1:])):
                found[sizes.names[root]] = sizes.values[root]
    return found


def _side(text: str, number: Callable[[int], int]) -> Any:
    if re.fullmatch(r"v\d+", text):
        return f"v{number(int(text[1:]))}"
    return ast.literal_eval(text)


def _guards(sizes: Any, number: Callable[[int], int]) -> list[Guard]:
    return [
        Guard(_side(left, number), comparison, _side(right, number), holds)
        for left, comparison, right, holds in _relied_on(sizes)
    ]


def _lifted(module: Module, graph: Any) -> tuple[dict[str, Tensor], list[Any], dict[int, Tensor]]:
    """Tensors that the forward found by itself, by name, with their values; those that stand for
    Python's numbers, by value."""
    names = {id(value): ".".join(filter(None, at)) for at, value in _attributes(module).items()}
    tensors: dict[str, Tensor] = {}
    values, numbers = [], {}
    for value, tensor in graph.captured:
        if value.aval.weak:
            numbers[value.number] = tensor
            continue
        whole = tensor.aval is value.aval
        name = names.get(id(tensor)) if whole else None
        if name is None:  # one that the call made has the history of the trace
            name, tensor = f"lifted_tensor_{len(tensors)}", tape.detached(tensor)
        tensors[name] = tensor if whole else tensor.as_strided((value.aval.size,), (1,), 0)
        values.append(value)
    return tensors, values, numbers


def _user_inputs(
    named: list[tuple[str, Any]], module: Module
) -> list[InputSpec]:
    specs = []
    for name, leaf in named:
        if isinstance(leaf, Tensor):
            arg: ArgumentSpec = TensorArgument(name)
        elif leaf is None or isinstance(leaf, (bool, int, float, str)):
            arg = ConstantArgument(name, leaf)
        else:
            raise ExportError(
                f"the argument {name} is of type {type(leaf).__name__}: a program takes tensors, "
                "numbers, texts and None, in containers that torch.utils._pytree knows"
            )
        specs.append(InputSpec(InputKind.USER_INPUT, arg, None))
    return specs


def _state_inputs(module: Module, held: dict[str, Tensor]) -> list[InputSpec]:
    parameters = dict(module.named_parameters())
    kept = module.state_dict(keep_vars=True)
    specs = []
    for name in held:
        flat = name.replace(".", "_")
        if name in parameters:
            specs.append(InputSpec(InputKind.PARAMETER, TensorArgument(f"p_{flat}"), name))
        else:
            arg = TensorArgument(f"b_{flat}")
            specs.append(InputSpec(InputKind.BUFFER, arg, name, persistent=name in kept))
    return specs


def _outputs(
    call: _Call, before: Sequence[Any], graph: Any, inputs: Sequence[InputSpec]
) -> tuple[list[Any], list[OutputSpec]]:
    """The values that the graph gives, and what they are: state and arguments that were written
    to, then the result's tensors."""
    kinds = {
        InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
        InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
        InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
    }
    tensors = [spec for spec in inputs if isinstance(spec.arg, TensorArgument)]
    values: list[Any] = []
    specs: list[OutputSpec] = []
    for spec, old, new in zip(tensors, before, graph.outputs, strict=False):
        if new is not old:
            values.append(new)
            target = spec.target if spec.target is not None else spec.arg.name
            specs.append(OutputSpec(kinds[spec.kind], TensorArgument(""), target))
    left = iter(graph.outputs[len(tensors) :])
    for each in call.results:
        if isinstance(each, Tensor):
            values.append(next(left))
            arg: ArgumentSpec = TensorArgument("")
        elif each is None or isinstance(each, (bool, int, float, str)):
            arg = ConstantArgument("", each)
        else:
            raise ExportError(f"the forward returns a {type(each).__name__}")
        specs.append(OutputSpec(OutputKind.USER_OUTPUT, arg, None))
    return values, specs


def trace_module(
    module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
) -> Traced:
    """What ``module(*args, **kwargs)`` computes, without computing it.

    Raises:
        ExportError: the forward needs data, draws random numbers, writes to tensors that are
            neither its own nor arguments, or uses what has no place in a program.
        UserError: ``dynamic_shapes`` does not fit, or the model fixes an open length.
    """
    arguments = combined(module.forward, args, kwargs)
    kwargs = {name: kwargs[name] for name in arguments if name in kwargs}
    named = _leaf_names(arguments)
    leaves, in_spec = tree_flatten((tuple(args), kwargs))
    names = [name for name, leaf in named if isinstance(leaf, Tensor)]
    held = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    call = _Call(module, held, leaves, in_spec)
    opened = open_lengths(arguments, names, dynamic_shapes)
    inputs = [*_state_inputs(module, held), *_user_inputs(named, module)]
    existing = _existing()
    graph, sizes = _graph_of(call, opened)
    _refuse_writes(graph, existing)
    identities(graph)
    before = list(graph.inputs)
    graph.outputs, outputs = _outputs(call, before, graph, inputs)
    graph.writes, graph.gradients = [], []
    dead_code(graph)
    constants, values, numbers = _lifted(module, graph)
    at = len(held)
    inputs[at:at] = [
        InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(f"c_{n.replace('.', '_')}"), n)
        for n in constants
    ]
    graph.inputs = [*before[:at], *values, *before[at:]]
    axes = [*({} for _ in before[:at]), *({} for _ in values), *opened.axes]
    made = InferenceGraph(
        graph.nodes, graph.inputs, graph.outputs, axes, [], sizes, numbers
    )
    made.fold_constants()
    argument_names = [s.arg.name for s in inputs if isinstance(s.arg, TensorArgument)]
    try:
        program, number = program_graph(made, argument_names)
    except ConvertError as error:
        raise ExportError(str(error)) from None
    tensors = iter(program.outputs)
    for spec in outputs:
        if isinstance(spec.arg, TensorArgument):
            spec.arg.name = program.tensors[next(tensors)].name
    aside = [s.target for s in inputs if s.kind is InputKind.BUFFER and not s.persistent]
    constants.update({str(name): held[str(name)] for name in aside})
    places = [(n, (i, a)) for i, each in enumerate(axes) for a, n in each.items()]
    found = dict(reversed(places))  # the first place of each
    return Traced(
        program, ExportGraphSignature(inputs, outputs), in_spec, call.out_spec, constants,
        [found[name] for name in sizes.names],
        {name: opened.ranges[name] for name in sizes.names}, _guards(sizes, number),
    )  # fmt: skip
