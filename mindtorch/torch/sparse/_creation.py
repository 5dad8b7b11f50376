"""Making sparse tensors: from places and values, and from dense tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from .._api.arguments import as_device, as_dtype, as_shape
from .._tensor.size_and_formats import sparse_coo
from ..functions.from_data import tensor
from ._base import missing
from ._compressed import FORMS, check_blocks
from ._compressed import from_dense as compressed_parts
from ._invariants import checked
from ._tensor import SparseTensor


def values_of(value: Any, dtype: Any = None) -> Any:
    if isinstance(value, EngineTensor):
        return value if dtype is None else value.to(as_dtype(dtype))
    return tensor(value, dtype=None if dtype is None else as_dtype(dtype))


def places_of(value: Any) -> Any:
    found = value if isinstance(value, EngineTensor) else from_array(
        np.ascontiguousarray(np.array(value, np.int64))
    )
    return found.long()  # type: ignore[operator, unused-ignore]


def finished(made: SparseTensor, device: Any, requires_grad: bool) -> SparseTensor:
    as_device(device)
    if requires_grad:
        if made.held.requires_grad or not made.held.is_leaf:
            missing("requires_grad=True of values that have a history")
        made = made.detach().requires_grad_()
    return made


NO_PINNED = "Cannot access accelerator device when none is available."


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
    checked(check_invariants)
    if pin_memory:
        raise RuntimeError(NO_PINNED)
    if values is None:
        shape = as_shape((indices,)) if size is None else as_shape((size,))
        indices, values, size = np.zeros((len(shape), 0), np.int64), [], shape
        dtype = _default(dtype)
    places, held = places_of(indices), values_of(values, dtype)
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
    check_bounds(array, shape)
    known = array.shape[1] < 2 if is_coalesced is None else is_coalesced
    made = SparseTensor(places, held, shape, bool(known))
    return finished(made, device, requires_grad)


def _default(dtype: Any) -> Any:
    return dtypes.default if dtype is None else dtype


def check_bounds(places: Any, shape: tuple[int, ...]) -> None:
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


def from_dense(
    x: Any, sparse_dim: int | None = None, kind: Any = sparse_coo, blocksize: Any = None,
    dense_dim: int | None = None,
) -> SparseTensor:  # fmt: skip
    """The elements of a dense tensor that are not 0; the values keep its history."""
    if kind is not sparse_coo:
        return _from_dense_compressed(x, kind, blocksize, dense_dim or 0)
    count = x.aval.ndim if sparse_dim is None else sparse_dim
    if not 0 <= count <= x.aval.ndim:
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{x.aval.ndim}] range, but "
            f"{count} is given"
        )
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
    return SparseTensor(found, held, x.aval.shape, True)


def _from_dense_compressed(x: Any, kind: Any, blocksize: Any, dense_dim: int) -> SparseTensor:
    if kind not in FORMS:
        missing(f"to {kind!r}")
    form = FORMS[kind]
    if form.blocks is not (blocksize is not None):
        given = "without" if blocksize is None else "with"
        raise RuntimeError(
            f"dense_to_sparse: conversion from Strided to {form.title} {given} blocksize argument "
            "given is not supported"
        )
    name = f"dense_to_sparse_{form.title[-3:].lower()}"
    if x.aval.ndim < 2 + dense_dim:
        raise RuntimeError(
            f"{name}: Dense dimension must be smaller than or equal to "
            f"{x.aval.ndim - 2}, but got {dense_dim}"
        )
    pair = None
    if form.blocks:
        pair = (blocksize, blocksize) if isinstance(blocksize, int) else tuple(blocksize)
        check_blocks(name, x, pair, dense_dim)
    places, held, starts = compressed_parts(x, kind, pair, dense_dim)
    return SparseTensor(places, held, x.aval.shape, True, kind, starts)
