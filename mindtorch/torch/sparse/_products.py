"""Products of sparse matrices, by scipy's compiled loops; differentiable in both factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from ..autograd.function import Function
from ._tensor import SparseTensor, missing


def _matrix(places: Any, values: Any, shape: Any) -> Any:
    from scipy.sparse import coo_matrix

    return coo_matrix((values, (places[0], places[1])), shape=tuple(shape)).tocsr()


class _TimesDense(Function):
    """(values, dense) -> sparse @ dense; the sparse matrix's places and shape are constants."""

    @staticmethod
    def forward(ctx: Any, values: Any, dense: Any, places: Any, shape: Any) -> Any:
        ctx.save_for_backward(values, dense)
        ctx.places, ctx.shape = places, shape
        product = _matrix(places, values.detach().array(), shape) @ dense.detach().array()
        return from_array(np.ascontiguousarray(product))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        values, dense = ctx.saved_tensors
        rows, columns = (from_array(np.ascontiguousarray(p)) for p in ctx.places)
        of_values = of_dense = None
        if ctx.needs_input_grad[0]:
            of_values = (g[rows] * dense[columns].conj()).sum(1)
        if ctx.needs_input_grad[1]:
            of_dense = _TimesDense.apply(
                values.conj(), g, ctx.places[::-1], tuple(ctx.shape)[::-1]
            )
        return of_values, of_dense, None, None


def _check(a: Any, b: Any) -> None:
    first, second = a.aval.shape, b.aval.shape
    if len(first) != 2 or len(second) != 2:
        missing("products of other than matrices")
    if first[1] != second[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({first[0]}x{first[1]} and "
            f"{second[0]}x{second[1]})"
        )
    if a.aval.dtype is not b.aval.dtype:
        raise RuntimeError(
            f"expected mat1 and mat2 to have the same dtype, but got: {_c(a)} != {_c(b)}"
        )


def _c(x: Any) -> str:
    names = {"float32": "float", "float64": "double", "int64": "long long", "int32": "int"}
    return names.get(x.aval.dtype.name, x.aval.dtype.name)


def _sparse_times_dense(a: SparseTensor, b: Any) -> Any:
    if a.aval.ndim == b.aval.ndim == 2 and a.aval.shape[1] != b.aval.shape[0]:
        raise RuntimeError(
            f"addmm: Argument #3 (dense): Expected dim 0 size {a.aval.shape[1]}, got "
            f"{b.aval.shape[0]}"
        )
    _check(a, b)
    places = a.places.array()
    if a.aval.dtype in (dtypes.float16, dtypes.bfloat16):
        rows, columns = a.places.unbind(0)
        out = b.new_zeros((a.aval.shape[0], b.aval.shape[1]))
        return out.index_add(0, rows, a.held.unsqueeze(1) * b[columns])
    return _TimesDense.apply(a.held, b, places, a.aval.shape)


def _sparse_times_sparse(a: SparseTensor, b: SparseTensor) -> Any:
    _check(a, b)
    if a.requires_grad or b.requires_grad:
        missing("the derivative of a product of two sparse matrices")
    first, second = (_matrix(s.places.array(), s.held.array(), s.aval.shape) for s in (a, b))
    found = (first @ second).tocoo()
    places = np.stack([found.row, found.col]).astype(np.int64)
    made = SparseTensor(from_array(places), from_array(found.data), found.shape).coalesce()
    return made.to_sparse(layout=a.layout)


def matmul(a: Any, b: Any) -> Any:
    """The product of matrices (or a matrix and a vector) of which one is sparse at least."""
    if isinstance(a, SparseTensor) and isinstance(b, SparseTensor):
        return _sparse_times_sparse(a, b)
    if not (isinstance(a, EngineTensor) and isinstance(b, EngineTensor)):
        return NotImplemented
    if isinstance(a, SparseTensor):
        if b.aval.ndim == 1:
            return _sparse_times_dense(a, b.unsqueeze(1)).squeeze(1)
        return _sparse_times_dense(a, b)
    if a.aval.ndim == 1:
        return _sparse_times_dense(b.t(), a.unsqueeze(1)).squeeze(1)
    return _sparse_times_dense(b.t(), a.t()).t()
