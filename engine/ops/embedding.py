"""Looking up rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..aval import Aval, aval
from ..tensor import constant, from_array
from .convolution import NetworkOp
from .elementwise import multiply, not_equal, where
from .movement import reshape


def _embedding_aval(
    weight: Aval, index: Aval, *, padding_idx: int | None, scale_by_frequency: bool
) -> Aval:
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if index.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got torch.{dtypes.scalar_type_name(index.dtype)}Tensor instead "
            "(while checking arguments for embedding)"
        )
    return aval((*index.shape, weight.shape[1]), weight.dtype, None, weight.device)


# the rows of ``weight`` that ``index`` names
embedding = NetworkOp(
    "embedding",
    _embedding_aval,
    "embedding.gather_rows",
    vjp=(
        lambda g, index, avals, padding_idx, scale_by_frequency: embedding_gradient(
            _shared_evenly(g, index) if scale_by_frequency else g,
            index, rows=avals[0].shape[0], padding_idx=padding_idx,
        ),
        None,
    ),
    group="network",
)  # fmt: skip


def _shared_evenly(g: Any, index: Any) -> Any:
    """``g`` divided by how often each row is looked up."""
    places = index.array()
    _, inverse, counts = np.unique(places, return_inverse=True, return_counts=True)
    factor = (1.0 / counts)[inverse].reshape((*places.shape, 1)).astype(g.aval.dtype.np)
    return multiply(g, from_array(factor))


def _second(g: Any, index: Any, padding_idx: int | None) -> Any:
    found = embedding(g, index, padding_idx=None, scale_by_frequency=False)
    if padding_idx is None:
        return found
    keep = not_equal(index, constant(padding_idx))
    return where(reshape(keep, (*keep.aval.shape, 1)), found, constant(0))


# the rows of ``y`` added at the places that ``index`` names
embedding_gradient = NetworkOp(
    "embedding_dense_backward",
    lambda y, index, *, rows, padding_idx: aval((rows, y.shape[-1]), y.dtype, None, y.device),
    "embedding.scatter_add_rows",
    vjp=(_second, None),
    group="network",
)
