"""Graphs: what a function does to tensors, as a flat list of typed op applications."""

from .capture import host_call as host_call
from .check import GraphError as GraphError
from .check import check_graph as check_graph
from .interpret import interpret as interpret
from .ir import Graph as Graph
from .ir import Node as Node
from .ir import Value as Value
from .jit import jit as jit
from .passes import dead_code as dead_code
from .trace import TracingError as TracingError
from .trace import trace as trace
