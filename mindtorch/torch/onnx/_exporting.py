"""From a model and its arguments to an ONNX model: trace, compute constants, write the nodes."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import onnx
from onnx import helper

from mindtorch.engine.compile.capture.symbolic_tracer import trace_for_sizes
from mindtorch.engine.compile.capture.tracer import TracingError
from mindtorch.engine.compile.ir.ir import DRAW, MAKE, Graph
from mindtorch.engine.compile.jit import Jitted
from mindtorch.engine.compile.passes.cleanup import dead_code, identities
from mindtorch.engine.ops import convolution, linear_algebra
from mindtorch.engine.symbolic_sizes import Count, has_amounts
from mindtorch.engine.tensor import Tensor, make
from mindtorch.torch import no_grad
from mindtorch.torch.nn import Module
from mindtorch.torch.utils._pytree import tree_map_only

from . import _elementwise, _networks, _shapes  # noqa: F401  # the writers register themselves
from ._writer import WRITERS, NewerOpsetError, Writer, element_type
from .errors import OnnxExporterError, OnnxExporterWarning, UnsupportedOperatorError

__all__ = ["OLDEST", "Given", "Traced", "model_of", "newest", "traced"]

OLDEST = 13  # what writers know; older opsets are converted to
_MOST_COMPUTED = 1 << 24  # bytes of a constant that is computed here


def newest() -> int:
    """The newest opset that onnx and the writers know."""
    return int(min(onnx.defs.onnx_opset_version(), 23))


def tensors_in(value: Any, path: str = "") -> Iterator[tuple[str, Tensor]]:
    """The tensors in containers, and what each may be called."""
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from tensors_in(each, f"{path}_{key}" if path else str(key))
    elif isinstance(value, (tuple, list)):
        for i, each in enumerate(value):
            yield from tensors_in(each, f"{path}_{i}" if path else str(i))


class Given:
    """The arguments of a call that is exported.

    Attributes:
        names: of the tensors in them, those of the parameters that they are given for.
        tensors: in the order of the names.
        arguments: by name.
    """

    def __init__(self, call: Any, args: Any, kwargs: dict[str, Any]) -> None:
        try:
            bound = inspect.signature(call).bind(*args, **kwargs)
        except TypeError as error:
            raise OnnxExporterError(f"the arguments do not fit the model: {error}") from None
        self._bound = bound
        found: list[tuple[str, Tensor]] = []
        for name, value in bound.arguments.items():
            kind = bound.signature.parameters[name].kind
            found += tensors_in(value, "" if kind is inspect.Parameter.VAR_KEYWORD else name)
        self.arguments: dict[str, Any] = dict(bound.arguments)
        self.names = [name for name, _ in found]
        self.tensors = [tensor for _, tensor in found]

    def call(self, model: Any, tensors: Any) -> Any:
        """``model`` of the same arguments with other tensors."""
        given = iter(tensors)
        arguments = tree_map_only(Tensor, lambda _: next(given), dict(self.arguments))
        bound = inspect.BoundArguments(self._bound.signature, arguments)
        return model(*bound.args, **bound.kwargs)


class Traced(NamedTuple):
    """A traced model.

    Attributes:
        graph, sizes: as :func:`trace_for_sizes` gives them.
        axes: for each input its axes whose lengths are open, with their names.
        names: of the outputs.
    """

    graph: Graph
    sizes: Any
    axes: list[dict[int, str]]
    names: list[str]


@contextlib.contextmanager
def _evaluating(model: Any, training: bool | None) -> Iterator[None]:
    """Modules as they are in evaluation (or in training), and as they were afterwards."""
    modules = list(model.modules()) if isinstance(model, Module) and training is not None else []
    before = [each.training for each in modules]
    for each in modules:
        each.training = bool(training)
    try:
        yield
    finally:
        for each, was in zip(modules, before, strict=True):
            each.training = was


def traced(model: Any, given: Given, axes: list[dict[int, str]], training: bool | None) -> Traced:
    """Trace a call of ``model``, without running it.

    Raises:
        OnnxExporterError: the forward needs data, or an open length as a number.
    """
    names: list[str] = []
    call = model.function if isinstance(model, Jitted) else model

    def function(*tensors: Tensor) -> list[Tensor]:
        with no_grad():
            found = list(tensors_in(given.call(call, tensors)))
        names[:] = [name for name, _ in found]
        return [tensor for _, tensor in found]

    try:
        with _evaluating(model, training):
            graph, sizes = trace_for_sizes(function, given.tensors, axes)
    except TracingError as error:
        raise OnnxExporterError(
            f"{error}. What an ONNX model computes cannot depend on data in Python"
        ) from error
    if sizes.reasons:
        raise OnnxExporterError(
            "a length that is to be open decides what the model computes: "
            + "; ".join(sizes.reasons)
        )
    for branch in sizes.branches or ():
        warnings.warn(
            f"the model holds where {branch}: what it does there hangs on a length that is to be "
            "open", OnnxExporterWarning, stacklevel=4,
        )  # fmt: skip
    kept = _owned(model)
    if any(id(tensor._shared.memory) in kept for tensor, _ in graph.writes):
        warnings.warn(
            "the model writes to its buffers, and an ONNX model keeps no state: "
            "these writes are left out", OnnxExporterWarning, stacklevel=4,
        )  # fmt: skip
    graph.writes, graph.gradients = [], []
    identities(graph)
    dead_code(graph)
    return Traced(graph, sizes, axes, names)


# --- constants ------------------------------------------------------------------------------------


def _owned(model: Any) -> dict[int, tuple[str, Any]]:
    """The names of parameters and buffers, by the memory they are in."""
    if not isinstance(model, Module):
        return {}
    found: dict[int, tuple[str, Any]] = {}
    for name, tensor in itertools.chain(model.named_parameters(), model.named_buffers()):
        found.setdefault(id(tensor._shared.memory), (name, tensor))
    return found


def _computed(node: Any, known: dict[int, Tensor]) -> Any:
    """The results of a node whose inputs are all known, None where they are not."""
    if node.op is DRAW or not hasattr(node.op, "evaluate") or has_amounts(*node.params.values()):
        return None
    if node.op in (MAKE, linear_algebra.linear, linear_algebra.matmul, convolution.convolution):
        return None
    if has_amounts(*[v.aval for v in node.outputs]):
        return None
    inputs = [None if v is None else known.get(v.number) for v in node.inputs]
    if not inputs or any(
        x is None and v is not None for x, v in zip(inputs, node.inputs, strict=True)
    ):
        return None
    if sum(v.aval.size * v.aval.dtype.itemsize for v in node.outputs) > _MOST_COMPUTED:
        return None
    with no_grad():
        made = node.op(*inputs, **node.params)
    return made if isinstance(made, tuple) else (made,)


def _fold(nodes: list[Any], known: dict[int, Tensor]) -> list[Any]:
    """The nodes that do not follow from constants alone; the others' results join ``known``."""
    kept = []
    for node in nodes:
        made = _computed(node, known)
        if made is None:
            kept.append(node)
        else:
            known.update({v.number: x for v, x in zip(node.outputs, made, strict=True)})
    return kept


# --- the model ------------------------------------------------------------------------------------


def _described(name: str, value: Any, sizes: Any) -> Any:
    shape = [sizes.shown(n) if type(n) is Count else int(n) for n in value.aval.shape]
    return helper.make_tensor_value_info(name, element_type(value.aval.dtype), shape)


def _write(w: Writer, node: Any) -> None:
    if node.op is DRAW:
        raise UnsupportedOperatorError(
            f"random numbers are drawn at {node.line or 'a layer that drops elements'}: "
            "call model.eval() first"
        )
    writer = WRITERS.get(node.op)
    at = f" (at {node.line})" if node.line else ""
    if writer is None:
        raise UnsupportedOperatorError(
            f"the operator {node.op.name!r} has no counterpart in ONNX here{at}"
        )
    w.begin(node.op.name)
    try:
        made = writer(w, node)
    except UnsupportedOperatorError as error:
        raise UnsupportedOperatorError(f"{node.op.name}: {error}{at}") from None
    except KeyError as error:
        raise UnsupportedOperatorError(
            f"{node.op.name} reads what ONNX's operator before it does not give ({error}){at}"
        ) from None
    results = made if isinstance(made, tuple) else (made,)
    for value, name in zip(node.outputs, results, strict=True):
        if name is not None:
            w.names[value.number] = name
            w.makers[value.number] = node


def _outputs(w: Writer, found: Traced, given: list[str], wanted: list[str]) -> list[str]:
    """The names of the outputs, each made by a node of its own."""
    taken: dict[str, str] = {}
    names = []
    for i, value in enumerate(found.graph.outputs):
        name = w.names.get(value.number)
        if name is None:
            raise UnsupportedOperatorError("the model returns what ONNX's operators do not give")
        own = found.names[i] if i < len(found.names) and found.names[i] else name
        asked = wanted[i] if i < len(wanted) else (own if not own.isdigit() else f"output_{own}")
        if name in given or name in w.arrays or name in taken:
            name = str(w.Identity(name))
        taken[name] = asked if i < len(wanted) else (name if asked == name else w.named(asked))
        names.append(taken[name])
    for node in w.nodes:
        for row in (node.input, node.output):
            for i, name in enumerate(row):
                if name in taken:
                    row[i] = taken[name]
    return names


def model_of(
    model: Any, found: Traced, input_names: list[str], output_names: list[str], opset: int,
    **options: bool,
) -> onnx.ModelProto:  # fmt: skip
    """The ONNX model of a traced one: of this opset, or of one that has all its operators.

    Args:
        options: fold, whether what follows from constants is computed now; keep_inputs, whether
            constants are inputs, too; parameters, whether they are in the model.
    """
    asked = opset = max(opset, OLDEST)
    while True:
        try:
            made = _model_of(model, found, input_names, output_names, opset, **options)
        except NewerOpsetError as error:
            opset = error.version
            continue
        if opset > asked:
            warnings.warn(
                f"opset {opset} is written, {asked} lacks operators that the model needs",
                OnnxExporterWarning, stacklevel=3,
            )  # fmt: skip
        return made


def _model_of(
    model: Any, found: Traced, input_names: list[str], output_names: list[str], opset: int,
    *, fold: bool, keep_inputs: bool, parameters: bool,
) -> onnx.ModelProto:  # fmt: skip
    graph = found.graph
    places = {
        name: (input_names[i], axis)
        for i in reversed(range(len(found.axes)))
        for axis, name in found.axes[i].items()
    }
    sizes = found.sizes
    w = Writer(opset, sizes, [places[name] for name in sizes.names])
    for value, name in zip(graph.inputs, input_names, strict=True):
        w.names[value.number] = w.named(name)
    known: dict[int, Tensor] = {}
    for value, tensor in graph.captured:
        if value.aval.weak or not value.aval.dtype.is_complex:
            known[value.number] = make(tensor._shared.memory.buffer, value.aval)
    named = {v.number: (v, t) for v, t in graph.captured}
    nodes = _fold(graph.nodes, known) if fold else graph.nodes
    needed = {v.number for node in nodes for v in node.inputs if v is not None}
    needed |= {v.number for v in graph.outputs}
    owned = _owned(model)
    weights = []
    for number, tensor in known.items():
        if number not in needed:
            continue
        name = ""
        if number in named:
            name, owner = owned.get(id(named[number][1]._shared.memory), ("", None))
            if name and owner.shape != tensor.shape:
                name = ""
        array = tensor.array()
        element_type(tensor.aval.dtype)
        w.names[number] = w.constant(array, name)
        if name:
            weights.append(w.names[number])
    for node in nodes:
        _write(w, node)
    names = _outputs(w, found, [w.names[v.number] for v in graph.inputs], output_names)
    inputs = [
        _described(name, value, sizes)
        for name, value in zip(input_names, graph.inputs, strict=True)
    ]
    initializers = w.initializers
    if keep_inputs or not parameters:
        inputs += [
            helper.make_tensor_value_info(each.name, each.data_type, list(each.dims))
            for each in initializers if keep_inputs or each.name in weights
        ]  # fmt: skip
    if not parameters:
        initializers = [each for each in initializers if each.name not in weights]
    made = helper.make_graph(
        w.nodes, type(model).__name__ if isinstance(model, Module) else "main_graph", inputs,
        [_described(name, v, sizes) for name, v in zip(names, graph.outputs, strict=True)],
        initializers,
    )  # fmt: skip
    return helper.make_model(
        made, producer_name="mindtorch", ir_version=helper.find_min_ir_version_for(
            [helper.make_opsetid("", opset)]), opset_imports=[helper.make_opsetid("", opset)],
    )  # fmt: skip


