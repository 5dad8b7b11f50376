"""A module's forward as a graph whose inputs are parameters, buffers, constants and arguments."""

from __future__ import annotations

import ast
import gc
import inspect
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import mindtorch
from mindtorch.engine.aval import Aval
from mindtorch.engine.compile.capture.symbolic_tracer import SymbolicTracer, trace_for_sizes
from mindtorch.engine.compile.capture.tracer import TracingError
from mindtorch.engine.compile.ir.ir import waits
from mindtorch.engine.result_strides import preserved_strides
from mindtorch.engine.tensor import Tensor
from mindtorch.exporting.errors import ExportError
from mindtorch.torch import enable_grad
from mindtorch.torch._aten.stage import for_a_while
from mindtorch.torch._dynamo.exc import UserError
from mindtorch.torch.func import functional_call
from mindtorch.torch.fx.graph_module import GraphModule
from mindtorch.torch.nn import Module
from mindtorch.torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves_with_path

from ._program_graph import Argument, GraphOfProgram
from ._recording import Recorder
from ._symbols import Expression, symbol_name
from .dynamic_shapes import OpenLengths, ValueRange, open_lengths, specialized
from .graph_signature import ExportGraphSignature

__all__ = ["Guard", "Traced", "combined", "trace_module"]

_LIBRARY = os.path.dirname(mindtorch.__file__) + os.sep
_OF_LAYOUTS = (Aval.__repr__.__code__.co_filename, preserved_strides.__code__.co_filename)
_CONDITION = re.compile(r"(\S+) (==|!=|<=|>=|<|>) (\S+)")


_UNBOUNDED = 1 << 60
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True)
class Guard:
    """A comparison of numbers that the graph relies on."""

    left: Expression
    comparison: str
    right: Expression


@dataclass
class Traced:
    """What a module's forward computes.

    Attributes:
        graph_module: its inputs are those of the signature.
        signature: what they are.
        in_spec, out_spec: how (args, kwargs) and the result are put together.
        constants: by name, tensors that are neither parameters nor in the ``state_dict``.
        ranges: of the open lengths, and of numbers that follow from them.
        sources: by open length, the text that says whose it is: ``L['x'].size()[0]``.
        guards: what else the graph relies on.
        argument_names: of the forward.
    """

    graph_module: GraphModule
    signature: ExportGraphSignature
    in_spec: TreeSpec
    out_spec: TreeSpec
    constants: dict[str, Tensor]
    ranges: dict[Expression, ValueRange]
    sources: dict[str, str]
    guards: list[Guard] = field(default_factory=list)
    argument_names: list[str] = field(default_factory=list)


def _has_gradients(dtype: Any) -> bool:
    return bool(dtype.is_floating_point or dtype.is_complex)


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


def _step(key: Any) -> str:
    """A step of a path as Python code."""
    (kind, value), = vars(key).items()
    return f".{value}" if kind == "name" else f"[{value!r}]"


def _leaves(arguments: dict[str, Any]) -> list[Argument]:
    """Everything in the arguments."""
    found = []
    for path, leaf in tree_leaves_with_path(arguments):
        parts = [next(iter(vars(key).values())) for key in path]  # a key, an index or a name
        name = re.sub(r"\W", "_", "_".join(map(str, parts)))
        found.append(Argument(name, "L" + "".join(map(_step, path)), leaf))
    return found


@dataclass
class _Call:
    """One trace of a forward, as it is under way.

    Attributes:
        held: the module's parameters and buffers, by name.
        leaves: what is in (args, kwargs); in_spec: how they are put together.
        opened: the lengths that are open.
        out_spec: how the result is put together.
        program: the graph of the last trace.
    """

    module: Module
    held: dict[str, Tensor]
    leaves: list[Argument]
    in_spec: TreeSpec
    opened: OpenLengths
    out_spec: Any = None
    program: Any = None

    def tensors(self) -> list[Tensor]:
        return [x.value for x in self.leaves if isinstance(x.value, Tensor)]

    def examples(self) -> list[Tensor]:
        """What the trace is made for; arguments may have gradients later."""
        given = [
            x.detach().requires_grad_() if _has_gradients(x.aval.dtype) else x
            for x in self.tensors()
        ]
        return [*self.held.values(), *given]

    def symbols(self) -> dict[str, tuple[str, str]]:
        """By open length: what it is called in the program, and whose it is."""
        found: dict[str, tuple[str, str]] = {}
        taken: dict[str, str] = {}
        tensors = [x for x in self.leaves if isinstance(x.value, Tensor)]
        for leaf, axes in zip(tensors, self.opened.axes, strict=True):
            for axis, name in axes.items():
                if name not in found:
                    source = f"{leaf.source}.size()[{axis}]"
                    symbol = symbol_name(source, taken)
                    taken[symbol] = source
                    found[name] = symbol, source
        return found

    def __call__(self, *traced: Tensor) -> list[Tensor]:
        """The result's tensors; the nodes are in :attr:`program`."""
        count = len(self.held)
        given = [x.clone() if x.requires_grad else x for x in traced[count:]]  # no leaves
        now = dict(zip(self.held, traced[:count], strict=True))
        names = [Expression("symbol", symbol) for symbol, _ in self.symbols().values()]
        self.program = GraphOfProgram(self.module, now, self.leaves, given, names)
        left = iter(given)
        args, kwargs = self.in_spec.unflatten(
            next(left) if isinstance(x.value, Tensor) else x.value for x in self.leaves
        )
        before, attributes = dict(now), _attributes(self.module)
        try:
            with Recorder(self.program) as recorder:
                made = functional_call(self.module, now, args, kwargs)
                replaced = {n: x for n, x in now.items() if x is not before[n]}
                results, self.out_spec = tree_flatten(made)
                self.program.finish(recorder, replaced, results)
        finally:
            assigned = _taken_back(self.module, attributes)
        if assigned:
            raise ValueError(
                f"The tensor attributes {', '.join(assigned)} were assigned during export. Such "
                "attributes must be registered as buffers using the `register_buffer` API "
                "(https://pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module."
                "register_buffer)."
            )
        return [x for x in results if isinstance(x, Tensor)]


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


def _graph_of(call: _Call) -> tuple[Any, Any]:
    """The traced graph and its sizes; lengths that may be closed are, where the model fixes
    them."""
    opened = call.opened
    while True:
        axes = [*({} for _ in call.held), *opened.axes]
        try:
            with enable_grad(), for_a_while():
                graph, sizes = trace_for_sizes(call, call.examples(), axes, SymbolicTracer())
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


def _guards(sizes: Any, program: GraphOfProgram) -> Iterator[Guard]:
    """What is relied on, in the program's words."""

    def side(text: str) -> Expression:
        if re.fullmatch(r"v\d+", text):
            return program.sizing.expression(sizes, int(text[1:]))
        number = ast.literal_eval(text)
        if type(number) is not int:
            raise ExportError(f"the forward compares a length with {number}")
        return Expression("number", number)

    for left, comparison, right, holds in _relied_on(sizes):
        yield Guard(side(left), comparison if holds else _OPPOSITE[comparison], side(right))


def narrowed(
    ranges: dict[Expression, ValueRange], guards: list[Guard]
) -> tuple[dict[Expression, ValueRange], list[Guard]]:
    """The ranges with what guards say of open lengths alone, and the other guards."""
    ranges, rest = dict(ranges), []
    turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
    for guard in guards:
        left, comparison, right = guard.left, guard.comparison, guard.right
        if left.kind == "number" and comparison in turned:
            left, comparison, right = right, turned[comparison], left
        span = ranges.get(left)
        if span is None or right.kind != "number" or comparison not in turned:
            rest.append(guard)
        elif abs(right.value) >= _UNBOUNDED:
            continue
        elif comparison[0] == ">":
            least = right.value + (comparison == ">")
            ranges[left] = ValueRange(max(span.lower, least), span.upper)
        else:
            most = right.value - (comparison == "<")
            ranges[left] = ValueRange(span.lower, most if span.upper is None else min(
                span.upper, most))  # fmt: skip
    return ranges, rest


def trace_module(
    module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any
) -> Traced:
    """What ``module(*args, **kwargs)`` computes, without computing it.

    Raises:
        ExportError: the forward needs data, writes to tensors that are neither its own nor
            arguments, or uses what has no place in a program.
        UserError: ``dynamic_shapes`` does not fit, or the model fixes an open length.
    """
    arguments = combined(module.forward, args, kwargs)
    kwargs = {name: kwargs[name] for name in arguments if name in kwargs}
    leaves = _leaves(arguments)
    in_spec = tree_flatten((tuple(args), kwargs))[1]
    names = [leaf.name for leaf in leaves if isinstance(leaf.value, Tensor)]
    held = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    opened = open_lengths(arguments, names, dynamic_shapes)
    call = _Call(module, held, leaves, in_spec, opened)
    existing = _existing()
    graph, sizes = _graph_of(call)
    _refuse_writes(graph, existing)
    program: GraphOfProgram = call.program
    symbols = call.symbols()
    ranges = {
        Expression("symbol", symbol): opened.ranges[name] for name, (symbol, _) in symbols.items()
    }
    ranges, guards = narrowed(ranges, list(_guards(sizes, program)))
    return Traced(
        program.module_of_graph(), program.signature(), in_spec, call.out_spec, program.constants,
        ranges, dict(symbols.values()), guards, list(arguments),
    )  # fmt: skip
