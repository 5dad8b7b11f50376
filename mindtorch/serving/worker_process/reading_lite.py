"""Lite's files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch import lite, torch
from mindtorch.serving.columns import ITEM_SIZES
from mindtorch.serving.server.register.model import Declaration

from .model_inputs import Read, without_batch

__all__ = ["read"]


class _Lite:
    """A file of Lite's. A network bound to memory is kept for each number of instances, so these
    are filled up to powers of two where the number is open."""

    tensor_of = staticmethod(np.asarray)

    def __init__(self, model: Any, tensor: Any, opened: Sequence[bool]) -> None:
        self.model, self.tensor, self.opened = model, tensor, opened

    def __call__(self, *arrays: Any) -> list[np.ndarray[Any, Any]]:
        rows = max((len(x) for x, o in zip(arrays, self.opened, strict=True) if o), default=0)
        count = 1 << max(rows - 1, 0).bit_length()
        given = [
            self.tensor(_filled_up(x, count) if o else x)
            for x, o in zip(arrays, self.opened, strict=True)
        ]
        known = self.model.get_inputs()
        if [x.shape for x in given] != [x.shape for x in known]:
            self.model.resize(known, [x.shape for x in given])
        made = [each.get_data_to_numpy() for each in self.model.predict(given)]
        return [x[:rows] if rows and len(x) == count else x for x in made]


def _filled_up(array: Any, count: int) -> Any:
    """The array with rows of zeros behind its own, so that there are so many."""
    return np.concatenate([array, np.zeros((count - len(array), *array.shape[1:]), array.dtype)])


def read(declaration: Declaration, file: Path, key: bytes | None, mode: str) -> Read:
    context = lite.Context()
    context.cpu.thread_num = torch.get_num_threads()
    model = lite.Model()
    model.build_from_file(file, lite.ModelType.MINDIR_LITE, context)
    given, opened = [], []
    for tensor, shape in zip(model.get_inputs(), model.open_shapes, strict=True):
        name = tensor.get_data_to_numpy().dtype.name
        given.append((tensor.name, name if name in ITEM_SIZES else None, shape))
        opened.append(shape[:1] == [-1])
    inputs, batch = without_batch(declaration, given)
    outputs = [each.name for each in model.get_outputs()]
    return _Lite(model, lite.Tensor, opened), inputs, outputs, batch
