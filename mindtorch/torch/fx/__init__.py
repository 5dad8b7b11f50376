"""torch.fx: `wrap`, and the names that packages import. Symbolic tracing is not available.

`torch.compile` records what is done to tensors; a graph of Python calls that users edit is not
made here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.torch._absent import absent_class, absent_function

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

_WHY = "functions are not traced symbolically; torch.compile compiles them"

Graph = absent_class("torch.fx", "Graph", _WHY)
GraphModule = absent_class("torch.fx", "GraphModule", _WHY)
Interpreter = absent_class("torch.fx", "Interpreter", _WHY)
Node = absent_class("torch.fx", "Node", _WHY)
Proxy = absent_class("torch.fx", "Proxy", _WHY)
Tracer = absent_class("torch.fx", "Tracer", _WHY)
Transformer = absent_class("torch.fx", "Transformer", _WHY)
has_side_effect = absent_function("torch.fx", "has_side_effect", _WHY)
map_arg = absent_function("torch.fx", "map_arg", _WHY)
replace_pattern = absent_function("torch.fx", "replace_pattern", _WHY)
symbolic_trace = absent_function("torch.fx", "symbolic_trace", _WHY)


def wrap(fn_or_name: str | Callable[..., Any]) -> str | Callable[..., Any]:
    """Mark a function that a tracer would leave as one call; gives it back.

    Raises:
        RuntimeError: neither a function nor the name of one.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    return fn_or_name
