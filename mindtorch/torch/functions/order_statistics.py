"""Functions of an order of elements: medians, modes, quantiles."""

from __future__ import annotations

import math
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.call_cache.call_cache import cached
from mindtorch.engine.dispatch import state
from mindtorch.engine.dtype_support import refuse_kinds
from mindtorch.engine.ops import comparison as comparisons
from mindtorch.engine.ops import elementwise as el
from mindtorch.engine.ops import indexing, movement, reduction, rounding, sorting
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant, places_of
from mindtorch.engine.transforms.autocast import FULL

from .. import return_types
from .._api.meta_kernels import lacks_elements
from .._api.out_rules import OF_QUANTILE, Out
from .._api.publish import function
from .reduction import require_length, require_order, single_axis, typed_input


def _middle(name: str, op: Any, result: Any) -> None:
    ignored = " that are numbers" if name == "nanmedian" else ""
    about = f"""The lower median of the elements{ignored}: of all, or along ``dim`` with its place.

Raises:
    IndexError: ``dim`` has no elements.
"""

    @cached
    def of_all(x: Any) -> Any:
        return op(movement.reshape(x, (x.aval.size,)), axis=0, keepdims=False)[0]

    @cached
    def along(x: Any, axis: int, keepdims: bool) -> Any:
        return result(*op(x, axis=axis, keepdims=keepdims))

    @function(out=True, not_none=True, checked=True, name=name, about=about)
    def body(input: Any, dim: Any = None, keepdim: bool = False) -> Any:  # noqa: A002
        kernel = "median_cpu" if dim is None else "median_out"
        require_order(kernel, input)
        refuse_kinds(kernel, input.aval, "bool")
        if dim is None:
            if keepdim:
                raise TypeError(f'{name}() missing 1 required positional arguments: "dim"')
            if input.aval.size and not (state.grad_enabled and input.requires_grad):
                return of_all(input)
            flat = movement.reshape(input, (input.aval.size,))
            if not input.aval.size:
                none = reduction.sum_(flat, axis=(0,), keepdims=False) * math.nan
                return typed_input(none, input.aval.dtype)
            found = op(flat, axis=0, keepdims=False)[0]
            # the greatest of the elements that are the median: all of them share the gradient
            known = found.detach()
            both_nan = comparisons.logical_and(comparisons.is_nan(flat), comparisons.is_nan(known))
            hit = comparisons.logical_or(comparisons.equal(flat, known), both_nan)
            kept = comparisons.where(hit, flat, constant(-math.inf))
            middle = reduction.amax(kept, axis=(0,), keepdims=False)
            return tape.named(middle, f"{name.capitalize()}Backward0")
        axis = single_axis(input, dim)
        require_length("median", input, axis)
        return along(input, axis, keepdim)


_middle("median", reduction.median_with_index, return_types.median)
_middle("nanmedian", reduction.nanmedian_with_index, return_types.nanmedian)


@function(
    out=Out("expected scalar type '{result}' but got '{out}' for values output"), checked=True
)
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:  # noqa: A002
    """The commonest value along ``dim`` and its last place."""
    require_order("mode_cpu", input)
    axis = single_axis(input, dim)
    require_length("mode", input, axis)
    return return_types.mode(*reduction.mode_with_index(input, axis=axis, keepdims=keepdim))


def _quantile(
    name: str, input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, skip_nan: bool  # noqa: A002
) -> Any:
    if input.aval.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    x = input
    if dim is None:
        x, axis = movement.reshape(x, (x.aval.size,)), 0
    else:
        axis = single_axis(x, dim)
    if x.aval.size == 0:
        raise RuntimeError("quantile() input tensor must be non-empty")
    points = q if isinstance(q, EngineTensor) else _as_points(q, x)
    if points.aval.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if points.aval.dtype is not x.aval.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if points is q and not state.interpreters and not lacks_elements(q):
        share = q.detach().array()
        if not ((share >= 0) & (share <= 1)).all():
            raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    ordered, _ = sorting.sort(
        _last(x, axis), axis=max(x.aval.ndim - 1, 0), descending=False, stable=True
    )
    n = ordered.aval.shape[-1] if ordered.aval.ndim else 1
    whole = movement.reshape(ordered, (*ordered.aval.shape[:-1], n))
    result = _interpolate(whole, points, n, interpolation, skip_nan)
    shape = [m for i, m in enumerate(x.aval.shape) if i != axis]
    if keepdim:
        shape = [1] * input.aval.ndim if dim is None else [
            1 if i == axis else m for i, m in enumerate(x.aval.shape)
        ]
    if not points.aval.ndim:
        return tape.named(movement.reshape(result, tuple(shape)), "SqueezeBackward4")
    axes = (*range(1, len(shape) + 1), 0)  # the points' axis is the last one in memory
    shaped = movement.permute(movement.reshape(result, (points.aval.size, *shape)), axes=axes)
    back = (len(shape), *range(len(shape)))
    return tape.named(movement.permute(movement.contiguous(shaped), axes=back), "SqueezeBackward4")


def _last(x: Any, axis: int) -> Any:
    order = [i for i in range(x.aval.ndim) if i != axis] + ([axis] if x.aval.ndim else [])
    return movement.permute(x, axes=tuple(order))


def _as_points(q: Any, x: Any) -> Any:
    import numpy as np

    if not 0 <= q <= 1:
        raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
    return places_of(np.array(q, x.aval.dtype.np), x.aval.device)


def _interpolate(ordered: Any, points: Any, n: int, interpolation: str, skip_nan: bool) -> Any:
    """Between the two neighbours of each point's rank; the points' axis comes first."""
    lead = (points.aval.size,) + (1,) * ordered.aval.ndim
    q = movement.reshape(points, lead)
    bad = comparisons.is_nan(ordered)
    last = ordered.aval.ndim - 1
    if skip_nan:
        count = reduction.sum_(comparisons.logical_not(bad), axis=(last,), keepdims=True)
        top = el.clamp_min(el.subtract(count, constant(1)), constant(0))
        rank = el.multiply(q, top)
    else:
        rank = el.multiply(q, constant(n - 1))
        any_bad = reduction.any_(bad, axis=(last,), keepdims=True)  # nan are sorted to the end
        rank = comparisons.where(any_bad, constant(n - 1), rank)
    low, high = rounding.floor(rank), rounding.ceil(rank)
    if interpolation == "lower":
        high = low
    elif interpolation == "higher":
        low = high
    elif interpolation == "nearest":
        low = high = rounding.round_(rank)
    elif interpolation not in ("linear", "midpoint"):
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    below, above = _pick(ordered, low), _pick(ordered, high)
    weight = constant(0.5) if interpolation == "midpoint" else el.subtract(rank, low)
    if below is above:
        result = below
    else:
        result = el.lerp(below, above, weight)
    return result


def _pick(ordered: Any, rank: Any) -> Any:
    places = movement.cast(rank, dtype=dtypes.int64)
    shape = (rank.aval.shape[0], *ordered.aval.shape[:-1], 1)
    table = movement.expand(ordered, shape=(rank.aval.shape[0], *ordered.aval.shape))
    places = movement.expand(places, shape=shape)
    return indexing.gather(table, places, axis=len(shape) - 1)


@function(out=Out(OF_QUANTILE, recorded=True), autocast=FULL, cacheable=True)
def quantile(
    input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"  # noqa: A002
) -> Any:
    """The ``q``-th quantile along ``dim``; nan where one is met."""
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@function(out=Out(OF_QUANTILE, recorded=True), autocast=FULL, cacheable=True)
def nanquantile(
    input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"  # noqa: A002
) -> Any:
    """The ``q``-th quantile of the elements that are numbers."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)
