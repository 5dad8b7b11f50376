"""Operators of numbers that are known beforehand: what graphs compute shapes with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx

from .registry import host_operator
from .values import numbers, settled

_LARGEST = 1 << 16  # elements; larger ones are computed as tensors


@host_operator("Identity")
def _identity(x: Any) -> Any:
    return x


@host_operator("Gather")
def _gather(x: Any, places: Any, *, axis: int = 0) -> Any:
    return settled(np.take(x, places.astype(np.int64), axis))


@host_operator("Unsqueeze")
def _unsqueeze(x: Any, given: Any = None, *, axes: Any = None) -> Any:
    chosen = numbers(given) if given is not None else list(axes)
    rank = x.ndim + len(chosen)
    return np.expand_dims(x, tuple(sorted(a % rank for a in chosen)))


@host_operator("Squeeze")
def _squeeze(x: Any, given: Any = None, *, axes: Any = None) -> Any:
    chosen = numbers(given) if given is not None else axes
    return np.squeeze(x, None if chosen is None else tuple(chosen))


@host_operator("Concat")
def _concat(*values: Any, axis: int) -> Any:
    return settled(np.concatenate(values, axis))


@host_operator("Slice")
def _slice(
    x: Any, starts: Any = None, ends: Any = None, axes: Any = None, steps: Any = None
) -> Any:
    begin, end = numbers(starts), numbers(ends)
    chosen = range(len(begin)) if axes is None else numbers(axes)
    step = [1] * len(begin) if steps is None else numbers(steps)
    place: list[Any] = [slice(None)] * x.ndim
    for axis, b, e, s in zip(chosen, begin, end, step, strict=True):
        e = None if s < 0 and e < -x.shape[axis] else e
        place[axis] = slice(b, e, s)
    return settled(x[tuple(place)])


@host_operator("Cast")
def _cast(x: Any, *, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    kind = onnx.helper.tensor_dtype_to_np_dtype(to)
    if x.dtype != object:
        return x.astype(kind)
    return x if np.dtype(kind).kind in "iu" else None  # as a tensor


@host_operator("Reshape")
def _reshape(x: Any, shape: Any, *, allowzero: int = 0) -> Any:
    wanted = numbers(shape)
    if not allowzero:
        wanted = [x.shape[i] if n == 0 else n for i, n in enumerate(wanted)]
    return x.reshape(wanted)


@host_operator("Transpose")
def _transpose(x: Any, *, perm: Any = None) -> Any:
    return np.transpose(x, perm)


def _binary(name: str, function: Any) -> None:
    host_operator(name)(lambda x, y: settled(function(x, y)))


def _divided(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f":
        return x / y
    if object in (x.dtype, y.dtype):
        return x // y  # sizes are not below zero
    return (np.sign(x) * np.sign(y) * (np.abs(x) // np.abs(y))).astype(x.dtype)


_binary("Add", lambda x, y: np.add(x, y))
_binary("Sub", lambda x, y: np.subtract(x, y))
_binary("Mul", lambda x, y: np.multiply(x, y))
_binary("Div", _divided)
_binary("Equal", lambda x, y: np.equal(x, y).astype(bool))
_binary("Less", lambda x, y: np.less(x, y).astype(bool))
_binary("Greater", lambda x, y: np.greater(x, y).astype(bool))
_binary("LessOrEqual", lambda x, y: np.less_equal(x, y).astype(bool))
_binary("GreaterOrEqual", lambda x, y: np.greater_equal(x, y).astype(bool))
_binary("And", lambda x, y: np.logical_and(x, y))
_binary("Or", lambda x, y: np.logical_or(x, y))


@host_operator("Mod")
def _mod(x: Any, y: Any, *, fmod: int = 0) -> Any:
    return settled(np.fmod(x, y) if fmod else x % y)


@host_operator("Pow")
def _pow(x: Any, y: Any) -> Any:
    return None if object in (x.dtype, y.dtype) else np.power(x, y).astype(x.dtype)


@host_operator("Sqrt")
def _sqrt(x: Any) -> Any:
    return np.sqrt(x)


@host_operator("Not")
def _not(x: Any) -> Any:
    return np.logical_not(x)


@host_operator("Neg")
def _neg(x: Any) -> Any:
    return settled(-x)


@host_operator("Floor")
def _floor(x: Any) -> Any:
    return np.floor(x)


@host_operator("Ceil")
def _ceil(x: Any) -> Any:
    return np.ceil(x)


@host_operator("Where")
def _where(condition: Any, x: Any, y: Any) -> Any:
    return settled(np.where(condition, x, y))


@host_operator("Size")
def _size(x: Any) -> Any:
    return np.array(x.size, np.int64)


@host_operator("Range")
def _range(start: Any, end: Any, step: Any) -> Any:
    if object in (start.dtype, end.dtype, step.dtype):
        return None
    made = np.arange(start.item(), end.item(), step.item(), dtype=start.dtype)
    return made if made.size <= _LARGEST else None


@host_operator("ConstantOfShape")
def _constant_of_shape(shape: Any, *, value: Any = None) -> Any:
    wanted = numbers(shape)
    if shape.dtype == object or math.prod(wanted) > _LARGEST:
        return None
    filled = np.zeros(1, np.float32) if value is None else value
    return np.full(wanted, filled.reshape(-1)[0], filled.dtype)


@host_operator("Expand")
def _expand(x: Any, shape: Any) -> Any:
    if shape.dtype == object:
        return None
    wanted = np.broadcast_shapes(x.shape, tuple(numbers(shape)))
    return np.broadcast_to(x, wanted).copy() if np.prod(wanted) <= _LARGEST else None


@host_operator("ReduceProd")
def _reduce_prod(
    x: Any, given: Any = None, *, axes: Any = None, keepdims: int = 1, noop_with_empty_axes: int = 0
) -> Any:
    chosen = axes if given is None else numbers(given)
    if noop_with_empty_axes and not chosen:
        return x
    return settled(np.asarray(np.prod(
        x, None if chosen is None else tuple(chosen), keepdims=bool(keepdims)
    )))  # fmt: skip


def _extreme(name: str, function: Any) -> None:
    def run(*values: Any) -> Any:
        if any(v.dtype == object for v in values):
            return None
        made = values[0]
        for each in values[1:]:
            made = function(made, each)
        return made

    host_operator(name)(run)


_extreme("Max", np.maximum)
_extreme("Min", np.minimum)


@host_operator("Split")
def _split(
    x: Any, given: Any = None, *, axis: int = 0, split: Any = None, num_outputs: Any = None,
    outputs: int,
) -> Any:  # fmt: skip
    parts = numbers(given) if given is not None else split
    if parts is None:
        size = -(-x.shape[axis] // outputs)
        parts = [min(size, x.shape[axis] - i * size) for i in range(outputs)]
    return tuple(settled(each) for each in np.split(x, np.cumsum(parts)[:-1], axis))


