"""Compiled calls: the partitions of one capture, its guards, and where its results are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...autograd import tape
from ...tensor import Storage, Tensor, change_class, make
from ..capture.capture import Capture
from ..capture.specs import output_spec
from ..capture.tracer import TracingError
from ..guards import module_changes
from ..guards.guards import GuardSet
from ..ir.ir import DRAW
from .compiled_backward import CompiledBackward, CompiledNode, differentiated
from .partition import ARGUMENT, CAPTURED, MADE, InputSpec, OutputSpec, Partition

_REPEATED = 2  # runs after which the test of all guards is generated


class CompiledCall:
    """One way a compiled function runs: for one structure of arguments, while its guards hold.

    Attributes:
        family: the :class:`..dynamic_shapes.shape_families.ShapeFamily` it is of, if it is of one.
        runs: how often it was run.
        at: the step that is run.
    """

    def __init__(
        self, capture: Capture, guards: GuardSet, results: list[Any],
        rebuild: Callable[..., Any], backward: CompiledBackward | None, family: Any = None,
    ) -> None:  # fmt: skip
        self.steps = capture.steps
        self.family = family
        if family is not None:
            family.first = self
        self.set_results(results)
        self.rebuild = rebuild
        self.backward = backward
        self.guards = guards
        self.changes = module_changes.count
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
        self._holds: Callable[[list[Tensor]], bool] | None = None

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
        if self._holds is not None:
            try:
                held = self._holds(arguments) and module_changes.count == self.changes
            except (AttributeError, KeyError, ValueError):  # something was deleted
                held = False
        else:
            held = False
            if self.runs == _REPEATED:
                self._holds = self._test()
        if not held:
            found = self._broken_value(arguments)
            if found:
                return found
        if arguments and self._reached(arguments):
            return "an argument shares memory with a tensor that the call finds by itself"
        if self.writes and _overlap(arguments):
            return "two arguments share memory, and the call writes to one"
        return ""

    def _test(self) -> Callable[[list[Tensor]], bool]:
        """All that :meth:`_broken_value` looks at, modules apart, as one generated expression."""
        known: dict[str, Any] = {}
        tests = []
        for i, (tensor, described, tracked, kind) in enumerate(self.tensors):
            known[f"x{i}"], known[f"a{i}"], known[f"t{i}"] = tensor, described, kind
            tests.append(f"x{i}.aval is a{i} and type(x{i}._node) is t{i}")
            if tracked and hasattr(kind, "hooks"):
                tests.append(f"not x{i}._node.hooks")
        for i, (source, before) in enumerate(self.grads):
            known[f"g{i}"] = before
            known[f"l{i}"] = source.key
            held = f"l{i}" if source.kind == CAPTURED else f"arguments[l{i}]"
            tests.append(f"{held}._grad is g{i}")
        self.guards.write_tests(tests, known)
        exec(f"def holds(arguments):\n    return {' and '.join(tests) or True}", known)
        found: Callable[[list[Tensor]], bool] = known.pop("holds")  # else it would hold itself
        return found

    def _broken_value(self, arguments: list[Tensor]) -> str:
        """Which guard of a tensor, a gradient, a value or a module does not hold."""
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
        found = self.guards.broken_value()
        if not found and module_changes.count != self.changes:
            found = self.guards.broken_module()
            if not found:
                self.changes = module_changes.count
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


def finish_capture(
    capture: Capture, outputs: list[Tensor]
) -> tuple[list[Any], CompiledBackward | None]:
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
        place = made[id(x)] = output_spec(capture, x)
        if type(x._node) is tape.ViewHistory and place.memory.kind == MADE:
            place.base = _place(capture, x._node.base, made)
    return place
