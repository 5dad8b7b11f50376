"""Compiled calls: the partitions of one capture, its guards, and its backward pass."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from typing import Any

from mindtorch.kernels.support.fork_safe_lock import lock

from ...autograd import backward, tape
from ...autograd.api import grad_mode, gradients
from ...aval import aval
from ...devices.device import empty_on
from ...dispatch import graph_under_way, state
from ...tensor import Storage, Tensor, change_class, full_flat, make, version_of
from ...transforms import autocast
from ..capture.capture import Capture
from ..capture.tracer import TracingError, strong
from ..guards.guards import GuardRecorder, changes
from ..ir.ir import DRAW, Graph, Node, Value
from .partition import (
    ARGUMENT,
    CAPTURED,
    MADE,
    InputSpec,
    OutputSpec,
    Partition,
    compiled,
    copy_to_layout,
)

# of so many results at most each has a backward pass of its own
_MOST_PARTS = 8


class Part:
    """The gradients of the targets, computed from those of some results.

    Attributes:
        saved: the memory of the call that it reads.
    """

    def __init__(
        self, graph: Graph, sources: list[tuple[Value, InputSpec]], gradients: list[Value | None]
    ) -> None:
        self.saved = [s.key for _, s in sources if s.kind == MADE]
        self._keys = [None if v is None else ("gradient", i) for i, v in enumerate(gradients)]
        outputs = [(k, v) for k, v in zip(self._keys, gradients, strict=True) if k]
        self.given: Any = (graph, sources, outputs, [], [])
        self.unspecialized: Any = None  # of a capture for many sizes
        self.renew(lambda: compiled(*self.given))

    def renew(self, bind: Callable[[], Partition]) -> None:
        """Let ``bind`` make the partition."""
        self._lock = lock()
        self._bind = bind
        self._partition: Partition | None = None
        self._results: list[Any] = []

    @property
    def partition(self) -> Partition:
        """The graph bound to memory, which happens when it is first asked for."""
        with self._lock:
            if self._partition is None:
                made = self._bind()
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
        self.whole: Part | None = None
        self.parts: list[Part] = []
        # the call's results that have gradients, computed again eagerly from its arguments
        self.recompute: Callable[[Any], list[Tensor] | None] | None = None
        self.order: list[int] = []
        self.holds = [0] * len(roots)

    @functools.cached_property
    def saved(self) -> list[Any]:
        """The memory of the call that passes read."""
        keys = [key for part in self.parts for key in part.saved]
        if self.whole is not None:
            keys += [s.key for s in self.whole.partition.sources if s.kind == MADE]
        return list(dict.fromkeys(keys))


class _Avals:
    """What the tape asks of a node's plan."""

    def __init__(self, in_avals: Any) -> None:
        self.in_avals = in_avals


class CompiledNode:
    """The tape's node of a compiled call."""

    edges: Any = ()
    plan: Any = _Avals(())
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
        self.plan = _Avals(tuple(t.aval for t in tensors))  # type: ignore[union-attr]
        self.versions = [version_of(x) for x in self._read()]

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


class CompiledCall:
    """One way a compiled function runs: for one structure of arguments, while its guards hold."""

    def __init__(
        self, capture: Capture, watch: GuardRecorder, results: list[Any],
        rebuild: Callable[..., Any], backward: CompiledBackward | None,
    ) -> None:  # fmt: skip
        self.steps = capture.steps
        self.set_results(results)
        self.rebuild = rebuild
        self.backward = backward
        self.watch = watch
        self.changes = changes.count
        self.tensors = [
            (s.key, s.key.aval, tape.requires_grad(s.key), type(s.key._node))
            for s in _captured(capture.steps)
        ]
        self.found = frozenset([id(each[0]) for each in self.tensors])
        self.writes = any(
            source.kind == ARGUMENT for step in capture.steps if type(step) is Partition
            for source, _ in step.writes
        )  # fmt: skip
        self.grads = capture.grads()
        self.runs = 0
        self.at = 0

    def set_results(self, results: list[Any]) -> None:
        """Note where the results will be."""
        self.results = results
        keys = [r.memory.key for r in results if type(r) is OutputSpec and r.is_whole()]
        # memory of its own: the tensor needs no storage object yet
        self.own = [
            type(r) is OutputSpec and r.is_whole() and keys.count(r.memory.key) == 1
            and r.base is None and not r.version
            for r in results
        ]
        self.roots = [
            (i, r.root) for i, r in enumerate(results)
            if type(r) is OutputSpec and r.root is not None
        ]

    def broken(self, arguments: list[Tensor]) -> str:
        """Which guard does not hold; "" when all do."""
        for tensor, described, tracked, kind in self.tensors:
            node = tensor._node
            if tensor.aval is not described or (type(node) is not kind and (
                tracked or tape.requires_grad(tensor)
            )):
                return "a tensor's layout, type or requires_grad"
            if tracked and getattr(node, "hooks", None) and tape.has_hooks(node):
                return "a hook on a tensor"
        for source, before in self.grads:
            leaf: Any = source.tensor(arguments)
            if leaf._grad is not before:
                return "the gradients that were there before"
        if arguments and self._reached(arguments):
            return "an argument shares memory with a tensor that the call finds by itself"
        if self.writes and _overlap(arguments):
            return "two arguments share memory, and the call writes to one"
        found = self.watch.broken_value()
        if not found and changes.count != self.changes:
            found = self.watch.broken_module()
            if not found:
                self.changes = changes.count
        return found

    def _reached(self, arguments: list[Tensor]) -> bool:
        if not self.found.isdisjoint(map(id, arguments)):
            return True
        shared = {id(x._storage.memory) for x in arguments if x._storage is not None}
        if not shared:
            return False
        storages = [each[0]._storage for each in self.tensors]
        return any(
            id(s if type(s) is Storage else s.memory) in shared
            for s in storages if s is not None
        )  # fmt: skip

    def run(self, arguments: list[Tensor]) -> Any:
        """The call's result for these arguments."""
        self.runs += 1
        made: dict[int, Any] = {}
        self.at = 0
        for step in self.steps:
            step.run(made, arguments)
            self.at += 1
        return self.finished(made, arguments)

    def untouched(self) -> bool:
        """Whether the run that failed has changed nothing but memory that it was to fill."""
        return self.at == 0 and bool(self.steps) and type(self.steps[0]) is Partition

    def finished(self, made: dict[int, Any], arguments: list[Tensor]) -> Any:
        """The results, over memory that the partitions have filled."""
        storages: dict[int, Any] = {}
        tensors = []
        for result, own in zip(self.results, self.own, strict=True):
            if own and made[result.memory.key].size == result.described.extent:
                tensor = make(made[result.memory.key], result.described)
                if type(tensor) is not result.kind:
                    change_class(tensor, result.kind)
                tensors.append(tensor)
            elif type(result) is OutputSpec:
                tensors.append(result.tensor(made, arguments, storages))
            else:
                tensors.append(arguments[result] if isinstance(result, int) else result)
        if self.backward is not None:
            node = CompiledNode(self.backward, made, list(arguments))
            for i, root in self.roots:
                tensor = tensors[i]
                tensor._node = node  # type: ignore[assignment]
                if root:
                    tensor._output_index = root
        return self.rebuild(iter(tensors))


def _overlap(arguments: list[Tensor]) -> bool:
    """Whether the memory from one argument's first to its last element is in part another's."""
    seen: dict[int, list[tuple[int, int]]] = {}
    for x in arguments:
        if x._storage is not None:
            begin, end = x._offset, x._offset + x.aval.extent
            others = seen.setdefault(id(x._storage.memory), [])
            if any(begin < stop and start < end for start, stop in others):
                return True
            others.append((begin, end))
    return False


def _captured(steps: list[Any]) -> list[InputSpec]:
    found: dict[int, InputSpec] = {}
    for step in steps:
        if type(step) is Partition:
            for source in [*step.sources, *[s for s, _ in step.writes]]:
                if source.kind == CAPTURED:
                    found.setdefault(id(source.key), source)
    return list(found.values())


def repeatable(steps: list[Any]) -> bool:
    """Whether a call computes its results and does nothing else."""
    return all(
        type(step) is Partition and not step.writes and not step.gradients
        and all(node.op is not DRAW for node in step.graph.nodes)
        for step in steps
    )  # fmt: skip


def close(capture: Capture, outputs: list[Tensor]) -> tuple[list[Any], CompiledBackward | None]:
    """End a capture: where its results will be, and the backward pass of those that need one."""
    arguments = {id(x): i for i, x in enumerate(capture.arguments)}
    roots = [
        x for x in dict.fromkeys(outputs)
        if id(x) not in arguments and id(x) not in capture.existing and tape.requires_grad(x)
    ]  # fmt: skip
    if any(type(x._node) is tape.AccumulateGrad for x in roots):
        raise TracingError("a compiled call cannot return a leaf that it made")
    backward = differentiated(capture, roots) if roots else None
    places = {id(x): i for i, x in enumerate(roots)} if backward is not None else {}
    if backward is not None:
        backward.order = [next(i for i, x in enumerate(outputs) if x is r) for r in roots]
    results: list[Any] = []
    for x in outputs:
        results.append(arguments.get(id(x), x))
    for x in roots:
        x._node = None
    capture.materialise()
    made: dict[int, OutputSpec] = {}
    for i, x in enumerate(outputs):
        if results[i] is x and id(x) not in capture.existing:
            results[i] = _place(capture, x, made)
            results[i].root = places.get(id(x))
    return results, backward


def _place(capture: Capture, x: Tensor, made: dict[int, OutputSpec]) -> OutputSpec:
    """How a later run makes a result, and what it is a view of."""
    place = made.get(id(x))
    if place is None:
        place = made[id(x)] = capture.place(x)
        if type(x._node) is tape.ViewHistory and place.memory.kind == MADE:
            place.base = _place(capture, x._node.base, made)
    return place


class _BackwardWithinCall(backward.Pass):
    """A backward pass that ends where the call began: what lies beyond is not visited, hooks of
    tensors from outside wait for the pass that goes on from there."""

    def send(self, node: Any, index: int, gradient: Tensor) -> None:
        place = id(node), index
        if place in self.targets:  # type: ignore[operator]
            if place in self.captured:
                gradient = backward.sum_of(self.captured[place], gradient)
            self.captured[place] = gradient
        else:
            super().send(node, index, gradient)


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
                walk = _BackwardWithinCall(False, True, leaves, False)
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
                seen.add(id(node))
                if getattr(node, "saved", None):
                    kept |= bits.setdefault(id(node), 1 << len(bits))
                stack.extend(e for e in node.edges if e is not None)  # type: ignore[union-attr]
        holds.append(kept if len(roots) <= _MOST_PARTS else 1)
    return list(ends.values()), [owners[key] for key in ends], holds


def split_backward(capture: Capture, forward: int, values: list[Value | None]) -> Part:
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
    return Part(separate, list(sources.values()), values)
