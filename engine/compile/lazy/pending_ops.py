"""Pending ops of lazy mode: noted since data was last needed, and then run as a partition."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

from ...autograd import backward, tape
from ...dispatch import state
from ...tensor import Storage, Tensor, captures, fields_of, typed_buffer
from ..capture.thread_start_hook import hook_thread_starts
from ..capture.traced_storage import TracedStorage
from ..capture.tracer import Tracer, ours
from ..ir.ir import DRAW, Value
from .autotune import Autotuner
from .failed_sync import computed_before, keep_what_was_computed
from .trace_tree import MOST_NODES, MOST_PARTITIONS, TraceNode, TraceTree, partition_of

# ops of so many iterations of a loop are pending at most, where nothing reads a value
ROUNDS = 8


class PendingOps(Tracer):
    """Ops whose kernels have not run yet: a path from the root of a tree."""

    def __init__(self, tree: TraceTree, whole_script: bool = False) -> None:
        super().__init__()
        self.tree = tree
        self.whole_script = whole_script
        self.autotuner = Autotuner(tree)
        self.disabled = False
        self.threads: list[threading.Thread] = []
        self.within_call = False
        self.rounds: dict[Any, int] = {}  # since data was last asked for
        self.thread = threading.get_ident()
        self.outer = state.interpreters
        self.live_tensors: list[weakref.ref[Tensor]] = []
        self.first_grads: dict[int, tuple[Tensor, Tensor | None]] = {}
        self.started = next(tape.sequence)
        hook_thread_starts()
        self._begin()

    def _begin(self) -> None:
        self.began = next(tape.sequence)
        self.position = self.tree.root
        self.count = 0
        self.given: list[Tensor] = []
        self.fills: list[Any] = []
        # (storage, its record, the value written), for an error of an op after the write
        self.writes_in_order: list[tuple[Storage, TracedStorage, Value]] = []
        self.firsts: dict[int, tuple[TraceNode, int]] = {}
        self.copied: dict[int, Tensor] = {}  # what was copied last of memory that others see
        # parts of memory besides the one that `storages` knows, by offset and layout
        self.parts: dict[int, dict[Any, TracedStorage]] = {}

    def enter(self) -> None:
        if self.disabled:
            return
        state.update(interpreters=(*self.outer, self))

    def exit(self) -> None:
        state.update(interpreters=self.outer)

    def set_disabled(self, disabled: bool) -> None:
        """Let ops run one by one from now on, or wait; while they do not, this is no capture."""
        if disabled is self.disabled:
            return
        if self in captures:
            captures.remove(self)
        if not disabled:
            captures.insert(0, self)
        try:
            self.disabled = disabled
            self.exit()
            self.enter()
        except BaseException:  # of a signal
            self.exit()
            self.enter()
            raise

    def thread_starts(self, thread: threading.Thread) -> None:
        """Let ops run one by one beside a thread that is about to start."""
        if self in state.interpreters:
            self.needed("what another thread may read")
        self.set_disabled(True)
        self.threads.append(thread)

    def end(self) -> None:
        """Ops run one by one from now on; to do it twice changes nothing."""
        if self in captures:
            captures.remove(self)
        self.exit()

    def disable(self) -> None:
        """Let ops run one by one: nothing repeats here."""
        self.set_disabled(True)
        self.tree.clear()
        self.autotuner.unrepeated()

    def sync(self, *, within: bool = False) -> None:
        """Run what waits, and give the tensors that are alive their data.

        ``within``: an op that will wait asks for it.
        """
        waiting = [x for x in [reference() for reference in self.live_tensors]
                   if x is not None and type(x.flat) is Value]  # fmt: skip
        numbers: list[int] = []
        values: list[Value] = []
        places: dict[Any, int] = {}
        for x in waiting:
            storage = x._storage
            if storage is None:
                values.append(x.flat)
                continue
            storage = storage.memory
            if type(storage.buffer) is Value and id(storage) not in places:
                record = self.storages.get(id(storage))
                places[id(storage)] = len(values)
                values.append(storage.buffer if record is None else record.value)
        numbers = [v.number for v in values]
        writes = [(r.owner, r.value) for r in self.written]
        made: dict[Any, Any] = {}
        run: Any = None
        if self.position.parent is not None and (values or writes or self.fills):
            try:
                self.exit()
                run = self._run(numbers, values, writes, made)
            except Exception:
                self._keep_what_was_computed(waiting)
                raise
            finally:  # after a signal all waits as before
                try:
                    self.enter()
                except BaseException:
                    self.enter()
                    raise
        try:
            self._finish(run, waiting, places, made, within)
        except BaseException:  # half of it would be lost
            self._finish(run, waiting, places, made, within)
            raise

    def _finish(
        self, run: Any, waiting: list[Tensor], places: dict[int, int], made: Any, within: bool
    ) -> None:
        """Write what was computed to where it belongs; to do it twice changes nothing."""
        if run is not None:
            partition, results, given = run
            partition.write(made, given, results)
        self._hand_out(waiting, places, made)
        self._forget(within)

    def _hand_out(self, waiting: list[Tensor], places: dict[Any, int], made: Any) -> None:
        order: Any = iter(range(len(made)))
        if places:
            order = iter(sorted(set(order) - set(places.values())))
        for x in waiting:
            storage = x._storage
            if storage is None:
                x.flat = made[next(order)]
                continue
            storage = storage.memory
            if type(storage.buffer) is Value:
                storage.buffer = made[places[id(storage)]]
            flat = typed_buffer(storage, x.aval.dtype)
            x.flat = flat[x._offset : x._offset + x.aval.extent]
            fields_of(x).pop("_trace_stamp", None)

    def _forget(self, within: bool = False) -> None:
        self.live_tensors.clear()
        self.storages.clear()
        self.written.clear()
        self.kept.clear()
        self.first_grads.clear()
        tree = self.tree
        if tree.nodes > MOST_NODES or tree.compiled > MOST_PARTITIONS:
            tree.clear()
        if self.whole_script and tree.never_repeats and not within:
            self.disable()
        self._begin()

    def _keep_what_was_computed(self, waiting: list[Tensor]) -> None:
        """After an error: all is as eager calls leave it that end at the op that fails."""
        computed = computed_before(self.position.path(), self.given)
        keep_what_was_computed(
            computed, self.given, self.writes_in_order, self.first_grads.values(), waiting
        )
        self._forget()

    def _run(self, numbers: Any, values: Any, writes: Any, made: dict[Any, Any]) -> Any:
        """Compute what waits; (partition, its results, what it was given)."""
        position, tree = self.position, self.tree
        key = (tuple(numbers), tuple([(place, v.number) for place, v in writes]))
        partition = position.partitions.get(key)
        path: list[TraceNode] = []
        if partition is None:
            path = position.path()
            partition = partition_of(path, self.count, self.given, values, writes, position.met > 0)
            position.met += 1
            if position.met > 1:
                position.partitions[key] = partition
                tree.compiled += 1
            tree.fresh += 1
            tree.lost += position.depth
        else:
            tree.fresh = tree.lost = 0
            tree.runs += 1
        if self.fills:
            draws = [node for node in path or position.path() if node.op is DRAW]
            for node, fill in zip(draws, self.fills, strict=True):
                node.fill = fill
        return partition, partition.compute(made, self.given), self.given

    # --- places that the script comes by ----------------------------------------------------------

    def is_mine(self) -> bool:
        """Whether this thread runs the script."""
        return self.thread == threading.get_ident()

    def is_outermost(self) -> bool:
        """Whether it is the script itself that runs, and no part of a call that watches ops."""
        within = self.outer if self.disabled else (*self.outer, self)
        return self.is_mine() and state.interpreters == within and not (
            self.hosting or backward.running()
        )

    def at_sync_point(self, place: Any) -> None:
        """The script is at a place where it may have been before: whether ops wait from now on."""
        if not self.is_outermost():
            return
        if self.threads:
            self.threads = [each for each in self.threads if each.is_alive()]
            if self.threads:
                return
        self.rounds.clear()
        waiting = self.autotuner.waits(place, not self.disabled)
        if not waiting and not self.disabled:
            self.sync()
        self.set_disabled(not waiting)

    def data_was_read(self) -> None:
        """Python code has asked for data."""
        frame: Any = sys._getframe(2)
        while frame is not None and ours(frame):
            frame = frame.f_back
        if frame is not None:
            self.at_sync_point((frame.f_code, frame.f_lasti))

    def round_ended(self, place: Any) -> None:
        """A model's call without gradients, or a backward pass, has ended. A loop that does it
        and looks at nothing runs so many rounds at a time."""
        met = self.rounds[place] = self.rounds.get(place, 0) + 1
        if met >= ROUNDS and self.is_outermost():
            if not self.disabled:
                self.sync()
            self.at_sync_point(place)

    def call_outermost(self, module: Any, args: Any, kwargs: Any) -> Any:
        """Call a module that no module calls."""
        self.within_call = True
        try:
            result = module(*args, **kwargs)
        finally:
            self.within_call = False
        if not state.grad_enabled:
            self.round_ended(id(module))
        return result
