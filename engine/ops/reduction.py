"""Ops that fold axes."""

from __future__ import annotations

from typing import Any

from ..aval import Shape
from ..tensor import Tensor, constant
from .elementwise import divide, equal, multiply, where
from .families import Reduction
from .movement import expand, reshape, view


def restore_axes(g: Any, shape: Shape, axis: tuple[int, ...]) -> Any:
    """``g`` of a reduction over ``axis`` with these axes put back as length 1."""
    return reshape(g, tuple(1 if i in axis else n for i, n in enumerate(shape)))


def _sum_vjp(g: Any, avals: Any, axis: Any, keepdims: bool) -> Any:
    if not keepdims:
        g = restore_axes(g, avals[0].shape, axis)
    return expand(g, shape=avals[0].shape)


sum_ = Reduction("sum", _sum_vjp, result="sum", linear=True)


def _mean_vjp(g: Any, avals: Any, axis: Any, keepdims: bool) -> Any:
    count = 1
    for i in axis:
        count *= avals[0].shape[i]
    return divide(_sum_vjp(g, avals, axis, keepdims), constant(max(count, 1)))


mean = Reduction("mean", _mean_vjp, linear=True)


def _extreme_vjp(g: Any, out: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """The gradient is shared evenly between equal extremes."""
    if not keepdims:
        g = restore_axes(g, x.aval.shape, axis)
        out = restore_axes(out, x.aval.shape, axis)
    hit = equal(x, out)
    share = divide(g, sum_(hit, axis=axis, keepdims=True))
    return where(hit, share, constant(0))


amax = Reduction("amax", _extreme_vjp)
amin = Reduction("amin", _extreme_vjp)


def sum_to(x: Tensor, shape: Shape) -> Tensor:
    """The sum of ``x`` over the axes along which ``shape`` was broadcast to it."""
    extra = x.aval.ndim - len(shape)
    axis = tuple(range(extra)) + tuple(
        i + extra for i, n in enumerate(shape) if n == 1 and x.aval.shape[i + extra] != 1
    )
    if axis:
        x = sum_(x, axis=axis, keepdims=False)
    if x.aval.shape != shape:
        x = view(x, shape=shape)
    return x


def scaled(x: Tensor, factor: float) -> Tensor:
    return x if factor == 1 else multiply(x, constant(factor))  # type: ignore[no-any-return]
