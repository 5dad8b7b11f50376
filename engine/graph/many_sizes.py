"""Captures for more sizes than those of their arguments: what :class:`.capture.Capture` adds to a
trace for them."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

from ..core import state
from ..sizes import NOTES, PLAIN, Sizes, has_amounts, open_sizes
from ..tensor import Tensor
from .ir import MAKE, Node
from .segment import HostCall
from .sized import At
from .trace import Trace, ours, user_line


class ManySizes(Trace):
    """A trace whose arguments' shapes may hold sizes that stand for others.

    Attributes:
        sizes: None in a capture for one set of sizes.
        avals: descriptions of the arguments, those that they do not have at the moment.
        blueprints: of the segments.
        rooms: how many elements storages hold that segments made.
        described: the tensors whose shapes may hold sizes.
    """

    arguments: list[Tensor]
    sources: list[Any]
    steps: list[Any]
    versions: dict[int, Any]
    first_uses: dict[int, tuple[Tensor, Tensor | None, bool]]
    left: str
    started: int

    def __init__(self) -> None:
        super().__init__()
        self.sizes: Sizes | None = None
        self.avals: list[Any] = []
        self.blueprints: list[Any] = []
        self.rooms: dict[int, Any] = {}
        self.described: list[weakref.ref[Tensor]] = []

    def take_sizes(self, sizes: Sizes, avals: list[Any]) -> None:
        """Capture the call for all sizes for which what it does with them holds.

        ``avals``: the arguments' descriptions, with the sizes in them."""
        sizes.make = self._make
        self.sizes = sizes
        self.avals = avals

    def _describe(self, mode: int) -> None:
        """Let the arguments have their own shapes (``PLAIN``), or those with sizes in them."""
        sizes: Any = self.sizes
        if mode != sizes.mode:
            sizes.mode = mode
            for i, x in enumerate(self.arguments):
                x.aval, self.avals[i] = self.avals[i], x.aval
            if mode == PLAIN:
                open_sizes.remove(sizes)
            else:
                open_sizes.append(sizes)

    def _make(self, described: Any, function: Any, arguments: Any) -> Tensor | None:
        """A tensor that is made anew for other sizes."""
        if state.interpreters[-1] is not self:
            return None
        value = self.graph.value(described)
        params = {"described": described, "function": function, "arguments": arguments}
        self.graph.nodes.append(Node(MAKE, (), params, (value,), user_line()))
        return self._tensor(value)

    @contextlib.contextmanager
    def as_they_are(self) -> Iterator[None]:
        """A block in which the arguments have their own shapes."""
        watches = self.sizes is not None and self.sizes.mode == NOTES
        if watches:
            self._describe(PLAIN)
        try:
            yield
        finally:
            if watches and self.sizes is not None:
                self._describe(NOTES)

    def discard(self) -> bool:
        """Drop what was traced, where it has not reached anything that is older than the call."""
        if self.sizes is None or self.steps or self.versions or self.left:
            return False
        for leaf, before, _ in self.first_uses.values():
            leaf._grad = before
        return True

    def forgo(self) -> None:
        """Go on with plain numbers: what was captured is for the sizes of this call only."""
        sizes = self.sizes
        if sizes is not None:
            if sizes.mode == NOTES:
                self._describe(PLAIN)
            self.sizes = None
            at = At(sizes)
            at.settle_graph(self.graph, self.sources, list(self.storages.values()))
            self.steps = [at.step(s) if type(s) is HostCall else s for s in self.steps]
            for reference in self.described:
                at.settle_tensor(reference(), self.started)

    def _sized(self, args: Any, kwargs: Any) -> bool:
        """Whether sizes are in what a host call is about to work on."""
        gradients = (leaf._grad for leaf, _ in self.leaves.values())
        tensors = (x for x in (*args, *kwargs.values(), *gradients) if isinstance(x, Tensor))
        return has_amounts(args, tuple(kwargs.values()), *[x.aval for x in tensors])


def by_library(error: BaseException) -> bool:
    """Whether an error was raised in code of ours, or may be one of numbers that are no ints."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    frame = None if trace is None else trace.tb_frame
    if isinstance(error, TypeError):  # of C code, which has no frame
        return True
    return frame is not None and isinstance(error, Exception) and ours(frame)
