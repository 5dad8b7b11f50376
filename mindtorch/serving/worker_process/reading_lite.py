"""Lite's files."""

from __future__ import annotations

from pathlib import Path

from mindtorch import lite
from mindtorch.serving.columns import ITEM_SIZES
from mindtorch.serving.server.register.model import Declaration

from .graph_network import GraphNetwork, context_of_worker
from .model_inputs import Read, without_batch

__all__ = ["read"]


def read(declaration: Declaration, file: Path, key: bytes | None, mode: str) -> Read:
    model = lite.Model()
    model.build_from_file(file, lite.ModelType.MINDIR_LITE, context_of_worker())
    given = []
    for tensor, shape in zip(model.get_inputs(), model.open_shapes, strict=True):
        name = tensor.get_data_to_numpy().dtype.name
        given.append((tensor.name, name if name in ITEM_SIZES else None, shape))
    inputs, batch = without_batch(declaration, given)
    outputs = [each.name for each in model.get_outputs()]
    return GraphNetwork(model), inputs, outputs, batch
