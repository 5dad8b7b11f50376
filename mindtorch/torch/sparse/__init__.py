"""torch.sparse: functions of sparse tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine.tensor import from_array
from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._api.shared_docs import TEXTS as _TEXTS

from .. import _utils as _utils  # it has the rebuilder of sparse tensors
from .._api.arguments import normalize_axis
from . import _dispatch as _dispatch
from . import _legacy, _products
from ._base import missing
from ._invariants import check_sparse_tensor_invariants
from ._products import sampled_addmm
from ._tensor import SparseTensor

__all__ = [
    "addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax",
    "spdiags", "sum",
]  # fmt: skip
__all__ += list(_legacy.TYPES)
globals().update(_legacy.TYPES)


def mm(mat1: Any, mat2: Any, reduce: str | None = None) -> Any:
    """The product of a sparse matrix and a dense or sparse one; differentiable.

    ``reduce``, one of sum, mean, amax and amin, says how the products of a row in CSR are folded.
    """
    if reduce is not None:
        return _products.reduced(mat1, mat2, reduce)
    return _products.matmul(mat1, mat2)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0) -> Any:
    """``beta * mat + alpha * mat1 @ mat2``, ``mat1`` being sparse."""
    return beta * mat + alpha * _products.matmul(mat1, mat2)


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:  # noqa: A001, A002
    """The sum of all elements, or along axes, which leaves a sparse tensor of the others."""
    source = input if dtype is None else input.to(dtype)
    return source.held.sum() if dim is None else source.sum_along(dim)


def _over_stored(input: Any, dim: int, dtype: Any, log: bool) -> Any:  # noqa: A002
    """Softmax over the stored elements of each row along ``dim``."""
    source = (input if dtype is None else input.to(dtype)).coalesce()
    axis = normalize_axis(dim, source.aval.ndim)
    if axis >= source.sparse_dim() or source.dense_dim():
        missing("softmax of tensors with dense axes")
    others = np.delete(source.places.array(), axis, 0)
    shape = np.delete(np.array(source.aval.shape), axis)
    keys = np.ravel_multi_index(tuple(others), tuple(shape)) if len(others) else (
        np.zeros(source._nnz(), np.int64)
    )
    _, inverse = np.unique(keys, return_inverse=True)
    groups = from_array(np.ascontiguousarray(inverse.reshape(-1)).astype(np.int64))
    count = int(inverse.max()) + 1 if inverse.size else 0
    values = source.held
    largest = np.full(count, -np.inf)
    np.maximum.at(largest, inverse.reshape(-1), values.detach().array())
    shifted = values - from_array(largest[inverse.reshape(-1)].astype(values.aval.dtype.np))
    powers = shifted.exp()
    totals = powers.new_zeros((count,)).index_add(0, groups, powers)[groups]
    return source.like(shifted - totals.log() if log else powers / totals)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:  # noqa: A002
    """``exp(x) / sum(exp(x))`` over the stored elements along ``dim``; others count as -inf."""
    return _over_stored(input, dim, dtype, False)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:  # noqa: A002
    """The logarithm of :func:`softmax`."""
    return _over_stored(input, dim, dtype, True)


def spdiags(diagonals: Any, offsets: Any, shape: Any, layout: Any = None) -> Any:
    """A sparse matrix with the given diagonals, at the given distances from the main one.

    Args:
        offsets: the distances.
        shape: of the matrix.
        layout: None for COO, or CSR or CSC.
    """
    rows, columns, places = [], [], []
    distances = offsets.reshape(-1).tolist()
    if len(set(distances)) < len(distances):
        raise RuntimeError("Offset tensor contains duplicate values")
    length = diagonals.shape[-1]
    flat = diagonals.reshape(len(distances), length)
    for i, offset in enumerate(distances):
        for column in range(max(offset, 0), min(length, shape[1], shape[0] + offset)):
            rows.append(column - offset)
            columns.append(column)
            places.append((i, column))
    both = from_array(np.array([rows, columns], np.int64).reshape(2, -1))
    first, second = (from_array(np.array(p, np.int64)) for p in zip(*places, strict=True))
    made = SparseTensor(both, flat[first, second], tuple(shape))
    return made if layout is None else made.to_sparse(layout=layout)


_TEXTS.add_to(globals().values())

_own_names(globals())
