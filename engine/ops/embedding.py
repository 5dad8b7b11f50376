"""Looking up rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..aval import Aval, aval
from ..stored_types import computes, only_moves
from ..tensor import constant, from_array
from .comparison import not_equal, where
from .convolution import NetworkOp
from .elementwise import multiply
from .index_bounds import of_rows
from .indexing import index_select
from .movement import reshape


def _embedding_aval(
    weight: Aval, index: Aval, *, padding_idx: int | None, scale_by_frequency: bool
) -> Aval:
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if index.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {dtypes.tensor_type_name(index.dtype)} instead "
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
    index_bounds=of_rows,
    leading=0,
)  # fmt: skip


# what makes a tensor of places, values and a shape; the namespace sets it
sparse_makers: list[Any] = []


def _sparse_gradient(g: Any, index: Any, rows: int, padding_idx: int | None) -> Any:
    """Row i of ``g`` at place index[i], the padding's left out, nothing added up."""
    places = np.ascontiguousarray(index.array(), np.int64).reshape(-1)
    values = reshape(g, (places.size, g.aval.shape[-1]))
    if padding_idx is not None:
        kept = np.flatnonzero(places != padding_idx)
        places = places[kept]
        values = index_select(values, from_array(kept, values.aval.device), axis=0)
    coordinates = from_array(places[None], g.aval.device)
    return sparse_makers[-1](coordinates, values, (rows, g.aval.shape[-1]))


def _refuse_shares(scale_by_frequency: bool) -> None:
    if scale_by_frequency:
        raise RuntimeError(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
        )


def _embedding_sparse_vjp(
    g: Any, index: Any, avals: Any, padding_idx: int | None, scale_by_frequency: bool
) -> Any:
    _refuse_shares(scale_by_frequency)
    return _sparse_gradient(g, index, avals[0].shape[0], padding_idx)


# the same with a sparse gradient
embedding_sparse = NetworkOp(
    "embedding_sparse",
    _embedding_aval,
    "embedding.gather_rows",
    vjp=(_embedding_sparse_vjp, None),
    grad_name="EmbeddingBackward0",
    index_bounds=of_rows,
)


def _shares(index: Any, dtype: Any) -> Any:
    """For each place 1 / how often its row is looked up."""
    places = index.array()
    _, inverse, counts = np.unique(places, return_inverse=True, return_counts=True)
    return from_array(
        (1.0 / counts)[inverse].reshape(places.shape).astype(dtype.np), index.aval.device
    )


def _shared_evenly(g: Any, index: Any) -> Any:
    """``g`` divided by how often each row is looked up."""
    shares = _shares(index, g.aval.dtype)
    return multiply(g, reshape(shares, (*shares.aval.shape, 1)))


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
)


# --- bags ----------------------------------------------------------------------------------------
# bag b holds the places from starts[b] to starts[b + 1] of index


def _bag_rows(weight: Aval, starts: Aval, dtype: Any = None) -> Aval:
    return aval((starts.shape[0] - 1, weight.shape[1]), dtype or weight.dtype, None, weight.device)


def _bag_factors_vjp(
    g: Any, weight: Any, index: Any, starts: Any, factors: Any, needs: Any,
    padding_idx: int | None, scale_by_frequency: bool, avals: Any,
) -> list[Any]:  # fmt: skip
    for_weight = for_factors = None
    if needs[0]:
        shares = _shares(index, avals[0].dtype) if scale_by_frequency else None
        if shares is None or factors is None:
            shares = factors if shares is None else shares
        else:
            shares = multiply(factors, shares)
        for_weight = bag_scatter(
            g, index, starts, shares, rows=avals[0].shape[0], padding_idx=padding_idx
        )
    if needs[3]:
        for_factors = bag_products(g, weight, index, starts, padding_idx=padding_idx)
    return [for_weight, None, None, for_factors]


# the sum over the places i of each bag of factors[i] * weight[index[i]]
bag_sum = NetworkOp(
    "embedding_bag",
    lambda weight, index, starts, factors, *, padding_idx, scale_by_frequency: _bag_rows(
        weight, starts
    ),
    "embedding.bag_sum",
    vjp=_bag_factors_vjp,
    grad_name="EmbeddingBagBackward0",
    checks_values=True,
    leading=0,
)


def _bag_sparse_vjp(
    g: Any, weight: Any, index: Any, starts: Any, factors: Any, needs: Any,
    padding_idx: int | None, scale_by_frequency: bool, avals: Any,
) -> list[Any]:  # fmt: skip
    for_weight = for_factors = None
    if needs[0]:
        _refuse_shares(scale_by_frequency)
        bounds = starts.array()
        bag_of_place = np.repeat(np.arange(bounds.size - 1), np.diff(bounds))
        rows = index_select(g, from_array(bag_of_place, g.aval.device), axis=0)
        if factors is not None:
            rows = multiply(rows, reshape(factors, (*factors.aval.shape, 1)))
        places = from_array(index.array()[: bag_of_place.size], g.aval.device)
        for_weight = _sparse_gradient(rows, places, avals[0].shape[0], padding_idx)
    if needs[3]:
        for_factors = bag_products(g, weight, index, starts, padding_idx=padding_idx)
    return [for_weight, None, None, for_factors]


# the same with a sparse gradient
bag_sum_sparse = NetworkOp(
    "embedding_bag_sparse",
    bag_sum.aval,
    "embedding.bag_sum",
    vjp=_bag_sparse_vjp,
    grad_name="EmbeddingBagBackward0",
    checks_values=True,
)


def _bag_scatter_vjp(
    g: Any, y: Any, index: Any, starts: Any, factors: Any, needs: Any, padding_idx: int | None,
) -> list[Any]:  # fmt: skip
    for_y = for_factors = None
    if needs[0]:
        for_y = bag_sum(
            g, index, starts, factors, padding_idx=padding_idx, scale_by_frequency=False
        )
    if needs[3]:
        for_factors = bag_products(y, g, index, starts, padding_idx=padding_idx)
    return [for_y, None, None, for_factors]


# factors[i] * y[b] added at row index[i] for each place i of each bag b
bag_scatter = NetworkOp(
    "embedding_bag_dense_backward",
    lambda y, index, starts, factors, *, rows, padding_idx: aval(
        (rows, y.shape[1]), y.dtype, None, y.device
    ),
    "embedding.bag_scatter",
    vjp=_bag_scatter_vjp,
)


def _bag_products_vjp(
    g: Any, y: Any, weight: Any, index: Any, starts: Any, needs: Any, padding_idx: int | None,
    avals: Any,
) -> list[Any]:
    for_y = for_weight = None
    if needs[0]:
        for_y = bag_sum(
            weight, index, starts, g, padding_idx=padding_idx, scale_by_frequency=False
        )
    if needs[1]:
        for_weight = bag_scatter(
            y, index, starts, g, rows=avals[1].shape[0], padding_idx=padding_idx
        )
    return [for_y, for_weight, None, None]


# the inner product of y[b] and weight[index[i]] for each place i of each bag b
bag_products = NetworkOp(
    "embedding_bag_per_sample_weights_backward",
    lambda y, weight, index, starts, *, padding_idx: aval(
        index.shape, weight.dtype, None, weight.device
    ),
    "embedding.bag_products",
    vjp=_bag_products_vjp,
)

# for each bag and column the row of the largest element; -1 for an empty bag
bag_largest = NetworkOp(
    "embedding_bag_max_indices",
    lambda weight, index, starts, *, padding_idx: _bag_rows(weight, starts, dtypes.int64),
    "embedding.bag_largest",
    checks_values=True,
)


# what element types that are stored alone have of these ops
only_moves(embedding)
computes("complex", embedding_gradient)
