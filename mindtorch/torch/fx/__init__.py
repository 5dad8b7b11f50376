"""torch.fx: functions and modules as graphs that can be read, changed and run.

`symbolic_trace` calls a function with stand-ins and keeps what is done to them; a GraphModule has
the graph's code for its `forward`. `replace_pattern` replaces what has the shape of a pattern.
"""

from __future__ import annotations

from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._compat.unsupported_names import absent_module

from . import passes as passes
from ._symbolic_trace import Tracer as Tracer
from ._symbolic_trace import symbolic_trace as symbolic_trace
from ._symbolic_trace import wrap as wrap
from .graph import Graph as Graph
from .graph_module import GraphModule as GraphModule
from .interpreter import Interpreter as Interpreter
from .interpreter import Transformer as Transformer
from .node import Node as Node
from .node import has_side_effect as has_side_effect
from .node import map_arg as map_arg
from .proxy import Proxy as Proxy
from .subgraph_rewriter import replace_pattern as replace_pattern

_EXPORT = "sizes are Python's integers, and models are not exported"

absent_module("fx.experimental", _EXPORT)
_tracing = absent_module(
    "fx.experimental.proxy_tensor", "no dispatcher sees the calls; torch.fx.symbolic_trace traces",
    "ProxyTorchDispatchMode", "make_fx",
)
_tracing.__dict__["get_proxy_mode"] = lambda: None  # no program is being traced so
absent_module(
    "fx.experimental.symbolic_shapes", _EXPORT, "GuardOnDataDependentSymNode",
    "free_symbols free_unbacked_symbols guard_or_false guard_or_true statically_known_true",
)  # fmt: skip
absent_module("fx._pytree", _EXPORT, "", "register_pytree_flatten_spec tree_flatten_spec")

_own_names(globals())
