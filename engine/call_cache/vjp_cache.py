"""Gradients' rules that are cached: what follows from descriptions alone is derived once.

An op's rule is written in ops. The second time that it is asked for gradients of one kind it is
recorded as its ops are dispatched; from then on only its kernels run, as in :mod:`.call_cache`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.saved_tensors import PackedTensor
from ..autograd.tape import Node, Released, was_computed
from ..bounded_cache import Bounded
from ..dispatch import VIEW, state
from ..state import apply_node
from ..switches import switches
from ..tensor import Tensor, alias, captures, version_of
from .call_cache import record_call
from .codegen import cached_rule

_MOST_KINDS = 64  # of one plan
_UNKNOWN: Any = object()
_MET: Any = object()
Fit = Callable[[Any, Any], Any]


def gradients_of(node: Any, gradients: Sequence[Any], needed: list[bool], fit: Fit) -> Any:
    """``node.apply(gradients, needed)``; ``fit`` makes of each what the input is like."""
    if state.mode or captures or not isinstance(node, Node):
        if state.interpreters and isinstance(node, Node):
            return apply_node(node, gradients, needed)
        return node.apply(gradients, needed)
    given: list[Any] = []
    key = _key(node, gradients, needed, given)
    if key is None:
        return node.apply(gradients, needed)
    plan = node.plan
    table = plan.rules
    if table is None:
        table = plan.rules = Bounded(_MOST_KINDS)
    found = table.get(key, _UNKNOWN)
    if found is _UNKNOWN:
        table.keep(key, _MET)
    elif found is _MET:
        if not switches.vjp_cache:
            return node.apply(gradients, needed)
        return _record(table, key, node, gradients, needed, fit)
    elif found is not None:
        return found(*given)
    return node.apply(gradients, needed)


def _key(node: Node, gradients: Any, needed: list[bool], given: list[Any]) -> Any:
    """What the steps follow from, with the tensors in ``given``; None where they are not known."""
    key: list[Any] = needed.copy()
    for g in gradients:
        if g is None:
            key.append(None)
            continue
        if g._sparse:
            return None
        key.append(g.aval)
        if g.aval.weak:
            key.append(g.flat.tobytes())
        given.append(g)
    saved = node.saved
    if saved:
        if saved.__class__ is Released:
            return None
        for (kind, at), x, version in zip(node.kept, saved, node.versions, strict=True):
            if x is None:
                key.append(None)
                continue
            if x.__class__ is PackedTensor or (
                version > 0 if x._storage is None else version_of(x) != version
            ):
                return None
            if x._node is None and kind == "in" and was_computed(node.edges[at]):
                return None  # detached in place: an error
            key.append(x.aval)
            if x.aval.weak:
                key.append(x.flat.tobytes())
            given.append(x)
    if node.plan.kind == VIEW:  # views of one kind have one plan, wherever they begin
        key.extend(node.params.values())
    return tuple(key)


def _record(
    table: Bounded, key: Any, node: Node, gradients: Any, needed: list[bool], fit: Fit
) -> Any:
    """Apply the rule, and remember how."""
    given: list[Any] = []

    def once(x: Tensor | None) -> Any:
        """``x``, or another tensor like it where it was given before."""
        if x is None:
            return None
        given.append(alias(x) if any(x is other for other in given) else x)
        return given[-1]

    inputs, outs = node._unpack()
    gradients = [once(g) for g in gradients]
    free = len(given)
    for kind, index in node.kept:
        held: Any = inputs if kind == "in" else outs
        held[index] = once(held[index])

    def apply() -> Any:
        results = node.ruled(gradients, needed, inputs, outs)
        return [
            fit(g, target) if need and g is not None else None
            for g, target, need in zip(results, node.plan.in_avals, needed, strict=True)
        ]

    results, recorder = record_call(node.op.grad_name, given, apply)
    call = None
    if recorder is not None and recorder.repeatable:
        numbers = [None if g is None else recorder.number_of(g) for g in results]
        if -1 not in numbers:
            call = cached_rule(recorder, numbers, free)
    table.keep(key, call)
    return results
