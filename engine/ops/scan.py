"""Running sums, products and extremes along an axis."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .. import dtypes
from ..aval import Aval, aval
from ..dispatch import state
from ..dtype_support import without
from ..op import Op
from ..tensor import constant, from_array, full_flat
from .comparison import greater, where
from .elementwise import add, conj, divide, exp, log, multiply, negative, subtract
from .indexing import scatter_add
from .movement import cast, cat, expand, flip, transpose, unsqueeze, zeros_like_aval
from .reduction import prod_gradient, sum_


def _summed(x: Aval, *, axis: int) -> Aval:
    dtype = dtypes.int64 if x.dtype.category < dtypes.FLOAT else x.dtype
    return aval(x.shape, dtype, None, x.device)


def _running_total(x: Aval, *, axis: int, reverse: bool) -> Aval:
    return _summed(x, axis=axis)


# each element and those before it, or, with reverse, those after it
cumsum = Op("cumsum", _running_total, "cumulative.cumsum",
            vjp=lambda g, axis, reverse: cumsum(g, axis=axis, reverse=not reverse),
            autocast_cuda="full")  # fmt: skip


def _cumprod_vjp(g: Any, x: Any, out: Any, axis: int) -> Any:
    """A kernel that allows for zeros; while the pass itself is recorded, ops: quotients where
    nothing is zero."""
    if state.grad_enabled and not state.interpreters and not x.flat.all() and x.aval.ndim:
        return _cumprod_by_rows(g, x, axis)
    if state.grad_enabled:
        return divide(cumsum(multiply(g, conj(out)), axis=axis, reverse=True), conj(x))
    return cumprod_gradient(g, conj(x), axis=axis)


def _cumprod_by_rows(g: Any, x: Any, axis: int) -> Any:
    """The gradient by way of one product for each place of the result."""
    ndim = x.aval.ndim
    inner = transpose(x, axis, -1)
    size = x.aval.shape[axis]
    below = from_array(np.tri(size, dtype=np.bool_), x.aval.device)
    rows = where(below, unsqueeze(inner, axis=ndim - 1), constant(1))
    slopes = prod_gradient(transpose(g, axis, -1), rows, (ndim,), False)
    total = sum_(where(below, slopes, constant(0)), axis=(ndim - 1,), keepdims=False)
    return transpose(total, axis, -1)


cumprod = Op("cumprod", _summed, "cumulative.cumprod", vjp=(_cumprod_vjp,), autocast_cuda="full")
# for each i the sum over k >= i of x[k] * (product of y[0..k] without y[i])
cumprod_gradient = Op(
    "cumprod_gradient",
    lambda x, y, *, axis: aval(y.shape, x.dtype, None, y.device),
    "cumulative.cumprod_gradient",
)


def _logcumsumexp_vjp(g: Any, x: Any, out: Any, axis: int) -> Any:
    """The sum over k >= i of ``g[k] exp(x[i] - out[k])``, added up as logarithms."""
    if x.aval.dtype.is_complex:
            return exp(add(_from_the_end(subtract(log(g), conj(out)), axis), conj(x)))
    zero, one = constant(0), constant(1)
    least = constant(float(ml_dtypes.finfo(x.aval.dtype.np).min))

    def of_sign(part: Any) -> Any:
        positive = greater(part, zero)
        logarithm = where(positive, log(where(positive, part, one)), least)
        return exp(add(_from_the_end(subtract(logarithm, out), axis), x))

    return subtract(of_sign(g), of_sign(negative(g)))


def _from_the_end(x: Any, axis: int) -> Any:
    if not x.aval.ndim:
        return x
    return flip(logcumsumexp(flip(x, axes=(axis,)), axis=axis), axes=(axis,))


logcumsumexp = Op(
    "logcumsumexp",
    _summed,
    "cumulative.logcumsumexp",
    vjp=(_logcumsumexp_vjp,),
    dtypes=without("whole", "logcumsumexp_out_cpu"),
)


def _extreme_aval(x: Aval, *, axis: int) -> Any:
    return aval(x.shape, x.dtype, None, x.device), aval(x.shape, dtypes.int64, None, x.device)


def _extreme_vjp(g: Any, out1: Any, avals: Any, axis: int) -> Any:
    return scatter_add(zeros_like_aval(avals[0]), out1, g[0], axis=axis)


# (running extreme, the last place where it was met)
cummax = Op("cummax", _extreme_aval, "cumulative.cummax", vjp=_extreme_vjp)
cummin = Op("cummin", _extreme_aval, "cumulative.cummin", vjp=_extreme_vjp)


def powers(x: Any, count: int) -> Any:
    """The powers 0, 1, ..., count - 1 of each element along a last axis, as running products."""
    if x.aval.dtype.category < dtypes.FLOAT:
        x = cast(x, dtype=dtypes.int64)
    shape, axis = x.aval.shape, x.aval.ndim
    ones: Any = full_flat((*shape, 1), x.aval.dtype, 1)
    if count == 1:
        return ones
    factors = expand(unsqueeze(x, axis=axis), shape=(*shape, count - 1))
    return cat(ones, cumprod(factors, axis=axis), axis=axis)
