"""Graphs for inference, whose convolutions and products are steps of one compiled call."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch import lite, torch
from mindtorch.lite.converter import finished
from mindtorch.lite.importing import from_model
from mindtorch.serving.server.register.model import Declaration

from .model_inputs import InputInfo

__all__ = ["GraphNetwork", "context_of_worker", "graph_of"]

logger = logging.getLogger("mindtorch.serving")

Array = np.ndarray[Any, Any]
TOLERANCE = 1e-3  # of the largest number; Winograd's convolutions differ by some 1e-5


class GraphNetwork:
    """A Lite model. What it is bound to is kept for each number of instances, so these are filled
    up to powers of two where the number is open.

    Args:
        model: a built one.
    """

    tensor_of = staticmethod(np.asarray)

    def __init__(self, model: lite.Model) -> None:
        self.model = model
        self.opened = [shape[:1] == [-1] for shape in model.open_shapes]

    def __call__(self, *arrays: Any) -> list[Array]:
        rows = max((len(x) for x, o in zip(arrays, self.opened, strict=True) if o), default=0)
        count = 1 << max(rows - 1, 0).bit_length()
        given = [
            lite.Tensor.sharing(_filled_up(x, count) if o else x)
            for x, o in zip(arrays, self.opened, strict=True)
        ]
        known, shapes = self.model.get_inputs(), [x.shape for x in given]
        if shapes != [x.shape for x in known]:
            self.model.resize(known, shapes)
        made = [each.get_data_to_numpy() for each in self.model.predict(given)]
        return [x[:rows] if rows and x.shape[:1] == (count,) else x for x in made]


def _filled_up(array: Array, count: int) -> Array:
    """The array with rows of zeros behind its own, so that there are so many."""
    missing = count - len(array)
    if not missing:
        return array
    return np.concatenate([array, np.zeros((missing, *array.shape[1:]), array.dtype)])


def context_of_worker() -> lite.Context:
    """As many threads as the worker has."""
    context = lite.Context()
    context.cpu.thread_num = torch.get_num_threads()
    return context


def graph_of(
    run: Any, network: Any, inputs: Sequence[InputInfo], declaration: Declaration, batch: int
) -> GraphNetwork | None:
    """A module or cell as a graph; None where it stays as it is: its inputs' shapes are not known,
    what it computes depends on data or on itself, or the graph gives other numbers.

    Args:
        run: the module, from arrays to arrays.
        network: what a reader has given.
        inputs: what is known of its inputs.
        declaration: what `declare_model` was told.
        batch: how many instances a run must have; 0: any number.
    """
    if isinstance(network, GraphNetwork) or not declaration.as_graph or not inputs:
        return None
    if declaration.without_batch_dim_inputs or any(
        info.dtype is None or info.shape is None or min(info.shape, default=0) < 0
        for info in inputs
    ):
        return None
    rows = batch or 2
    leading = (rows,) if declaration.with_batch_dim else ()
    examples = [_example(info, leading) for info in inputs]
    opened = declaration.with_batch_dim and not batch
    try:
        traced = from_model(getattr(network, "cell", network), examples, opened)
        model = lite.Model()
        model.build_from_graph(finished(traced), context_of_worker())
        made = GraphNetwork(model)
        if _alike(run(examples), made(*examples)) and _alike(run(examples), made(*examples)):
            return made
        reason = "its graph gives other numbers"
    except Exception as error:  # whatever the module does, it can still run as it is
        reason = f"{type(error).__name__}: {error}"
    logger.info("%s is run op by op: %s", declaration.files[0], reason)
    return None


def _example(info: InputInfo, leading: tuple[int, ...]) -> Array:
    """An input with numbers that tell layers apart; whole numbers may be places in a table."""
    shape, dtype = (*leading, *(info.shape or ())), np.dtype(info.dtype)
    if dtype.kind == "f":
        return np.random.default_rng(0).random(shape).astype(dtype)
    return np.zeros(shape, dtype)


def _alike(ours: Sequence[Array], others: Sequence[Array]) -> bool:
    return len(ours) == len(others) and all(
        x.shape == y.shape and x.dtype == y.dtype
        and np.allclose(x, y, TOLERANCE, TOLERANCE * _largest(x), equal_nan=True)
        for x, y in zip(ours, others, strict=True)
    )  # fmt: skip


def _largest(array: Array) -> float:
    """The largest finite number."""
    return float(np.abs(array, where=np.isfinite(array), out=np.zeros_like(array)).max(initial=0))
