"""numpy's reductions, cumulations and counts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mindtorch import torch

from ._values import BOOL, axes_of, floating, public, tensor_of, type_of

__all__ = [
    "amax", "amin", "argmax", "argmin", "average", "bincount", "corrcoef", "count_nonzero", "cov",
    "cumprod", "cumsum", "diff", "digitize", "ediff1d", "gradient", "histogram",
    "histogram_bin_edges", "max", "mean", "min", "nancumsum", "nanmax", "nanmean", "nanmin",
    "nanstd", "nansum", "nanvar", "ptp", "std", "sum", "unwrap", "var",
]  # fmt: skip


def _axes(tensor: Any, axis: Any) -> tuple[int, ...]:
    """The axes to reduce, all when None; without any the tensor is returned as it is."""
    if axis is None:
        return tuple(range(tensor.ndim))
    given = (axis,) if isinstance(axis, int) else tuple(axes_of(axis))
    for a in given:
        if not -tensor.ndim <= a < tensor.ndim:
            raise ValueError(f"axis {a} is out of bounds for tensor of dimension {tensor.ndim}")
    return tuple(a % tensor.ndim for a in given)


def _reduced(function: Callable[..., Any], a: Any, axis: Any, keepdims: bool) -> Any:
    axes = _axes(a, axis)
    return function(a, axes, keepdims) if axes else a


def _masked(a: Any, where: Any, fill: Any) -> Any:
    if where is True:
        return a
    return torch.where(tensor_of(where).to(BOOL), a, torch.full_like(a, fill))


@public
def sum(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None
) -> Any:
    """The sum over ``axis``, plus ``initial``; whole numbers are added in int64."""
    found = _reduced(torch.sum, tensor_of(a, dtype), axis, keepdims)
    found = found if initial is None else found + initial
    return tensor_of(found, dtype)


@public
def mean(a: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
    """The mean over ``axis``, in the type of ``a``: whole numbers lose what is behind the point."""
    given = tensor_of(a)
    found = _reduced(torch.mean, floating(given), axis, keepdims)
    return found.to(type_of(dtype) or given.dtype)


def _variance(a: Any, axis: Any, ddof: int, keepdims: bool) -> Any:
    return torch.var(a, dim=_axes(a, axis), correction=ddof, keepdim=keepdims)


@public
def var(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, dtype: Any = None) -> Any:
    """Mean square of the distance to the mean, over n - ``ddof``."""
    return tensor_of(_variance(floating(x), axis, ddof, keepdims), dtype)


@public
def std(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False, dtype: Any = None) -> Any:
    """The square root of the variance, squares over (number - ``ddof``)."""
    return tensor_of(torch.sqrt(_variance(floating(x), axis, ddof, keepdims)), dtype)


def _extreme(name: str, function: Callable[..., Any], combine: Callable[..., Any]) -> Any:
    def call(
        a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Any:
        given = tensor_of(a)
        if where is not True:
            if initial is None:
                raise ValueError("initial value must be provided for where masks")
            given = _masked(given, where, initial)
        found = _reduced(function, given, axis, keepdims)
        return found if initial is None else combine(found, torch.full_like(found, initial))

    call.__name__ = name
    call.__doc__ = f"The {name}imum over ``axis``, of the elements where ``where`` holds."
    return public(call)


max = amax = _extreme("max", torch.amax, torch.maximum)
min = amin = _extreme("min", torch.amin, torch.minimum)


@public
def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The maximum less the minimum."""
    given = tensor_of(x)
    return _reduced(torch.amax, given, axis, keepdims) - _reduced(torch.amin, given, axis, keepdims)


@public
def argmax(a: Any, axis: int | None = None) -> Any:
    """The place of the largest element along ``axis``, as int64."""
    return torch.argmax(tensor_of(a), axis)


@public
def argmin(a: Any, axis: int | None = None) -> Any:
    """The place of the smallest element along ``axis``, as int32."""
    return torch.argmin(tensor_of(a), axis).to(torch.int32)


@public
def average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False) -> Any:
    """sum(w x) / sum(w); with ``returned`` also the sum of the weights."""
    given = floating(x)
    if weights is None:
        share = torch.ones_like(given)
    else:
        share = floating(weights)
        if share.ndim == 1 and given.ndim > 1 and isinstance(axis, int):
            share = share.reshape([-1 if d == axis % given.ndim else 1 for d in range(given.ndim)])
        share = share.expand_as(given)
    total = _reduced(torch.sum, share, axis, False)
    found = _reduced(torch.sum, given * share, axis, False) / total
    return (found, total) if returned else found


@public
def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running sums along ``axis``."""
    return _cumulated(torch.cumsum, tensor_of(a), axis, dtype)


@public
def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running products along ``axis``."""
    return _cumulated(torch.cumprod, tensor_of(a), axis, dtype)


@public
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """Running sums along ``axis``, NaN counted as 0."""
    return _cumulated(torch.cumsum, torch.nan_to_num(tensor_of(a), 0.0), axis, dtype)


def _cumulated(function: Callable[..., Any], a: Any, axis: int | None, dtype: Any) -> Any:
    flat, place = (a.reshape(-1), 0) if axis is None else (a, axis)
    wanted = type_of(dtype) or (a.dtype if a.dtype is not BOOL else torch.int32)
    return function(flat, place, dtype=wanted)


# --- reductions that leave NaN out --------------------------------------------------------------


def _without_nan(function: Callable[..., Any], fill: float) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        given = floating(a)
        filled = torch.where(torch.isnan(given), torch.full_like(given, fill), given)
        return tensor_of(_reduced(function, filled, axis, keepdims), dtype)

    return public(call)


nansum = _without_nan(torch.sum, 0.0)
nanmax = _without_nan(torch.amax, float("-inf"))
nanmin = _without_nan(torch.amin, float("inf"))


@public
def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The mean of what is not NaN."""
    given = floating(a)
    count = _reduced(torch.sum, (~torch.isnan(given)).to(given.dtype), axis, keepdims)
    total = _reduced(torch.sum, torch.nan_to_num(given, 0.0), axis, keepdims)
    return tensor_of(total / count, dtype)


@public
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False
) -> Any:
    """The variance of what is not NaN."""
    given = floating(a)
    kept = ~torch.isnan(given)
    count = _reduced(torch.sum, kept.to(given.dtype), axis, True)
    centre = _reduced(torch.sum, torch.where(kept, given, torch.zeros_like(given)), axis, True)
    apart = torch.where(kept, given - centre / count, torch.zeros_like(given))
    total = _reduced(torch.sum, apart * apart, axis, keepdims)
    return tensor_of(total / (count.reshape(total.shape) - ddof), dtype)


@public
def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False
) -> Any:
    """The standard deviation of what is not NaN."""
    return torch.sqrt(nanvar(a, axis, dtype, ddof, keepdims))


# --- counts and differences ---------------------------------------------------------------------


@public
def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements over ``axis`` are not 0."""
    counted = (tensor_of(x) != 0).to(torch.int32)
    return _reduced(torch.sum, counted, axis, keepdims).to(torch.int32)


@public
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often each whole number occurs, or the sum of its weights, as float32."""
    shares = None if weights is None else floating(weights)
    return torch.bincount(tensor_of(x), shares, minlength).to(torch.float32)


@public
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The place of each element among increasing or decreasing ``bins``."""
    edges = tensor_of(bins)
    if len(edges) > 1 and bool(edges[0] > edges[-1]):
        behind = torch.searchsorted(edges.flip(0), tensor_of(x), right=right)
        return (len(edges) - behind).to(torch.int32)
    return torch.searchsorted(edges, tensor_of(x), right=not right).to(torch.int32)


@public
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """``bins + 1`` edges from the smallest to the largest element, or those given."""
    if not isinstance(bins, int):
        return floating(bins)
    given = floating(a)
    low, high = (given.min(), given.max()) if range is None else range
    if float(low) == float(high):
        low, high = low - 0.5, high + 0.5
    return torch.linspace(float(low), float(high), bins + 1)


@public
def histogram(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> Any:
    """(counts or sums of weights, edges); with ``density`` the integral is 1."""
    given = floating(a).reshape(-1)
    edges = histogram_bin_edges(given, bins, range)
    place = torch.searchsorted(edges, given, right=True) - 1
    place = torch.where(given == edges[-1], torch.full_like(place, len(edges) - 2), place)
    inside = (place >= 0) & (place < len(edges) - 1)
    shares = torch.ones_like(given) if weights is None else floating(weights).reshape(-1)
    counts = torch.zeros(len(edges) - 1).index_add(0, place[inside], shares[inside])
    if density:
        counts = counts / (counts.sum() * (edges[1:] - edges[:-1]))
    return counts, edges


@public
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours along ``axis``, ``n`` times, after ``prepend`` and ``append`` were
    put at the ends."""
    given = [None if p is None else tensor_of(p) for p in (prepend, append)]
    return torch.diff(tensor_of(a), n, axis, given[0], given[1])


@public
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours in a row, between ``to_begin`` and ``to_end``.

    Args:
        to_end, to_begin: tensors, or None.
    """
    parts = [to_begin, torch.diff(tensor_of(ary).reshape(-1)), to_end]
    return torch.cat([tensor_of(p).reshape(-1) for p in parts if p is not None])


@public
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences inside, one-sided ones at the ends, along each axis or those given.

    Args:
        varargs: the distance of neighbours, for all axes or for each.
        edge_order: 1.
    """
    if edge_order != 1:
        raise ValueError("edge_order must be 1")
    given = floating(f)
    axes = _axes(given, axis)
    steps: list[Any] = list(varargs) if len(varargs) == len(axes) else [1.0] * len(axes)
    if len(varargs) == 1:
        steps = [varargs[0]] * len(axes)
    found = [torch.gradient(given, spacing=float(s), dim=d)[0]
             for s, d in zip(steps, axes, strict=True)]  # fmt: skip
    return found[0] if len(found) == 1 else found


@public
def unwrap(p: Any, discont: float = 3.141592653589793, axis: int = -1) -> Any:
    """``p`` plus multiples of 2 pi, so that neighbours differ by less than ``discont``."""
    given, turn = floating(p), 2 * 3.141592653589793
    steps = torch.diff(given, dim=axis)
    near = torch.remainder(steps + turn / 2, turn) - turn / 2
    near = torch.where((near == -turn / 2) & (steps > 0), -near, near)
    change = torch.where(steps.abs() < discont, torch.zeros_like(steps), near - steps)
    first = torch.narrow(torch.zeros_like(given), axis, 0, 1)
    return given + torch.cumsum(torch.cat([first, change], axis), axis)


@public
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None,
    fweights: Any = None, aweights: Any = None, dtype: Any = None,
) -> Any:  # fmt: skip
    """Covariances of the rows (columns without ``rowvar``)."""

    def rows(a: Any) -> Any:
        made = torch.atleast_2d(floating(a))
        return made if rowvar or made.shape[0] == 1 else made.t()

    given = rows(m) if y is None else torch.cat([rows(m), rows(y)])
    correction = ddof if ddof is not None else int(not bias)
    shares = [None if s is None else tensor_of(s) for s in (fweights, aweights)]
    found = torch.cov(given, correction=correction, fweights=shares[0], aweights=shares[1])
    return tensor_of(found, dtype)


@public
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """Covariances over the products of standard deviations, between -1 and 1."""
    found = cov(x, y, rowvar)
    if not found.ndim:
        return found / found
    scale = torch.sqrt(torch.diagonal(found))
    return tensor_of((found / scale / scale.reshape(-1, 1)).clamp(-1, 1), dtype)
