"""Partitions: compiled parts of a call, and the calls between them.

Where each reads its memory (:class:`InputSpec`), and how a tensor is made of it
(:class:`OutputSpec`), is written down once, and looked up at each run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...devices import cuda
from ...dispatch import state
from ...ops.movement import as_strided
from ...random.rollback import Journal
from ...switches import switches
from ...tensor import Tensor, as_array, change_class, make, new_storage
from ..capture.index_checks import draws_in_vain
from ..ir.ir import DRAW, Graph, Value
from ..passes.pipeline import run_passes
from .error_provenance import name_line
from .executable import Executable, SharedArena, timing
from .grad_buffer_reuse import GradBufferReuse
from .parallel_compile import CompileWorkers
from .repeated_run import memory_binder

_REPEATED = 2  # runs after the first one, from which on one generated function binds the memory

ARGUMENT, CAPTURED, MADE, CONSTANT = "argument", "captured", "made", "constant"


class InputSpec:
    """Where memory comes from at each run.

    Attributes:
        kind: an argument, a tensor found by the function, memory made by an earlier partition, or a
            constant that was made while tracing.
        key: the argument's place, the tensor, the number of the memory, or the array.
        whole: whether the storage's whole buffer is meant instead of the tensor's elements.
    """

    __slots__ = ("described", "key", "kind", "whole")

    def __init__(self, kind: str, key: Any, whole: bool, described: Any) -> None:
        self.kind = kind
        self.key = key
        self.whole = whole
        self.described = described

    def tensor(self, arguments: Any) -> Tensor | None:
        """The tensor whose memory it is, where there is one."""
        if self.kind == CAPTURED:
            return self.key
        return arguments[self.key] if self.kind == ARGUMENT else None

    def flat(self, made: dict[Any, Any], arguments: Any) -> Any:
        tensor = self.tensor(arguments)
        if tensor is None:
            return made[self.key] if self.kind == MADE else self.key
        return tensor._shared.buffer if self.whole else tensor.flat


class UnboundPartition:
    """A graph, and what its values are outside of it, before it is bound to memory.

    Attributes:
        sources: where the memory of what it reads comes from.
        outputs: the keys under which the memory of its results is found.
        writes: where results go that are written to tensors from outside.
        gradients: leaves, and what their ``grad`` is after a run.
        exact: whether it is run to the bits that the same ops give one by one.
        versions: tensors from outside, and how often they are written to.
        prepared: whether the passes have run that hold for all sizes.
        arena: memory that the partitions for several sizes share, once there are such.
        latest: the partition that was bound last for sizes of their own.
    """

    def __init__(
        self, graph: Graph, sources: list[tuple[Value, InputSpec]],
        outputs: list[tuple[Any, Value]], writes: list[tuple[InputSpec, Value]],
        gradients: list[tuple[InputSpec, OutputSpec | None]], exact: bool = False,
    ) -> None:  # fmt: skip
        self.graph = graph
        self.sources = sources
        self.outputs = outputs
        self.writes = writes
        self.gradients = gradients
        self.exact = exact
        self.versions: list[tuple[InputSpec, int]] = []
        self.prepared = False
        self.arena: SharedArena | None = None
        self.latest: Partition | None = None

    def prepare(self) -> None:
        """Run the passes that hold for all sizes, and give each result memory of its own."""
        if self.prepared:
            return
        self.prepared = True
        graph, outputs = self.graph, self.outputs
        if timing.on:
            graph.traced = str(graph)
        graph.outputs = [v for _, v in outputs] + [v for _, v in self.writes]
        graph.laid_out = {i for i, (key, _) in enumerate(outputs) if not isinstance(key, tuple)}
        run_passes(graph, [v for v, _ in self.sources])
        results, count = graph.outputs, len(outputs)
        needed = {v.number for n in graph.nodes for v in n.inputs if v is not None}
        self.sources = [(v, s) for v, s in self.sources if v.number in needed]
        self.outputs = [(key, v) for (key, _), v in zip(outputs, results, strict=False)]
        self.writes = [(s, v) for (s, _), v in zip(self.writes, results[count:], strict=True)]

    def bind(self) -> Partition:
        """Run the passes, and bind the graph to memory."""
        self.prepare()
        run_passes(self.graph, [v for v, _ in self.sources], sized=True, exact=self.exact)
        return Partition(self)


class Partition:
    """A compiled part of a call.

    Attributes:
        same_inputs_as: one for other sizes, which reads the same.
    """

    def __init__(self, unbound: UnboundPartition) -> None:
        graph, sources = unbound.graph, unbound.sources
        self.graph = graph
        self.arena = unbound.arena
        self.versions = unbound.versions
        self.writes = unbound.writes
        self.gradients = unbound.gradients
        moving = [(v, s) for v, s in sources if s.kind != CONSTANT]
        constants = [(v, s.key) for v, s in sources if s.kind == CONSTANT]
        self.sources = [s for _, s in moving]
        self.numbers = [number for number, _ in unbound.outputs]
        results = [v for _, v in unbound.outputs] + [v for _, v in unbound.writes]
        self.avals = [v.aval for v in results]
        inputs = [v for v, _ in moving]
        self._workers = CompileWorkers(graph)
        try:
            self.executable = Executable(graph, inputs, results, constants, self.arena)
        except BaseException:
            self._workers.stop()
            raise

        # whether random numbers are taken back where a kernel fails
        self._undoes = draws_in_vain(graph.nodes)
        self._draws = any(node.op is DRAW for node in graph.nodes)
        self._reuses: list[GradBufferReuse | None] = []
        self._reusing: list[int] = []
        self._places: list[tuple[InputSpec, OutputSpec | None]] = self.gradients
        self._read_inputs: Callable[..., list[Any]] | None = None
        self._bind: Callable[..., list[Any]] | None = None
        self._runs = 0
        self.same_inputs_as: Partition | None = None

    def _before_second_run(self) -> None:
        """Before the second run: find the gradients that have an output to themselves."""
        known = None if self.same_inputs_as is None else self.same_inputs_as._read_inputs
        self._read_inputs = known or input_reader(self.sources)
        self.same_inputs_as = None
        if self.executable.refused or not switches.grad_buffer_reuse:
            return
        keys = [p.memory.key for _, p in self.gradients if p is not None and p.is_whole()]
        found: dict[Any, GradBufferReuse] = {}
        self._places = []
        for source, place in self.gradients:
            if place is not None and place.is_all_of(self) and keys.count(place.memory.key) == 1:
                found[place.memory.key] = GradBufferReuse(source, place.described, place.kind)
            else:
                self._places.append((source, place))
        if found:
            outputs = self.executable.outputs
            self._reuses = [found.get(n) for n in self.numbers]
            self._reuses += [None] * (len(outputs) - len(self.numbers))
            self._reusing = [i for i, reuse in enumerate(self._reuses) if reuse is not None]

    def _binder(self) -> Callable[..., list[Any]] | None:
        """What binds the memory of a run, from the run on that is worth its making; called by
        one thread at a time."""
        if self._read_inputs is None:
            self._before_second_run()
        self._runs += 1
        if self._runs == _REPEATED and self.executable.runs_bound():
            reads = [(source_text(s, f"key{i}"), s.key) for i, s in enumerate(self.sources)]
            self._bind = memory_binder(reads, self.executable, self.numbers, self._reuses)
        return self._bind

    def run(self, made: dict[Any, Any], arguments: Any) -> None:
        """Run the kernels, then write to captured tensors and set gradients."""
        rollback = Journal() if self._undoes else None
        anew: list[int] = []
        try:
            with self.executable.lock:
                bind = self._binder()
                if self.arena is not None and self.arena.latest is not self:
                    self.arena.hand_over(self)
                if bind is not None:
                    results = bind(made, arguments, anew)
                    self.executable.run_bound()
                else:
                    flats = self._read_inputs(made, arguments)  # type: ignore[misc]
                    results = self.executable.run(flats, self._reuses, arguments)
        except BaseException as error:
            self._failed(error, rollback)
            raise
        finally:
            if rollback is not None:
                rollback.close()
        if bind is None:
            made.update(zip(self.numbers, results, strict=False))
            anew = self._reusing
        if self.writes:
            self.write(made, arguments, results)
            for source, times in self.versions:
                written: Any = source.tensor(arguments)
                written._shared.version += times
        for i in anew:
            self._reuses[i].set_gradient(results[i], arguments)  # type: ignore[union-attr]
        for source, place in self._places:
            leaf: Any = source.tensor(arguments)
            leaf._grad = None if place is None else place.tensor(made, arguments, {})

    def compute(self, made: dict[Any, Any], arguments: Any) -> list[Any]:
        """Run the kernels directly after a trace, which has counted the writes and set the
        gradients: the arrays of the outputs, then those to be written."""
        flats = [s.flat(made, arguments) for s in self.sources]
        rollback = Journal() if self._draws else None
        try:
            with self.executable.lock:
                if self.arena is not None and self.arena.latest is not self:
                    self.arena.hand_over(self)
                results = self.executable.run(flats)
        except BaseException as error:
            self._failed(error, rollback)
            raise
        finally:
            if rollback is not None:
                rollback.close()
            self._workers.stop()
        made.update(zip(self.numbers, results, strict=False))
        return results

    def _failed(self, error: BaseException, rollback: Journal | None) -> None:
        """Say at an error whose op has failed, and take back the random numbers."""
        name_line(error, self.executable)
        if rollback is not None:
            rollback.undo()

    def release(self) -> None:
        """Hold no memory but what executables for other sizes share."""
        self.executable.release()

    def write(self, made: Any, arguments: Any, results: list[Any]) -> None:
        """Write to captured tensors."""
        count = len(self.numbers)
        for (source, value), flat in zip(self.writes, results[count:], strict=True):
            target = source.flat(made, arguments)
            if value.aval.dense and value.aval.strides == source.described.strides:
                target[...] = flat
            else:
                copy_to_layout(target, source.described, flat, value.aval)


def source_text(source: InputSpec, key: str) -> str:
    """:meth:`InputSpec.flat` as an expression; ``key``: the name of the source's key there."""
    if source.kind == CONSTANT:
        return key
    if source.kind == MADE:
        return f"made[{key}]"
    held = f"arguments[{key}]" if source.kind == ARGUMENT else key
    return f"({held}._storage or {held}._shared).buffer" if source.whole else f"{held}.flat"


def input_reader(sources: list[InputSpec]) -> Callable[..., list[Any]]:
    """``f(made, arguments)``: the flat arrays of all sources, as one generated expression."""
    names: dict[str, Any] = {f"k{i}": source.key for i, source in enumerate(sources)}
    parts = [source_text(source, f"k{i}") for i, source in enumerate(sources)]
    exec(f"def read(made, arguments):\n    return [{', '.join(parts)}]", names)
    read: Callable[..., list[Any]] = names.pop("read")  # else it would hold itself, and tensors
    return read


class OutputSpec:
    """A tensor that a run hands out: memory, layout, and what it requires.

    Attributes:
        base: of what it is a view, where the run hands that out, too; it is made once.
        version: how often its memory was written to.
    """

    __slots__ = ("base", "described", "kind", "memory", "offset", "root", "version", "view")

    def __init__(
        self, memory: InputSpec, described: Any, offset: int, root: int | None, kind: type,
        view: bool = False,
    ) -> None:  # fmt: skip
        self.memory = memory
        self.kind = kind
        self.described = described
        self.offset = offset
        self.root = root
        self.view = view
        self.base: OutputSpec | None = None
        self.version = 0

    def is_whole(self) -> bool:
        """Whether the tensor begins where memory does that a run makes."""
        return self.memory.kind == MADE and not self.offset

    def is_all_of(self, partition: Partition) -> bool:
        """Whether the tensor is one of a partition's outputs, and no part of it."""
        if not self.is_whole() or self.memory.key not in partition.numbers:
            return False
        made = partition.avals[partition.numbers.index(self.memory.key)]
        return self.described.extent == made.extent

    def tensor(self, made: dict[Any, Any], arguments: Any, storages: dict[int, Any]) -> Tensor:
        """The tensor; ``storages`` makes those over the same memory share it."""
        result = storages.get(id(self))
        if result is None:
            result = storages[id(self)] = self._made(made, arguments, storages)
            if type(result) is not self.kind:
                change_class(result, self.kind)
        return result

    def _made(self, made: dict[Any, Any], arguments: Any, storages: dict[int, Any]) -> Tensor:
        source = self.memory
        owner = source.tensor(arguments)
        extent = self.described.extent
        if owner is not None:
            storage = owner._shared
            start = self.offset + (0 if source.whole else owner._offset)
            if self.view and start >= owner._offset:
                place = {"shape": self.described.shape, "strides": self.described.strides}
                return as_strided(owner, **place, offset=start - owner._offset)
            flat = storage.buffer[start : start + extent]
            return make(flat, self.described, storage, start)
        if self.base is not None:
            base = self.base.tensor(made, arguments, storages)
            place = {"shape": self.described.shape, "strides": self.described.strides}
            return as_strided(base, **place, offset=self.offset - base._offset)
        flat = made[source.key] if source.kind == MADE else source.key.copy()
        key = id(made) if source.kind == CONSTANT else source.key
        storage = storages.setdefault(key, new_storage(flat, self.described.device))
        if self.version and not storage.inference:
            storage.version = self.version
        part = flat if not self.offset and extent == flat.size else (
            flat[self.offset : self.offset + extent]
        )
        return make(part, self.described, storage, self.offset)


def _filled(value: Any, memory: Any) -> Any:
    """``value`` with tensors over this run's memory where places stand."""
    if type(value) is OutputSpec:
        return value.tensor(*memory)
    if type(value) is InputSpec:
        return value.tensor(memory[1])
    if type(value) in (tuple, list):
        return type(value)([_filled(v, memory) for v in value])
    return value


class HostCall:
    """A call between two partitions.

    Attributes:
        given: its arguments, places where tensors stood that the call makes anew.
        grad: whether gradients are recorded meanwhile.
        constants: keys of memory that it may write to, with what is there before.
        key: under which the memory of a tensor that it returns is kept.
    """

    def __init__(
        self, function: Callable[..., Any], given: Any, grad: bool,
        constants: Sequence[tuple[int, Any]] = (),
    ) -> None:  # fmt: skip
        self.function = function
        self.constants = constants
        self.given = given
        self.grad = grad
        self.key: int | None = None
        args, kwargs = given
        places = (InputSpec, OutputSpec, tuple, list)
        self.same = all(type(v) not in places for v in (*args, *kwargs.values()))

    def run(self, made: dict[Any, Any], arguments: Any) -> None:
        args, kwargs = self.given
        for key, before in self.constants:
            made[key] = before.copy()
        if not self.same:
            memory: Any = (made, arguments, {})
            args = _filled(args, memory)
            kwargs = {k: _filled(v, memory) for k, v in kwargs.items()}
        before = state.grad_enabled
        if before is not self.grad:
            state.update(grad=self.grad)
        try:
            result = self.function(*args, **kwargs)
        finally:
            if state.grad_enabled is not before:
                state.update(grad=before)
        if self.key is not None:
            made[self.key] = result._shared.memory.buffer


def copy_to_layout(target: Any, described: Any, flat: Any, given: Any) -> None:
    """Copy elements into memory of another layout."""
    if described.device.type == "cuda":
        cuda.copy(described, given)(target, flat)
    else:
        as_array(target, described)[...] = as_array(flat, given)
