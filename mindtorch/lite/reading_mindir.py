"""MindIR files as Lite graphs."""

from __future__ import annotations

import os

import numpy as np

from mindtorch.mindspore.mindir.errors import MindIRError
from mindtorch.mindspore.mindir.graph_cell import GraphCell
from mindtorch.mindspore.mindir.reading import load
from mindtorch.mindspore.mindir.values import numpy_type

from .errors import ConvertError
from .graph import LiteGraph
from .importing import Shapes, chosen_shape, from_model

__all__ = ["graph_of_file"]


def graph_of_file(
    path: str | os.PathLike[str], shapes: Shapes, key: bytes | None = None, mode: str = "AES-GCM"
) -> LiteGraph:
    """The graph of a MindIR file.

    Raises:
        ConvertError: it cannot be read, or its inputs have other shapes.
    """
    try:
        graph = load(path, dec_key=key, dec_mode=mode)
    except (MindIRError, ValueError, NotImplementedError) as error:
        raise ConvertError(str(error)) from error
    names = [name for name, _, _ in graph.inputs]
    try:
        examples = [
            np.zeros(chosen_shape(name, shape, shapes, names), numpy_type(number))
            for name, shape, number in graph.inputs
        ]
        cell = GraphCell(graph)
        cell.set_train(False)
        return from_model(cell, examples, names=names, output_names=graph.output_names)
    except ConvertError:
        raise
    except Exception as error:  # a damaged file asks primitives for what they do not do
        raise ConvertError(f"the graph of {os.fspath(path)} cannot be run: {error}") from error
