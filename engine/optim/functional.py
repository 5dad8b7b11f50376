"""What a step does to one parameter, as functions of tensors without effects.

They are the rules of the fused kernels (:mod:`.multi_tensor`) in ops, so that a step can be traced,
mapped or differentiated. Numbers may be Python floats or 0-d tensors.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import float32, float64
from ..ops import elementwise as e
from ..ops.movement import cast
from ..tensor import Tensor, constant, full_flat
from .multi_tensor import zeros_like


def _number(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else constant(value)


def sgd_init(p: Tensor, momentum: float = 0.0) -> tuple[Tensor, ...]:
    """The momentum buffer, where there is momentum."""
    return (zeros_like(p),) if momentum else ()


def sgd_update(
    p: Tensor, g: Tensor, state: tuple[Tensor, ...], *, lr: Any, momentum: float = 0.0,
    dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False,
    maximize: bool = False, first: bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]]:  # fmt: skip
    """Parameter and state after a step; ``first`` says that the buffer holds nothing yet."""
    if maximize:
        g = e.negative(g)
    if weight_decay:
        g = e.add(g, e.multiply(p, _number(weight_decay)))
    if state:
        buffer = g
        if not first:
            kept = e.multiply(state[0], _number(momentum))
            buffer = e.add(kept, e.multiply(g, _number(1 - dampening)))
        g = e.add(g, e.multiply(buffer, _number(momentum))) if nesterov else buffer
        state = (buffer,)
    return e.subtract(p, e.multiply(g, _number(lr))), state


def adam_init(p: Tensor, amsgrad: bool = False) -> tuple[Tensor, ...]:
    """Step count, first and second moment, and with ``amsgrad`` the largest second moment."""
    count = full_flat((), float32, 0.0)
    return (count, *(zeros_like(p) for _ in range(3 if amsgrad else 2)))


def adam_update(
    p: Tensor, g: Tensor, state: tuple[Tensor, ...], *, lr: Any, beta1: float = 0.9,
    beta2: float = 0.999, eps: float = 1e-8, weight_decay: float = 0.0, decoupled: bool = False,
    maximize: bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]]:  # fmt: skip
    """Parameter and state after a step of Adam, or of AdamW when ``decoupled``."""
    count, mean, square, *largest = state
    one = constant(1.0)
    count = e.add(count, one)
    if maximize:
        g = e.negative(g)
    if weight_decay and decoupled:
        p = e.subtract(p, e.multiply(p, e.multiply(_number(lr), _number(weight_decay))))
    elif weight_decay:
        g = e.add(g, e.multiply(p, _number(weight_decay)))
    mean = e.add(mean, e.multiply(e.subtract(g, mean), _number(1 - beta1)))
    change = e.multiply(e.multiply(g, g), _number(1 - beta2))
    square = e.add(e.multiply(square, _number(beta2)), change)
    second = square
    if largest:
        second = e.maximum(largest[0], square)
        largest = [second]
    wide = cast(count, dtype=float64)  # 1 - beta^t cancels: float32 is too coarse
    rate = e.divide(_number(lr), e.subtract(one, e.power(_number(beta1), wide)))
    root = e.sqrt(e.subtract(one, e.power(_number(beta2), wide)))
    rate, root = cast(rate, dtype=p.aval.dtype), cast(root, dtype=p.aval.dtype)
    below = e.add(e.divide(e.sqrt(second), root), _number(eps))
    return e.subtract(p, e.multiply(rate, e.divide(mean, below))), (count, mean, square, *largest)
