"""Functions of the namespace that sparse tensors have, too: led to their methods.

The wrappers are put in place when torch.sparse is first used, so that dense tensors pay nothing
in programs without sparse ones.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import mindtorch.torch as torch
from mindtorch.engine.ops.embedding import sparse_makers
from mindtorch.engine.tensor import from_array

from .._api.arguments import normalize_axis
from .._api.publish import FUNCTIONS, answered, first_given, method_of, put_over
from .._tensor.size_and_formats import sparse_coo, strided
from .._tensor.tensor import Tensor
from ..nn import functional
from . import _inplace
from ._base import compress, missing
from ._products import matmul, title_of
from ._tensor import UNARY, SparseTensor

_METHODS = (
    *UNARY, "add", "clone", "div", "floor_divide", "index_select", "mul", "neg", "norm", "pow",
    "sub", "sum", "t", "transpose", "unsqueeze",
)  # fmt: skip
_PRODUCTS = ("matmul", "mm", "mv")
_LIKE = ("empty_like", "full_like", "ones_like", "rand_like", "randn_like")
_OTHER_LAYOUT = (
    "empty_like with different sparse layout is not supported (self is {} but you requested {})"
)
_NOT_OF_MATRICES = {"rand_like"}  # random numbers of CSR and CSC are normal ones


def _dense_second(function: Any) -> Any:
    """The answer for a function of a dense tensor and a sparse one."""

    def answer(args: Any, kwargs: Any) -> Any:
        if len(args) > 1 and isinstance(args[1], SparseTensor):
            return function(args[0], args[1].to_dense(), *args[2:], **kwargs)
        if isinstance(kwargs.get("other"), SparseTensor):
            return function(*args, **kwargs | {"other": kwargs["other"].to_dense()})
        return NotImplemented

    return answer


def _product(args: Any, kwargs: Any) -> Any:
    """The answer for products of matrices."""
    named = {**kwargs}
    operands = [named.pop("input"), *args] if "input" in named else [*args]
    operands += named.values()
    if not any(isinstance(x, SparseTensor) for x in operands):
        return NotImplemented
    if "out" in named:
        missing("products with out=")
    return matmul(*operands)


def _join(stacked: bool) -> Any:
    """The answer for cat, and for stack."""

    def answer(args: Any, kwargs: Any) -> Any:
        tensors = first_given(args, kwargs, "tensors")
        several = isinstance(tensors, (tuple, list)) and len(tensors) > 0
        if not several or not any(isinstance(x, SparseTensor) for x in tensors):
            return NotImplemented
        dim = args[1] if len(args) > 1 else kwargs.get("dim", kwargs.get("axis", 0))
        _check_sparse(tensors)
        parts = [x.unsqueeze(dim) for x in tensors] if stacked else list(tensors)
        return _joined(parts, dim)

    return answer


def _check_sparse(tensors: Any) -> None:
    for i, x in enumerate(tensors):
        if not isinstance(x, SparseTensor):
            raise RuntimeError(
                f"Concatenating sparse tensors, but a dense tensor was found at position {i}."
            )


def _check_joined(parts: list[SparseTensor], dim: int) -> None:
    """torch's errors for tensors that do not fit one another."""
    first = parts[0]
    split, axis = (first.sparse_dim(), first.dense_dim()), normalize_axis(dim, first.aval.ndim)
    for i, x in enumerate(parts):
        if (x.sparse_dim(), x.dense_dim()) != split:
            raise RuntimeError(
                f"All tensors must have the same sparse_dim and dense_dim: {split[0]}, {split[1]}, "
                f"but tensor at position {i} has {x.sparse_dim()}, {x.dense_dim()}."
            )
        pairs = zip(x.aval.shape, first.aval.shape, strict=True)
        if any(a != b for d, (a, b) in enumerate(pairs) if d != axis):
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.aval.shape)} (except in the "
                f"concatenating dimension), but found shape: {list(x.aval.shape)} at position {i}."
            )


def _joined(parts: list[SparseTensor], dim: int) -> SparseTensor:
    """Tensors one after another along a sparse axis."""
    _check_joined(parts, dim)
    axis = normalize_axis(dim, parts[0].aval.ndim)
    if axis >= parts[0].sparse_dim():
        missing("cat along dense axes")
    moved: list[Any] = []
    begin = 0
    for part in parts:
        places = part.places.array().copy()
        places[axis] += begin
        begin += part.aval.shape[axis]
        moved.append(from_array(places))
    shape = list(parts[0].aval.shape)
    shape[axis] = begin
    return SparseTensor(torch.cat(moved, 1), torch.cat([p.held for p in parts]), shape)


def _zeros_like(function: Any) -> Any:
    def answer(args: Any, kwargs: Any) -> Any:
        x = first_given(args, kwargs, "input")
        if not isinstance(x, SparseTensor):
            return NotImplemented
        kind = kwargs.get("layout") or x.layout
        if kind is strided:
            if not x.is_sparse:
                raise RuntimeError(_OTHER_LAYOUT.format(title_of(x), "Strided"))
            return function(x.to_dense(), **{k: v for k, v in kwargs.items() if k != "input"})
        places = np.zeros((x.sparse_dim(), 0), np.int64)
        held = x.held.detach().new_zeros((0, *x.held.aval.shape[1:]))
        made = SparseTensor(from_array(places), held, x.aval.shape, True)
        if kwargs.get("dtype") is not None:
            made = made.to(kwargs["dtype"])
        return made if kind is sparse_coo else compress(made, kind)

    return answer


def _stored_like(name: str, function: Any) -> Any:
    """New values at the places that a matrix in CSR or CSC stores; COO tensors refuse."""

    def answer(args: Any, kwargs: Any) -> Any:
        x = first_given(args, kwargs, "input")
        if not isinstance(x, SparseTensor):
            return NotImplemented
        if x.is_sparse or name in _NOT_OF_MATRICES:
            missing(name)
        kwargs.pop("input", None)
        kind = kwargs.pop("layout", None) or x.layout
        if kind is not x.layout:
            wanted = kind._name.title().replace("_", "")
            raise RuntimeError(_OTHER_LAYOUT.format(title_of(x), wanted))
        return x.like(function(x.held.detach(), *args[1:], **kwargs))

    return answer


def install() -> None:
    """Put the wrappers into the namespace, and what dense tensors do with sparse ones into the
    class."""
    _inplace.install()
    sparse_makers.append(SparseTensor)
    namespace = sys.modules[__package__.rpartition(".")[0]].__dict__
    answers: list[tuple[str, Any]] = [
        *((name, _dense_second(FUNCTIONS[name])) for name in _METHODS),
        *((name, method_of(SparseTensor, name)) for name in _METHODS),
        *((name, _product) for name in _PRODUCTS),
        *((name, _stored_like(name, FUNCTIONS[name])) for name in _LIKE),
        ("zeros_like", _zeros_like(FUNCTIONS["zeros_like"])),
        ("cat", _join(stacked=False)),
        ("stack", _join(stacked=True)),
    ]
    for name, answer in answers:
        FUNCTIONS[name] = answered(FUNCTIONS[name], answer)
        put_over(namespace, name, FUNCTIONS[name])
    for name in _PRODUCTS:
        setattr(Tensor, name, answered(getattr(Tensor, name), _product))
    relu = answered(functional.relu, method_of(SparseTensor, "relu"))
    put_over(vars(functional), "relu", relu)
