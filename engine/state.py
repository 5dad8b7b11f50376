"""What each thread does with ops: records them, marks results, hands them to interpreters."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from .devices.device import Device, cpu
from .tensor import Tensor, inferring, levels

NO_GRAD, GRAD, INTERPRETED, MARKED, WATCHED = 0, 1, 2, 3, 4
levels_entered = itertools.count(1)


class State(threading.local):
    """What the current thread does with ops.

    Attributes:
        mode: NO_GRAD, GRAD, or INTERPRETED while ``interpreters`` is not empty, or MARKED, or
            WATCHED while ``watcher`` notes what a function does (:mod:`.remembered`).
        grad_enabled: whether tracked inputs are recorded.
        inference: whether nothing is recorded, and results are marked as made so.
        level: the number of the innermost transformation whose function runs; 0: none does.
        given: the ids of the memory of that function's arguments.
        pushed: the nodes of tensors that have tangents, in the transformations around.
        forward: whether the innermost transformation pushes tangents, which no_grad leaves alone;
            ``forward_only``: and those around it, too.
        interpreters: the active transformations, innermost last.
        device: where namespaces make new tensors, unless told otherwise.
        written_to: the tensor that a method in place may write to directly.
    """

    mode = GRAD
    grad_enabled = True
    inference = False
    level = 0
    given: frozenset[int] | set[int] = frozenset()
    pushed: tuple[Any, ...] = ()
    forward = False
    forward_only = False
    interpreters: tuple[Any, ...] = ()
    device: Device = cpu
    watcher: Any = None
    written_to: Any = None

    def update(
        self, *, grad: bool | None = None, interpreters: Any = None, inference: bool | None = None
    ) -> None:
        if interpreters is None:
            interpreters = self.interpreters
        if grad is None:
            grad = self.grad_enabled
        if inference is None:
            inference = self.inference
        else:
            (inferring.add if inference else inferring.discard)(threading.get_ident())
        mode = GRAD if grad else NO_GRAD
        if interpreters:
            mode = INTERPRETED
        elif inference or self.level:
            mode = MARKED
        # nothing is called from here on: a signal finds all of it as it was, or as it is to be
        self.grad_enabled, self.inference = grad, inference
        self.interpreters, self.mode = interpreters, mode

    def recording(self) -> int:
        """GRAD or NO_GRAD, whatever else is done with results."""
        return GRAD if self.grad_enabled and not self.inference else NO_GRAD

    @contextlib.contextmanager
    def inside(self, given: Sequence[Tensor], pushed: Sequence[Any] = ()) -> Iterator[None]:
        """A block that is the function of a transformation, to which ``given`` is passed: it may
        write to that and to what is made in the block. ``pushed``: nodes of what has tangents."""
        thread = threading.get_ident()
        before = self.level, self.given, self.pushed, self.forward, self.forward_only
        self.forward = bool(pushed)
        self.forward_only = self.forward and (not self.level or self.forward_only)
        self.pushed = (*self.pushed, *pushed)
        self.level, self.given = next(levels_entered), {id(x._shared.memory) for x in given}
        levels[thread] = self.level
        self.update()
        try:
            yield
        finally:
            self.level, self.given, self.pushed, self.forward, self.forward_only = before
            if self.level:
                levels[thread] = self.level
            else:
                del levels[thread]
            self.update()

    def captured(self, tensor: Tensor) -> bool:
        """Whether the function of a transformation runs, outside of which ``tensor`` was made."""
        if not self.level:
            return False
        memory = tensor._shared.memory
        return memory.level < self.level and id(memory) not in self.given

    def stop_watching(self) -> int:
        """What a function does is more than ops on its arguments; the mode without a watcher."""
        if self.mode == WATCHED:
            self.update()
        return self.mode


state = State()


class grad_mode:  # noqa: N801
    """Set whether ops are recorded, for a block; recording leaves inference mode."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._previous: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._previous.append((state.grad_enabled, state.inference))
        state.update(grad=self.enabled, inference=state.inference and not self.enabled)

    def __exit__(self, *exception: object) -> None:
        grad, inference = self._previous[-1]
        del self._previous[-1]
        state.update(grad=grad, inference=inference)
