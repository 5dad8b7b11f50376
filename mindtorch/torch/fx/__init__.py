"""torch.fx: functions and modules as graphs of calls that can be looked at, edited and run.

`symbolic_trace` runs a function once on proxies. Functions are seen where they are called through
torch's modules or the caller's globals, methods and operators on proxies, modules by their calls.
"""

from __future__ import annotations

from mindtorch.torch._absent import absent_function

from ._symbolic_trace import Tracer as Tracer
from ._symbolic_trace import is_fx_tracing as is_fx_tracing
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
from .proxy import TraceError as TraceError

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

replace_pattern = absent_function(
    "torch.fx", "replace_pattern", "edit the graph's nodes instead, or write a Transformer"
)
