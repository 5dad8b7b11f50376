"""The backward pass of a compiled call: a graph of its own, cut off the graph of the call."""

from __future__ import annotations

import copy
import functools
import operator
import types
from collections.abc import Callable
from typing import Any

from mindtorch.kernels.support.fork_safe_lock import lock

from ...autograd import tape
from ...autograd.api import grad_mode, gradients
from ...autograd.backward import Pass
from ...aval import aval
from ...devices.device import empty_on
from ...dispatch import graph_under_way, state
from ...tensor import Tensor, full_flat, make, version_of
from ...transforms import autocast
from ..capture.capture import Capture
from ..capture.tracer import TracingError, strong
from ..ir.ir import Graph, Node, Value
from .partition import (
    ARGUMENT,
    CAPTURED,
    MADE,
    InputSpec,
    Partition,
    UnboundPartition,
    copy_to_layout,
)

# of so many results at most each has a backward pass of its own
_MOST_PARTS = 8


class GradientPartition:
    """The gradients of the targets, computed from those of some results.

    Attributes:
        saved: the memory of the call that it reads.
    """

    def __init__(
        self, unbound: UnboundPartition, keys: list[Any], specialization: Any = None
    ) -> None:
        self.saved = [s.key for _, s in unbound.sources if s.kind == MADE]
        self._unbound = unbound
        self._keys = keys
        self._specialization = specialization
        self._lock = lock()
        self._partition: Partition | None = None
        self._results: list[Any] = []

    def specialized(self, specialization: Any) -> GradientPartition:
        """The same for the sizes of a :class:`..dynamic_shapes.specialize.Specialization`."""
        made = copy.copy(self)
        made._specialization, made._lock = specialization.copy(), lock()
        made._partition, made._results = None, []
        return made

    @property
    def partition(self) -> Partition:
        """The graph bound to memory, which happens when it is first asked for."""
        with self._lock:
            if self._partition is None:
                special, self._specialization = self._specialization, None
                unbound = self._unbound
                made = unbound.bind() if special is None else special.partition(unbound)
                avals = dict(zip(made.numbers, made.avals, strict=True))
                self._results = [(k, avals.get(k)) for k in self._keys]
                self._partition = made
        return self._partition

    def run(self, made: dict[Any, Any], arguments: list[Any]) -> list[Tensor | None]:
        """The gradients, None where there are none."""
        partition = self.partition
        made = dict(made)
        partition.run(made, arguments)
        return [None if key is None else make(made[key], a) for key, a in self._results]


class CompiledBackward:
    """The gradients of a compiled call's results with respect to what it was given.

    Attributes:
        targets: where the gradients go: arguments and captured tensors.
        whole: computes them from the results' gradients, which follow the arguments.
        parts: each computes them from the gradient of one result.
        error: raised instead, for results whose graph was already freed.
        holds: for each result the places, as bits, of what its own pass frees.
    """

    def __init__(self, roots: list[Any], targets: list[InputSpec], error: str) -> None:
        self.roots = roots
        self.targets = targets
        self.error = error
        self.whole: GradientPartition | None = None
        self.parts: list[GradientPartition] = []
        # the call's results that have gradients, computed again eagerly from its arguments
        self.recompute: Callable[[Any], list[Tensor] | None] | None = None
        self.order: list[int] = []
        self.holds = [0] * len(roots)

    def specialized(self, specialization: Any) -> CompiledBackward:
        """The same for the sizes of a :class:`..dynamic_shapes.specialize.Specialization`."""
        roots = [specialization.aval(a) for a in self.roots]
        made = CompiledBackward(roots, self.targets, self.error)
        made.order, made.holds = self.order, self.holds
        made.whole = None if self.whole is None else self.whole.specialized(specialization)
        made.parts = [part.specialized(specialization) for part in self.parts]
        return made

    @functools.cached_property
    def saved(self) -> list[Any]:
        """The memory of the call that passes read."""
        keys = [key for part in self.parts for key in part.saved]
        if self.whole is not None:
            keys += [s.key for s in self.whole.partition.sources if s.kind == MADE]
        return list(dict.fromkeys(keys))


class CompiledNode:
    """The tape's node of a compiled call.

    Attributes:
        in_avals: the descriptions of the targets, which the tape finds in a node's plan.
    """

    edges: Any = ()
    in_avals: Any = ()
    hooks: Any = None
    freed = used = 0
    saved: Any = ()
    versions: Any = ()
    made: Any = types.MappingProxyType({})
    arguments: Any = ()

    def __init__(self, backward: CompiledBackward, made: dict[int, Any], arguments: Any) -> None:
        self.backward = backward
        self.out_avals = backward.roots
        self.metadata: dict[Any, Any] = {}
        self.sequence = next(tape.sequence)
        if backward.whole is None:
            return
        self.made = {number: made[number] for number in backward.saved}
        self.arguments = arguments
        tensors = [t.tensor(arguments) for t in backward.targets]
        self.edges = tuple((tape.node_of(t), t._output_index) for t in tensors)  # type: ignore[union-attr,arg-type]
        self.in_avals = tuple(t.aval for t in tensors)  # type: ignore[union-attr]
        self.versions = [version_of(x) for x in self._read()]

    @property
    def plan(self) -> CompiledNode:
        return self

    def _read(self) -> list[Tensor]:
        if self.backward.whole is None:
            return []
        count = len(self.arguments)
        return [
            self.arguments[s.key] if s.kind == ARGUMENT else s.key
            for s in self.backward.whole.partition.sources
            if s.kind == CAPTURED or (s.kind == ARGUMENT and s.key < count)
        ]

    def name(self) -> str:
        return "CompiledFunctionBackward"

    @property
    def next_functions(self) -> Any:
        return tuple((None, 0) if e[0] is None else e for e in self.edges)

    def register_hook(self, hook: Any) -> Any:
        return tape.add_hook(self, "post", hook)

    def register_prehook(self, hook: Any) -> Any:
        return tape.add_hook(self, "pre", hook)

    def release(self) -> None:
        self.freed |= self.used
        if all(not ours & ~self.freed for ours in self.backward.holds):
            self.made = {}

    def apply(self, gradients: Any, needed: Any) -> Any:
        """The gradients of the targets."""
        here = [i for i, g in enumerate(gradients) if g is not None]
        self.used = functools.reduce(operator.or_, [self.backward.holds[i] for i in here], 0)
        if self.backward.error or self.freed & self.used:
            raise RuntimeError(self.backward.error or tape.TWICE)
        for tensor, version in zip(self._read(), self.versions, strict=True):
            if version_of(tensor) != version:
                raise tape.modified(tensor, version, None, 0)
        if state.grad_enabled or (state.interpreters and graph_under_way() is None):
            return self._recorded(gradients)
        backward = self.backward
        if len(here) == len(gradients) or not (backward.parts or backward.recompute):
            return self._run(backward.whole, gradients)
        if not backward.parts:
            return self._recorded(gradients)
        found: list[Any] = [None] * len(backward.targets)
        for i in here:
            for place, more in enumerate(self._run(backward.parts[i], gradients)):
                if more is not None:
                    before = found[place]
                    found[place] = more if before is None else before + more
        return found

    def _run(self, part: Any, gradients: Any) -> list[Tensor | None]:
        given = [
            full_flat(a.shape, a.dtype, 0) if g is None else laid_out(g, a)
            for g, a in zip(gradients, self.out_avals, strict=True)
        ]
        return part.run(self.made, [*self.arguments, *given])

    def _recorded(self, given: Any) -> Any:
        """The gradients of the targets with a history, or inside of vmap: the call is made again,
        eagerly."""
        backward = self.backward
        if backward.recompute is None:
            raise RuntimeError(
                "torch.compile with aot_autograd does not currently support double backward of a "
                "call that draws random numbers, writes to tensors or sees other values by now"
            )
        create = state.grad_enabled
        with grad_mode(True):
            roots = backward.recompute(self.arguments)
        if roots is None:
            raise RuntimeError(
                "a compiled call cannot be differentiated twice: what it read has changed since"
            )
        targets = [t.tensor(self.arguments) for t in backward.targets]
        chosen = [(x, g) for x, g in zip(roots, given, strict=True) if g is not None]
        outputs, weights = zip(*chosen, strict=True)
        return gradients(outputs, targets, weights, True, create, True)  # type: ignore[arg-type]


def laid_out(tensor: Tensor, described: Any) -> Tensor:
    """``tensor`` in memory of exactly this layout."""
    if tensor.aval is described:
        return tensor
    empty = empty_on(described.device)
    result = make(empty(described.extent, described.dtype.np), described)
    copy_to_layout(result.flat, described, tensor.flat, tensor.aval)
    return result


def differentiated(capture: Capture, roots: list[Tensor]) -> CompiledBackward:
    """Trace the backward pass of ``roots`` and cut it off the graph into one of its own."""
    leaves, sources, holds = _leaves(capture, roots)
    avals = [_own_layout(x.aval) for x in roots]
    graph = capture.graph
    forward = len(graph.nodes)
    cotangents = []
    for i, described in enumerate(avals):
        value = graph.value(described)
        source = InputSpec(ARGUMENT, len(capture.arguments) + i, False, described)
        capture.sources.append((value, source))
        cotangents.append(capture._tensor(value))
    backward = CompiledBackward(avals, sources, "")
    backward.holds = holds
    roots_of = [(tape.node_of(x), x._output_index) for x in roots]
    starts = [(*root, g) for root, g in zip(roots_of, cotangents, strict=True)]
    alone = starts if 1 < len(starts) <= _MOST_PARTS else []
    capture.whole = True
    try:
        with grad_mode(False), autocast.off():
            for some in (starts, *[[each] for each in alone]):
                walk = Pass(False, True, leaves, False, ends_at_targets=True)
                walk.run(some)
                found = [walk.captured.get((id(node), index)) for node, index in leaves]
                values = [None if g is None else capture.value_of(g) for g in found]
                part = split_backward(capture, forward, values)
                if backward.whole is None:
                    backward.whole = part
                else:
                    backward.parts.append(part)
    except TracingError:
        del graph.nodes[forward:]
        count = len(capture.arguments)
        capture.sources = [
            (v, s) for v, s in capture.sources if s.kind != ARGUMENT or s.key < count
        ]
        raise
    except RuntimeError as error:
        del graph.nodes[forward:]
        return CompiledBackward(avals, [], str(error))
    finally:
        capture.whole = False
    return backward


def _own_layout(described: Any) -> Any:
    """The layout of a gradient: that of the result, unless its elements overlap or have gaps."""
    if described.dense:
        return strong(described)
    return aval(described.shape, described.dtype, None, described.device)


def _leaves(
    capture: Capture, roots: list[Tensor]
) -> tuple[list[Any], list[InputSpec], list[int]]:
    """The ends of the graph inside of the call, (node, index), what they belong to, and for each
    root, as bits, the nodes on its ways that keep tensors."""
    owners: dict[Any, InputSpec] = {}
    for i, (x, history) in enumerate(zip(capture.arguments, capture.histories, strict=True)):
        if history[0] is not None:
            owners.setdefault((id(history[0]), history[1]), InputSpec(ARGUMENT, i, False, x.aval))
    for x in capture.existing.values():
        node = tape.node_of(x) if x._node is not None else None
        if node is not None:
            owners.setdefault(
                (id(node), x._output_index), InputSpec(CAPTURED, x, False, x.aval)
            )
    ends: dict[Any, Any] = {}
    bits: dict[int, int] = {}
    holds = []
    for root in roots:
        seen: set[int] = set()
        kept = 0
        stack = [(tape.node_of(root), root._output_index)]
        while stack:
            node, index = stack.pop()
            if (id(node), index) in owners and (
                type(node) is tape.AccumulateGrad or node.sequence < capture.started  # type: ignore[union-attr]
            ):
                ends[id(node), index] = (node, index)
            elif id(node) not in seen:
                if type(node) is tape.AccumulateGrad and node.hooks:
                    raise TracingError("a leaf that it made has hooks")
                seen.add(id(node))
                if getattr(node, "saved", None):
                    kept |= bits.setdefault(id(node), 1 << len(bits))
                stack.extend(e for e in node.edges if e is not None)  # type: ignore[union-attr]
        holds.append(kept if len(roots) <= _MOST_PARTS else 1)
    return list(ends.values()), [owners[key] for key in ends], holds


def split_backward(capture: Capture, forward: int, values: list[Value | None]) -> GradientPartition:
    """Move the nodes from ``forward`` on into the graph of the backward pass."""
    graph = capture.graph
    nodes = graph.nodes[forward:]
    del graph.nodes[forward:]
    known = {v.number: s for v, s in capture.sources}
    written = {id(r.owner) for r in capture.written}
    views = {n.outputs[0].number: n for n in graph.nodes if n.op.view is not None}
    made = {v.number for n in nodes for v in n.outputs}
    sources: dict[int, tuple[Value, InputSpec]] = {}
    repeated: list[Any] = []

    def need(value: Value) -> None:
        if value.number in made:
            return
        made.add(value.number)
        source = known.get(value.number)
        view = views.get(value.number)
        if source is not None and id(source) not in written:
            sources[value.number] = (value, source)
        elif view is not None:
            need(view.inputs[0])  # type: ignore[arg-type]
            repeated.append(Node(view.op, view.inputs, view.params, view.outputs))
        else:
            key = -1 - value.number
            sources[value.number] = (value, InputSpec(MADE, key, True, value.aval))
            if all(key != other for other, _ in capture.saved):
                capture.saved.append((key, value))

    for value in [*[v for n in nodes for v in n.inputs], *values]:
        if value is not None:
            need(value)
    separate = Graph()
    separate._count = graph._count
    separate.nodes = [*repeated, *nodes]
    keys = [None if v is None else ("gradient", i) for i, v in enumerate(values)]
    outputs = [(k, v) for k, v in zip(keys, values, strict=True) if v is not None]
    unbound = UnboundPartition(separate, list(sources.values()), outputs, [], [])
    return GradientPartition(unbound, keys)
