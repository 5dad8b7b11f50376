"""Ops that fold axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..aval import Aval, Shape, aval
from ..dispatch import state
from ..dtype_support import without
from ..op import Op
from ..stored_types import computes
from ..tensor import Tensor, constant, from_array
from .base import Reduction, reduced_shape
from .comparison import equal, is_nan, logical_and, logical_or, where
from .elementwise import (
    absolute,
    conj,
    divide,
    exp,
    multiply,
    op_of_power,
    power,
    sgn,
    sign,
    subtract,
)
from .movement import expand, permute, reshape, unsqueeze, zeros_like_aval


def restore_axes(g: Any, shape: Shape, axis: tuple[int, ...]) -> Any:
    """``g`` of a reduction over ``axis`` with these axes put back as length 1."""
    return reshape(g, tuple(1 if i in axis else n for i, n in enumerate(shape)))


def _over_axes(kind: str) -> Callable[[Any, Any], str]:
    """torch has one node for all elements and another for some axes."""
    return lambda avals, params: f"{kind}Backward{int(len(params['axis']) < len(avals[0].shape))}"


def _sum_vjp(g: Any, avals: Any, axis: Any, keepdims: bool) -> Any:
    if not keepdims:
        g = restore_axes(g, avals[0].shape, axis)
    return expand(g, shape=avals[0].shape)


sum_ = Reduction(
    "sum", _sum_vjp, result="sum", autocast_cuda="full", grad_name=_over_axes("Sum"),
    combined="sum",
)  # fmt: skip


def _mean_vjp(g: Any, avals: Any, axis: Any, keepdims: bool) -> Any:
    count = 1
    for i in axis:
        count *= avals[0].shape[i]
    return divide(_sum_vjp(g, avals, axis, keepdims), constant(max(count, 1)))


mean = Reduction("mean", _mean_vjp, grad_name=_over_axes("Mean"), combined="avg")


def _extreme_vjp(g: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The gradient is shared evenly between equal extremes.

    Where nan is the extreme: between all nan if it is that of all elements, else it is nan.
    """
    whole = not keepdims and len(axis) == x.aval.ndim and x.aval.dtype.category >= dtypes.FLOAT
    if not keepdims:
        g = restore_axes(g, x.aval.shape, axis)
        out = restore_axes(out, x.aval.shape, axis)
    hit = equal(x, out)
    if whole:
        hit = logical_or(hit, logical_and(is_nan(x), is_nan(out)))
    kept = where(hit, g, constant(0))
    return divide(kept, sum_(hit, axis=axis, keepdims=True))


amax = Reduction(
    "amax", _extreme_vjp, dtypes=without("complex", "max_values_cpu"), combined="max"
)
amin = Reduction(
    "amin", _extreme_vjp, dtypes=without("complex", "min_values_cpu"), combined="min"
)


def prod_gradient(g: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """g times the product of the other factors: prod(x) / x, by products where one is zero."""
    if not keepdims:
        g = restore_axes(g, x.aval.shape, axis)
    zero = equal(x, constant(0))
    if state.grad_enabled and not state.interpreters and zero.flat.any():
        return multiply(g, conj(_products_without(x, axis)))
    filled = where(zero, constant(1), x)
    others = _product(filled, axis)
    zeros = sum_(zero, axis=axis, keepdims=True)
    at_zero = where(equal(zeros, constant(1)), others, constant(0))
    rest = where(equal(zeros, constant(0)), divide(others, filled), constant(0))
    return multiply(g, conj(where(zero, at_zero, rest)))


def _prod_vjp(g: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return prod_gradient(g, x, axis, keepdims)


def _products_without(x: Any, axis: Any) -> Any:
    """For each element the product of the others, each computed as a product: right to any order
    of derivative."""
    shape = x.aval.shape
    order = (*[i for i in range(len(shape)) if i not in axis], *axis)
    inner = permute(x, axes=order)
    kept, folded = inner.aval.shape[: -len(axis)], inner.aval.shape[-len(axis) :]
    size = math.prod(folded)
    rows = reshape(inner, (*kept, 1, size))
    others = where(from_array(np.eye(size, dtype=np.bool_), x.aval.device), constant(1), rows)
    products = prod(others, axis=(len(kept) + 1,), keepdims=False)
    back = tuple(order.index(i) for i in range(len(shape)))
    return permute(reshape(products, (*kept, *folded)), axes=back)


def _product(x: Any, axis: Any) -> Any:
    return prod(x, axis=axis, keepdims=True)


prod = Reduction(
    "prod", _prod_vjp, result="sum", autocast_cuda="full", grad_name=_over_axes("Prod"),
    combined="product",
)  # fmt: skip
any_ = Reduction("any", result="bool")
all_ = Reduction("all", result="bool")


def _index_aval(x: Any, *, axis: int | None, keepdims: bool) -> Any:
    axes = tuple(range(x.ndim)) if axis is None else ((axis,) if x.ndim else ())
    return aval(reduced_shape(x.shape, axes, keepdims), dtypes.int64, None, x.device)


# the first place of the extreme (nan counts as extreme); axis None: in the flattened input
argmax = Op("argmax", _index_aval, "sort.argmax")
argmin = Op("argmin", _index_aval, "sort.argmin")


def _value_and_index(x: Any, *, axis: int, keepdims: bool) -> Any:
    shape = reduced_shape(x.shape, (axis,) if x.ndim else (), keepdims)
    return aval(shape, x.dtype, None, x.device), aval(shape, dtypes.int64, None, x.device)


def chosen_vjp(g: Any, out1: Any, avals: Any, axis: int, keepdims: bool) -> Any:
    """The gradient goes to the one element that was chosen."""
    slope, index = g[0], out1
    if not keepdims and avals[0].ndim:
        slope, index = unsqueeze(slope, axis=axis), unsqueeze(index, axis=axis)
    return indexing.scatter_add(zeros_like_aval(avals[0]), index, slope, axis=axis)


# (values, indices) of the first extreme along one axis
max_with_index = Op(
    "max_dim", _value_and_index, "sort.max_with_index", vjp=chosen_vjp, grad_name="MaxBackward0"
)
min_with_index = Op(
    "min_dim", _value_and_index, "sort.min_with_index", vjp=chosen_vjp, grad_name="MinBackward0"
)
median_with_index = Op(
    "median_dim", _value_and_index, "sort.median_with_index", vjp=chosen_vjp,
    grad_name="MedianBackward1",
    dtypes=without("bool", "median_cpu"),
)  # fmt: skip
nanmedian_with_index = Op(
    "nanmedian_dim", _value_and_index, "sort.nanmedian_with_index", vjp=chosen_vjp,
    grad_name="NanmedianBackward1",
    dtypes=without("bool", "median_cpu"),
)  # fmt: skip
mode_with_index = Op(
    "mode", _value_and_index, "sort.mode_with_index", vjp=chosen_vjp
)


def _spread_aval(x: Any, *, axis: Any, correction: float, keepdims: bool) -> Any:
    return aval(reduced_shape(x.shape, axis, keepdims), x.dtype.to_real(), None, x.device)


def _freedom(shape: Shape, axis: Any, correction: float) -> float:
    count = 1
    for i in axis:
        count *= shape[i]
    return max(count - correction, 0)


def _var_vjp(g: Any, x: Any, axis: Any, correction: float, keepdims: bool) -> Any:
    if not keepdims:
        g = restore_axes(g, x.aval.shape, axis)
    freedom = _freedom(x.aval.shape, axis, correction)
    factor = 2 / freedom if freedom else float("inf")
    centred = subtract(x, mean(x, axis=axis, keepdims=True))
    return multiply(multiply(g, constant(factor)), centred)


var = Op("var", _spread_aval, "cumulative.var", vjp=(_var_vjp,))


def _std_vjp(g: Any, x: Any, out: Any, axis: Any, correction: float, keepdims: bool) -> Any:
    halved = divide(g, multiply(out, constant(2)))
    slope = where(equal(out, constant(0)), constant(0), halved)
    return _var_vjp(slope, x, axis, correction, keepdims)


std = Op("std", _spread_aval, "cumulative.std", vjp=(_std_vjp,))


def _norm_aval(x: Any, *, order: float, axis: Any, keepdims: bool) -> Any:
    return aval(reduced_shape(x.shape, axis, keepdims), x.dtype.to_real(), None, x.device)


def _norm_vjp(g: Any, x: Any, out: Any, order: float, axis: Any, keepdims: bool) -> Any:
    if not keepdims:
        g = restore_axes(g, x.aval.shape, axis)
        out = restore_axes(out, x.aval.shape, axis)
    direction = sgn(x) if x.aval.dtype.is_complex else sign(x)
    zero, infinite = constant(0), constant(float("inf"))
    if order == 0:
        return None
    if order == 1:
        return multiply(direction, g)
    if order == 2:  # where the norm is 0, so is x
        return multiply(g, divide(x, where(equal(out, zero), infinite, out)))
    size = absolute(x)
    if order in (float("inf"), float("-inf")):
        hit = logical_or(equal(size, out), is_nan(size))
        share = divide(g, sum_(hit, axis=axis, keepdims=True))
        return multiply(direction, multiply(share, hit))
    if order < 1:
        steep = where(equal(size, zero), zero, _raised(size, order - 1))
        scaled = multiply(multiply(direction, steep), g)
        return multiply(scaled, _raised(out, 1 - order))
    if order < 2:
        steep = multiply(direction, _raised(size, order - 1))
    else:
        steep = multiply(x, _raised(size, order - 2))
    scale = divide(g, _raised(out, order - 1))
    return multiply(steep, where(equal(out, zero), zero, scale))


def _raised(x: Any, exponent: float) -> Any:
    """``x ** exponent`` as PyTorch's loops compute it."""
    op = op_of_power(x, exponent)
    return power(x, constant(exponent)) if op is None else op(x)


# (sum of abs(x) ** order) ** (1 / order)
vector_norm = Op(
    "linalg_vector_norm",
    _norm_aval,
    "cumulative.vector_norm",
    vjp=(_norm_vjp,),
    autocast_cuda="full",
)


def _logsumexp_vjp(g: Any, x: Any, out: Any, axis: Any, keepdims: bool) -> Any:
    if not keepdims:
        g = restore_axes(g, x.aval.shape, axis)
        out = restore_axes(out, x.aval.shape, axis)
    slope = exp(subtract(x, out))
    if slope.aval.dtype.is_complex:
        slope = conj(slope)
    return multiply(g, slope)


logsumexp = Op(
    "logsumexp",
    lambda x, *, axis, keepdims: aval(
        reduced_shape(x.shape, axis, keepdims), x.dtype, None, x.device
    ),
    "cumulative.logsumexp",
    vjp=(_logsumexp_vjp,),
    autocast_cuda="full",
)


def sum_to(x: Tensor, shape: Shape) -> Tensor:
    """The sum of ``x`` over the axes along which ``shape`` was broadcast to it."""
    extra = x.aval.ndim - len(shape)
    axis = tuple(range(extra)) + tuple(
        i + extra for i, n in enumerate(shape) if n == 1 and x.aval.shape[i + extra] != 1
    )
    if axis:
        x = sum_(x, axis=axis, keepdims=False)
    if x.aval.shape != shape:
        x = reshape(x, shape)
    return x


def scaled(x: Tensor, factor: float) -> Tensor:
    return x if factor == 1 else multiply(x, constant(factor))


def _hashed(x: Aval, *, axis: tuple[int, ...], keepdims: bool) -> Aval:
    if x.dtype.is_complex:
        kind = dtypes.scalar_type_name(x.dtype)
        raise NotImplementedError(f"\"xor_sum_cpu\" not implemented for '{kind}'")
    return aval(reduced_shape(x.shape, axis, keepdims), dtypes.uint64, None, x.device)


# the exclusive or of the elements' bits as float64 or int64
xor_sum = Op("xor_sum", _hashed, "reduction.xor_sum")

from . import indexing  # noqa: E402 - which is made of these

# what element types that are stored alone have of these ops
computes("both", any_, all_)
computes("complex", var, std, vector_norm)
