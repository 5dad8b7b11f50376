"""Windows that taper a signal: torch.hann_window and its kin."""

from __future__ import annotations

import math
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.dtypes import FLOAT
from mindtorch.engine.ops import comparison as comparisons
from mindtorch.engine.ops import elementwise as ops
from mindtorch.engine.ops import elementwise_special as special
from mindtorch.engine.tensor import constant as c

from .._api.arguments import as_dtype
from .._api.publish import FUNCTIONS, function
from .creation import finish


def _places(
    name: str, length: int, periodic: bool, dtype: Any, device: Any
) -> tuple[Any, int]:
    """The numbers 0, 1, ... of a window's places, and how many; RuntimeError for a bad type."""
    kind = dtypes.default if dtype is None else as_dtype(dtype)
    if kind.category < FLOAT:
        raise RuntimeError(
            f"{name} expects floating point dtypes, got: TensorOptions(dtype="
            f"{dtypes.c_name(kind)}, device=cpu, layout=Strided (default), requires_grad=false "
            "(default), pinned_memory=false, memory_format=(nullopt))"
        )
    if length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={length}"
        )
    count = length + 1 if periodic and length > 1 else length
    return FUNCTIONS["arange"](count, dtype=kind, device=device), count


def _finish(window: Any, length: int, layout: Any, pin_memory: bool, requires_grad: bool) -> Any:
    if length == 1:
        window = ops.add(window, c(1))
    window = window[:length].clone() if window.shape[0] > length else window
    return finish(window, requires_grad, layout, pin_memory)


def _scaled(places: Any, factor: float) -> Any:
    return ops.multiply(places, c(factor))


@function(method=False, checked=True, constant=True)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """``alpha - beta cos(2 pi n / (N - 1))``; ``periodic`` drops the last of N + 1."""
    options = (dtype, layout, device, pin_memory, requires_grad)
    return _cosine("hamming_window", window_length, periodic, alpha, beta, *options)


def _cosine(
    name: str, length: int, periodic: bool, alpha: float, beta: float, dtype: Any, layout: Any,
    device: Any, pin_memory: bool, requires_grad: bool,
) -> Any:  # fmt: skip
    window, count = _places(name, length, periodic, dtype, device)
    if count > 1:
        turned = ops.cos(_scaled(window, 2 * math.pi / (count - 1)))
        window = ops.add(_scaled(turned, -beta), c(alpha))
    return _finish(window, length, layout, pin_memory, requires_grad)


@function(method=False, checked=True, constant=True)
def hann_window(
    window_length: int,
    periodic: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """``sin(pi n / (N - 1))**2``; ``periodic`` drops the last of N + 1."""
    options = (dtype, layout, device, pin_memory, requires_grad)
    return _cosine("hann_window", window_length, periodic, 0.5, 0.5, *options)


@function(method=False, checked=True, constant=True)
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """The triangle ``1 - |2 n / (N - 1) - 1|``; ``periodic`` drops the last of N + 1."""
    name = "bartlett_window"
    window, count = _places(name, window_length, periodic, dtype, device)
    if count > 1:
        rising = _scaled(window, 2 / (count - 1))
        falling = ops.add(ops.negative(rising), c(2.0))
        rises = comparisons.less_equal(window, c((count - 1) // 2))
        window = comparisons.where(rises, rising, falling)
    return _finish(window, window_length, layout, pin_memory, requires_grad)


@function(method=False, checked=True, constant=True)
def blackman_window(
    window_length: int,
    periodic: bool = True,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """``0.42 - 0.5 cos(2 t) + 0.08 cos(4 t)`` at ``t = pi n / (N - 1)``; ``periodic`` drops the
    last of N + 1."""
    name = "blackman_window"
    window, count = _places(name, window_length, periodic, dtype, device)
    if count > 1:
        angle = _scaled(window, math.pi / (count - 1))
        outer, inner = (ops.cos(_scaled(angle, times)) for times in (4, 2))
        window = ops.subtract(_scaled(outer, 0.08), _scaled(inner, 0.5))
        window = ops.add(window, c(0.42))
    return _finish(window, window_length, layout, pin_memory, requires_grad)


@function(method=False, checked=True, constant=True)
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """``i0(beta sqrt(1 - (2 n / (N - 1) - 1)**2)) / i0(beta)``; ``periodic`` drops the last of
    N + 1."""
    name = "kaiser_window"
    window, count = _places(name, window_length, periodic, dtype, device)
    if count > 1:
        wide = window if window.element_size() >= 4 else window.float()
        half = (count - 1) / 2
        offset = ops.divide(ops.subtract(wide, c(half)), c(half))
        # short types round a place beyond the last one
        height = ops.sqrt(ops.absolute(ops.subtract(c(1.0), ops.multiply(offset, offset))))
        peak = special.i0(FUNCTIONS["full"]((), float(beta), dtype=wide.dtype))
        window = ops.divide(special.i0(_scaled(height, beta)), peak).to(window.dtype)
    return _finish(window, window_length, layout, pin_memory, requires_grad)
