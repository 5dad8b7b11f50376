"""Products of sparse matrices, by scipy's compiled loops; differentiable in both factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.dispatch import state
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from .._tensor.size_and_formats import sparse_csr
from ..autograd.function import Function
from ..functions.linear_algebra import matmul as dense_matmul
from ._base import SparseBase, missing
from ._compressed import title_of


def _matrix(places: Any, values: Any, shape: Any) -> Any:
    from scipy.sparse import coo_matrix

    return coo_matrix((values, (places[0], places[1])), shape=tuple(shape)).tocsr()


class _TimesDense(Function):
    """(values, dense) -> sparse @ dense; the sparse matrix's places and shape are constants."""

    _node_name = "SparseAddmmBackward0"

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


def _sparse_times_dense(a: SparseBase, b: Any) -> Any:
    if a.aval.ndim == b.aval.ndim == 2 and a.aval.shape[1] != b.aval.shape[0]:
        raise RuntimeError(
            f"addmm: Argument #3 (dense): Expected dim 0 size {a.aval.shape[1]}, got "
            f"{b.aval.shape[0]}"
        )
    _check(a, b)
    a = a.to_sparse() if a.compressed is not None else a
    places = a.places.array()
    if a.aval.dtype in (dtypes.float16, dtypes.bfloat16):
        rows, columns = a.places.unbind(0)
        out = b.new_zeros((a.aval.shape[0], b.aval.shape[1]))
        return out.index_add(0, rows, a.held.unsqueeze(1) * b[columns])
    return _TimesDense.apply(a.held, b, places, a.aval.shape)


def _sparse_times_sparse(a: SparseBase, b: SparseBase) -> Any:
    _check(a, b)
    left, right = (x.to_sparse() for x in (a, b))
    if state.grad_enabled and (a.requires_grad or b.requires_grad):
        found = _recorded_product(left.coalesce(), right.coalesce())
        return found.to_sparse(layout=a.layout)
    first, second = (_matrix(s.places.array(), s.held.array(), s.aval.shape) for s in (left, right))
    product = (first @ second).tocoo()
    places = np.stack([product.row, product.col]).astype(np.int64)
    made = type(a)(from_array(places), from_array(product.data), product.shape).coalesce()
    return made.to_sparse(layout=a.layout)


def _recorded_product(a: SparseBase, b: SparseBase) -> Any:
    """The product as autodiff knows it: each pair ``a[i, k] * b[k, j]``, added up by ``(i, j)``."""
    rows, inner = a.places.array()
    begins = np.searchsorted(b.places.array()[0], inner)
    counts = np.searchsorted(b.places.array()[0], inner, "right") - begins
    of_a = np.repeat(np.arange(len(rows)), counts)
    within = np.arange(len(of_a)) - np.repeat(np.cumsum(counts) - counts, counts)
    of_b = np.repeat(begins, counts) + within
    places = from_array(np.stack([rows[of_a], b.places.array()[1][of_b]]).astype(np.int64))
    pairs = a.held[from_array(of_a)] * b.held[from_array(of_b.astype(np.int64))]
    shape = a.aval.shape[0], b.aval.shape[1]
    return type(a)(places, pairs, shape).coalesce()


def batched(a: Any, b: Any) -> Any:
    """``out[n] = a[n] @ b[n]`` of sparse matrices (COO of three axes) and dense ones."""
    if not isinstance(a, SparseBase) or isinstance(b, SparseBase) or a.compressed is not None:
        missing("bmm of other than COO and dense tensors")
    if a.aval.ndim != 3 or b.aval.ndim != 3 or a.dense_dim():
        raise RuntimeError("batch1 and batch2 must be 3D tensors")
    (count, m, k), (other, inner, n) = a.aval.shape, b.aval.shape
    if (other, inner) != (count, k):
        raise RuntimeError(
            f"bmm_sparse: Tensors 'self' and 'mat2' must have compatible sizes: {[count, m, k]} "
            f"and {[other, inner, n]}"
        )
    batch, rows, columns = a.places.array()
    places = np.stack([batch * m + rows, batch * k + columns])
    whole = type(a)(from_array(places), a.held, (count * m, count * k), a.unique)
    return _sparse_times_dense(whole, b.reshape(count * k, n)).reshape(count, m, n)


def matmul(a: Any, b: Any) -> Any:
    """The product of matrices (or a matrix and a vector) of which one is sparse at least."""
    if isinstance(a, SparseBase) and isinstance(b, SparseBase):
        return _sparse_times_sparse(a, b)
    if not (isinstance(a, EngineTensor) and isinstance(b, EngineTensor)):
        return NotImplemented
    if isinstance(a, SparseBase):
        if b.aval.ndim == 1:
            return _sparse_times_dense(a, b.unsqueeze(1)).squeeze(1)
        return _sparse_times_dense(a, b)
    if not isinstance(b, SparseBase):
        return dense_matmul(a, b)
    turned: Any = b.t()
    if a.aval.ndim == 1:
        return _sparse_times_dense(turned, a.unsqueeze(1)).squeeze(1)
    return _sparse_times_dense(turned, a.t()).t()


def reduced(a: Any, b: Any, reduce: str) -> Any:
    """``out[i, j]`` folds ``a[i, k] * b[k, j]`` over the stored ``a[i, k]``; 0 for an empty row.

    Raises:
        NotImplementedError: ``a`` is not in CSR.
        RuntimeError: ``b`` is not dense, shapes or types do not fit, or ``reduce`` is unknown.
    """
    if not isinstance(a, SparseBase) or a.layout is not sparse_csr:
        missing("_sparse_mm_reduce_impl of other than CSR matrices")
    if isinstance(b, SparseBase):
        raise RuntimeError(
            "Expected tensor to have Strided Layout, but got tensor with "
            f"{title_of(b)} Layout (while checking arguments for sparse_mm_reduce)"
        )
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce == "prod":
        raise RuntimeError("sparse_mm_reduce: reduce type of prod has not been enabled.")
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    if b.aval.ndim != 2 or b.aval.shape[0] != a.aval.shape[1]:
        raise RuntimeError(
            f"Expected a tensor of dimension 2 and tensor.size[0] == {a.aval.shape[1]} but got: "
            f"dimension {b.aval.ndim} and tensor.size[0] = {(*b.aval.shape, 0)[0]}"
        )
    _check(a, b)
    rows, columns = a.places.unbind(0)
    zeros = b.new_zeros((a.aval.shape[0], b.aval.shape[1]))
    products = a.held.unsqueeze(1) * b[columns]
    if reduce in ("sum", "mean"):
        total = zeros.index_add(0, rows, products)
        if reduce == "sum":
            return total
        counts = np.maximum(np.bincount(rows.array(), minlength=a.aval.shape[0]), 1)
        return total / from_array(counts.astype(np.int64)).to(b.dtype).unsqueeze(1)
    # the first of equal elements takes the gradient
    found = products.detach().array()
    best = zeros.scatter_reduce(
        0, rows.unsqueeze(1).expand(products.shape), products.detach(), reduce, include_self=False
    )
    at, column = np.nonzero(found == best.array()[rows.array()])
    first = np.full(zeros.shape, -1, np.int64)
    first[rows.array()[at[::-1]], column[::-1]] = at[::-1]
    kept = from_array(np.maximum(first, 0))
    chosen = products.gather(0, kept) if a._nnz() else zeros
    return chosen * from_array(first >= 0).to(b.dtype)


def sampled_addmm(
    input: Any, mat1: Any, mat2: Any, *, beta: Any = 1.0, alpha: Any = 1.0  # noqa: A002
) -> SparseBase:
    """``beta * input + alpha * mat1 @ mat2`` at the stored places of ``input``, a CSR matrix.

    Raises:
        NotImplementedError: ``input`` is not in CSR.
        RuntimeError: a factor is not dense, or shapes or types do not fit.
    """
    if not isinstance(input, SparseBase) or input.layout is not sparse_csr:
        missing("sparse_sampled_addmm of other than CSR matrices")
    for name, factor in (("mat1", mat1), ("mat2", mat2)):
        if isinstance(factor, SparseBase):
            raise RuntimeError(
                f"sampled_addmm: Expected {name} to have strided layout, but got "
                f"{title_of(factor)}"
            )
    if mat1.aval.dtype is not mat2.aval.dtype:
        first, second = (dtypes.scalar_type_name(x.aval.dtype) for x in (mat1, mat2))
        raise RuntimeError(
            f"sampled_addmm: Expected mat1 and mat2 to have the same dtype, but got {first} and "
            f"{second}"
        )
    if mat1.aval.dtype is not input.held.aval.dtype:
        first, second = (dtypes.scalar_type_name(x.aval.dtype) for x in (mat1, input.held))
        raise RuntimeError(
            f"sampled_addmm: Expected mat1 and self to have the same dtype, but got {first} and "
            f"{second}"
        )
    (m, k), (inner, n) = mat1.aval.shape, mat2.aval.shape
    if k != inner:
        raise RuntimeError(
            f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {inner}x{n})"
        )
    for axis, name, size in ((-2, "mat1", m), (-1, "mat2", n)):
        if input.aval.shape[axis] != size:
            raise RuntimeError(
                f"sampled_addmm: self.shape[{axis}] must match {name}.shape[{axis}]"
            )
    rows, columns = input.places.unbind(0)
    products = (mat1[rows] * mat2.t()[columns]).sum(1)
    return input.like(beta * input.held + alpha * products)
