"""The backward pass over the tape: from roots with gradients to leaves, or to chosen targets."""

from __future__ import annotations

import heapq
import itertools
import math
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..call_cache.vjp_cache import gradients_of
from ..ops.complex import real
from ..ops.elementwise import add
from ..ops.movement import cast, clone_like
from ..ops.reduction import sum_to
from ..tensor import Storage, Tensor, capturing, make, scripts
from .inplace import add_into
from .saved_tensors import hooks_of_thread, saved_tensor_hooks, set_hooks_of_thread
from .tape import AccumulateGrad, anomaly, note_leaf


def _run_result_hooks(node: Any, gradients: list[Any]) -> None:
    for place, hooks in list(node.hooks.items()):
        if isinstance(place, int) and gradients[place] is not None:
            for hook in list(hooks.values()):
                changed = hook(gradients[place])
                if changed is not None:
                    _check_changed(hook, gradients[place], changed)
                    gradients[place] = changed


def _run_pre_hooks(node: Any, gradients: list[Any]) -> None:
    for hook in list(node.hooks.get("pre", {}).values()):
        changed = hook(tuple(gradients))
        if changed is not None:
            gradients[:] = list(changed)


def _check_changed(hook: Any, before: Tensor, after: Any) -> None:
    if not isinstance(after, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(after).__name__}'")
    if after.aval.shape != before.aval.shape:
        name = getattr(hook, "__name__", type(hook).__name__)
        raise RuntimeError(f"hook '{name}' has changed the size of value")


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


# Among leaves that are ready, the first is the first.
_turns = itertools.count()
_numbers = itertools.count()


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

    Attributes:
        number: of the pass, among all.
        node: the one that is being visited.
    """

    def __init__(
        self, create_graph: bool, retain_graph: bool, targets: list[Any] | None, accumulate: bool
    ) -> None:
        self.create_graph = create_graph
        self.retain_graph = retain_graph
        self.captured: dict[tuple[int, int], Tensor] = {}
        self.targets = None if targets is None else {(id(n), i) for n, i in targets}
        self.accumulate = accumulate
        self.pending: dict[int, list[Any]] = {}
        self.heap: list[Any] = []
        self.reaching: set[int] | None = None
        self.uses: dict[int, int] = {}
        self.callbacks: list[Callable[[], None]] = []
        self.number = next(_numbers)
        self.node: Any = None

    def run(self, roots: list[tuple[Any, int, Tensor]]) -> None:
        """Visit the nodes from the roots on, the latest first."""
        under_way = running()
        under_way.append(self)
        try:
            capture = capturing()
            if capture is None or not capture.walk(self, roots):
                self._run(roots)
        finally:
            under_way.pop()
        if scripts and not under_way and self.targets is None and not self.create_graph:
            scripts[0].round_ended("a backward pass")

    def _run(self, roots: list[tuple[Any, int, Tensor]]) -> None:
        hooks = hooks_of_thread()
        if self.targets is not None:
            self.reaching = _reaching([r[0] for r in roots], {n for n, _ in self.targets})
        if AccumulateGrad.watched:
            self.uses = _uses_of_watched_leaves([r[0] for r in roots])
        for node, index, gradient in roots:
            self._send(node, index, gradient)
        while self.heap:
            _, _, node = heapq.heappop(self.heap)
            gradients = self.pending.pop(id(node), None)
            if gradients is None:  # a watched leaf that has had its turn
                continue
            self.node = node
            if self.targets is None:
                if node.hooks is not None:
                    _run_result_hooks(node, gradients)
                    _run_pre_hooks(node, gradients)
                visited = True
            else:
                visited = self._meet(node, gradients)
            if not visited:
                self._used(node)
            elif type(node) is AccumulateGrad:
                self._leaf(node, gradients)
            else:
                self._visit(node, gradients)
            if saved_tensor_hooks:
                set_hooks_of_thread(hooks)  # those that the node's rule or hooks entered are left
        for callback in self.callbacks:
            callback()

    def _send(self, node: Any, index: int, gradient: Tensor) -> None:
        if self.reaching is not None and id(node) not in self.reaching:
            return
        held = self.pending.get(id(node))
        if held is None:
            count = 1 if node.__class__ is AccumulateGrad else len(node.out_avals)
            held = self.pending[id(node)] = [None] * count
            heapq.heappush(self.heap, (-node.sequence, id(node), node))
        if held[index] is None:
            held[index] = gradient
        else:
            held[index] = _sum(held[index], gradient)

    def will_visit(self, node: Any) -> bool:
        """Whether the pass, which has targets, needs the node's rule, or adds to the leaf."""
        if self.accumulate and any(number == id(node) for number, _ in self.targets or ()):
            return True
        reaching: Any = self.reaching
        return any(e is not None and id(e[0]) in reaching for e in node.edges)

    def _meet(self, node: Any, gradients: list[Any]) -> bool:
        """Capture gradients and run the hooks on them; whether the node's rule is needed, too.

        What is captured of a node whose rule is needed is what has arrived, before all hooks.
        """
        visited = self.will_visit(node)
        if visited:
            self._capture(node, gradients)
        if node.hooks is not None:
            _run_result_hooks(node, gradients)
            if visited:
                _run_pre_hooks(node, gradients)
        if not visited:
            self._capture(node, gradients)
        return visited

    def _capture(self, node: Any, gradients: list[Any]) -> None:
        for index, gradient in enumerate(gradients):
            if gradient is not None and (id(node), index) in (self.targets or ()):
                self.captured[id(node), index] = gradient

    def _visit(self, node: Any, gradients: list[Any]) -> None:
        reaching = self.reaching
        if reaching is None:
            needed = [e is not None for e in node.edges]
        else:
            needed = [e is not None and id(e[0]) in reaching for e in node.edges]
        if True not in needed or (gradients[0] is None and all(g is None for g in gradients)):
            if self.uses:
                self._used(node)
            return
        results = gradients_of(node, gradients, needed, fit)
        if anomaly.enabled and anomaly.check_nan:
            _refuse_nan(node, results)
        if not self.retain_graph:
            node.release()
        if node.hooks is not None and "post" in node.hooks:
            results = _hooked(node, results, tuple(gradients))
        gradients.clear()
        if len(results) != len(needed):
            raise RuntimeError(f"{node.name()} returned {len(results)} gradients for {len(needed)}")
        results = list(results)
        in_avals = getattr(node.plan, "in_avals", None)
        for i, edge in enumerate(node.edges):
            gradient, results[i] = results[i], None
            if gradient is None or edge is None:
                continue
            if in_avals is not None:
                target = in_avals[i]
                if gradient.aval.shape != target.shape or gradient.aval.dtype is not target.dtype:
                    gradient = fit(gradient, target)
            self._send(edge[0], edge[1], gradient)
        if self.uses:
            self._used(node)

    def _used(self, node: Any) -> None:
        """Nothing more comes from ``node``: watched leaves that have all of their gradient are
        next, so that their hooks run in torch's order, where a bias comes before linear's weight.
        """
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

    def _leaf(self, node: AccumulateGrad, gradients: list[Any]) -> None:
        gradient = gradients.pop()
        variable = node.variable
        if variable is None or gradient is None:
            return
        references = sys.getrefcount(gradient)
        accumulate(variable, gradient, self.create_graph, references)
        if node.hooks is not None and "accumulated" in node.hooks:
            for hook in list(node.hooks["accumulated"].values()):
                if hook(variable) is not None:
                    raise RuntimeError("Tensor post accumulate grad hooks should return None.")
        if node.hooks is not None and "post" in node.hooks:
            for hook in list(node.hooks["post"].values()):
                hook((), (gradient,))


def _hooked(node: Any, results: Any, gradients: tuple[Any, ...]) -> Any:
    """A node's gradients after its hooks have seen them, and perhaps replaced them."""
    in_avals = getattr(node.plan, "in_avals", None)
    if in_avals is not None and len(in_avals) == len(results):
        results = [g if g is None else fit(g, a) for g, a in zip(results, in_avals, strict=True)]
    for hook in list(node.hooks["post"].values()):
        changed = hook(tuple(results), gradients)
        if changed is None:
            continue
        if not isinstance(changed, tuple):
            raise TypeError(f"expected tuple, but hook returned '{type(changed).__name__}'")
        if len(changed) != len(results):
            hook = getattr(hook, "func", hook)
            raise RuntimeError(
                f"hook '{getattr(hook, '__name__', '<unknown>')}' has returned an incorrect number "
                f"of values (got {len(changed)}, but expected {len(results)})"
            )
        results = changed
    return results


def _uses_of_watched_leaves(roots: list[Any]) -> dict[int, int]:
    """How many edges lead to each leaf with hooks, by its node's ``id``."""
    found: dict[int, int] = {}
    known = {id(node) for node in roots}
    nodes = list(roots)
    while nodes:
        for edge in nodes.pop().edges:
            node = edge and edge[0]
            if node is None:
                continue
            if type(node) is AccumulateGrad:
                if node.hooks:
                    found[id(node)] = found.get(id(node), 0) + 1
            elif id(node) not in known:
                known.add(id(node))
                nodes.append(node)
    return found


def _tell_the_caller(node: Any) -> None:
    """Warn with the lines that called the node's op, where the mode was on then, too."""
    name, known = node.name().rpartition(":")[2], getattr(node, "metadata", None) or {}
    if "traceback_" in known:
        text = f"Traceback of forward call that caused the error:\n{known['traceback_']}"
    else:
        text = (
            "No forward pass information available. Enable detect anomaly during forward pass for "
            "more information."
        )
    warnings.warn(f"Error detected in {name}. {text}", stacklevel=2)


def _refuse_nan(node: Any, results: Sequence[Any]) -> None:
    for index, result in enumerate(results):
        stored = result._values() if result is not None and result._sparse else result
        data = None if stored is None else stored.array()
        if data is not None and (data != data).any():
            _tell_the_caller(node)
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {index}th output."
            )


# references to a gradient that only the pass holds, as counted in Pass._leaf
_OWN_REFERENCES = 2


def accumulate(variable: Tensor, gradient: Tensor, create_graph: bool, references: int) -> None:
    """Add ``gradient`` to ``variable.grad``; a gradient nobody else holds is taken as it is."""
    note_leaf(variable, True)
    held = variable._grad
    if gradient._sparse or (held is not None and held._sparse):
        _accumulate_sparse(variable, gradient, create_graph)
    elif held is None:
        if create_graph:
            variable._grad = gradient
        elif (
            references <= _OWN_REFERENCES
            and gradient._storage is None
            and gradient.aval is variable.aval
        ):
            gradient._node = None
            variable._grad = gradient
        elif gradient.aval is variable.aval and _is_all_that_is_left(gradient, references):
            variable._grad = make(gradient.flat, gradient.aval)
        else:
            variable._grad = clone_like(gradient, variable.aval)
    elif create_graph:
        variable._grad = _sum(held, gradient)
    else:
        add_into(held, gradient)


def _is_all_that_is_left(view: Tensor, references: int) -> bool:
    """Whether a view is of all of a memory that nobody else has any more."""
    if references > _OWN_REFERENCES:
        return False
    view._node = None  # which holds what it is a view of
    return (
        sys.getrefcount(view._storage) <= _OWN_REFERENCES
        and type(view._storage) is Storage
        and view.flat.size == view._storage.buffer.size
    )


def _accumulate_sparse(variable: Tensor, gradient: Tensor, create_graph: bool) -> None:
    """What :func:`accumulate` does where the gradient, or what is there already, is sparse."""
    held = variable._grad
    if held is None:
        variable._grad = gradient if create_graph else gradient.detach().clone()
    elif create_graph or (held._sparse and not gradient._sparse):
        variable._grad = _sum(held, gradient)
    else:
        held.add_(gradient)


def _sum(a: Tensor, b: Tensor) -> Tensor:
    if a._sparse or b._sparse:
        first: Any = b if a._sparse and not b._sparse else a
        return first + (a if first is b else b)
    return add(a, b)


def fit(gradient: Tensor, target: Any) -> Tensor:
    """Undo broadcasting and promotion: ``gradient`` with the shape and dtype of ``target``."""
    if gradient.aval.dtype.is_complex and not target.dtype.is_complex:
        gradient = real(gradient)
    if gradient.aval.shape != target.shape:
        gradient = sum_to(gradient, target.shape)
    if gradient.aval.dtype is not target.dtype:
        gradient = cast(gradient, dtype=target.dtype)
    return gradient
