"""Making sparse tensors: from places and values, and from dense tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from .._api.arguments import as_device, as_dtype, as_shape
from .._tensor.size_and_formats import sparse_coo, sparse_csc, sparse_csr
from ..functions.from_data import tensor
from ._base import compress, missing
from ._tensor import SparseTensor


def _tensor(value: Any, dtype: Any = None) -> Any:
    if isinstance(value, EngineTensor):
        return value if dtype is None else value.to(as_dtype(dtype))
    return tensor(value, dtype=None if dtype is None else as_dtype(dtype))


def _places(value: Any) -> Any:
    found = value if isinstance(value, EngineTensor) else from_array(
        np.ascontiguousarray(np.array(value, np.int64))
    )
    return found.long()  # type: ignore[operator, unused-ignore]


def _finished(made: SparseTensor, device: Any, requires_grad: bool) -> SparseTensor:
    as_device(device)
    if requires_grad:
        if made.held.requires_grad or not made.held.is_leaf:
            missing("requires_grad=True of values that have a history")
        made = made.detach().requires_grad_()
    return made


_NO_PINNED = "Cannot access accelerator device when none is available."
_UNSORTED = tuple(
    f"`{plain}_indices[..., {starts}_indices[..., i - 1]:{starts}_indices[..., i]] for all i = 1, "
    f"..., n{lines} are sorted and distinct along the last dimension values` is not satisfied."
    for plain, starts, lines in (("row", "ccol", "cols"), ("col", "crow", "rows"))
)


def sparse_coo_tensor(
    indices: Any = None, values: Any = None, size: Any = None, *, dtype: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None, is_coalesced: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """The tensor with ``values`` at ``indices``, and 0 elsewhere; repeated indices add up.

    Args:
        indices: (sparse axes, nnz); or, alone, the size of a tensor of zeros.
        values: (nnz, ...), the axes behind the first being dense ones.
        size: just large enough for the indices when None.
        is_coalesced: whether indices are there once and in order.

    Raises:
        RuntimeError: an index is negative or outside of ``size``. (torch looks only where
            ``check_invariants`` says so; here indices are always checked.)
    """
    if pin_memory:
        raise RuntimeError(_NO_PINNED)
    if values is None:
        shape = as_shape((indices,)) if size is None else as_shape((size,))
        indices, values, size = np.zeros((len(shape), 0), np.int64), [], shape
        dtype = _default(dtype)
    places, held = _places(indices), _tensor(values, dtype)
    if places.aval.ndim != 2:
        raise RuntimeError(
            f"indices must be sparse_dim x nnz, but got: {list(places.aval.shape)}"
        )
    if held.aval.ndim < 1 or places.aval.shape[1] != held.aval.shape[0]:
        nnz = held.aval.shape[0] if held.aval.ndim else 1
        raise RuntimeError(
            "indices and values must have same nnz, but got nnz from indices: "
            f"{places.aval.shape[1]}, nnz from values: {nnz}"
        )
    array = places.array()
    if size is None:
        sparse = array.max(1) + 1 if array.shape[1] else np.zeros(len(array), np.int64)
        size = (*[int(n) for n in sparse], *held.aval.shape[1:])
    shape = as_shape((size,))
    if len(shape) != len(array) + held.aval.ndim - 1:
        raise RuntimeError(
            "number of dimensions must be sparse_dim ("
            f"{len(array)}) + dense_dim ({held.aval.ndim - 1}), but got {len(shape)}"
        )
    _check_bounds(array, shape)
    known = array.shape[1] < 2 if is_coalesced is None else is_coalesced
    made = SparseTensor(places, held, shape, bool(known))
    return _finished(made, device, requires_grad)


def _default(dtype: Any) -> Any:
    return dtypes.default if dtype is None else dtype


def _check_bounds(places: Any, shape: tuple[int, ...]) -> None:
    for dim, row in enumerate(places):
        if not row.size:
            continue
        if row.min() < 0:
            raise RuntimeError(f"found negative index {row.min()} for dim {dim}")
        if row.max() >= shape[dim]:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {shape[dim]} but found "
                f"index {row.max()}"
            )


def _compressed(
    kind: Any, starts: Any, plain: Any, values: Any, size: Any, dtype: Any, device: Any,
    pin_memory: bool, requires_grad: bool, check_invariants: bool | None,
) -> SparseTensor:  # fmt: skip
    if pin_memory:
        raise RuntimeError(_NO_PINNED)
    begins, others, held = _places(starts), _places(plain), _tensor(values, dtype)
    if begins.aval.ndim != 1 or held.aval.ndim != 1:
        missing("batches and blocks of compressed tensors")
    first, second = begins.array(), others.array()
    lead = len(first) - 1
    if size is None:
        across = int(second.max()) + 1 if second.size else 0
        size = (lead, across) if kind is sparse_csr else (across, lead)
    shape = as_shape((size,))
    rows = kind is sparse_csr
    if len(shape) != 2 or shape[0 if rows else 1] != lead:
        raise RuntimeError(
            f"{'crow' if rows else 'ccol'}_indices.shape[-1] must be equal to the number of "
            f"{'rows' if rows else 'columns'} + 1 = {shape[0 if rows else -1] + 1}, but got "
            f"{lead + 1}"
        )
    counts = np.diff(first)
    if first[0] != 0 or (counts < 0).any() or first[-1] != len(second):
        name = "crow" if rows else "ccol"
        raise RuntimeError(
            f"`{name}_indices[..., -1] == nnz` is not satisfied: {name}_indices must rise from 0 "
            f"to {len(second)}"
        )
    if len(second) != held.aval.shape[0]:
        raise RuntimeError(
            f"number of specified elements must be {len(second)}, but got {held.aval.shape[0]}"
        )
    spread = np.repeat(np.arange(lead), counts)
    if check_invariants and ((np.diff(second) <= 0) & (np.diff(spread) == 0)).any():
        raise RuntimeError(_UNSORTED[rows])
    both = np.stack([spread, second] if rows else [second, spread]).astype(np.int64)
    _check_bounds(both, shape)
    made = SparseTensor(from_array(both), held, shape, True, kind, begins)
    return _finished(made, device, requires_grad)


def sparse_csr_tensor(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A matrix by rows: row ``r`` has ``values[crow[r]:crow[r + 1]]`` in those columns."""
    return _compressed(
        sparse_csr, crow_indices, col_indices, values, size, dtype, device, pin_memory,
        requires_grad, check_invariants,
    )  # fmt: skip


def sparse_csc_tensor(
    ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, *, dtype: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A matrix by columns: column ``c`` has ``values[ccol[c]:ccol[c + 1]]`` in those rows."""
    return _compressed(
        sparse_csc, ccol_indices, row_indices, values, size, dtype, device, pin_memory,
        requires_grad, check_invariants,
    )  # fmt: skip


def from_dense(x: Any, sparse_dim: int | None = None, kind: Any = sparse_coo) -> SparseTensor:
    """The elements of a dense tensor that are not 0; the values keep its history."""
    count = x.aval.ndim if sparse_dim is None else sparse_dim
    if not 0 <= count <= x.aval.ndim:
        raise RuntimeError("sparse_dim argument must be in the range of the tensor's dimensions")
    array = x.detach().array()
    filled = array != 0
    if count < x.aval.ndim:
        filled = filled.any(tuple(range(count, x.aval.ndim)))
    if filled.ndim:
        places = np.stack(np.nonzero(filled)).astype(np.int64)
    else:
        places = np.zeros((0, int(filled)), np.int64)
    found = from_array(np.ascontiguousarray(places))
    held = x[tuple(found.unbind(0))] if filled.ndim else x.reshape(1)[: int(filled)]
    made = SparseTensor(found, held, x.aval.shape, True)
    return made if kind is sparse_coo else compress(made, kind)
