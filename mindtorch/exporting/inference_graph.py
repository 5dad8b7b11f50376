"""The graph of a model's forward in inference, with what is constant in it computed."""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mindtorch.engine.compile.capture.symbolic_tracer import trace_for_sizes
from mindtorch.engine.compile.capture.tracer import TracingError
from mindtorch.engine.compile.ir.ir import DRAW, MAKE, Graph
from mindtorch.engine.compile.jit import Jitted
from mindtorch.engine.compile.passes.cleanup import dead_code, identities
from mindtorch.engine.dispatch import graph_under_way
from mindtorch.engine.ops import convolution, linear_algebra
from mindtorch.engine.symbolic_sizes import has_amounts
from mindtorch.engine.tensor import Tensor, make
from mindtorch.torch import no_grad
from mindtorch.torch._higher_order_ops.cond import selecting
from mindtorch.torch.nn import Module

from .arguments import Arguments, tensors_in
from .errors import ExportError, ExportWarning

__all__ = ["InferenceGraph", "trace"]

_MOST_COMPUTED = 1 << 24  # bytes of a constant that is computed here


@dataclass
class InferenceGraph:
    """A model's forward as nodes of ops.

    Attributes:
        nodes: in an order in which they can run.
        inputs, outputs: the values that the model takes and gives.
        input_axes: for each input its axes whose lengths are open, with their names.
        output_names: as the model's containers name them, "" where they do not.
        constants: by the number of the value, the tensors that the model holds.
        weights: by the number of the value, the names of the model's own parameters and buffers.
        sizes: what lengths that are open hang on, of :func:`trace_for_sizes`.
        input_names: where the graph knows them.
    """

    nodes: list[Any]
    inputs: list[Any]
    outputs: list[Any]
    input_axes: list[dict[int, str]]
    output_names: list[str]
    sizes: Any
    constants: dict[int, Tensor] = field(default_factory=dict)
    weights: dict[int, str] = field(default_factory=dict)
    input_names: list[str] = field(default_factory=list)

    def used(self) -> set[int]:
        """The numbers of the values that nodes and outputs read."""
        found = {v.number for node in self.nodes for v in node.inputs if v is not None}
        return found | {v.number for v in self.outputs}

    def fold_constants(self) -> None:
        """Compute what follows from constants alone, but large results and the products and
        convolutions of parameters."""
        kept = []
        for node in self.nodes:
            made = _computed(node, self.constants)
            if made is None:
                kept.append(node)
            else:
                self.constants.update(
                    {v.number: x for v, x in zip(node.outputs, made, strict=True)}
                )
        self.nodes = kept


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


def _owned(model: Any) -> dict[int, tuple[str, Any]]:
    """The names of parameters and buffers, by the memory they are in."""
    if not isinstance(model, Module):
        return {}
    found: dict[int, tuple[str, Any]] = {}
    for name, tensor in itertools.chain(model.named_parameters(), model.named_buffers()):
        found.setdefault(id(tensor._shared.memory), (name, tensor))
    return found


def _captured(graph: Graph, owned: dict[int, tuple[str, Any]]) -> tuple[Any, dict[int, str]]:
    """The tensors that the graph holds, and the names of those that the model owns."""
    constants: dict[int, Tensor] = {}
    names: dict[int, str] = {}
    for value, tensor in graph.captured:
        if not value.aval.weak and value.aval.dtype.is_complex:
            continue
        constants[value.number] = make(tensor._shared.memory.buffer, value.aval)
        name, owner = owned.get(id(tensor._shared.memory), ("", None))
        if name and owner.shape == constants[value.number].shape:
            names[value.number] = name
    return constants, names


def trace(
    model: Any, given: Arguments, axes: list[dict[int, str]], training: bool | None = False,
) -> InferenceGraph:  # fmt: skip
    """Trace a call of ``model``, without running it.

    Args:
        model: a module, a compiled function or any function of tensors.
        given: what it is called with.
        axes: for each tensor its axes whose lengths are open, with their names.
        training: the mode that modules are put in; None leaves theirs.

    Raises:
        ExportError: the forward needs data, or an open length as a number.
    """
    waiting = graph_under_way()
    if waiting is not None:
        waiting.materialise()  # writes to parameters, whose memory is read here
    names: list[str] = []
    call = model.function if isinstance(model, Jitted) else model

    def function(*tensors: Tensor) -> list[Tensor]:
        with no_grad(), selecting():
            found = list(tensors_in(given.call(call, tensors)))
        names[:] = [name for name, _ in found]
        return [tensor for _, tensor in found]

    try:
        with _evaluating(model, training):
            graph, sizes = trace_for_sizes(function, given.tensors, axes)
    except TracingError as error:
        raise ExportError(
            f"{error}. What an exported model computes cannot depend on data in Python"
        ) from error
    if sizes.reasons:
        raise ExportError(
            "a length that is to be open decides what the model computes: "
            + "; ".join(sizes.reasons)
        )
    for branch in sizes.branches or ():
        warnings.warn(
            f"the model holds where {branch}: what it does there hangs on a length that is to be "
            "open", ExportWarning, stacklevel=4,
        )  # fmt: skip
    owned = _owned(model)
    if any(id(tensor._shared.memory) in owned for tensor, _ in graph.writes):
        warnings.warn(
            "the model writes to its buffers, and an exported model keeps no state: "
            "these writes are left out", ExportWarning, stacklevel=4,
        )  # fmt: skip
    graph.writes, graph.gradients = [], []
    identities(graph)
    dead_code(graph)
    constants, weights = _captured(graph, owned)
    return InferenceGraph(
        graph.nodes, graph.inputs, graph.outputs, axes, names, sizes, constants, weights
    )
