"""Writes in place: to the places and values of a sparse tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.aval import unstrided
from mindtorch.engine.dispatch import state
from mindtorch.engine.tensor import from_array

from .._api.arguments import as_shape
from ._base import SparseBase, missing

_CAST = "result type {} can't be cast to the desired output type {}"
_CONVERT = "Can't convert result type {} to output {}"


def replace(x: Any, found: Any, text: str = _CAST) -> Any:
    """Give ``x`` the content of ``found``; a leaf that requires grad refuses.

    Args:
        text: torch's error, of both types, where ``x`` cannot take the type of ``found``.
    """
    if x.requires_grad and state.grad_enabled and x.held.is_leaf:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )
    kind, own = found.aval.dtype, x.aval.dtype
    if kind is not own:
        if not dtypes.can_cast(kind, own):
            raise RuntimeError(text.format(*map(dtypes.scalar_type_name, (kind, own))))
        found = found.to(own)
    x.places, x.held, x.unique = found.places, found.held, found.unique
    x.compressed = found.compressed
    return x


def _checked_size(
    name: str, x: Any, size: Any, sparse_dim: int, dense_dim: int
) -> tuple[int, ...]:
    x._only_coo(name)
    shape = as_shape((size,))
    if len(shape) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, "
            f"sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    return shape


_OTHER_WAYS = (
    " on a non-empty sparse tensor is not supported.\nYou could try the following options:\n"
    "1. If you need an empty sparse tensor of this size, call `x = torch.sparse_coo_tensor(size)`."
    "\n2. If you need to resize this tensor, you have the following options:\n"
)


def _check_growth(x: Any, shape: tuple[int, ...], sparse_dim: int, dense_dim: int) -> None:
    """What torch refuses for a tensor with elements."""
    for kind, own, wanted in (("sparse", x.sparse_dim(), sparse_dim),
                              ("dense", x.dense_dim(), dense_dim)):  # fmt: skip
        if own != wanted:
            raise RuntimeError(
                f"changing the number of {kind} dimensions (from {own} to {wanted}){_OTHER_WAYS}"
            )
    for kind, axes in (("sparse", slice(sparse_dim)), ("dense", slice(sparse_dim, None))):
        old, new = x.aval.shape[axes], shape[axes]
        if any(a > b for a, b in zip(old, new, strict=True)):
            raise RuntimeError(
                f"shrinking the size of {kind} dimensions (from {list(old)} to {list(new)})"
                f"{_OTHER_WAYS}"
            )


class SparseWriting(SparseBase):
    """The methods of a sparse tensor that write over it."""

    def add_(self, other: Any, *, alpha: Any = 1) -> Any:
        found = self.add(other, alpha=alpha)
        return replace(self, found, f"{_CONVERT} in add operation")

    def sub_(self, other: Any, *, alpha: Any = 1) -> Any:
        return self.add_(other, alpha=-alpha)

    def mul_(self, other: Any) -> Any:
        sparse = isinstance(other, SparseBase)
        text = "dtype of values ({}) must match dtype of sparse tensor ({})"
        return replace(self, self.mul(other), _CONVERT if sparse else text)

    def div_(self, other: Any, *, rounding_mode: Any = None) -> Any:
        return replace(self, self.div(other, rounding_mode=rounding_mode))

    def neg_(self) -> Any:
        return replace(self, -self)

    def zero_(self) -> Any:
        """Nothing stored."""
        return replace(self, self.nothing_stored())

    def copy_(self, src: Any, non_blocking: bool = False) -> Any:
        if not isinstance(src, SparseBase) or self.aval.shape != src.aval.shape:
            missing("copy_ from other than a sparse tensor of the same size")
        return replace(self, src.to(self.aval.dtype).clone())

    def sparse_resize_(self, size: Any, sparse_dim: int, dense_dim: int) -> Any:
        """Another shape for the elements stored: axes that grow, or any where nothing is stored."""
        shape = _checked_size("sparse_resize_", self, size, sparse_dim, dense_dim)
        if self._nnz():
            _check_growth(self, shape, sparse_dim, dense_dim)
        return self._with_size(shape, sparse_dim, self._nnz())

    def sparse_resize_and_clear_(self, size: Any, sparse_dim: int, dense_dim: int) -> Any:
        """Another shape, with nothing stored."""
        shape = _checked_size("sparse_resize_and_clear_", self, size, sparse_dim, dense_dim)
        return self._with_size(shape, sparse_dim, 0)

    def _with_size(self, shape: tuple[int, ...], sparse_dim: int, nnz: int) -> Any:
        places = from_array(np.zeros((sparse_dim, 0), np.int64)) if nnz == 0 else self.places
        held = self.held.new_zeros((nnz, *shape[sparse_dim:]))
        if nnz:
            corner = tuple(slice(0, n) for n in self.held.aval.shape)
            held[corner] = self.held.detach()
        self.aval = unstrided(shape, held.aval.dtype, held.aval.device)
        return replace(self, type(self)(places, held, shape, self.unique or nnz == 0))

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError("Cannot assign to a sparse tensor")

    def detach_(self) -> Any:
        self.held = self.held.detach()
        return self

    __iadd__, __isub__, __imul__, __itruediv__ = add_, sub_, mul_, div_
