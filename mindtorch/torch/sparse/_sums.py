"""Sums of COO tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.ops.sparse_indices import merge_keys
from mindtorch.engine.tensor import from_array

from ..functions.parts import cat
from ._base import Sparse, keys_of


def total(a: Sparse, b: Sparse, alpha: Any = 1) -> Sparse:
    """``a + alpha b``: both lists of places merged as if each were in order.

    Only where both are coalesced is the result so, too. Values that are views with gaps or
    repeats are joined one after the other instead, as PyTorch does.
    """
    kind = dtypes.promote(a.aval.dtype, b.aval.dtype)
    values = b.held.to(kind)
    values = values if alpha == 1 else values * alpha
    if b._nnz() == 0:
        return type(a)(a.places.clone(), a.held.to(kind).clone(), a.aval.shape, a.unique)
    if a._nnz() == 0:
        return type(a)(b.places.clone(), values.clone(), b.aval.shape, b.unique)
    if a.held.is_contiguous() and b.held.is_contiguous():
        return _merged(a, b, a.held.to(kind), values)
    joined = type(a)(
        cat([a.places, b.places], 1), cat([a.held.to(kind), values], 0), a.aval.shape
    )
    if joined._nnz() > math.prod(a.aval.shape):
        joined = joined.coalesce()  # which PyTorch does not note on the result either
        joined.unique = False
    return joined


def _merged(a: Sparse, b: Sparse, mine: Any, others: Any) -> Sparse:
    device = mine.aval.device
    merged = merge_keys(from_array(keys_of(a)), from_array(keys_of(b)))
    from_a, from_b, count = (row.array() for row in merged)
    from_a, from_b = from_a[:count], from_b[:count]
    in_a, in_b = np.flatnonzero(from_a >= 0), np.flatnonzero(from_b >= 0)
    places = np.empty((a.sparse_dim(), count), np.int64)
    places[:, in_b] = b.places.array()[:, from_b[in_b]]
    places[:, in_a] = a.places.array()[:, from_a[in_a]]
    held = mine.new_zeros((count, *mine.aval.shape[1:]))
    for rows, values in ((in_a, mine), (in_b, others)):
        held = held.index_add(0, from_array(rows, device), values)
    return type(a)(from_array(places, device), held, a.aval.shape, a.unique and b.unique)
