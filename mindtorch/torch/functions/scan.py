"""Running sums, products and extremes; differences."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.ops import elementwise as el
from mindtorch.engine.ops import movement, scan

from .. import return_types
from .._registry import function, operand
from .reduction import _require_order, _single, _typed


@function(out=True, in_place=True)
def cumsum(input: Any, dim: int, *, dtype: Any = None) -> Any:  # noqa: A002
    """The running sum along ``dim``."""
    x = _typed(input, dtype)
    if dtype is not None and x.aval.dtype.category == dtypes.BOOL:
        raise NotImplementedError("\"cumsum_out_cpu\" not implemented for 'Bool'")
    return _typed(scan.cumsum(x, axis=_single(input, dim), reverse=False), dtype)


@function(out=True, in_place=True)
def cumprod(input: Any, dim: int, *, dtype: Any = None) -> Any:  # noqa: A002
    """The running product along ``dim``."""
    x = _typed(input, dtype)
    if dtype is not None and x.aval.dtype.category == dtypes.BOOL:
        raise NotImplementedError("\"cumprod_out_cpu\" not implemented for 'Bool'")
    return _typed(scan.cumprod(x, axis=_single(input, dim)), dtype)


@function(out=True)
def logcumsumexp(input: Any, dim: int) -> Any:  # noqa: A002
    """The logarithm of the running sum of exponentials along ``dim``."""
    return scan.logcumsumexp(input, axis=_single(input, dim))


@function(out=True)
def cummax(input: Any, dim: int) -> Any:  # noqa: A002
    """The running maximum along ``dim`` and its place."""
    _require_order("cummax_cpu", input)
    return return_types.cummax(*scan.cummax(input, axis=_single(input, dim)))


@function(out=True)
def cummin(input: Any, dim: int) -> Any:  # noqa: A002
    """The running minimum along ``dim`` and its place."""
    _require_order("cummin_cpu", input)
    return return_types.cummin(*scan.cummin(input, axis=_single(input, dim)))


@function(out=True)
def diff(
    input: Any,  # noqa: A002
    n: int = 1,
    dim: int = -1,
    prepend: Any = None,
    append: Any = None,
) -> Any:
    """The differences of neighbours along ``dim``, taken ``n`` times.

    Args:
        prepend, append: tensors that are put before and behind ``input`` along ``dim`` first.
    """
    if not input.aval.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    axis = _single(input, dim)
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0:
        return movement.clone(input)
    parts = [x for x in (prepend, input, append) if x is not None]
    x = movement.cat(*parts, axis=axis) if len(parts) > 1 else input
    for _ in range(n):
        length = x.aval.shape[axis]
        if length == 0:
            break
        later = movement.slice_(x, axis=axis, start=1, length=length - 1, step=1)
        earlier = movement.slice_(x, axis=axis, start=0, length=length - 1, step=1)
        if x.aval.dtype is dtypes.bool_:
            x = el.logical_xor(later, earlier)
        else:
            x = el.subtract(later, earlier)
    return x


def _trapezoids(y: Any, x: Any, dx: Any, dim: int) -> tuple[Any, int]:
    """The areas between neighbours along ``dim``, and the axis."""
    from mindtorch.engine.tensor import constant

    axis = _single(y, dim)
    length = y.aval.shape[axis] if y.aval.ndim else 1
    later = movement.slice_(y, axis=axis, start=1, length=length - 1, step=1)
    earlier = movement.slice_(y, axis=axis, start=0, length=length - 1, step=1)
    middle = el.divide(el.add(later, earlier), constant(2))
    if x is None:
        return el.multiply(middle, operand(dx, "trapezoid", "dx")), axis
    if x.aval.ndim == 1:
        if x.aval.size != length:
            raise RuntimeError(
                "trapezoid: There must be one `x` value for each sample point"
            )
        width = diff(x)
        shape = tuple(width.aval.size if i == axis else 1 for i in range(y.aval.ndim))
        return el.multiply(middle, movement.reshape(width, shape)), axis
    missing = y.aval.ndim - x.aval.ndim
    if missing > 0:
        x = movement.reshape(x, (*[1] * missing, *x.aval.shape))
    return el.multiply(middle, diff(x, 1, dim)), axis


@function(method=False, aliases=("trapz",))
def trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """The integral of ``y`` along ``dim`` by the trapezoidal rule."""
    from mindtorch.engine.ops.reduction import sum_

    if y.aval.ndim and y.aval.shape[_single(y, dim)] == 0:
        shape = [n for i, n in enumerate(y.aval.shape) if i != _single(y, dim)]
        return y.new_zeros(shape)
    areas, axis = _trapezoids(y, x, dx, dim)
    return sum_(areas, axis=(axis,), keepdims=False)


@function(method=False)
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """The integrals of ``y`` from the beginning up to every place along ``dim``."""
    if y.aval.ndim and y.aval.shape[_single(y, dim)] == 0:
        return y * 1 if x is None else y * x
    areas, axis = _trapezoids(y, x, dx, dim)
    return areas.cumsum(axis)
