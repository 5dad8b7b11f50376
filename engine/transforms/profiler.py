"""Timing of ops and of the tape's nodes.

A :class:`Recorder` is an interpreter: it takes the time, and calls the op as it would have been
called without it. Nothing of this costs anything while no recorder is active.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from mindtorch.kernels.support.first_use_clock import clock as first_use

from ..autograd import inplace
from ..compile.lazy.pause import pause
from ..dispatch import state
from ..interpreter import Interpreter
from ..op import Op
from ..tensor import Tensor

OP, NODE, USER, COMPILE = "cpu_op", "cpu_op", "user_annotation", "compile"
COMPILING = "mindtorch::find or compile kernels"
_LIBRARY = str(Path(__file__).absolute().parents[2]) + os.sep


class Record:
    """Something that took time.

    Attributes:
        start, end: ``time.perf_counter_ns()``.
        parent: the record around it.
        shapes, types: of the inputs, where shapes are recorded.
        memory: bytes that results of ops hold.
        compiling: nanoseconds between start and end in which kernels were found or compiled; they
            have a record of their own.
    """

    __slots__ = (
        "compiling", "end", "kind", "memory", "name", "parent", "shapes", "stack", "start",
        "thread", "types",
    )  # fmt: skip

    def __init__(self, name: str, kind: str, parent: Record | None) -> None:
        self.name = name
        self.kind = kind
        self.parent = parent
        self.thread = threading.get_native_id()
        self.shapes: Any = []
        self.types: Any = []
        self.stack: list[str] = []
        self.memory = 0
        self.compiling = 0
        self.start = self.end = 0


class Recorder(Interpreter):
    """Takes the time of every op, node and named block of its thread.

    Args:
        shapes: keep the shapes of inputs, too.
        stack: keep the lines of Python that led to each op.
    """

    observes_nodes = True
    active: ClassVar[list[Recorder]] = []

    def __init__(self, shapes: bool = False, stack: bool = False) -> None:
        self.records: list[Record] = []
        self.keep_shapes = shapes
        self.keep_stack = stack
        self.open: list[Record] = []
        self.outer: Any = ()
        self.thread = threading.get_ident()

    def start(self) -> None:
        """Stand at the door of this thread."""
        self.resume = pause()
        self.outer = state.interpreters
        state.update(interpreters=(*self.outer, self))
        Recorder.active.append(self)
        first_use.watchers.append(self.compiled)

    def stop(self) -> None:
        """Leave the door."""
        state.update(interpreters=tuple(x for x in state.interpreters if x is not self))
        Recorder.active.remove(self)
        first_use.watchers.remove(self.compiled)
        self.resume()

    def enter(self, name: str, kind: str) -> Record:
        record = Record(name, kind, self.open[-1] if self.open else None)
        self.records.append(record)
        self.open.append(record)
        record.start = time.perf_counter_ns()
        return record

    def compiled(self, begin: int, end: int) -> None:
        """Kernels were found, compiled or loaded: no time of the ops that are open."""
        record = Record(COMPILING, COMPILE, None)
        record.start, record.end = begin, end
        self.records.append(record)
        for each in self.open:
            each.compiling += end - max(begin, each.start)

    def leave_record(self, record: Record) -> None:
        record.end = time.perf_counter_ns()
        if record in self.open:
            del self.open[self.open.index(record) :]

    def timed(
        self, name: str, function: Callable[..., Any], args: Any, params: Any, fresh: bool = False
    ) -> Any:
        """``function(*args, **params)`` without this recorder at the door; ``fresh`` results are
        tensors with memory of their own."""
        before = state.interpreters
        state.update(interpreters=self.outer)
        record = self.enter(name, OP)
        try:
            result = function(*args, **params)
        finally:
            self.leave_record(record)
            state.update(interpreters=before)
        if self.keep_shapes:
            record.shapes, record.types = _described(args)
        if self.keep_stack:
            record.stack = _callers()
        if fresh:
            results = result if isinstance(result, tuple) else (result,)
            record.memory = sum(x.aval.size * x.aval.dtype.itemsize for x in results)
        return result

    def apply(self, op: Op, inputs: Any, params: Any) -> Any:
        result = self.timed(op.name, op, inputs, params, fresh=op.view is None)
        if op.inner is not None and self.records:
            self.note_inner(op, inputs)
        return result

    def note_inner(self, op: Op, inputs: Any) -> None:
        """The op that torch computes the last one by: all of its time is spent there."""
        outer = next(x for x in reversed(self.records) if x.name == op.name and x.kind == OP)
        assert op.inner is not None
        name, shapes = op.inner(*[None if x is None else x.aval for x in inputs])
        record = Record(name, OP, outer)
        record.start, record.end, record.compiling = outer.start, outer.end, outer.compiling
        record.memory, outer.memory = outer.memory, 0
        if self.keep_shapes:
            record.shapes, record.types = shapes, outer.types
        record.stack = outer.stack
        self.records.append(record)

    def apply_in_place(self, op: Op, target: Any, inputs: Any, params: Any) -> Any:
        return self.timed(
            op.name + "_", inplace.apply_in_place, (op, target, *inputs), params
        )

    def copy_into(self, target: Any, source: Any) -> Any:
        return self.timed("copy_", inplace.copy_, (target, source), {})

    def item(self, tensor: Any) -> Any:
        return self.timed("item", type(tensor).item, (tensor,), {})

    @contextlib.contextmanager
    def around_node(self, node: Any) -> Iterator[None]:
        if recorder_here() is not self:
            yield
            return
        record = self.enter(node.name(), NODE)
        try:
            yield
        finally:
            self.leave_record(record)


def _described(args: Any) -> tuple[list[Any], list[str]]:
    tensors = [x for x in args if isinstance(x, Tensor)]
    return [list(x.aval.shape) for x in tensors], [x.aval.dtype.name for x in tensors]


def _callers() -> list[str]:
    frames = reversed(traceback.extract_stack())
    outside = [f for f in frames if not f.filename.startswith(_LIBRARY)]
    return [f"{f.filename}({f.lineno}): {f.name}" for f in outside]


def recorder_here() -> Recorder | None:
    """The innermost recorder of this thread."""
    own = threading.get_ident()
    return next((r for r in reversed(Recorder.active) if r.thread == own), None)
