"""MindSpore's weights, for a function that makes the cell."""

from __future__ import annotations

from pathlib import Path

from mindtorch import mindspore
from mindtorch.serving.server.register.model import Declaration

from .model_inputs import Read
from .reading_mindir import Cell
from .reading_weights import make_module, parameters_of

__all__ = ["read"]


def read(declaration: Declaration, file: Path, key: bytes | None, mode: str) -> Read:
    cell = make_module(declaration, file)
    missing, _ = mindspore.load_param_into_net(cell, mindspore.load_checkpoint(str(file)))
    if missing:
        raise RuntimeError(f"{file.name} has no weights for {', '.join(missing[:5])}")
    return Cell(cell), parameters_of(cell.construct), ["output"], 0
