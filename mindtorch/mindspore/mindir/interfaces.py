"""The public names: `mindspore.load`, `export`, `FuncGraph` and `mindspore.nn.GraphCell`."""

from .graph_cell import GraphCell as GraphCell
from .graphs import FuncGraph as FuncGraph
from .reading import load as load
from .writing import export as export
