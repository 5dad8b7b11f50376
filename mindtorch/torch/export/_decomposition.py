"""Programs in fewer operators, none of which writes to a tensor."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mindtorch.engine.aval import aval
from mindtorch.engine.compile.capture.symbolic_tracer import SymbolicTracer, trace_for_sizes
from mindtorch.engine.compile.capture.tracer import TracingError
from mindtorch.engine.op import Op
from mindtorch.engine.tensor import Tensor
from mindtorch.exporting.errors import ExportError
from mindtorch.torch import no_grad
from mindtorch.torch._aten.autograd import COMPOSITES, NOT_MADE
from mindtorch.torch._aten.lowerings import call, described, overload, packet
from mindtorch.torch._aten.overloads import OpOverload
from mindtorch.torch._aten.schemas import lines_of, tensors_in
from mindtorch.torch._aten.stage import for_a_while
from mindtorch.torch.functions.creation import new_empty
from mindtorch.torch.fx.graph_module import GraphModule
from mindtorch.torch.fx.node import Node

from ._decomposition_rules import RULES, WRITES
from ._program_graph import Inputs, drop_unused
from ._recording import Recorder
from ._symbols import Expression, SymInt
from ._tracing import Traced
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)

__all__ = ["decomposed"]

_KINDS = {
    InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
    InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
    InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION,
}


@dataclass(eq=False)
class _Value:
    """What a tensor is in the graph.

    Attributes:
        node: that gives it; of a view the one that gave it when it was read last.
        parent: what it is a view of, by ``view``; ``view``: the operator and its other arguments.
        writes: how often the memory was written to when the node was made; of memory itself: how
            often it was.
    """

    tensor: Any
    node: Node
    parent: _Value | None = None
    view: tuple[OpOverload, tuple[Any, ...]] | None = None
    writes: int = 0

    @property
    def memory(self) -> _Value:
        """That of which it is a view of a view."""
        return self if self.parent is None else self.parent.memory


class _Functional(Recorder):
    """Writes down what overloads are made of; what is written to becomes a new value.

    Args:
        table: operators and what they are made of; None: all that are not of the core.
    """

    _books = (*Recorder._books, "_of")

    def __init__(self, program: Any, table: dict[Any, Callable[..., Any]] | None) -> None:
        self._of: dict[int, _Value] = {}
        self._table = table
        self._open: list[OpOverload] = []
        super().__init__(program)

    # --- values -----------------------------------------------------------------------------------

    def note(self, tensor: Tensor, node: Node) -> None:
        super().note(tensor, node)
        if id(tensor) not in self._of:
            self._of[id(tensor)] = _Value(tensor, node)

    def node_of(self, tensor: Tensor) -> Node:
        found = self._of.get(id(tensor))
        return super().node_of(tensor) if found is None else self._now(found)

    def _now(self, value: _Value) -> Node:
        """The node of a value, made again if the memory was written to since."""
        if value.parent is None or value.view is None:
            return value.node
        if value.writes != value.memory.writes:
            func, rest = value.view
            node = self.emit(func, (self._now(value.parent), *rest), {})
            node.meta["val"] = value.node.meta["val"]
            value.node, value.writes = node, value.memory.writes
        return value.node

    def _write(self, value: _Value, node: Node) -> None:
        if value.parent is not None and value.view is not None:
            whole = self._scattered(value.view, self._now(value.parent), node)
            self._write(value.parent, whole)
        else:
            value.writes += 1
        value.node = node
        if value.parent is not None:
            value.writes = value.memory.writes

    def _scattered(self, view: tuple[OpOverload, tuple[Any, ...]], whole: Node, part: Node) -> Node:
        """``whole`` with ``part`` in the place that the view shows."""
        (func, rest), value = view, whole.meta["val"]

        def emit(name: str, *args: Any) -> Node:
            node = self.emit(overload(name), args, {})
            node.meta["val"] = value
            return node

        if func._opname in ("view", "unsqueeze", "squeeze", "alias", "detach"):
            return emit("view.default", part, [int(n) for n in value.shape])
        if func._opname == "permute":
            order = [d % len(rest[0]) for d in rest[0]]
            return emit("permute.default", part, [order.index(d) for d in range(len(order))])
        if func._opname == "slice":
            return emit("slice_scatter.default", whole, part, *rest)
        if func._opname == "select" and all(isinstance(n, int) for n in rest):
            axis, index = rest[0] % len(value.shape), rest[1] % value.shape[rest[0]]
            wide = emit("unsqueeze.default", part, axis)
            return emit("slice_scatter.default", whole, wide, axis, index, index + 1)
        raise ExportError(f"run_decompositions: a write to what {func} shows of a tensor")

    # --- calls ------------------------------------------------------------------------------------

    def hand(self, func: OpOverload, args: Any, kwargs: Any) -> Any:
        args, kwargs = func.as_passed(args, kwargs)
        own = None if self._table is None else self._table.get(func)
        if own is not None and func not in self._open:
            return self._inside(func, own, args, kwargs)
        if func._schema is not None and func._schema.is_mutable:
            return self._functional(func, args, kwargs)
        if func not in self._open and (func.composite or self._table is None):
            for body in (RULES.get(func.__name__), RULES.get(func._opname),
                         COMPOSITES.get(func._opname) if func.composite else None):  # fmt: skip
                made = NOT_MADE if body is None else self._inside(func, body, args, kwargs)
                if made is not NOT_MADE:
                    return made
            if func.composite:
                with contextlib.suppress(TracingError):  # it looks at data: it stays what it is
                    return self._inside(func, func.kernel, args, kwargs)
        return self._kept(func, args, kwargs)

    def _inside(self, func: OpOverload, body: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self._open.append(func)
        try:
            return body(*args, **kwargs)
        finally:
            self._open.pop()

    def _kept(self, func: OpOverload, args: Any, kwargs: Any) -> Any:
        given = [self.value(x) for x in args], {k: self.value(x) for k, x in kwargs.items()}
        result = self.outside(func.kernel, *args, **kwargs)
        several = isinstance(result, (list, tuple))
        made = list(tensors_in(result if several else (result,)))
        if not made and func._schema is not None and func._schema.returns:
            return result
        node = self.emit(func, *given)
        if several:
            self._name_parts(node, result)
            self._note_parts(func, args, result)
        elif made:
            self._describe(node, result)
            self.note(result, node)
            if func.is_view and result is not args[0]:
                self._note_view(result, args[0], func, tuple(given[0][1:]))
        return result

    def _note_view(self, result: Any, source: Any, func: OpOverload, rest: Any) -> None:
        value, parent = self._of[id(result)], self._of.get(id(source))
        if parent is not None:
            value.parent, value.view, value.writes = parent, (func, rest), parent.memory.writes

    def _note_parts(self, func: OpOverload, args: Any, results: Any) -> None:
        """The parts of a tensor that was split are slices of it."""
        if func._opname != "split_with_sizes":
            return
        axis = args[2] if len(args) > 2 else 0
        begin = 0
        for part, length in zip(results, args[1], strict=True):
            end = begin + length
            rest = (axis, self.value(begin), self.value(end))
            self._note_view(part, args[0], overload("slice.Tensor"), rest)
            begin = end

    def _functional(self, func: OpOverload, args: Any, kwargs: Any) -> Any:
        """A write: the value of the operator that gives a new tensor, in the target's place."""
        body = WRITES.get(func._opname)
        if body is not None:
            written = self._inside(func, body, args, kwargs)
        else:
            name = func._opname[:-1]
            known = packet(name) if func._opname.endswith("_") else None
            if known is None or func._overloadname not in lines_of(name):
                raise ExportError(f"run_decompositions: {func}, which writes to its arguments")
            value = getattr(known, func._overloadname)(*args, **kwargs)
            written = {"result": args[0], "writes": [(args[0], value)]}
        for target, value in written["writes"]:
            self._set(target, value)
        return written["result"]

    def _set(self, target: Any, value: Any) -> None:
        if value.aval.dtype is not target.aval.dtype:
            value = call("_to_copy", value, dtype=target.aval.dtype)
        if value.aval.shape != target.aval.shape:
            value = call("expand", value, list(target.aval.shape))
        if self.within():
            self.check_write(target)
        node = self.node_of(value)
        self.node_of(target)
        self._write(self._of[id(target)], node)

    def apply_in_place(self, op: Op, target: Tensor, inputs: Any, params: Any) -> Tensor:
        self._set(target, self.hand(*described(op, inputs, params)))
        return target

    def mutated(self, tensor: Tensor, placeholder: Node) -> Node | None:
        """What an input is at the end, where that is another value."""
        found = self._of[id(tensor)]
        return None if found.node is placeholder else found.node


class _Copied(Inputs):
    """A graph with the inputs of another one."""

    def __init__(self, old: GraphModule, symbols: list[Expression], given: list[Tensor]) -> None:
        super().__init__(symbols)
        self.traced = []
        left = iter(given)
        for node in old.graph.find_nodes(op="placeholder"):
            new = self.named(str(node.name))
            new.meta = dict(node.meta)
            value = node.meta["val"]
            if isinstance(value, Tensor):
                self.place(new)
                self.traced.append((next(left), new))

    def constant(self, tensor: Tensor) -> Node:
        """Not available: what an operator is made of has no constants."""
        raise TracingError("a tensor that is no input of the program is in a decomposition")


class _Run:
    """One run of a program's graph, in which it is written down anew."""

    def __init__(self, traced: Traced, symbols: list[Expression], table: Any) -> None:
        self.traced, self.symbols, self.table = traced, symbols, table
        self.program: Any = None
        self.outputs: list[OutputSpec] = []

    def __call__(self, *given: Tensor) -> list[Tensor]:
        old = self.traced.graph_module
        self.program = _Copied(old, self.symbols, list(given))
        left = iter(given)
        inputs = [
            next(left) if isinstance(n.meta["val"], Tensor) else n.meta["val"]
            for n in old.graph.find_nodes(op="placeholder")
        ]  # fmt: skip
        with _Functional(self.program, self.table) as recorder:
            results = old(*inputs)
            self._finish(recorder, results)
        return [x for x in results if isinstance(x, Tensor)]

    def _finish(self, recorder: _Functional, results: Any) -> None:
        made: list[Any] = []
        signature = self.traced.signature
        changed = iter(self.program.traced)
        for spec in signature.input_specs:
            if not isinstance(spec.arg, TensorArgument):
                continue
            tensor, placeholder = next(changed)
            node = recorder.mutated(tensor, placeholder)
            if node is not None:
                target = spec.target if spec.target is not None else spec.arg.name
                made.append(node)
                self.outputs.append(
                    OutputSpec(_KINDS[spec.kind], TensorArgument(node.name), target)
                )
        for given, value in zip(signature.output_specs, results, strict=True):
            if given.kind is not OutputKind.USER_OUTPUT:
                raise ExportError("run_decompositions: the program writes by its outputs already")
            held = recorder.value(value)
            made.append(held)
            arg: Any = given.arg
            if not isinstance(arg, ConstantArgument):
                length = isinstance(arg, SymIntArgument)
                arg = SymIntArgument(held.name) if length else TensorArgument(held.name)
            self.outputs.append(OutputSpec(OutputKind.USER_OUTPUT, arg, None))
        self.program.graph.output(tuple(made))
        drop_unused(self.program.graph)


def _example(value: Any) -> Tensor:
    plain = aval(tuple(map(int, value.shape)), value.dtype, None, value.fake_device)
    made: Tensor = new_empty(plain)
    return made


def decomposed(traced: Traced, table: dict[Any, Callable[..., Any]] | None) -> Traced:
    """The program in other operators.

    Args:
        table: operators and what they are made of; None: all operators that are not of the core.

    Raises:
        ExportError: an operator writes in a way that has no value.
    """
    values = [n.meta["val"] for n in traced.graph_module.graph.find_nodes(op="placeholder")]
    tensors = [v for v in values if isinstance(v, Tensor)]
    axes = [
        {i: str(n.expression) for i, n in enumerate(v.shape) if isinstance(n, SymInt)}
        for v in tensors
    ]  # fmt: skip
    symbols = {
        str(n.expression): n.expression for v in tensors for n in v.shape if isinstance(n, SymInt)
    }
    run = _Run(traced, list(symbols.values()), table)
    try:
        with no_grad(), for_a_while():
            _, sizes = trace_for_sizes(
                run, [_example(v) for v in tensors], axes, SymbolicTracer()
            )
    except TracingError as error:
        raise ExportError(f"run_decompositions: {error}") from error
    if sizes.reasons:
        raise ExportError(f"run_decompositions: an open length is fixed: {sizes.reasons[0]}")
    module = GraphModule(run.program.root, run.program.graph)
    return Traced(
        module, ExportGraphSignature(list(traced.signature.input_specs), run.outputs),
        traced.in_spec, traced.out_spec, traced.constants, traced.ranges, traced.sources,
        traced.guards, traced.argument_names,
    )  # fmt: skip
