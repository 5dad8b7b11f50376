"""Cached gradient rules: what follows from avals alone is derived once.

An op's rule is written in ops. The second time that it is asked for gradients with the same key it
is recorded as its ops are dispatched; from then on only its kernels run, as in :mod:`.call_cache`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.nodes import Node
from ..autograd.unbroadcast import unbroadcast
from ..bounded_cache import Bounded
from ..switches import switches
from ..tensor import Tensor, alias
from .call_cache import record_call
from .codegen import cached_rule

_MOST_CALLS = 64  # of one plan
_UNKNOWN: Any = object()
_MET: Any = object()


def apply(node: Node, gradients: Sequence[Any], needed: list[bool], key: Any) -> Any:
    """``node.apply(gradients, needed)`` where no call is cached; ``key``: what one follows from.

    The second time it is recorded; what cannot be cached is known by None.
    """
    plan = node.plan
    table = plan.rules
    if table is None:
        table = plan.rules = Bounded(_MOST_CALLS)
    met = table.get(key, _UNKNOWN)
    if met is _UNKNOWN:
        table.keep(key, _MET)
    elif met is _MET and switches.vjp_cache:
        return _record(table, key, node, gradients, needed)
    return node.apply(gradients, needed)


def _record(
    table: Bounded, key: Any, node: Node, gradients: Any, needed: list[bool]
) -> Any:
    """Apply the rule and what broadcasting asks for, and cache the kernels that run."""
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
            unbroadcast(g, target) if need and g is not None else None
            for g, target, need in zip(results, node.plan.in_avals, needed, strict=True)
        ]

    results, recorder = record_call(f"{node.op.name}_backward", given, apply)
    call = None
    if recorder is not None and recorder.repeatable:
        numbers = [None if g is None else recorder.number_of(g) for g in results]
        if -1 not in numbers:
            call = cached_rule(recorder, numbers, free)
    table.keep(key, call)
    return results
