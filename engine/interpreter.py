"""What stands between the calls of ops and their kernels: captures, vmap, profiles, watches.

While an interpreter is among ``state.interpreters``, ops, writes in place, copies and draws go to
the innermost of them. One that is in :data:`.tensor.captures` is asked, too, before anybody looks
at what tensors hold. A class states what it does by what it overrides; the rest is done as if it
were not there.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .callbacks import callbacks
from .dispatch import state
from .op import Op

if TYPE_CHECKING:
    from .autograd import backward
    from .tensor import Storage, Tensor

__all__ = ["Interpreter"]


class Interpreter:
    """All that an interpreter may be asked.

    Attributes:
        thread: the thread whose ops it takes.
        outer: the interpreters around it.
        traces: whether its tensors have symbolic values in place of data.
        is_capture: whether it writes ops down in order to run them later, and runs other calls of
            the traced function through :meth:`host`.
        hosting: whether such a call is under way.
        draws: whether it takes random draws; otherwise they are made as ever.
        observes_nodes: whether it is told of each node of a backward pass.
        sees_writes: whether optimizers' steps are to be made of ops, which it takes.
        leaves_first: whether a leaf takes its gradient as soon as it has all of it, as in torch.
    """

    thread: int = 0
    outer: tuple[Any, ...] = ()
    traces = False
    is_capture = False
    hosting = False
    draws = False
    observes_nodes = False
    sees_writes = False
    leaves_first = False

    def outside(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call ``function`` without this interpreter and those within it."""
        before = state.interpreters
        state.update(interpreters=self.outer)
        try:
            return function(*args, **kwargs)
        finally:
            state.update(interpreters=before)

    # --- what is done to tensors --------------------------------------------------------------

    def apply(self, op: Op, inputs: Any, params: dict[str, Any]) -> Any:
        """``op(*inputs, **params)``."""
        return self.outside(op, *inputs, **params)

    def apply_in_place(self, op: Op, target: Tensor, inputs: Any, params: Any) -> Tensor:
        """``target[...] = op(*inputs, **params)``."""
        result: Tensor = self.outside(callbacks.apply_in_place, op, target, *inputs, **params)
        return result

    def copy_into(self, target: Tensor, source: Tensor) -> Tensor:
        """``target[...] = source``, broadcast and cast."""
        result: Tensor = self.outside(callbacks.copy_into, target, source)
        return result

    def item(self, tensor: Tensor) -> Any:
        """The only element as a number."""
        return self.outside(type(tensor).item, tensor)  # type: ignore[attr-defined]

    def draw(self, described: Any, fill: Callable[..., Any], inputs: Any) -> Tensor:
        """A tensor like ``described`` that ``fill(array, *arrays of inputs)`` fills with random
        numbers; asked where :attr:`draws`."""
        raise NotImplementedError

    def redraw(self, target: Tensor, fill: Callable[..., Any], inputs: Any) -> None:
        """The same into ``target``; asked where :attr:`draws`."""
        raise NotImplementedError

    # --- what is about to be looked at --------------------------------------------------------

    def data_needed(self, tensor: Tensor) -> None:
        """The elements of ``tensor`` are about to be read."""

    def memory_needed(self, storage: Storage) -> None:
        """All that a storage holds is about to be read."""

    def needed(self, what: str) -> None:
        """Something else is asked for that follows from the ops so far."""

    def raw_write(self, tensor: Tensor) -> None:
        """The memory of ``tensor`` is about to be written to, or replaced, by no op."""

    def identity_needed(self, tensor: Tensor, what: str) -> None:
        """Python code asks for a tensor's version, address, or place in its storage."""

    def reveal(self, value: Any) -> Any:
        """The data of a symbolic value that somebody holds."""
        raise RuntimeError("the data of a traced tensor is not there")

    # --- what was done besides ops ------------------------------------------------------------

    def shared(self, tensor: Tensor) -> None:
        """A tensor was made, over new memory or that of another one."""

    def note_places(self, tensor: Tensor) -> None:
        """A tensor was made whose elements follow from shapes and plain arguments."""

    def note_drawn(self, array: Any, again: Callable[[Any], None]) -> None:
        """A generator filled a flat array, as ``again(array)`` does with the next numbers."""

    def note_full(self, tensor: Tensor, value: Any) -> None:
        """A tensor was made whose elements are all ``value``."""

    def note_named(self, tensor: Any, name: str) -> None:
        """The node of a result was given the name of torch's op."""

    def note_views(self, views: Any, name: str, op: Op, params: dict[str, Any]) -> None:
        """The results of a function were marked as views that are not written to."""

    def note_leaf(self, leaf: Tensor, read: bool) -> None:
        """``leaf.grad`` was read, or is replaced."""

    # --- backward passes ----------------------------------------------------------------------

    def walk(self, run: backward.Pass, roots: list[Any]) -> bool:
        """Whether it did the whole backward pass by other means."""
        return False

    def around_node(self, node: Any) -> contextlib.AbstractContextManager[None]:
        """A block in which a node's gradients are computed; asked where :attr:`observes_nodes`."""
        return contextlib.nullcontext()

    def gradients_of(self, node: Any, gradients: Any, needed: Any) -> Any:
        """The gradients of a node's inputs by another rule than its own; None: there is none.
        Asked where :attr:`observes_nodes`."""
        return None

    def root_gradient(self, output: Tensor) -> Tensor | None:
        """The gradient, of ones, of what is differentiated; None: it is made as ever. Asked where
        :attr:`observes_nodes`."""
        return None

    def accumulate(self, variable: Tensor, gradient: Tensor, alone: bool) -> bool:
        """Whether it added to ``variable.grad`` itself; ``alone``: nobody else holds the gradient.
        Asked where :attr:`observes_nodes`."""
        return False

    # --- captures -----------------------------------------------------------------------------

    def host(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call a function that works on real tensors."""
        return self.outside(function, *args, **kwargs)

    def break_graph(self, reason: str) -> None:
        """Let the rest of the traced function run op by op."""

    def materialise(self) -> None:
        """Run what was traced so far."""

    def thread_starts(self, thread: threading.Thread) -> None:
        """A thread is about to start, which may read what was computed."""

    def is_from_outside(self, tensor: Tensor) -> bool:
        """Whether ``tensor`` was there before the capture began."""
        return False
