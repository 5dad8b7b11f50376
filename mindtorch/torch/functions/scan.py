"""Running sums, products and extremes; differences."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.ops import comparison as comparisons
from mindtorch.engine.ops import elementwise as el
from mindtorch.engine.ops import movement, scan
from mindtorch.engine.ops.reduction import sum_
from mindtorch.engine.tensor import constant

from .. import return_types
from .._api.out_rules import OF_DTYPE, SCALAR_TYPE, Out
from .._api.publish import function, operand
from .reduction import require_order, single_axis, typed_input


@function(out=Out(of_dtype=OF_DTYPE), in_place=True, cacheable=True)
def cumsum(input: Any, dim: int, *, dtype: Any = None) -> Any:  # noqa: A002
    """The running sum along ``dim``."""
    x = typed_input(input, dtype)
    if dtype is not None and x.aval.dtype.category == dtypes.BOOL:
        raise NotImplementedError("\"cumsum_out_cpu\" not implemented for 'Bool'")
    return typed_input(scan.cumsum(x, axis=single_axis(input, dim), reverse=False), dtype)


@function(out=Out(of_dtype=OF_DTYPE), in_place=True, cacheable=True)
def cumprod(input: Any, dim: int, *, dtype: Any = None) -> Any:  # noqa: A002
    """The running product along ``dim``."""
    x = typed_input(input, dtype)
    if dtype is not None and x.aval.dtype.category == dtypes.BOOL:
        raise NotImplementedError("\"cumprod_out_cpu\" not implemented for 'Bool'")
    return typed_input(scan.cumprod(x, axis=single_axis(input, dim)), dtype)


@function(out=Out(SCALAR_TYPE), cacheable=True)
def logcumsumexp(input: Any, dim: int) -> Any:  # noqa: A002
    """The logarithm of the running sum of exponentials along ``dim``."""
    return scan.logcumsumexp(input, axis=single_axis(input, dim))


@function(out=Out(SCALAR_TYPE), cacheable=True)
def cummax(input: Any, dim: int) -> Any:  # noqa: A002
    """The running maximum along ``dim`` and its place."""
    require_order("cummax_cpu", input)
    return return_types.cummax(*scan.cummax(input, axis=single_axis(input, dim)))


@function(out=Out(SCALAR_TYPE), cacheable=True)
def cummin(input: Any, dim: int) -> Any:  # noqa: A002
    """The running minimum along ``dim`` and its place."""
    require_order("cummin_cpu", input)
    return return_types.cummin(*scan.cummin(input, axis=single_axis(input, dim)))


def _check_beside(x: Any, more: Any, axis: int) -> None:
    """torch's errors for what :func:`diff` cannot put before or behind ``x``."""
    if x.aval.ndim != more.aval.ndim:
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for i, (own, other) in enumerate(zip(x.aval.shape, more.aval.shape, strict=True)):
        if own != other and i != axis:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input "
                f"except along the differencing dimension; input.size({i}) = {own}, but got "
                f"tensor.size({i}) = {other}"
            )


@function(out=Out(SCALAR_TYPE, recorded=True), cacheable=True)
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
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = single_axis(input, dim) if n else 0
    if n == 0:
        return tape.named(movement.clone(input), "torch::autograd::CopyBackwards")
    for each in (prepend, append):
        if each is not None:
            _check_beside(input, each, axis)
    parts = [x for x in (prepend, input, append) if x is not None]
    x = movement.cat(*parts, axis=axis) if len(parts) > 1 else input
    for _ in range(n):
        length = x.aval.shape[axis]
        if length == 0:
            break
        later = movement.slice_(x, axis=axis, start=1, length=length - 1, step=1)
        earlier = movement.slice_(x, axis=axis, start=0, length=length - 1, step=1)
        if x.aval.dtype is dtypes.bool_:
            x = comparisons.logical_xor(later, earlier)
        else:
            x = el.subtract(later, earlier)
    return x


def _sides(
    y: Any, x: Any, dim: int, name: str, added: bool = True
) -> tuple[Any, Any, int]:
    """The sums of neighbours along ``dim`` (None unless ``added``), the steps of ``x`` where it is
    given, the axis."""
    given = [tensor for tensor in (y, x) if tensor is not None]
    if any(tensor.aval.dtype is dtypes.bool_ for tensor in given):
        which = "`y`" if x is None else "`x` or `y`"
        raise RuntimeError(
            f"{name}: received a bool input for {which}, but bool is not supported"
        )
    axis = single_axis(y, dim)
    length = y.aval.shape[axis] if y.aval.ndim else 1
    steps = max(length - 1, 0)
    later = movement.slice_(y, axis=axis, start=min(length, 1), length=steps, step=1)
    earlier = movement.slice_(y, axis=axis, start=0, length=steps, step=1)
    both = el.add(earlier, later) if added else None
    if x is None:
        return both, None, axis
    if x.aval.ndim == 1:
        if x.aval.size != length:
            raise RuntimeError(
                f"{name}: There must be one `x` value for each sample point"
            )
        width = diff(x)
        shape = tuple(width.aval.size if i == axis else 1 for i in range(y.aval.ndim))
        return both, movement.reshape(width, shape), axis
    missing = y.aval.ndim - x.aval.ndim
    if missing > 0:
        x = movement.reshape(x, (*[1] * missing, *x.aval.shape))
    return both, diff(x, 1, dim), axis


@function(method=False, aliases=("trapz",), cacheable=True)
def trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """The integral of ``y`` along ``dim`` by the trapezoidal rule."""
    both, width, axis = _sides(y, x, dim, "trapezoid", x is not None)
    if y.aval.ndim and y.aval.shape[axis] == 0:
        return y.new_zeros([n for i, n in enumerate(y.aval.shape) if i != axis])
    if width is not None:
        total = sum_(el.multiply(both, width), axis=(axis,), keepdims=False)
        return tape.named(el.divide(total, constant(2.0)), "DivBackward1")
    total = sum_(y, axis=(axis,), keepdims=False)
    ends = el.add(*(movement.select(y, axis=axis, index=i) for i in (0, y.aval.shape[axis] - 1)))
    inside = el.subtract(total, el.multiply(ends, constant(0.5)))
    return el.multiply(inside, operand(float(dx), "trapezoid", "dx"))


@function(method=False)
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """The integrals of ``y`` from the beginning up to every place along ``dim``."""
    both, width, axis = _sides(y, x, dim, "cumulative_trapezoid")
    if width is not None:
        total = el.multiply(both, width).cumsum(axis)
        return tape.named(el.divide(total, constant(2.0)), "DivBackward1")
    return el.multiply(constant(float(dx) / 2.0), both).cumsum(axis)
