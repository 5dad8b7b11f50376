"""Running results along an axis, and the spread and norm of whole axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_quiet = np.errstate(all="ignore")  # infinities and NaN are results like others


def _wide(x: Any) -> Any:
    """Half precision is summed in single precision."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x


@_quiet
def cumsum(out: Any, x: Any, *, axis: int) -> None:
    """``out[i] = x[0] + ... + x[i]`` along ``axis``."""
    if not x.ndim:
        out[...] = x
    else:
        out[...] = np.cumsum(_wide(x), axis, dtype=_accumulator(out))


@_quiet
def cumprod(out: Any, x: Any, *, axis: int) -> None:
    """``out[i] = x[0] * ... * x[i]`` along ``axis``."""
    if not x.ndim:
        out[...] = x
    else:
        out[...] = np.cumprod(_wide(x), axis, dtype=_accumulator(out))


def _accumulator(out: Any) -> Any:
    kinds = {"float32": np.float64, "float16": np.float32, "bfloat16": np.float32,
             "complex64": np.complex128}  # fmt: skip
    return kinds.get(out.dtype.name, out.dtype)


@_quiet
def cumprod_gradient(out: Any, g: Any, x: Any, *, axis: int) -> None:
    """``out[i]`` = sum over k >= i of ``g[k]`` times the product of ``x[0..k]`` but ``x[i]``."""
    if not x.ndim:
        out[...] = g
        return
    wide: Any = np.complex128 if x.dtype.kind == "c" else np.float64
    values, slopes = np.moveaxis(x, axis, -1).astype(wide), np.moveaxis(g, axis, -1).astype(wide)
    before = np.ones_like(values)
    before[..., 1:] = np.cumprod(values, -1)[..., :-1]
    target = np.moveaxis(out, axis, -1)
    after = np.zeros(values.shape[:-1], wide)
    for i in range(values.shape[-1] - 1, -1, -1):
        # after: the sum over k > i of g[k] * x[i + 1] * ... * x[k]
        target[..., i] = (before[..., i] * (slopes[..., i] + after)).astype(out.dtype)
        after = (slopes[..., i] + after) * values[..., i]


@_quiet
def logcumsumexp(out: Any, x: Any, *, axis: int) -> None:
    """``out[i] = log(exp(x[0]) + ... + exp(x[i]))``."""
    if not x.ndim:
        out[...] = x
        return
    if x.dtype.kind == "c":
        from .elementwise import _complex_logaddexp

        total = np.moveaxis(x.astype(np.complex128), axis, 0)
        for i in range(1, len(total)):
            total[i] = _complex_logaddexp(total[i - 1], total[i])
        out[...] = np.moveaxis(total, 0, axis)
        return
    out[...] = np.logaddexp.accumulate(x.astype(np.float64), axis).astype(out.dtype)


def cummax(outs: Any, x: Any, *, axis: int) -> None:
    """The running maximum and the last place where it was met; nan stays."""
    _running(outs, x, axis, np.maximum)


def cummin(outs: Any, x: Any, *, axis: int) -> None:
    """The running minimum and the last place where it was met; nan stays."""
    _running(outs, x, axis, np.minimum)


def _running(outs: Any, x: Any, axis: int, extreme: Any) -> None:
    values, indices = outs
    if not x.ndim:
        values[...] = x
        indices[...] = 0
        return
    running = extreme.accumulate(x, axis)
    values[...] = running
    met = x == running
    if x.dtype.kind in "fV":
        met |= np.isnan(x)
    shape = [1] * x.ndim
    shape[axis] = -1
    places = np.where(met, np.arange(x.shape[axis]).reshape(shape), 0)
    indices[...] = np.maximum.accumulate(places, axis)


def var(out: Any, x: Any, *, axis: Any, correction: float, keepdims: bool) -> None:
    """The sum of squared distances from the mean over (count - correction)."""
    out[...] = _variance(x, axis, correction, keepdims)


def std(out: Any, x: Any, *, axis: Any, correction: float, keepdims: bool) -> None:
    """The square root of the variance."""
    out[...] = np.sqrt(_variance(x, axis, correction, keepdims))


@_quiet
def _variance(x: Any, axis: Any, correction: float, keepdims: bool) -> Any:
    x = _wide(x)
    count = math.prod(x.shape[i] for i in axis)
    if not count:
        return np.sum(x.real, axis, keepdims=keepdims) + np.nan
    wide: Any = np.float64 if x.dtype == np.float32 else None
    mean = x.mean(axis, keepdims=True, dtype=wide)
    centred = x - mean.astype(x.dtype)
    if centred.dtype.kind == "c":
        centred = np.abs(centred)
    np.multiply(centred, centred, out=centred)
    freedom = max(count - correction, 0)
    return np.divide(centred.sum(axis, keepdims=keepdims), freedom)


@_quiet
def vector_norm(out: Any, x: Any, *, order: float, axis: Any, keepdims: bool) -> None:
    """``(sum of abs(x) ** order) ** (1 / order)`` and its limits at 0 and infinity."""
    x = _wide(x)
    if order == 2 and len(axis) == x.ndim and x.flags.c_contiguous and x.dtype.kind == "f":
        flat = x.reshape(-1)
        out[...] = np.sqrt(np.dot(flat, flat))
        return
    size = np.abs(x)
    if order == 2:
        result = np.sqrt(np.sum(size * size, axis, keepdims=keepdims))
    elif order == 1:
        result = np.sum(size, axis, keepdims=keepdims)
    elif order == 0:
        result = np.count_nonzero(size, axis, keepdims=keepdims)
    elif order == math.inf:
        result = np.max(size, axis, keepdims=keepdims)
    elif order == -math.inf:
        result = np.min(size, axis, keepdims=keepdims)
    else:
        result = np.sum(size**order, axis, keepdims=keepdims) ** (1 / order)
    out[...] = result


@_quiet
def logsumexp(out: Any, x: Any, *, axis: Any, keepdims: bool) -> None:
    """``log(sum(exp(x)))`` with the greatest element taken out of the exponent."""
    x = _wide(x)
    if not x.size:
        out[...] = -np.inf
        return
    top = np.max(x.real, axis, keepdims=True)  # a complex one would turn the logarithm's branch
    top = np.where(np.isfinite(top), top, 0)
    total = np.log(np.sum(np.exp(x - top), axis, keepdims=True)) + top
    out[...] = total.reshape(out.shape)
