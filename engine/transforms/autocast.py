"""Autocast: ops that take their inputs in a lower precision, in full precision, or in the widest.

In a block the thread's mode has the bit AUTOCAST, so that a call of an op casts its inputs first,
by the policies that ops are declared with; at other times autocast costs nothing. What is composed
of several ops is cast as a whole by :func:`whole`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..autograd import tape
from ..dispatch import state as dispatch_state
from ..dtypes import DType
from ..op import Op
from ..ops.movement import cast as cast_op
from ..tensor import Tensor, version_of

LOWER, FULL, WIDEST, PLAIN = "lower", "full", "widest", "plain"
QUOTIENT = "quotient"  # in full precision where the dividend is a number


class Mode:
    """Autocast of one type of devices in one thread.

    Attributes:
        enabled: whether ops cast their inputs.
        dtype: the lower precision.
    """

    def __init__(self, device: str, dtype: DType) -> None:
        self.device = device
        self.dtype = dtype
        self.enabled = False


class State(threading.local):
    """Autocast in this thread.

    Attributes:
        cpu, cuda: the two types of devices that ops run on.
        nesting: how many blocks are open; the cache lives until the last one ends.
        cache: casts of parameters, by the parameter, its version, and whether it was recorded.
    """

    nesting = 0
    cache_enabled = True

    def __init__(self) -> None:
        self.cpu = Mode("cpu", dtypes.bfloat16)
        self.cuda = Mode("cuda", dtypes.float16)
        self.cache: dict[Any, tuple[Tensor, Tensor]] = {}


    @property
    def casting(self) -> bool:
        """Whether ops of some device cast their inputs."""
        return self.cpu.enabled or self.cuda.enabled

    def key(self) -> Any:
        """What compiled code depends on."""
        if not self.nesting and not self.casting:
            return 0
        return self.cpu.enabled, self.cpu.dtype, self.cuda.enabled, self.cuda.dtype


state = State()


def enter() -> None:
    """A block opens."""
    state.nesting += 1


def leave() -> None:
    """A block ends; casts are kept until the outermost one does."""
    state.nesting -= 1
    if state.nesting == 0:
        state.cache.clear()


def switch(mode: Mode, enabled: bool) -> None:
    """Switch casting on or off in this thread, in a block or for good."""
    mode.enabled = enabled
    dispatch_state.cast_inputs_by(as_cast if state.casting else None)


def as_cast(op: Op, *inputs: Any) -> tuple[Any, ...]:
    """The inputs that ``op`` gets in this thread.

    Functions that take views of their inputs before the op ask for themselves: a view's cast is not
    kept.
    """
    if state.cpu.enabled and op.autocast is not None:
        inputs = cast_inputs(op.autocast, inputs, state.cpu)
    if state.cuda.enabled and op.autocast_cuda is not None:
        inputs = cast_inputs(op.autocast_cuda, inputs, state.cuda)
    return inputs


def cast_inputs(policy: str, inputs: Any, mode: Mode) -> tuple[Any, ...]:
    """The inputs of an op as its policy wants them."""
    if policy == PLAIN or (policy == QUOTIENT and not _is_number(inputs[0])):
        return tuple(inputs)
    dtype = mode.dtype if policy == LOWER else dtypes.float32
    if policy == WIDEST:
        dtype = _widest(inputs, mode)
    return tuple([cast(x, dtype, mode) for x in inputs])


def _is_number(x: Any) -> bool:
    return not isinstance(x, Tensor) or x.aval.weak


def _widest(inputs: Any, mode: Mode) -> DType:
    """float32 where some input is of that type, else the lower precision."""
    widest = mode.dtype
    for x in inputs:
        if not isinstance(x, Tensor) or x.aval.dtype.category != dtypes.FLOAT:
            continue
        own = x.aval.dtype
        if own is dtypes.float32 or own is dtypes.float64 or widest is dtypes.float32:
            widest = dtypes.float32
        elif own is not mode.dtype:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return widest


def cast(x: Any, dtype: DType, mode: Mode) -> Any:
    """``x`` in ``dtype`` when it is a tensor of the mode's device and of a floating type but
    float64."""
    if not isinstance(x, Tensor):
        return x
    own = x.aval
    if (
        own.dtype is dtype
        or own.dtype.category != dtypes.FLOAT
        or own.dtype is dtypes.float64
        or own.weak
        or own.device.type != mode.device
    ):
        return x
    kept = (
        state.cache_enabled
        and dtype is mode.dtype
        and own.dtype is dtypes.float32
        and type(x._node) is tape.AccumulateGrad
    )
    if not kept:
        return cast_op(x, dtype=dtype)
    key = (id(x), version_of(x), dispatch_state.grad_enabled, dtype)
    if key not in state.cache:
        state.cache[key] = (x, cast_op(x, dtype=dtype))
    return state.cache[key][1]


class off:  # noqa: N801
    """A block in which ops of this thread do not cast."""

    def __enter__(self) -> None:
        self.before = state.cpu.enabled, state.cuda.enabled
        state.cpu.enabled = state.cuda.enabled = False
        dispatch_state.cast_inputs_by(None)

    def __exit__(self, *exception: object) -> None:
        state.cpu.enabled, state.cuda.enabled = self.before
        dispatch_state.cast_inputs_by(as_cast if state.casting else None)


def whole(
    policy: str | None, function: Callable[..., Any], cuda: str | None = None
) -> Callable[..., Any]:
    """``function``, which casts its tensors by ``policy``, and those on CUDA by ``cuda``, and then
    runs without autocast. None: its ops cast by themselves."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        found = cast_call((policy, cuda), args, kwargs) if state.casting else None
        if found is None:
            return function(*args, **kwargs)
        with off():
            return function(*found[0], **found[1])

    return wrapped


def cast_call(
    policies: tuple[str | None, str | None], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a call that is cast as a whole, by the policies for the CPU and for CUDA.

    None where it is not: its ops cast by themselves.
    """
    whole = False
    for mode, policy in zip((state.cpu, state.cuda), policies, strict=True):
        if mode.enabled and policy is not None:
            args = cast_inputs(policy, [_each(policy, a, mode) for a in args], mode)
            values = cast_inputs(policy, kwargs.values(), mode)
            kwargs = dict(zip(kwargs, values, strict=True))
            whole = True
    return (args, kwargs) if whole else None


def _each(policy: str, value: Any, mode: Mode) -> Any:
    """Lists of tensors are cast one by one."""
    if isinstance(value, (list, tuple)) and any(isinstance(x, Tensor) for x in value):
        cast = cast_inputs(policy, value, mode)
        return type(value)(*cast) if hasattr(value, "_fields") else type(value)(cast)
    return value
