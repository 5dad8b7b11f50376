"""Autocast: ops that take their inputs in a lower precision, in full precision, or in the widest.

While some thread is inside of an autocast block, the ops of :data:`POLICIES` belong to a class
whose call casts inputs first; at other times they are plain ops, so that autocast costs nothing.
What is composed of several ops is cast as a whole by :func:`whole`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from mindtorch.kernels.locks import lock

from . import dtypes, tape
from .core import OPS, Op
from .core import state as core_state
from .dtypes import DType
from .tensor import Tensor

LOWER, FULL, WIDEST, PLAIN = "lower", "full", "widest", "plain"

# of single ops; those of compositions stand where the compositions are named
POLICIES = {
    "matmul": LOWER, "linear": LOWER, "convolution": LOWER,
    "cat": WIDEST, "stack": WIDEST, "index_copy": WIDEST,
}  # fmt: skip


class State(threading.local):
    """Autocast of the CPU in this thread.

    Attributes:
        enabled: whether ops cast their inputs.
        dtype: the lower precision.
        nesting: how many blocks are open; the cache lives until the last one ends.
        pinned: whether casting was switched on outside of any block.
        cache: casts of parameters, by the parameter, its version, and whether it was recorded.
    """

    enabled = False
    dtype: DType = dtypes.bfloat16
    nesting = 0
    cache_enabled = True
    pinned = False

    def __init__(self) -> None:
        self.cache: dict[Any, tuple[Tensor, Tensor]] = {}


state = State()
_lock = lock()
_open_blocks = 0
_plain_classes: dict[Op, type[Op]] = {}


def enter() -> None:
    """A block opens: from the first one on, ops ask whether to cast."""
    _count(1)
    state.nesting += 1


def leave() -> None:
    """A block ends: after the last one ops are plain again."""
    _count(-1)
    state.nesting -= 1
    if state.nesting == 0:
        state.cache.clear()


def _count(change: int) -> None:
    global _open_blocks
    with _lock:
        before, _open_blocks = _open_blocks, _open_blocks + change
        if not before and _open_blocks:
            for op in [OPS[name] for name in POLICIES if name in OPS]:
                _plain_classes[op] = type(op)
                op.__class__ = _casting_class(type(op))
        elif before and not _open_blocks:
            for op, plain in _plain_classes.items():
                op.__class__ = plain
            _plain_classes.clear()


def switch(enabled: bool) -> None:
    """Switch casting on or off in this thread, in a block or for good."""
    state.enabled = enabled
    wanted = enabled and not state.nesting
    if wanted != state.pinned:
        _count(1 if wanted else -1)
        state.pinned = wanted


def _casting_class(plain: type[Op]) -> type[Op]:
    def call(self: Op, *inputs: Any, **params: Any) -> Any:
        if state.enabled:
            inputs = cast_inputs(POLICIES[self.name], inputs)
        return plain.__call__(self, *inputs, **params)

    return type(plain.__name__, (plain,), {"__call__": call})


def cast_inputs(policy: str, inputs: Any) -> tuple[Any, ...]:
    """The inputs of an op as its policy wants them."""
    if policy == PLAIN:
        return tuple(inputs)
    dtype = state.dtype if policy == LOWER else dtypes.float32
    if policy == WIDEST:
        dtype = _widest(inputs)
    return tuple([cast(x, dtype) for x in inputs])


def _widest(inputs: Any) -> DType:
    """float32 where some input is of that type, else the lower precision."""
    widest = state.dtype
    for x in inputs:
        if not isinstance(x, Tensor) or x.aval.dtype.category != dtypes.FLOAT:
            continue
        own = x.aval.dtype
        if own is dtypes.float32 or own is dtypes.float64 or widest is dtypes.float32:
            widest = dtypes.float32
        elif own is not state.dtype:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return widest


def cast(x: Any, dtype: DType) -> Any:
    """``x`` in ``dtype`` when it is a tensor of the CPU and of a floating type but float64."""
    if not isinstance(x, Tensor):
        return x
    own = x.aval
    if (
        own.dtype is dtype
        or own.dtype.category != dtypes.FLOAT
        or own.dtype is dtypes.float64
        or own.weak
        or own.device.type != "cpu"
    ):
        return x
    from .ops.movement import cast as cast_op

    kept = (
        state.cache_enabled
        and dtype is state.dtype
        and own.dtype is dtypes.float32
        and type(x._node) is tape.AccumulateGrad
    )
    if not kept:
        return cast_op(x, dtype=dtype)
    key = (id(x), x._version, core_state.grad_enabled, dtype)
    if key not in state.cache:
        state.cache[key] = (x, cast_op(x, dtype=dtype))
    return state.cache[key][1]


class off:  # noqa: N801
    """A block in which ops of this thread do not cast."""

    def __enter__(self) -> None:
        self.before = state.enabled
        state.enabled = False

    def __exit__(self, *exception: object) -> None:
        state.enabled = self.before


def whole(policy: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, which casts its tensors by ``policy`` and then runs without autocast."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if not state.enabled:
            return function(*args, **kwargs)
        args = cast_inputs(policy, [_each(policy, a) for a in args])
        kwargs = dict(zip(kwargs, cast_inputs(policy, kwargs.values()), strict=True))
        with off():
            return function(*args, **kwargs)

    return wrapped


def _each(policy: str, value: Any) -> Any:
    """Lists of tensors are cast one by one."""
    if isinstance(value, (list, tuple)) and any(isinstance(x, Tensor) for x in value):
        return type(value)(cast_inputs(policy, value))
    return value
