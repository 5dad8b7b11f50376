"""Graphs: what a function does to tensors, as a flat list of typed op applications."""

from .capture.host_calls import host_call as host_call
from .capture.tracer import TracingError as TracingError
from .capture.tracer import trace as trace
from .ir.interpreter import interpret as interpret
from .ir.ir import Graph as Graph
from .ir.ir import Node as Node
from .ir.ir import Value as Value
from .ir.verifier import GraphError as GraphError
from .ir.verifier import check_graph as check_graph
from .jit import jit as jit
from .passes.cleanup import dead_code as dead_code
