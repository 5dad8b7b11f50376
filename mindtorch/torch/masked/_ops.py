"""Reductions and normalizations over the elements that a mask lets through.

``mask`` is broadcast to the input; True keeps an element. What is masked out takes the value that
changes nothing (0 in a sum, -inf in a maximum), and a result of no elements is that value.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine import dtypes

from .. import linalg
from .._api.publish import FUNCTIONS as torch
from ..nn import functional

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum",
    "var",
]  # fmt: skip


def _axes(dim: Any, ndim: int) -> tuple[int, ...]:
    """The axes that ``dim`` means, counted from the front, in order."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    limit = max(ndim, 1)
    given = (dim,) if isinstance(dim, int) else tuple(dim)
    for d in given:
        if given.count(d) > 1:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -limit <= d < limit:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but "
                f"got {d})"
            )
    return tuple(sorted(d % limit for d in given))


def _whole_mask(x: Any, mask: Any) -> Any:
    """``mask`` as bool in the shape of ``x``."""
    if mask.ndim > x.ndim:
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the "
            "input)"
        )
    return torch["broadcast_to"](mask, x.shape).to(dtypes.bool_)


def _lowest(x: Any) -> Any:
    dtype = x.dtype
    if dtype.is_floating_point:
        return -math.inf
    return int(np.iinfo(dtype.np).min)


def _highest(x: Any) -> Any:
    dtype = x.dtype
    if dtype.is_floating_point:
        return math.inf
    return int(np.iinfo(dtype.np).max)


def _refuse(x: Any, name: str, *, bools: bool = True, complexes: bool = True) -> None:
    dtype = x.dtype
    if (bools and dtype is dtypes.bool_) or (complexes and dtype.is_complex):
        raise NotImplementedError(f"identity of {name} on {dtype} input")


def _filled(x: Any, mask: Any, value: Any) -> Any:
    """``x`` with ``value`` where the mask holds elements back."""
    if x._sparse:
        raise NotImplementedError("torch.masked of sparse tensors is not available in mindtorch")
    if mask is None:
        return x
    identity = torch["tensor"](value, dtype=x.dtype, device=x.device)
    return torch["where"](_whole_mask(x, mask), x, identity)


def _as(result: Any, dtype: Any) -> Any:
    return result if dtype is None or dtype is result.dtype else result.to(dtype)


def _summed_dtype(x: Any, dtype: Any) -> Any:
    """Narrow integers are added and multiplied as int64."""
    if dtype is not None:
        return dtype
    whole = not x.dtype.is_floating_point and not x.dtype.is_complex
    return dtypes.int64 if whole else x.dtype


def sum(  # noqa: A001
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None  # noqa: A002
) -> Any:
    """The sum over ``dim``."""
    axes = _axes(dim, input.ndim)
    x = _filled(input, mask, 0)
    return torch["sum"](x, axes, bool(keepdim), dtype=_summed_dtype(input, dtype))


def prod(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None  # noqa: A002
) -> Any:
    """The product over ``dim``."""
    result = _filled(input, mask, 1).to(_summed_dtype(input, dtype))
    for axis in reversed(_axes(dim, input.ndim)):
        result = result.prod(dim=axis, keepdim=bool(keepdim))
    return result


def cumsum(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:  # noqa: A002
    """The running sum along ``dim``."""
    axis = _axes(dim, input.ndim)[0]
    dtype = input.dtype if dtype is None else dtype
    return torch["cumsum"](_filled(input, mask, 0), axis, dtype=dtype)


def cumprod(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:  # noqa: A002
    """The running product along ``dim``."""
    axis = _axes(dim, input.ndim)[0]
    dtype = input.dtype if dtype is None else dtype
    return torch["cumprod"](_filled(input, mask, 1), axis, dtype=dtype)


def _ranked(x: Any, mask: Any, name: str, last: Any) -> Any:
    """``x`` with what is never chosen where the mask holds elements back."""
    if mask is None:
        return x
    _refuse(x, name)
    return _filled(x, mask, last(x))


def amax(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None  # noqa: A002
) -> Any:
    """The greatest element over ``dim``."""
    x = _ranked(input, mask, "amax", _lowest)
    return _as(torch["amax"](x, _axes(dim, input.ndim), bool(keepdim)), dtype)


def amin(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None  # noqa: A002
) -> Any:
    """The least element over ``dim``."""
    x = _ranked(input, mask, "amin", _highest)
    return _as(torch["amin"](x, _axes(dim, input.ndim), bool(keepdim)), dtype)


def argmax(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None  # noqa: A002
) -> Any:
    """The place of the greatest element, as a number of the input's type."""
    x = _ranked(input, mask, "argmax", _lowest)
    return torch["argmax"](x, dim, bool(keepdim)).to(input.dtype if dtype is None else dtype)


def argmin(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None  # noqa: A002
) -> Any:
    """The place of the least element, as a number of the input's type."""
    x = _ranked(input, mask, "argmin", _highest)
    return torch["argmin"](x, dim, bool(keepdim)).to(input.dtype if dtype is None else dtype)


def _count(x: Any, dim: Any, keepdim: bool, mask: Any) -> Any:
    """How many elements take part."""
    if mask is None:
        taking_part = torch["ones"](x.shape, dtype=dtypes.int64, device=x.device)
    else:
        taking_part = _whole_mask(x, mask)
    return torch["sum"](taking_part, _axes(dim, x.ndim), keepdim)


def mean(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None  # noqa: A002
) -> Any:
    """The mean over ``dim``; nan of no elements."""
    source = "Input" if dtype is None else "Optional"
    dtype = input.dtype if dtype is None else dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point "
            f"or complex dtype. Got: {dtype}"
        )
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count(input, dim, bool(keepdim), mask)


def median(
    input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None  # noqa: A002
) -> Any:
    """The lower median along ``dim``; nan of no elements."""
    axis = _axes(dim, input.ndim)[0]
    is_float = input.dtype.is_floating_point
    x = input if is_float else input.to(dtypes.float32)
    found = torch["nanmedian"](_filled(x, mask, math.nan), axis, keepdim)[0]
    if is_float:
        return found
    if bool(torch["isnan"](found).any()):
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return found.to(input.dtype if dtype is None else dtype)


def logsumexp(
    input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None  # noqa: A002
) -> Any:
    """``log(sum(exp(input)))`` over ``dim``."""
    x = input
    if mask is not None:
        _refuse(input, "logsumexp", complexes=False)
        x = _filled(input, mask, -math.inf if input.dtype.is_complex else _lowest(input))
    result = torch["logsumexp"](x, _axes(dim, input.ndim), keepdim=keepdim)
    return result.to(input.dtype if dtype is None else dtype)


def logaddexp(
    input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None  # noqa: A002
) -> Any:
    """``log(exp(input) + exp(other))``, what is masked out of either being left out.

    Args:
        input_mask, other_mask: what counts, bool; None for everything.
    """
    pair = []
    for x, mask in ((input, input_mask), (other, other_mask)):
        if mask is not None:
            _refuse(x, "logaddexp")
        pair.append(x if mask is None else _filled(x, mask, _lowest(x)))
    return torch["logaddexp"](*pair).to(input.dtype if dtype is None else dtype)


def norm(
    input: Any,  # noqa: A002
    ord: Any = 2.0,  # noqa: A002
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Any:
    """The vector norm of order ``ord`` over ``dim``."""
    identity = math.inf if ord == -math.inf else 0
    x = _filled(input, mask, identity)
    axes = _axes(dim, input.ndim)
    dtype = input.dtype if dtype is None else dtype
    return linalg.vector_norm(x, ord, axes, bool(keepdim), dtype=dtype)


def var(
    input: Any,  # noqa: A002
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Any:
    """The squared distance from the mean, over the count less ``correction`` (1 by default)."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1.0 if unbiased is None else float(unbiased)
    if dtype is None:
        known = input.dtype.is_floating_point or input.dtype.is_complex
        dtype = input.dtype if known else dtypes.float32
    exact = dtype if dtype.is_floating_point or dtype.is_complex else dtypes.float32
    count = _count(input, dim, True, mask)
    center = sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / count
    off = input - center
    total = sum(off * off.conj(), dim, keepdim=keepdim, dtype=exact, mask=mask)
    count = count if keepdim else count.reshape(total.shape)
    if correction != 0:
        count = torch["clamp_min"](count.to(exact.to_real()) - correction, 0)
    return torch["div"](total, count).to(dtype)


def std(
    input: Any,  # noqa: A002
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Any = None,
) -> Any:
    """The square root of :func:`var`."""
    return torch["sqrt"](
        var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask)
    )


def _normalized(name: str, x: Any, dim: int, dtype: Any, mask: Any, least: bool) -> Any:
    axis = _axes(dim, x.ndim)[0]
    if mask is not None:
        _refuse(x, "amin" if least else "amax")
        x = _filled(x, mask, _highest(x) if least else _lowest(x))
    dtype = x.dtype if dtype is None else dtype
    if name == "softmin":
        return functional.softmin(x, axis, dtype=dtype)
    return torch[name](x, axis, dtype=dtype)


def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:  # noqa: A002
    """``exp(x) / sum(exp(x))`` along ``dim``."""
    return _normalized("softmax", input, dim, dtype, mask, False)


def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:  # noqa: A002
    """``x - log(sum(exp(x)))`` along ``dim``."""
    return _normalized("log_softmax", input, dim, dtype, mask, False)


def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:  # noqa: A002
    """``exp(-x) / sum(exp(-x))`` along ``dim``."""
    return _normalized("softmin", input, dim, dtype, mask, True)


def normalize(
    input: Any,  # noqa: A002
    ord: float,  # noqa: A002
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Any = None,
) -> Any:
    """``x / max(norm(x), eps)`` along ``dim``."""
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, 0) / torch["clamp_min"](size, eps)
