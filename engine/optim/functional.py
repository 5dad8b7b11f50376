"""Updates of :mod:`mindtorch.kernels.scalar.updates` on tensors.

The formulas of the fused kernels (:mod:`.multi_tensor`) in ops, for parameters that no kernel
takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from mindtorch.kernels.scalar import updates

from ..ops import elementwise as e
from ..ops.movement import cast
from ..tensor import Tensor, constant


def _scaled(x: Tensor, y: Tensor, alpha: float) -> Tensor:
    return e.add(x, e.multiply(y, constant(alpha)))


def _rounded(value: float, like: Tensor) -> Tensor:
    return cast(constant(value), dtype=like.aval.dtype)


_WITHOUT_EFFECTS = {
    "decayed": _scaled, "add": _scaled, "add_": _scaled, "sqrt": e.sqrt, "maximum_": e.maximum,
    "add_number_": lambda x, y: e.add(x, constant(y)),
    "mul_": lambda x, y: e.multiply(x, constant(y)),
    "div_": lambda x, y: e.divide(x, _rounded(y, x)),
    "lerp_": lambda x, y, weight: _scaled(x, e.subtract(y, x), weight),
    "addcmul_": lambda x, y, z, value: _scaled(x, e.multiply(y, z), value),
    "addcdiv_": lambda x, y, z, value: e.add(x, e.multiply(_rounded(value, x), e.divide(y, z))),
    "copy_": lambda x, y: y,
}  # fmt: skip


def updated(
    update: updates.Update, p: Tensor, g: Tensor, states: Sequence[Tensor], step: float,
    settings: Sequence[float],
) -> tuple[Tensor, ...]:  # fmt: skip
    """Parameter and states after a step; nothing is overwritten.

    Args:
        update: as ``updates.ADAM``.
        step: the number of the step, which begins with 1.
        settings: those that ``update.settings`` names.
    """
    element = updates.with_operations(update, _WITHOUT_EFFECTS)
    return tuple(element(p, g, *states, *update.numbers(step, *settings)))


__all__ = ["updated", "updates"]
