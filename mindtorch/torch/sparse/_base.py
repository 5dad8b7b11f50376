"""What is stored of a sparse tensor, and how it goes into another layout."""

from __future__ import annotations

import copy
from typing import Any, NoReturn, Self, TypeVar

import numpy as np

from mindtorch.engine.aval import unstrided
from mindtorch.engine.tensor import from_array

from .._api.arguments import as_dtype
from .._api.public import explained
from .._api.signatures import arguments_of, has_method
from .._api.warn_caller import warn_caller_once
from .._tensor.size_and_formats import (
    layout,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
)
from .._tensor.tensor import Tensor
from .._tensor.wrapper import HeldTensor
from ._compressed import FORMS, compress, expanded, title_of

Sparse = TypeVar("Sparse", bound="SparseBase")


def keys_of(x: SparseBase) -> Any:
    """One number for each stored element, ordered as its place."""
    shape = x.aval.shape[: x.sparse_dim()]
    places = x.places.array()
    if not places.size:
        return np.zeros(places.shape[1], np.int64)
    return np.ravel_multi_index(tuple(places), shape).astype(np.int64)


def missing(name: str) -> NoReturn:
    """Raise for an op that sparse tensors do not have here."""
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'SparseCPU' backend: mindtorch does "
        "not have it for sparse tensors. Use Tensor.to_dense() first."
    )


_BETA = (
    "Sparse {} tensor support is in beta state. If you miss a functionality in the sparse tensor "
    "support, please submit a feature request to https://github.com/pytorch/pytorch/issues."
)


class SparseBase(HeldTensor):
    """Places and values: what is stored of a sparse tensor.

    Attributes:
        places: (sparse axes, nnz), the index of each stored element; (2, batch..., nnz) in a
            compressed layout, counted in blocks in BSR and BSC.
        held: (batch..., nnz, ...) the stored elements, with autodiff's history.
        unique: whether each index is there once, in order.
        compressed: (batch..., lines + 1), where each row or column begins; None for COO.
    """

    places: Any
    unique: bool  # type: ignore[assignment]
    compressed: Any
    _sparse = True
    _by_methods = True

    def __new__(
        cls, places: Any, held: Any, shape: Any, unique: bool = False, kind: layout = sparse_coo,
        compressed: Any = None,
    ) -> Self:  # fmt: skip
        if kind is not sparse_coo:
            name = repr(kind).rpartition("_")[2].upper()
            warn_caller_once(_BETA.format(name), _BETA)
        made = object.__new__(cls)
        made.aval = unstrided(tuple(shape), held.aval.dtype, held.aval.device)
        made._node = None
        made.places, made.held, made.unique = places, held, unique
        made.compressed = compressed
        made.__dict__["_kind"] = kind
        return made

    @property
    def flat(self) -> Any:
        missing("op")

    def array(self) -> Any:
        raise TypeError(
            f"can't convert {title_of(self)} layout tensor to numpy. "
            "Use Tensor.to_dense() first."
        )

    def numpy(self, *, force: bool = False) -> Any:
        return self.array()

    # --- description -------------------------------------------------------------------------

    @property
    def layout(self) -> Any:
        return self.__dict__["_kind"]

    @property
    def is_sparse(self) -> bool:
        return self.layout is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:
        return self.layout is sparse_csr

    @property
    def grad(self) -> Any:
        """The gradient at the stored places."""
        gradient = self.held.grad
        return None if gradient is None else self.gradient(gradient)

    @grad.setter
    def grad(self, value: Any) -> None:
        self.held.grad = None if value is None else value.held

    def gradient(self, values: Any) -> Self:
        """A gradient with these values, those of repeated places, which are the same, once."""
        if self.layout is not sparse_coo or self.unique:
            return self.like(values)
        first = from_array(np.unique(keys_of(self), return_index=True)[1])
        return type(self)(self.places[:, first], values[first], self.aval.shape, True)

    @property
    def batch_dim(self) -> int:
        """How many axes count the matrices of a compressed tensor; 0 for COO."""
        return 0 if self.compressed is None else int(self.compressed.aval.ndim) - 1

    @property
    def blocksize(self) -> Any:
        """(rows, columns) of the blocks of BSR and BSC; None for other layouts."""
        form = FORMS.get(self.layout)
        at = self.batch_dim + 1
        return tuple(self.held.aval.shape[at : at + 2]) if form and form.blocks else None

    def _nnz(self) -> int:
        return int(self.held.aval.shape[self.batch_dim])

    def sparse_dim(self) -> int:
        return int(self.places.aval.shape[0])

    def dense_dim(self) -> int:
        return self.aval.ndim - self.sparse_dim() - self.batch_dim

    def contiguous(self, memory_format: Any = None) -> NoReturn:
        self._no_strides("is_contiguous")
        raise RuntimeError("unsupported memory format option Contiguous")

    def is_contiguous(self, memory_format: Any = None) -> bool:
        self._no_strides("is_contiguous")
        return False

    def stride(self, dim: int | None = None) -> Any:
        self._no_strides("strides")
        return (0,) * self.aval.ndim if dim is None else 0

    def _no_strides(self, name: str) -> None:
        if self.layout is not sparse_coo:
            kind = title_of(self)[-3:].upper()
            raise RuntimeError(f"Sparse {kind} tensors do not have {name}")

    def storage_offset(self) -> int:
        return 0

    def is_coalesced(self) -> bool:
        self._only_coo("is_coalesced")
        return self.unique

    def _only_coo(self, name: str) -> None:
        if self.layout is not sparse_coo:
            raise RuntimeError(
                f"{name} expected sparse coordinate tensor layout but got {title_of(self)}"
            )

    def _indices(self) -> Any:
        self._only_coo("_indices")
        return self.places

    def _values(self) -> Any:
        self._only_coo("_values")
        return self.held.detach()

    def indices(self) -> Any:
        """(sparse axes, nnz); only of a coalesced tensor."""
        self._only_coo("indices")
        if not self.unique:
            raise RuntimeError(
                "Cannot get indices on an uncoalesced tensor, please call .coalesce() first"
            )
        return self.places

    def values(self) -> Any:
        """(nnz, ...); of a COO tensor only when it is coalesced."""
        if self.layout is sparse_coo and not self.unique:
            raise RuntimeError(
                "Cannot get values on an uncoalesced tensor, please call .coalesce() first"
            )
        return self.held

    def _compressed_part(self, name: str, by_row: bool) -> Any:
        form = FORMS.get(self.layout)
        if form is None or form.by_row is not by_row:
            raise RuntimeError(
                f"{name} expected sparse {'row' if by_row else 'column'} compressed tensor layout "
                f"but got {title_of(self)}"
            )
        if name.startswith("c") and name != "col_indices":
            return self.compressed
        return self.places[1 if by_row else 0]

    def crow_indices(self) -> Any:
        """Where each row begins in the values, and the end."""
        return self._compressed_part("crow_indices", True)

    def col_indices(self) -> Any:
        """The column of each value."""
        return self._compressed_part("col_indices", True)

    def ccol_indices(self) -> Any:
        """Where each column begins in the values, and the end."""
        return self._compressed_part("ccol_indices", False)

    def row_indices(self) -> Any:
        """The row of each value."""
        return self._compressed_part("row_indices", False)

    # --- other forms -------------------------------------------------------------------------

    def like(self, values: Any, unique: bool | None = None) -> Self:
        """Other values at the same places."""
        same = self.unique if unique is None else unique
        return type(self)(
            self.places, values, self.aval.shape, same, self.layout, self.compressed
        )

    def nothing_stored(self) -> Self:
        """The tensor of zeros of the same layout, shape and type."""
        places = self.places[..., :0]
        held = self.held.detach()
        held = held.new_zeros([
            0 if axis == self.batch_dim else size for axis, size in enumerate(held.aval.shape)
        ])  # fmt: skip
        starts = None if self.compressed is None else self.compressed * 0
        return type(self)(places, held, self.aval.shape, True, self.layout, starts)

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        """All elements, those that are not stored as 0; repeated ones added up."""
        if self.layout is not sparse_coo:
            return expanded(self).to_dense(dtype)
        held = self.held if dtype is None else self.held.to(as_dtype(dtype))
        zeros = held.new_zeros(self.aval.shape)
        if not self.places.aval.shape[0]:
            return zeros + held.sum(0, dtype=held.aval.dtype)
        return zeros.index_put(tuple(self.places.unbind(0)), held, accumulate=True)

    def coalesce(self) -> Self:
        """Each index once and in order, the values of repeated ones added up."""
        self._only_coo("coalesce")
        if self.unique:
            return self
        places = self.places.array()
        kept, first, inverse = np.unique(keys_of(self), return_index=True, return_inverse=True)
        order = from_array(
            np.ascontiguousarray(inverse.reshape(-1)).astype(np.int64), self.held.aval.device
        )
        total = self.held.new_zeros((len(kept), *self.held.aval.shape[1:]))
        held = total.index_add(0, order, self.held)
        found = from_array(np.ascontiguousarray(places[:, first]))
        return type(self)(found, held, self.aval.shape, True)

    def to_sparse(
        self, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None,
        dense_dim: int | None = None,
    ) -> Self:  # fmt: skip
        """The tensor in another layout; COO when none is named."""
        if sparse_dim is not None and sparse_dim != self.sparse_dim():
            missing("to_sparse with other axes")
        kind = sparse_coo if layout is None else layout
        if kind is not sparse_coo:
            return self._in_layout(kind, blocksize, dense_dim)
        return self if self.layout is sparse_coo else expanded(self)

    def to_sparse_coo(self) -> Self:
        return self.to_sparse()

    def to_sparse_csr(self, dense_dim: int | None = None) -> Self:
        return self._in_layout(sparse_csr, None, dense_dim)

    def to_sparse_csc(self, dense_dim: int | None = None) -> Self:
        return self._in_layout(sparse_csc, None, dense_dim)

    def to_sparse_bsr(self, blocksize: Any, dense_dim: int | None = None) -> Self:
        return self._in_layout(sparse_bsr, blocksize, dense_dim)

    def to_sparse_bsc(self, blocksize: Any, dense_dim: int | None = None) -> Self:
        return self._in_layout(sparse_bsc, blocksize, dense_dim)

    def _in_layout(self, kind: Any, blocksize: Any, dense_dim: int | None) -> Self:
        if kind not in FORMS:
            missing(f"to {kind!r}")
        name, own = FORMS[kind].title, title_of(self)
        if dense_dim is not None:
            start = "coo_to" if self.layout is sparse_coo else "to"
            raise RuntimeError(
                f"{start}_sparse_{name[-3:].lower()}: conversion from {own} to {name} with "
                "dense_dim argument given is not supported"
            )
        if FORMS[kind].blocks is not (blocksize is not None):
            given = "without" if blocksize is None else "with"
            raise RuntimeError(
                f"to_sparse: conversion from {own} to {name} {given} blocksize argument given is "
                "not supported"
            )
        pair = (blocksize, blocksize) if isinstance(blocksize, int) else blocksize
        found: Self = compress(self, kind, None if pair is None else tuple(pair))
        return found

    def to(self, *args: Any, **kwargs: Any) -> Self:
        held = self.held.to(*args, **kwargs)
        return self if held is self.held else self.like(held)

    def type(self, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        if dtype is None:
            return self.held.type().replace("torch.", "torch.sparse.")
        return self.like(self.held.type(dtype))

    def detach(self) -> Self:
        return self.like(self.held.detach())

    data = property(detach)

    def clone(self, *, memory_format: Any = None) -> Self:
        return type(self)(
            self.places.clone(), self.held.clone(), self.aval.shape, self.unique, self.layout,
            self.compressed,
        )  # fmt: skip

    def cpu(self, memory_format: Any = None) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        found = self.like(copy.deepcopy(self.held, memo))
        memo[id(self)] = found
        return found

    def sparse_parts(self) -> tuple[Any, ...]:
        """What files hold of it."""
        if self.layout is sparse_coo:
            return self.places, self.held, self.size(), self.unique
        plain = self.places[1 if FORMS[self.layout].by_row else 0]
        return self.compressed, plain, self.held, self.size()


def _explain_methods() -> None:
    """Have the errors of wrong calls in torch's words, as the class of plain tensors has."""
    for name, method in tuple(vars(SparseBase).items()):
        if callable(method) and arguments_of(method) == ("self",) and has_method(name):
            setattr(SparseBase, name, explained(method))


_explain_methods()


def kept_at(x: Sparse, mask: SparseBase) -> Sparse:
    """Those elements of a coalesced tensor whose places another one has, too."""
    keep = from_array(np.flatnonzero(np.isin(keys_of(x), keys_of(mask))))
    return type(x)(x.places[:, keep], x.held[keep], x.aval.shape, True)
