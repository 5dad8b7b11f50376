"""Softmax and cross entropy of scores that are cut along the classes.

Each process computes with its own classes; the maximum, the sum of exponentials and the score of
the target are combined, one number each for each sample.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..ops.comparison import equal, not_equal, where
from ..ops.elementwise import add, divide, exp, log, multiply, subtract
from ..ops.indexing import index_select
from ..ops.movement import cast, reshape, unsqueeze
from ..ops.reduction import amax, sum_
from ..tensor import Tensor, constant, from_array
from .placements import Shard
from .sharded import Sharding

__all__ = [
    "classes_cut", "cross_entropy", "cross_entropy_gradient", "log_softmax",
    "log_softmax_gradient", "softmax", "softmax_gradient",
]  # fmt: skip


class _Setting(threading.local):
    active = False


setting = _Setting()


@contextlib.contextmanager
def classes_cut() -> Iterator[None]:
    """A block in which scores may stay cut along their classes."""
    before, setting.active = setting.active, True
    try:
        yield
    finally:
        setting.active = before


def _along(sharding: Sharding, local: Tensor, dim: int, operation: str) -> Tensor:
    """``local`` combined over the processes that have other pieces of an axis."""
    mesh = sharding.mesh
    for axis, placement in enumerate(sharding.placements):
        if isinstance(placement, Shard) and placement.dim == dim:
            local = mesh.reduce_along(axis, local, operation)
    return local


def _shifted(sharding: Sharding, x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The maxima along an axis of the whole, and the logarithms of the sums of exp(x - maximum),
    both with length 1 there."""
    top = _along(sharding, amax(x, axis=(dim,), keepdims=True), dim, "max")
    total = sum_(exp(subtract(x, top)), axis=(dim,), keepdims=True)
    return top, log(_along(sharding, total, dim, "sum"))


def log_softmax(ins: Sequence[Any], local: Sequence[Any], params: dict[str, Any]) -> Tensor:
    """x - maximum - log(sum(exp(x - maximum))) along the axis that is cut."""
    (x,), dim = local, params["axis"]
    top, logs = _shifted(ins[0], x, dim)
    found: Tensor = subtract(subtract(x, top), logs)
    return found


def softmax(ins: Sequence[Any], local: Sequence[Any], params: dict[str, Any]) -> Tensor:
    """exp(log_softmax(x)) along the axis that is cut."""
    found: Tensor = exp(log_softmax(ins, local, params))
    return found


def log_softmax_gradient(
    ins: Sequence[Any], local: Sequence[Any], params: dict[str, Any]
) -> Tensor:
    """g - softmax(x) sum(g), of the gradient g and log_softmax(x)."""
    (g, result), dim = local, params["axis"]
    total = _along(ins[0], sum_(g, axis=(dim,), keepdims=True), dim, "sum")
    found: Tensor = subtract(g, multiply(exp(result), total))
    return found


def softmax_gradient(ins: Sequence[Any], local: Sequence[Any], params: dict[str, Any]) -> Tensor:
    """y (g - sum(g y)), of the gradient g and y = softmax(x)."""
    (g, result), dim = local, params["axis"]
    inner = sum_(multiply(g, result), axis=(dim,), keepdims=True)
    found: Tensor = multiply(result, subtract(g, _along(ins[0], inner, dim, "sum")))
    return found


def _own_classes(sharding: Sharding, classes: int) -> tuple[int, int]:
    """The first class that this process has, and how many."""
    place: Any = sharding.mesh.get_coordinate()
    return sharding.local_range((1, classes), place)[1]


def _chosen(x: Tensor, target: Tensor, start: int, count: int) -> Tensor:
    """Where a class is the target: the shape of ``x``, bool."""
    names = from_array(np.arange(start, start + count), x.aval.device)
    column = reshape(names, (1, count, *[1] * (x.aval.ndim - 2)))
    found: Tensor = equal(unsqueeze(target, axis=1), column)
    return found


def _factors(target: Tensor, weight: Tensor | None, ignored: int, like: Tensor) -> Tensor:
    """The weight of each sample: that of its target's class, 0 where the target is ignored."""
    known = not_equal(target, constant(ignored))
    if weight is None:
        found: Tensor = cast(known, dtype=like.aval.dtype)
        return found
    safe = where(known, target, constant(0))
    rows = index_select(weight, reshape(safe, (safe.aval.size,)), axis=0)
    found = where(known, reshape(rows, target.aval.shape), constant(0.0))
    return found


def _by_class(weight: Tensor | None, x: Tensor, start: int, count: int) -> Tensor | None:
    """The weights of this process's classes, to be multiplied with ``x``."""
    if weight is None:
        return None
    own = index_select(weight, from_array(np.arange(start, start + count)), axis=0)
    return reshape(own, (1, count, *[1] * (x.aval.ndim - 2)))


def _squeezed(x: Tensor) -> Tensor:
    return reshape(x, (x.aval.shape[0], *x.aval.shape[2:]))


def cross_entropy(
    classes: int, ins: Sequence[Any], local: Sequence[Any], params: dict[str, Any]
) -> tuple[Tensor, ...]:
    """As the op of that name, for this process's classes and samples.

    Args:
        classes: how many there are.
    """
    x, target, weight = local
    scores, smoothing, ignored = ins[0], params["smoothing"], params["ignore_index"]
    start, count = _own_classes(scores, classes)
    top, logs = _shifted(scores, x, 1)
    own = where(_chosen(x, target, start, count), x, constant(0.0))
    picked = _squeezed(_along(scores, sum_(own, axis=(1,), keepdims=True), 1, "sum"))
    whole = add(_squeezed(top), _squeezed(logs))
    factors = _factors(target, weight, ignored, x)
    losses = multiply(subtract(whole, picked), factors)
    if smoothing:
        weights = _by_class(weight, x, start, count)
        away = subtract(add(top, logs), x)
        spread = away if weights is None else multiply(away, weights)
        total = _squeezed(_along(scores, sum_(spread, axis=(1,), keepdims=True), 1, "sum"))
        known = cast(not_equal(target, constant(ignored)), dtype=x.aval.dtype)
        losses = add(
            multiply(losses, constant(1 - smoothing)),
            multiply(multiply(total, known), constant(smoothing / classes)),
        )
    number = sum_(factors, axis=tuple(range(factors.aval.ndim)), keepdims=False)
    number = _along(ins[1], number, 0, "sum")
    shifts, sums = _squeezed(top), _squeezed(logs)
    if params["reduction"] == "none":
        return losses, shifts, sums, number
    loss = sum_(losses, axis=tuple(range(losses.aval.ndim)), keepdims=False)
    return divide(loss, number) if params["reduction"] == "mean" else loss, shifts, sums, number


def cross_entropy_gradient(
    classes: int, ins: Sequence[Any], local: Sequence[Any], params: dict[str, Any]
) -> Tensor:
    """The gradient of :func:`cross_entropy` for this process's scores."""
    g, x, shifts, logs, number, target, weight = local
    smoothing, ignored = params["smoothing"], params["ignore_index"]
    start, count = _own_classes(ins[1], classes)
    shares = exp(subtract(subtract(x, unsqueeze(shifts, axis=1)), unsqueeze(logs, axis=1)))
    chosen = cast(_chosen(x, target, start, count), dtype=x.aval.dtype)
    factors = unsqueeze(_factors(target, weight, ignored, x), axis=1)
    slope = multiply(subtract(shares, chosen), multiply(factors, constant(1 - smoothing)))
    if smoothing:
        weights = _by_class(weight, x, start, count)
        known = cast(not_equal(target, constant(ignored)), dtype=x.aval.dtype)
        even = constant(float(classes))
        if weight is not None:
            even = sum_(weight, axis=(0,), keepdims=False)
        spread = subtract(multiply(shares, even), constant(1.0) if weights is None else weights)
        slope = add(slope, multiply(
            multiply(spread, unsqueeze(known, axis=1)), constant(smoothing / classes)
        ))  # fmt: skip
    scale = divide(g, number) if params["reduction"] == "mean" else g
    if params["reduction"] == "none":
        scale = unsqueeze(scale, axis=1)
    found: Tensor = multiply(slope, scale)
    return found
