"""``jit``: trace a function for each kind of arguments, and run the graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import tape
from ..core import state
from ..tensor import Tensor
from .check import check_graph
from .interpret import interpret
from .passes import dead_code
from .trace import Trace


def _flatten(value: Any, leaves: list[Tensor]) -> Any:
    """A hashable description of nested arguments, tensors taken out into ``leaves``."""
    if isinstance(value, Tensor):
        leaves.append(value)
        return ("tensor", value.aval, tape.requires_grad(value))
    if isinstance(value, (tuple, list)):
        return (type(value), tuple(_flatten(v, leaves) for v in value))
    if isinstance(value, dict):
        return (dict, tuple((k, _flatten(v, leaves)) for k, v in value.items()))
    return ("value", type(value), value)


def _rebuild(description: Any, leaves: Any) -> Any:
    kind = description[0]
    if kind == "tensor":
        return next(leaves)
    if kind == "value":
        return description[2]
    if kind is dict:
        return {k: _rebuild(v, leaves) for k, v in description[1]}
    parts = [_rebuild(v, leaves) for v in description[1]]
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, traced once for each structure, avals, grad mode and Python values it gets.

    The graph is run by the interpreter over the eager kernels. ``function.graphs`` holds the
    graphs.
    """
    graphs: dict[Any, Any] = {}

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if state.interpreters:
            return function(*args, **kwargs)
        leaves: list[Tensor] = []
        given = _flatten((args, kwargs), leaves)
        key = (given, state.grad_enabled)
        found = graphs.get(key)
        if found is None:
            found = graphs[key] = _trace_call(function, given, leaves)
        graph, returned = found
        return _rebuild(returned, iter(interpret(graph, *leaves)))

    call.graphs = graphs  # type: ignore[attr-defined]
    return call


def _trace_call(function: Callable[..., Any], given: Any, leaves: list[Tensor]) -> Any:
    tracer = Trace()
    stand_ins = [tracer.argument(x) for x in leaves]
    args, kwargs = _rebuild(given, iter(stand_ins))
    state.update(interpreters=(tracer,))
    try:
        result = function(*args, **kwargs)
        outputs: list[Tensor] = []
        returned = _flatten(result, outputs)
        graph = tracer.finish(outputs)
    finally:
        state.update(interpreters=())
    dead_code(graph)
    check_graph(graph)
    return graph, returned
