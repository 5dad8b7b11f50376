"""Sparse tensors as places and values: some rows (RowTensor), COO and CSR.

They hold ordinary tensors, so what is computed from ``values`` has gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mindtorch import torch

from .tensor import Tensor, adopt

__all__ = ["COOTensor", "CSRTensor", "RowTensor"]


def _checked(kind: str, indices: Any, values: Any, shape: Any) -> tuple[int, ...]:
    """The dense shape.

    Raises:
        TypeError: parts that are no tensors, or places that are no whole numbers.
    """
    if not isinstance(indices, torch.Tensor) or not isinstance(values, torch.Tensor):
        raise TypeError(f"Inputs for `{kind}` must be tensors, but got {type(indices).__name__} "
                        f"and {type(values).__name__}")  # fmt: skip
    if indices.dtype not in (torch.int16, torch.int32, torch.int64):
        raise TypeError(f"For {kind}, `indices` must be int16, int32 or int64 tensor, but got "
                        f"{indices.dtype}")  # fmt: skip
    if not isinstance(shape, Sequence) or any(not isinstance(n, int) or n < 1 for n in shape):
        raise TypeError(f"For {kind}, `shape` must be a tuple of positive ints, but got {shape!r}")
    return tuple(shape)


class _Sparse:
    """What the three have in common."""

    indices: Any
    values: Any
    shape: tuple[int, ...]

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many values are held."""
        return int(self.values.size)

    @property
    def itemsize(self) -> int:
        return int(self.values.itemsize)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}(shape={list(self.shape)}, dtype={self.dtype}, "
                f"indices={self.indices}, values={self.values})")  # fmt: skip


class RowTensor(_Sparse):
    """A dense tensor of which the rows ``indices`` are ``values``, and all others zero.

    Args:
        indices: whole numbers (n,).
        values: (n, ...).
        shape: of the dense tensor.
        row_tensor: another one, in place of the three.
    """

    def __init__(
        self, indices: Any = None, values: Any = None, shape: Any = None, row_tensor: Any = None
    ) -> None:
        if row_tensor is not None:
            indices, values, shape = row_tensor.indices, row_tensor.values, row_tensor.shape
        self.shape = _checked("RowTensor", indices, values, shape)
        self.indices, self.values = indices, values

    @property
    def dense_shape(self) -> tuple[int, ...]:
        return self.shape


class COOTensor(_Sparse):
    """Values at places; those at the same place are added.

    Args:
        indices: whole numbers (n, axes).
        values: (n,).
        shape: of the dense tensor.
        coo_tensor: another one, in place of the three.
    """

    def __init__(
        self, indices: Any = None, values: Any = None, shape: Any = None, coo_tensor: Any = None
    ) -> None:
        if coo_tensor is not None:
            indices, values, shape = coo_tensor.indices, coo_tensor.values, coo_tensor.shape
        self.shape = _checked("COOTensor", indices, values, shape)
        if indices.ndim != 2 or values.ndim != 1 or len(indices) != len(values):
            raise ValueError(f"For COOTensor, `indices` must be (n, axes) and `values` (n,), but "
                             f"got {tuple(indices.shape)} and {tuple(values.shape)}")  # fmt: skip
        if indices.shape[1] != len(self.shape):
            raise ValueError(f"For COOTensor, `indices` have {indices.shape[1]} columns for a "
                             f"`shape` of {len(self.shape)} axes")  # fmt: skip
        self.indices, self.values = indices, values

    def to_dense(self) -> Tensor:
        """The tensor with zeros everywhere else."""
        places = tuple(self.indices.long().unbind(1))
        zeros = torch.zeros(self.shape, dtype=self.dtype)
        return adopt(zeros.index_put(places, self.values, accumulate=True))

    def coalesce(self) -> COOTensor:
        """Each place once, in order, its values added."""
        flat = _flattened(self.indices, self.shape)
        order, inverse = torch.unique(flat, return_inverse=True)
        values = torch.zeros(len(order), dtype=self.dtype).index_add(0, inverse, self.values)
        places = torch.stack(torch.unravel_index(order, self.shape), 1).to(self.indices.dtype)
        return COOTensor(adopt(places), adopt(values), self.shape)

    def to_csr(self) -> CSRTensor:
        """The same by rows; two axes only."""
        if len(self.shape) != 2:
            raise ValueError("Currently only support 2-D Tensor when converting to CSRTensor.")
        order = torch.argsort(_flattened(self.indices, self.shape), stable=True)
        rows, columns = self.indices.long()[order].unbind(1)
        counts = torch.bincount(rows, minlength=self.shape[0]).cumsum(0)
        starts = torch.cat([torch.zeros(1, dtype=torch.int64), counts])
        kind = self.indices.dtype
        return CSRTensor(adopt(starts.to(kind)), adopt(columns.to(kind)),
                         adopt(self.values[order]), self.shape)  # fmt: skip

    def astype(self, dtype: Any) -> COOTensor:
        """With values of another type."""
        return COOTensor(self.indices, self.values.astype(dtype), self.shape)

    def abs(self) -> COOTensor:
        """With values without their signs."""
        return COOTensor(self.indices, self.values.abs(), self.shape)

    def to_tuple(self) -> tuple[Any, Any, tuple[int, ...]]:
        return self.indices, self.values, self.shape


class CSRTensor(_Sparse):
    """Values by rows: those of row i are from ``indptr[i]`` to ``indptr[i + 1]``.

    Args:
        indptr: whole numbers (rows + 1,).
        indices: the column of each value (n,).
        values: (n,).
        shape: (rows, columns).
        csr_tensor: another one, in place of the four.
    """

    def __init__(
        self, indptr: Any = None, indices: Any = None, values: Any = None, shape: Any = None,
        csr_tensor: Any = None,
    ) -> None:  # fmt: skip
        if csr_tensor is not None:
            indptr, indices = csr_tensor.indptr, csr_tensor.indices
            values, shape = csr_tensor.values, csr_tensor.shape
        self.shape = _checked("CSRTensor", indices, values, shape)
        if len(self.shape) != 2 or len(indptr) != self.shape[0] + 1:
            raise ValueError(f"For CSRTensor, `indptr` of {len(indptr)} does not fit `shape` "
                             f"{self.shape}")  # fmt: skip
        self.indptr, self.indices, self.values = indptr, indices, values

    def _rows(self) -> Any:
        counts = self.indptr.long().diff()
        return torch.repeat_interleave(torch.arange(self.shape[0]), counts)

    def to_coo(self) -> COOTensor:
        """The same with the row of each value."""
        places = torch.stack([self._rows(), self.indices.long()], 1).to(self.indices.dtype)
        return COOTensor(adopt(places), self.values, self.shape)

    def to_dense(self) -> Tensor:
        """The tensor with zeros everywhere else."""
        return self.to_coo().to_dense()

    def mv(self, dense_vector: Any) -> Tensor:
        """The product with a matrix of one column."""
        return self.mm(dense_vector)

    def mm(self, matrix: Any) -> Tensor:
        """The product with a dense matrix."""
        parts = self.values.unsqueeze(1) * matrix[self.indices.long()]
        zeros = torch.zeros((self.shape[0], matrix.shape[1]), dtype=parts.dtype)
        return adopt(zeros.index_add(0, self._rows(), parts))

    def sum(self, axis: int) -> Tensor:
        """Sums over ``axis``, which stays as one element."""
        return adopt(self.to_dense().sum(axis, keepdims=True))

    def astype(self, dtype: Any) -> CSRTensor:
        """With values of another type."""
        return CSRTensor(self.indptr, self.indices, self.values.astype(dtype), self.shape)

    def abs(self) -> CSRTensor:
        """With values without their signs."""
        return CSRTensor(self.indptr, self.indices, self.values.abs(), self.shape)

    def to_tuple(self) -> tuple[Any, Any, Any, tuple[int, ...]]:
        return self.indptr, self.indices, self.values, self.shape


def _flattened(indices: Any, shape: tuple[int, ...]) -> Any:
    """Places as numbers of the flat tensor."""
    flat = torch.zeros(len(indices), dtype=torch.int64)
    for column, size in zip(indices.long().unbind(1), shape, strict=True):
        flat = flat * size + column
    return flat
