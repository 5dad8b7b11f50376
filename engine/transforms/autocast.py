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

from mindtorch.kernels.support.fork_safe_lock import lock

from .. import dtypes
from ..autograd import tape
from ..dispatch import OPS, Op, casting
from ..dispatch import state as core_state
from ..dtypes import DType
from ..ops.movement import cast as cast_op
from ..tensor import Tensor, version_of

LOWER, FULL, WIDEST, PLAIN = "lower", "full", "widest", "plain"
QUOTIENT = "quotient"  # in full precision where the dividend is a number

# of single ops, by torch's lists for the CPU; those of compositions stand where these are named
POLICIES = {
    "matmul": LOWER, "linear": LOWER, "convolution": LOWER,
    "cat": WIDEST, "stack": WIDEST, "index_copy": WIDEST,
}  # fmt: skip
# by torch's lists for CUDA
CUDA_POLICIES = {
    "matmul": LOWER, "linear": LOWER, "convolution": LOWER, "scaled_dot_product_attention": LOWER,
    **dict.fromkeys((
        "acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p",
        "reciprocal", "rsqrt", "sinh", "tan", "power", "power_two", "power_three", "power_half",
        "power_minus_half", "power_minus_one", "power_minus_two", "square", "softplus",
        "native_layer_norm", "native_group_norm", "logsumexp", "softmax", "log_softmax", "cumsum",
        "cumprod", "prod", "sum", "linalg_vector_norm", "nll_loss_forward", "cross_entropy_loss",
        "_euclidean_dist",
    ), FULL),
    **dict.fromkeys(("addcdiv", "addcmul", "atan2", "index_put", "scatter_add"), WIDEST),
    "divide": QUOTIENT,
}  # fmt: skip


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
        pinned: whether casting was switched on outside of any block.
        cache: casts of parameters, by the parameter, its version, and whether it was recorded.
    """

    nesting = 0
    cache_enabled = True
    pinned = False

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
        if not self.nesting:
            return 0
        return self.cpu.enabled, self.cpu.dtype, self.cuda.enabled, self.cuda.dtype


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
        casting[0] = _open_blocks > 0
        if not before and _open_blocks:
            for op in [OPS[n] for n in {**POLICIES, **CUDA_POLICIES} if n in OPS]:
                _plain_classes[op] = type(op)
                op.__class__ = _casting_class(type(op))
        elif before and not _open_blocks:
            for op, plain in _plain_classes.items():
                op.__class__ = plain
            _plain_classes.clear()


def switch(mode: Mode, enabled: bool) -> None:
    """Switch casting on or off in this thread, in a block or for good."""
    mode.enabled = enabled
    wanted = state.casting and not state.nesting
    if wanted != state.pinned:
        _count(1 if wanted else -1)
        state.pinned = wanted


def _casting_class(plain: type[Op]) -> type[Op]:
    def call(self: Op, *inputs: Any, **params: Any) -> Any:
        return plain.__call__(self, *as_cast(self.name, *inputs), **params)

    return type(plain.__name__, (plain,), {"__call__": call})


def as_cast(name: str, *inputs: Any) -> tuple[Any, ...]:
    """The inputs that op ``name`` gets in this thread.

    Functions that take views of their inputs before the op ask for themselves: a view's cast is not
    kept.
    """
    if state.cpu.enabled:
        inputs = cast_inputs(POLICIES.get(name, PLAIN), inputs, state.cpu)
    if state.cuda.enabled:
        inputs = cast_inputs(CUDA_POLICIES.get(name, PLAIN), inputs, state.cuda)
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
    key = (id(x), version_of(x), core_state.grad_enabled, dtype)
    if key not in state.cache:
        state.cache[key] = (x, cast_op(x, dtype=dtype))
    return state.cache[key][1]


class off:  # noqa: N801
    """A block in which ops of this thread do not cast."""

    def __enter__(self) -> None:
        self.before = state.cpu.enabled, state.cuda.enabled
        state.cpu.enabled = state.cuda.enabled = False

    def __exit__(self, *exception: object) -> None:
        state.cpu.enabled, state.cuda.enabled = self.before


def whole(
    policy: str | None, function: Callable[..., Any], cuda: str | None = None
) -> Callable[..., Any]:
    """``function``, which casts its tensors by ``policy``, and those on CUDA by ``cuda``, and then
    runs without autocast. None: its ops cast by themselves."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if not state.casting:
            return function(*args, **kwargs)
        cast_whole = False
        for mode, chosen in ((state.cpu, policy), (state.cuda, cuda)):
            if mode.enabled and chosen is not None:
                args = cast_inputs(chosen, [_each(chosen, a, mode) for a in args], mode)
                values = cast_inputs(chosen, kwargs.values(), mode)
                kwargs = dict(zip(kwargs, values, strict=True))
                cast_whole = True
        if not cast_whole:
            return function(*args, **kwargs)
        with off():
            return function(*args, **kwargs)

    return wrapped


def _each(policy: str, value: Any, mode: Mode) -> Any:
    """Lists of tensors are cast one by one."""
    if isinstance(value, (list, tuple)) and any(isinstance(x, Tensor) for x in value):
        cast = cast_inputs(policy, value, mode)
        return type(value)(*cast) if hasattr(value, "_fields") else type(value)(cast)
    return value
