"""Writes in place: to the places and values of a sparse tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.dispatch import state
from mindtorch.engine.tensor import from_array

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
        places = np.zeros((self.sparse_dim(), 0), np.int64)
        held = self.held.detach().new_zeros((0, *self.held.aval.shape[1:]))
        return replace(self, type(self)(from_array(places), held, self.aval.shape, True))

    def copy_(self, src: Any, non_blocking: bool = False) -> Any:
        if not isinstance(src, SparseBase) or self.aval.shape != src.aval.shape:
            missing("copy_ from other than a sparse tensor of the same size")
        return replace(self, src.to(self.aval.dtype).clone())

    def detach_(self) -> Any:
        self.held = self.held.detach()
        return self

    __iadd__, __isub__, __imul__, __itruediv__ = add_, sub_, mul_, div_
