"""The backward pass over the tape: from roots with gradients to leaves, or to chosen targets."""

from __future__ import annotations

import heapq
import itertools
import math
import threading
import types
import warnings
from collections.abc import Callable, Iterable, Sequence
from operator import is_not
from typing import Any

from ..call_cache import pass_cache, vjp_cache
from ..callbacks import callbacks
from ..dispatch import VIEW
from ..op_nodes import NodeValue
from ..ops.elementwise import add
from ..ops.movement import clone_like
from ..reference_counts import holders
from ..state import GRAD, NO_GRAD, RECORDING_CALL, state
from ..switches import switches
from ..tensor import Storage, Tensor, captures, capturing, make, scripts
from .hooks import run_leaf_hooks, run_post_hooks, run_pre_hooks, run_result_hooks
from .inplace import add_into
from .nodes import RELEASED, AccumulateGrad, Node, anomaly
from .saved_tensors import (
    PackedTensor,
    hooks_of_thread,
    saved_tensor_hooks,
    set_hooks_of_thread,
)
from .tape import note_leaf
from .unbroadcast import unbroadcast


def _reaching(roots: list[Any], targets: set[int]) -> set[int]:
    """Ids of nodes from which a path leads to a target node (targets included)."""
    reaching: set[int] = set()
    done: set[int] = set()
    stack = [(node, False) for node in roots]
    while stack:
        node, children_done = stack.pop()
        if children_done:
            if id(node) in targets or any(
                e is not None and id(e[0]) in reaching for e in node.edges
            ):
                reaching.add(id(node))
            continue
        if id(node) in done:
            continue
        done.add(id(node))
        stack.append((node, True))
        stack.extend((e[0], False) for e in node.edges if e is not None and id(e[0]) not in done)
    return reaching


# of leaves that have all of their gradient: the first that was ready is visited first
_turns = itertools.count()
_LARGE = 16384  # elements of a gradient whose memory is used again
_numbers = itertools.count()
_NONES = itertools.repeat(None)


class _UnderWay(threading.local):
    def __init__(self) -> None:
        self.passes: list[Pass] = []


_under_way = _UnderWay()


def running() -> list[Pass]:
    """The passes of this thread that are under way, the innermost last."""
    return _under_way.passes


class Pass:
    """One backward pass: from roots with gradients to leaves, or to chosen targets.

    Args:
        create_graph: record the pass itself.
        retain_graph: keep saved tensors for another pass.
        targets: (node, index) whose gradients are captured instead of accumulated; None for all
            leaves.
        accumulate: add to the ``grad`` of leaves among the targets, and capture nothing.
        ends_at_targets: what lies beyond a target is not visited, and the target's own hooks do not
            run: they wait for the pass that goes on from there.

    Attributes:
        number: of the pass, among all.
        node: the one that is being visited.
        trace: notes what is visited, where that may be repeated.
    """

    node: Any = None
    reaching: set[int] | None = None
    trace: pass_cache.Trace | None = None

    def __init__(
        self, create_graph: bool, retain_graph: bool, targets: list[Any] | None, accumulate: bool,
        ends_at_targets: bool = False,
    ) -> None:  # fmt: skip
        self.create_graph = create_graph
        self.retain_graph = retain_graph
        self.targets = None if targets is None else {(id(n), i) for n, i in targets}
        self.accumulate = accumulate
        self.ends_at_targets = ends_at_targets
        self.number = next(_numbers)
        self.captured: dict[tuple[int, int], Tensor] = {}
        self.callbacks: list[Callable[[], None]] = []

    def _begin(self) -> None:
        """Prepare for visiting nodes, which a pass that is repeated does without."""
        self.pending: dict[int, list[Any]] = {}
        self.heap: list[Any] = []
        self.uses: dict[int, int] = {}

    def run(self, roots: list[tuple[Any, int, Tensor]]) -> None:
        """Visit the nodes from the roots on, the latest first; their ops are recorded where the
        pass makes a graph. The mode is restored after KeyboardInterrupt, too."""
        grad, inference = state.grad_enabled, state.inference
        under_way = _under_way.passes
        under_way.append(self)
        try:
            if state.mode == GRAD and not self.create_graph:
                state.grad_enabled, state.mode = False, NO_GRAD
            else:
                state.update(
                    grad=self.create_graph, inference=inference and not self.create_graph
                )
            capture = capturing() if captures else None
            if capture is None or not capture.walk(self, roots):
                self.run_nodes(roots)
            under_way.pop()
            if scripts and not under_way and self.targets is None and not self.create_graph:
                scripts[0].round_ended("a backward pass")
        finally:
            # nothing is called before the mode is as it was: only calls and loops let signals in
            state.grad_enabled = grad
            mode = state.mode & ~(GRAD | RECORDING_CALL)
            state.mode = mode | GRAD if grad and not state.inference else mode
            if inference and self.create_graph:
                state.update(inference=True)
            if self in under_way:
                under_way.remove(self)

    def run_nodes(self, roots: list[tuple[Any, int, Tensor]]) -> None:
        """:meth:`run`, where the tape is not known from an earlier pass."""
        if len(roots) == 1 and self.targets is None and not (
            state.mode or state.interpreters or captures or saved_tensor_hooks or anomaly.enabled
        ) and pass_cache.repeat(self, *roots[0]):  # nobody watches, all leaves are asked for
            return
        self._begin()
        hooks = hooks_of_thread() if saved_tensor_hooks else ()
        if self.targets is not None:
            self.reaching = _reaching([r[0] for r in roots], {n for n, _ in self.targets})
        every = bool(state.interpreters) and state.interpreters[-1].leaves_first
        if AccumulateGrad.had_hooks or every:
            self.uses = _uses_of_leaves([r[0] for r in roots], every)
        for node, index, gradient in roots:
            self.send(node, index, gradient)
        while self.heap:
            _, _, node = heapq.heappop(self.heap)
            gradients = self.pending.pop(id(node), None)
            if gradients is None:  # a leaf with hooks that has had its turn
                continue
            self.node = node
            try:
                if self.targets is None:
                    if node.hooks is not None:
                        run_result_hooks(node, gradients)
                        run_pre_hooks(node, gradients)
                    visited = True
                else:
                    visited = self._capture_or_visit(node, gradients)
                if not visited:
                    self._used(node)
                elif type(node) is AccumulateGrad:
                    self.add_to_leaf(node, gradients)
                else:
                    self._visit(node, gradients)
            except Exception:
                if anomaly.enabled:
                    _tell_the_caller(node)
                raise
            if saved_tensor_hooks:
                set_hooks_of_thread(hooks)  # those that the node's rule or hooks entered are left
        if self.trace is not None:
            self.trace.end()
        for callback in self.callbacks:
            callback()

    def send(self, node: Any, index: int, gradient: Tensor) -> None:
        """Add to the gradient of a node's result, by its index; the node has its turn later."""
        if self.reaching is not None:
            place = id(node), index
            if self.ends_at_targets and place in self.targets:  # type: ignore[operator]
                before = self.captured.get(place)
                self.captured[place] = gradient if before is None else sum_of(before, gradient)
                return
            if id(node) not in self.reaching:
                return
        held = self.pending.get(id(node))
        if held is None:
            if node.__class__ is AccumulateGrad:
                count = 1
            else:
                count = len(node.plan.avals if node.__class__ is Node else node.out_avals)
            held = self.pending[id(node)] = [None] * count
            heapq.heappush(self.heap, (-node.sequence, id(node), node))
        if held[index] is None:
            held[index] = gradient
        else:
            self.join(held, index, gradient)

    def join(self, held: list[Any], index: int, gradient: Tensor) -> None:
        """Put the sum of a gradient that has arrived, which is in a list, and of another in the
        place of the first."""
        before, held[index] = held[index], gradient
        alone = holders(before) == 1
        if alone and not self.create_graph and _is_own(before, gradient):
            add_into(before, gradient)
            held[index] = before
        else:
            held[index] = sum_of(before, gradient)

    def will_visit(self, node: Any) -> bool:
        """Whether the pass, which has targets, needs the node's rule, or adds to the leaf."""
        if self.accumulate and any(number == id(node) for number, _ in self.targets or ()):
            return True
        reaching: Any = self.reaching
        return any(e is not None and id(e[0]) in reaching for e in node.edges)

    def _capture_or_visit(self, node: Any, gradients: list[Any]) -> bool:
        """Capture gradients and run the hooks on them; whether the node's rule is needed, too.

        What is captured of a node whose rule is needed is what has arrived, before all hooks.
        """
        visited = self.will_visit(node)
        if visited:
            self._capture(node, gradients)
        if node.hooks is not None:
            run_result_hooks(node, gradients)
            if visited:
                run_pre_hooks(node, gradients)
        if not visited:
            self._capture(node, gradients)
        return visited

    def _capture(self, node: Any, gradients: list[Any]) -> None:
        for index, gradient in enumerate(gradients):
            if gradient is not None and (id(node), index) in (self.targets or ()):
                self.captured[id(node), index] = gradient

    def _visit(self, node: Any, gradients: list[Any]) -> None:
        """Run a node's rule and send what it gives on along the node's edges."""
        reaching = self.reaching
        if reaching is None:
            needed = list(map(is_not, node.edges, _NONES))
        else:
            needed = [e is not None and id(e[0]) in reaching for e in node.edges]
        if True not in needed or (gradients[0] is None and all(g is None for g in gradients)):
            if self.uses:
                self._used(node)
            return
        results = _gradients_of(node, gradients, needed)
        if self.trace is not None:
            _note(self.trace, node, gradients, needed, results)
        if anomaly.enabled and anomaly.check_nan:
            _refuse_nan(node, results)
        if not self.retain_graph:
            if node.__class__ is not Node:
                node.release()
            elif node.saved:
                node.saved = RELEASED
        in_avals = getattr(node.plan, "in_avals", None)
        if node.hooks is not None and "post" in node.hooks:
            if in_avals is not None and len(in_avals) == len(results):
                results = [
                    g if g is None else unbroadcast(g, a)
                    for g, a in zip(results, in_avals, strict=True)
                ]
            results = run_post_hooks(node, results, tuple(gradients))
        gradients.clear()
        if len(results) != len(needed):
            raise RuntimeError(f"{node.name()} returned {len(results)} gradients for {len(needed)}")
        results = list(results)
        for i, edge in enumerate(node.edges):
            gradient, results[i] = results[i], None
            if gradient is None or edge is None:
                continue
            if in_avals is not None:
                target, made = in_avals[i], gradient.aval
                if made is not target and (
                    made.shape != target.shape or made.dtype is not target.dtype
                ):
                    gradient = unbroadcast(gradient, target)
            self.send(edge[0], edge[1], gradient)
        if self.uses:
            self._used(node)

    def _used(self, node: Any) -> None:
        """Nothing more comes from ``node``: leaves that are counted and have all of their gradient
        are next, so that hooks run in torch's order, where a bias comes before linear's weight."""
        if not self.uses:
            return
        linear = getattr(getattr(node, "op", None), "name", "") == "linear"
        for edge in reversed(node.edges) if linear else node.edges:
            leaf = edge and edge[0]
            if id(leaf) not in self.uses:
                continue
            self.uses[id(leaf)] -= 1
            if not self.uses[id(leaf)] and id(leaf) in self.pending:
                heapq.heappush(self.heap, (-math.inf, next(_turns), leaf))

    def add_to_leaf(self, node: AccumulateGrad, gradients: list[Any]) -> None:
        """Add the one gradient in the list, which is taken out, to that of a leaf."""
        gradient = gradients.pop()
        variable = node.variable_reference()
        if variable is None or gradient is None:
            return
        alone = holders(gradient) == 1
        top = state.interpreters[-1] if state.interpreters else None
        if not (
            top is not None and top.observes_nodes and not self.create_graph
            and top.accumulate(variable, gradient, alone)
        ):
            accumulate(variable, gradient, self.create_graph, alone)
        if node.hooks is not None:
            run_leaf_hooks(node, variable, gradient)


def _gradients_of(node: Any, gradients: list[Any], needed: list[bool]) -> Any:
    """What a node's rule makes of the gradients of its results.

    A rule is cached by what the kernels of its ops follow from: the avals of the gradients and of
    what the node has saved, and which inputs need a gradient.
    """
    if state.mode or captures or not isinstance(node, Node):
        if state.interpreters and isinstance(node, Node):
            return node.apply_observed(gradients, needed)
        return node.apply(gradients, needed)
    for g in gradients:
        if g is not None and g._by_methods:
            return node.apply(gradients, needed)
    saved = node.saved
    if saved:
        if saved is RELEASED:
            return node.apply(gradients, needed)  # which raises
        for (kind, at), x, version in zip(node.kept, saved, node.versions, strict=True):
            if x is None:
                continue
            if x.__class__ is PackedTensor or (
                version > 0 if x._storage is None else x._storage.version != version
            ):
                return node.apply(gradients, needed)  # unpacks it, or raises
            if x._node is None and kind == "in":
                edge = node.edges[at]
                if edge is not None and edge[0].__class__ is not AccumulateGrad:
                    return node.apply(gradients, needed)  # raises: it was detached in place
    key: list[Any] = needed.copy()
    given = add_signature(key, (*gradients, *saved), node)
    calls = node.plan.rules
    call = None if calls is None else calls.get(tuple(key))
    if call.__class__ is types.FunctionType:
        return call(*given)
    return vjp_cache.apply(node, gradients, needed, tuple(key))


def _note(
    trace: pass_cache.Trace, node: Any, gradients: list[Any], needed: list[bool], results: Any
) -> None:
    """Tell a trace of a node that was visited, and of the key of its rule."""
    key: Any = None
    saved: Any = getattr(node, "saved", RELEASED)
    if isinstance(node, Node) and saved is not RELEASED and not any(
        x.__class__ is PackedTensor for x in saved
    ):
        signature: list[Any] = needed.copy()
        add_signature(signature, (*gradients, *saved), node)
        key = tuple(signature)
    trace.note(node, key, gradients, results)


def add_signature(key: list[Any], tensors: Iterable[Any], node: Any = None) -> list[Any]:
    """Add what gradients follow from, given a node's plan and which of them are asked for; the
    tensors that are there.

    This is the signature under which backward work is cached, of a node's rule in
    :mod:`..call_cache.vjp_cache` and of whole passes in lazy mode. (The backward pass of a compiled
    call is not looked up: it stays with the capture, whose guards hold.) Of a tensor it has the
    aval, of a constant its elements, too, bit by bit: -0.0 is not 0.0, and NaN is NaN. Views of one
    kind have one plan, wherever they begin.

    Args:
        tensors: gradients, and what the node has saved; None for one that is absent.
        node: whose rules are meant.
    """
    given = []
    append = key.append
    for x in tensors:
        if x is None:
            append(None)
            continue
        given.append(x)
        described = x.aval
        append(described)
        if described.weak:
            flat = x.flat
            append(flat.number if isinstance(flat, NodeValue) else flat.tobytes())
    if node is not None and node.plan.kind == VIEW:
        key.extend(node.params.values())
    return given


def _uses_of_leaves(roots: list[Any], every: bool) -> dict[int, int]:
    """How many edges lead to each leaf, with hooks or ``every`` one, by its node's ``id``."""
    found: dict[int, int] = {}
    known = {id(node) for node in roots}
    nodes = list(roots)
    while nodes:
        for edge in nodes.pop().edges:
            node = edge and edge[0]
            if node is None:
                continue
            if type(node) is AccumulateGrad:
                if node.hooks or every:
                    found[id(node)] = found.get(id(node), 0) + 1
            elif id(node) not in known:
                known.add(id(node))
                nodes.append(node)
    return found


def _tell_the_caller(node: Any) -> None:
    """Warn with the lines that called the node's op, where the mode was on then, too."""
    name, known = node.name(), getattr(node, "metadata", None) or {}
    if "traceback_" in known:
        text = f"Traceback of forward call that caused the error:\n{''.join(known['traceback_'])}"
    else:
        text = (
            "No forward pass information available. Enable detect anomaly during forward pass for "
            "more information."
        )
    warnings.warn(f"Error detected in {name}. {text}", stacklevel=2)


def _refuse_nan(node: Any, results: Sequence[Any]) -> None:
    for index, result in enumerate(results):
        if result is not None and result.aval.answered:
            continue
        stored = result._values() if result is not None and result._sparse else result
        data = None if stored is None else _elements(stored)
        if data is not None and (data != data).any():
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {index}th output."
            )


def _elements(tensor: Any) -> Any:
    """The elements as an array; of a mapped function's tensor those of all examples."""
    while hasattr(type(tensor.flat), "batched"):
        tensor = tensor.flat.tensor
    return tensor.array()


def accumulate(variable: Tensor, gradient: Tensor, create_graph: bool, alone: bool) -> None:
    """Add ``gradient`` to ``variable.grad``; one that only the caller holds (``alone``) is taken
    as it is."""
    if captures:
        note_leaf(variable, True)
    held = variable._grad
    if gradient._by_methods or (held is not None and held._by_methods):
        _accumulate_sparse(variable, gradient, create_graph)
    elif held is None:
        if create_graph:
            variable._grad = gradient
        elif (
            alone
            and gradient._storage is None
            and gradient.aval is variable.aval
        ):
            gradient._node = None
            variable._grad = gradient
        elif alone and gradient.aval is variable.aval and _is_all_that_is_left(gradient):
            variable._grad = make(gradient.flat, gradient.aval)
        else:
            variable._grad = clone_like(gradient, variable.aval)
    elif create_graph:
        variable._grad = sum_of(held, gradient)
    else:
        add_into(held, gradient)


def _is_own(before: Tensor, gradient: Tensor) -> bool:
    """Whether the next gradient may be added to the memory of a large one that only one variable
    holds: it is like that one, and nobody looks at what ops run."""
    described = before.aval
    return (
        described is gradient.aval
        and before._storage is None
        and before._node is None
        and math.prod(described.shape) >= _LARGE
        and described.contiguous
        and not (captures or state.interpreters or before._by_methods or gradient._by_methods)
        and switches.grad_buffer_reuse
    )


def _is_all_that_is_left(view: Tensor) -> bool:
    """Whether a view that only one variable holds is of all of a memory that nobody else has."""
    view._node = None  # which holds what it is a view of
    return (
        holders(view._storage) == 1
        and type(view._storage) is Storage
        and view.flat.size == view._storage.buffer.size
    )


def _accumulate_sparse(variable: Tensor, gradient: Tensor, create_graph: bool) -> None:
    """What :func:`accumulate` does where the gradient, or what is there already, is sparse, or of
    a class that answers for ops."""
    held = variable._grad
    if not create_graph and (gradient.aval.answered or (held is not None and held.aval.answered)):
        callbacks.accumulate_answered(variable, gradient)
        return
    if held is None:
        variable._grad = gradient if create_graph else gradient.detach().clone()
    elif create_graph or (held._sparse and not gradient._sparse):
        variable._grad = sum_of(held, gradient)
    else:
        held.add_(gradient)


def sum_of(a: Tensor, b: Tensor) -> Tensor:
    if a._by_methods or b._by_methods:
        first: Any = b if a._sparse and not b._sparse else a
        return first + (a if first is b else b)
    return add(a, b)

