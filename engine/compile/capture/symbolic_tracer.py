"""Captures for more sizes than those of their arguments: what :class:`.capture.Capture` adds to a
trace for them."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...aval import aval
from ...dispatch import state
from ...symbolic_sizes import FORMAL, NOTES, PLAIN, Sizes, has_amounts, open_sizes
from ...tensor import Tensor
from ..dynamic_shapes.specialize import Specialization
from ..ir.ir import MAKE, Graph, Node
from ..runtime.partition import HostCall
from .tracer import Tracer, ours, traced, user_line


class SymbolicTracer(Tracer):
    """A trace whose arguments' shapes may hold sizes that stand for others.

    Attributes:
        sizes: None in a capture for one set of sizes.
        avals: descriptions of the arguments, those that they do not have at the moment.
        unspecialized: of the partitions.
        rooms: how many elements storages hold that partitions made.
        described: the tensors whose shapes may hold sizes.
    """

    arguments: list[Tensor]
    sources: list[Any]
    steps: list[Any]
    versions: dict[int, Any]
    first_uses: dict[int, tuple[Tensor, Tensor | None, bool]]
    graph_break: str
    started: int

    def __init__(self) -> None:
        super().__init__()
        self.sizes: Sizes | None = None
        self.avals: list[Any] = []
        self.unspecialized: list[Any] = []
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
    def concrete_shapes(self) -> Iterator[None]:
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
        if self.sizes is None or self.steps or self.versions or self.graph_break:
            return False
        for leaf, before, _ in self.first_uses.values():
            leaf._grad = before
        return True

    def make_concrete(self) -> None:
        """Go on with plain numbers: what was captured is for the sizes of this call only."""
        sizes = self.sizes
        if sizes is not None:
            if sizes.mode == NOTES:
                self._describe(PLAIN)
            self.sizes = None
            specialization = Specialization(sizes)
            specialization.concretize_graph(self.graph, self.sources, list(self.storages.values()))
            self.steps = [specialization.step(s) if type(s) is HostCall else s for s in self.steps]
            for reference in self.described:
                specialization.concretize_tensor(reference(), self.started)

    def _sized(self, args: Any, kwargs: Any) -> bool:
        """Whether sizes are in what a host call is about to work on."""
        gradients = (leaf._grad for leaf, _ in self.leaves.values())
        tensors = (x for x in (*args, *kwargs.values(), *gradients) if isinstance(x, Tensor))
        return has_amounts(args, tuple(kwargs.values()), *[x.aval for x in tensors])


def trace_for_sizes(
    function: Callable[..., Any], examples: Sequence[Tensor], axes: Sequence[dict[int, str]],
    tracer: SymbolicTracer | None = None,
) -> tuple[Graph, Sizes]:  # fmt: skip
    """The graph of ``function`` for tensors like ``examples``, some of whose axes may have other
    lengths, and what it says of these: :func:`.trace.trace` for many sizes.

    Args:
        axes: for each example the axes that may, and what their lengths are called; those with
            one name are equal.
        tracer: a new one, which writes down in its own way.

    Raises:
        TracingError: the function needs a tensor's data.
        ValueError: axes with one name have two lengths.
    """
    lengths: dict[str, int] = {}
    for example, named in zip(examples, axes, strict=True):
        for axis, name in named.items():
            n = example.aval.shape[axis]
            if lengths.setdefault(name, n) != n:
                raise ValueError(f"{name!r} is {lengths[name]} and {n}")
    sizes = Sizes([max(n, 2) for n in lengths.values()], list(lengths), user_line, ours)
    places = dict(zip(lengths, sizes.sizes, strict=True))
    tracer = tracer or SymbolicTracer()
    tracer.take_sizes(sizes, [])
    sizes.branches = []
    sizes.mode = NOTES
    open_sizes.append(sizes)
    try:
        arguments = []
        for example, named in zip(examples, axes, strict=True):
            own = example.aval
            shape = tuple([
                places[named[i]] if i in named else n for i, n in enumerate(own.shape)
            ])
            described = aval(shape, own.dtype, None, own.device)
            arguments.append(tracer.argument(example, described))
        return traced(tracer, function, arguments), sizes
    finally:
        open_sizes.remove(sizes)
        sizes.mode = FORMAL


def by_library(error: BaseException) -> bool:
    """Whether an error was raised in code of ours, or may be one of numbers that are no ints."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    frame = None if trace is None else trace.tb_frame
    if isinstance(error, TypeError):  # of C code, which has no frame
        return True
    return frame is not None and isinstance(error, Exception) and ours(frame)
