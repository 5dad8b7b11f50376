"""What is stored of a sparse tensor, and the layouts that it can have."""

from __future__ import annotations

import copy
from typing import Any, NoReturn, Self, TypeVar

import numpy as np

from mindtorch.engine.aval import unstrided
from mindtorch.engine.tensor import from_array

from .._api.arguments import as_dtype
from .._tensor.size_and_formats import layout, sparse_coo, sparse_csc, sparse_csr
from .._tensor.tensor import Tensor
from .._tensor.wrapper import HeldTensor

Sparse = TypeVar("Sparse", bound="SparseBase")


_LAYOUT_NAMES = {"sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc"}


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


class SparseBase(HeldTensor):
    """Places and values: what is stored of a sparse tensor, in COO, CSR or CSC.

    Attributes:
        places: (sparse axes, nnz), the index of each stored element.
        held: (nnz, ...) the stored elements, with autodiff's history.
        unique: whether each index is there once, in order.
        compressed: for CSR and CSC, where each row or column begins; None for COO.
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
            f"can't convert {_LAYOUT_NAMES[self.layout._name]} layout tensor to numpy. "
            "Use Tensor.to_dense() first."
        )

    def numpy(self, *, force: bool = False) -> Any:
        return self.array()

    # --- description -------------------------------------------------------------------------

    @property
    def layout(self) -> Any:
        return self.__dict__["_kind"]

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        return self.layout is sparse_coo

    @property
    def is_sparse_csr(self) -> bool:  # type: ignore[override]
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

    def _nnz(self) -> int:
        return int(self.held.aval.shape[0])

    def sparse_dim(self) -> int:
        return int(self.places.aval.shape[0])

    def dense_dim(self) -> int:
        return self.aval.ndim - self.sparse_dim()

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return False

    def stride(self, dim: int | None = None) -> Any:
        return (0,) * self.aval.ndim if dim is None else 0

    def storage_offset(self) -> int:
        return 0

    def is_coalesced(self) -> bool:
        self._only_coo("is_coalesced")
        return self.unique

    def _only_coo(self, name: str) -> None:
        if self.layout is not sparse_coo:
            kind = _LAYOUT_NAMES[self.layout._name]
            raise RuntimeError(
                f"{name} expected sparse coordinate tensor layout but got {kind}"
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

    def _compressed_part(self, name: str, kind: Any, place: int | None) -> Any:
        if self.layout is not kind:
            raise RuntimeError(
                f"{name} expected sparse {'row' if kind is sparse_csr else 'column'} compressed "
                f"tensor layout but got {self.layout._name}"
            )
        return self.compressed if place is None else self.places[place]

    def crow_indices(self) -> Any:
        """Where each row begins in the values, and the end."""
        return self._compressed_part("crow_indices", sparse_csr, None)

    def col_indices(self) -> Any:
        """The column of each value."""
        return self._compressed_part("col_indices", sparse_csr, 1)

    def ccol_indices(self) -> Any:
        """Where each column begins in the values, and the end."""
        return self._compressed_part("ccol_indices", sparse_csc, None)

    def row_indices(self) -> Any:
        """The row of each value."""
        return self._compressed_part("row_indices", sparse_csc, 0)

    # --- other forms -------------------------------------------------------------------------

    def like(self, values: Any, unique: bool | None = None) -> Self:
        """Other values at the same places."""
        same = self.unique if unique is None else unique
        return type(self)(
            self.places, values, self.aval.shape, same, self.layout, self.compressed
        )

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
        """All elements, those that are not stored as 0; repeated ones added up."""
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

    def to_sparse(self, sparse_dim: Any = None, **options: Any) -> Self:
        """The tensor in another layout; COO when none is named."""
        kind = options.pop("layout", sparse_coo)
        if options or sparse_dim is not None:
            missing("to_sparse")
        if kind is self.layout:
            return self
        if kind is sparse_coo:
            return type(self)(self.places, self.held, self.aval.shape, self.layout is sparse_csr)
        return compress(self, kind)

    def to_sparse_coo(self) -> Self:
        return self.to_sparse()

    def to_sparse_csr(self, dense_dim: int | None = None) -> Self:
        return self._compressed("Csr", sparse_csr, dense_dim)

    def to_sparse_csc(self, dense_dim: int | None = None) -> Self:
        return self._compressed("Csc", sparse_csc, dense_dim)

    def _compressed(self, name: str, kind: Any, dense_dim: int | None) -> Self:
        if dense_dim is not None:
            raise RuntimeError(
                f"coo_to_sparse_{name.lower()}: conversion from Sparse to Sparse{name} with "
                "dense_dim argument given is not supported"
            )
        return self.to_sparse(layout=kind)

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
        plain = self.places[1 if self.layout is sparse_csr else 0]
        return self.compressed, plain, self.held, self.size()


def kept_at(x: Sparse, mask: SparseBase) -> Sparse:
    """Those elements of a coalesced tensor whose places another one has, too."""
    keep = from_array(np.flatnonzero(np.isin(keys_of(x), keys_of(mask))))
    return type(x)(x.places[:, keep], x.held[keep], x.aval.shape, True)


def compress(x: Sparse, kind: Any) -> Sparse:
    """A matrix of COO, CSR or CSC in CSR or CSC."""
    if x.aval.ndim != 2 or x.sparse_dim() != 2:
        missing(f"to {kind!r} of other than matrices")
    source = (x if x.layout is sparse_coo else x.to_sparse()).coalesce()
    rows, columns = source.places.array()
    lead, length = (rows, x.aval.shape[0]) if kind is sparse_csr else (columns, x.aval.shape[1])
    order = np.lexsort((columns, rows) if kind is sparse_csr else (rows, columns))
    starts = np.concatenate([[0], np.cumsum(np.bincount(lead, minlength=length))]).astype(np.int64)
    chosen = from_array(order.astype(np.int64))
    return type(x)(
        source.places[:, chosen], source.held[chosen], x.aval.shape, True, kind, from_array(starts)
    )
