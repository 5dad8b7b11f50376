"""Writes in place: to the places and values of a sparse tensor, and of a
sparse tensor into a dense one."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.dispatch import state
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from .._tensor.tensor import Tensor
from ._base import missing
from ._tensor import IN_PLACE_TOO, SparseTensor

_CAST = "result type {} can't be cast to the desired output type {}"
_CONVERT = "Can't convert result type {} to output {}"


def replace(x: SparseTensor, found: SparseTensor, text: str = _CAST) -> SparseTensor:
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


def _add_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    return replace(self, self.add(other, alpha=alpha), f"{_CONVERT} in add operation")


def _sub_(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    return _add_(self, other, alpha=-alpha)


def _mul_(self: Any, other: Any) -> Any:
    sparse = isinstance(other, SparseTensor)
    text = "dtype of values ({}) must match dtype of sparse tensor ({})"
    return replace(self, self.mul(other), _CONVERT if sparse else text)


def _div_(self: Any, other: Any, *, rounding_mode: Any = None) -> Any:
    return replace(self, self.div(other, rounding_mode=rounding_mode))


def _neg_(self: Any) -> Any:
    return replace(self, -self)


def _zero_(self: Any) -> Any:
    """Nothing stored."""
    places = np.zeros((self.sparse_dim(), 0), np.int64)
    held = self.held.detach().new_zeros((0, *self.held.aval.shape[1:]))
    return replace(self, SparseTensor(from_array(places), held, self.aval.shape, True))


def _copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    if not isinstance(src, SparseTensor) or self.aval.shape != src.aval.shape:
        missing("copy_ from other than a sparse tensor of the same size")
    return replace(self, src.to(self.aval.dtype).clone())


def _detach_(self: Any) -> Any:
    self.held = self.held.detach()
    return self


def _unary_(name: str) -> Any:
    def method(self: Any) -> Any:
        if self.is_sparse and not self.unique:
            raise RuntimeError(f"{name}_ requires coalesced input")
        return replace(self, self._unary(name))

    return method


def _any(self: Any, *args: Any, **kwargs: Any) -> Any:
    if args or kwargs:
        missing("any along axes")
    return self.held.any()


def _adding(dense: Any, sign: int) -> Any:
    """``dense.add_(sparse)``: only the rows stored are touched."""

    @functools.wraps(dense)
    def wrapped(self: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(other, EngineTensor) or not other._sparse:
            return dense(self, other, *args, **kwargs)
        alpha = kwargs.pop("alpha", 1)
        if args or kwargs:
            missing("add_ with these arguments")
        sparse: Any = other
        if self.aval.shape != sparse.aval.shape:
            raise RuntimeError(
                "add: expected 'self' and 'other' to have same size, but self has size "
                f"{list(self.aval.shape)} while other has size {list(sparse.aval.shape)} (FYI: "
                "dense-sparse addition does not currently support broadcasting)"
            )
        values = sparse.held if alpha * sign == 1 else sparse.held * (alpha * sign)
        places = tuple(sparse.places.unbind(0))
        return self.index_put_(places, values.to(self.aval.dtype), accumulate=True)

    return wrapped


def _plus(dense: Any) -> Any:
    @functools.wraps(dense)
    def wrapped(self: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        sparse = isinstance(other, EngineTensor) and other._sparse
        return dense(self, other.to_dense() if sparse else other, *args, **kwargs)

    return wrapped


def install() -> None:
    """Give both classes their methods."""
    own: Any = SparseTensor
    for name, method in (
        ("add_", _add_), ("sub_", _sub_), ("mul_", _mul_), ("div_", _div_), ("neg_", _neg_),
        ("zero_", _zero_), ("copy_", _copy_), ("detach_", _detach_), ("any", _any),
        ("__iadd__", _add_), ("__isub__", _sub_), ("__imul__", _mul_), ("__itruediv__", _div_),
    ):  # fmt: skip
        setattr(own, name, method)
    for name in IN_PLACE_TOO:
        setattr(own, f"{name}_", _unary_(name))
    dense: Any = Tensor
    for name, sign in (("add_", 1), ("__iadd__", 1), ("sub_", -1), ("__isub__", -1)):
        setattr(dense, name, _adding(getattr(dense, name), sign))
    for name in ("add", "sub"):
        setattr(dense, name, _plus(getattr(dense, name)))
