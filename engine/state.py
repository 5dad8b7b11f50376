"""What each thread does with ops: records them, marks results, hands them to interpreters."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from .devices.device import Device, cpu
from .tensor import Tensor, inferring, levels

# What a thread does with ops: the bits of one word, :attr:`State.mode`. A call compares it once:
# up to GRAD it is an ordinary one; beyond, :meth:`Op.in_mode` does what the bits say, in order.
GRAD = 1  # ops with tracked inputs are recorded; never set together with INFERENCE
AUTOCAST = 2  # inputs are cast by the op's policy first
RECORDING_CALL = 4  # the call cache notes the ops that a function calls; ``recorder``
INTERPRETED = 8  # ops go to the innermost of ``interpreters``
INFERENCE = 16  # results are marked as made in inference mode
TRANSFORM = 32  # results are marked as made by the function of a transformation; ``level``
NO_GRAD = 0
levels_entered = itertools.count(1)


class State(threading.local):
    """What the current thread does with ops.

    Attributes:
        mode: the bits above.
        grad_enabled: whether tracked inputs are recorded.
        inference: whether nothing is recorded, and results are marked as made so.
        level: the number of the innermost transformation whose function runs; 0: none does.
        given: the ids of the memory of that function's arguments.
        pushed: the nodes of tensors that have tangents, in the transformations around.
        forward: whether the innermost transformation pushes tangents, which no_grad leaves alone;
            ``forward_only``: and those around it, too.
        interpreters: the active ones, innermost last.
        recorder: notes the ops that a function calls, for the call cache.
        autocast: ``autocast(op, *inputs)``, the inputs cast; None outside of autocast.
        device: where namespaces make new tensors, unless told otherwise.
        written_to: the tensor that a method in place may write to directly.
        differentiating: how many functions run that are differentiated as functions.
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
    recorder: Any = None
    autocast: Any = None
    written_to: Any = None
    differentiating = 0

    def update(
        self, *, grad: bool | None = None, interpreters: Any = None, inference: bool | None = None
    ) -> None:
        """Change what is given; a call that is being recorded is not, from here on."""
        if interpreters is None:
            interpreters = self.interpreters
        if grad is None:
            grad = self.grad_enabled
        if inference is None:
            inference = self.inference
        else:
            (inferring.add if inference else inferring.discard)(threading.get_ident())
        mode = self.mode & (AUTOCAST | TRANSFORM)
        if interpreters:
            mode |= INTERPRETED
        if inference:
            mode |= INFERENCE
        elif grad:
            mode |= GRAD
        # nothing is called from here on: a signal finds all of it as it was, or as it is to be
        self.grad_enabled, self.inference = grad, inference
        self.interpreters, self.mode = interpreters, mode

    def record_nothing(self) -> None:
        """``update(grad=False)``, which functions without gradients do at each call."""
        self.grad_enabled = False
        self.mode &= ~(GRAD | RECORDING_CALL)

    def cast_inputs_by(self, autocast: Any) -> None:
        """Let ops cast their inputs by ``autocast``; None: leave them."""
        self.autocast = autocast
        self.mode = self.mode & ~AUTOCAST if autocast is None else self.mode | AUTOCAST

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
        self.mode |= TRANSFORM
        self.update()
        try:
            yield
        finally:
            self.level, self.given, self.pushed, self.forward, self.forward_only = before
            if self.level:
                levels[thread] = self.level
            else:
                del levels[thread]
                self.mode &= ~TRANSFORM
            self.update()

    def captured(self, tensor: Tensor) -> bool:
        """Whether the function of a transformation runs, outside of which ``tensor`` was made."""
        if not self.level:
            return False
        memory = tensor._shared.memory
        return memory.level < self.level and id(memory) not in self.given

    def stop_recording_call(self) -> None:
        """What a function does is more than ops on its arguments: the call cache cannot repeat
        it."""
        self.mode &= ~RECORDING_CALL


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
