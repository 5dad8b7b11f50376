"""MindIR files, and cells of MindSpore's as what is served."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mindtorch import mindspore
from mindtorch.mindspore.mindir.values import data_type
from mindtorch.serving.columns import ITEM_SIZES
from mindtorch.serving.server.register.model import Declaration

from .model_inputs import Read, without_batch

__all__ = ["Cell", "read"]


class Cell:
    """A cell of MindSpore's, which takes MindSpore's tensors."""

    def __init__(self, cell: Any) -> None:
        cell.set_train(False)
        self.cell = cell
        self.tensor_of = mindspore.Tensor

    def __call__(self, *tensors: Any) -> Any:
        return self.cell(*tensors)


def read(declaration: Declaration, file: Path, key: bytes | None, mode: str) -> Read:
    graph = mindspore.load(file, dec_key=key, dec_mode=mode)
    names = {data_type(name): name for name in ITEM_SIZES}
    given = [(name, names.get(number), shape) for name, shape, number in graph.inputs]
    inputs, batch = without_batch(declaration, given)
    return Cell(mindspore.nn.GraphCell(graph)), inputs, ["output"], batch
