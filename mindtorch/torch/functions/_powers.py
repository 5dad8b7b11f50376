"""Powers whose exponent is a number."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.dispatch import call_of
from mindtorch.engine.ops import elementwise as ops
from mindtorch.engine.tensor import constant

from .._api.arguments import require_power

_power = call_of(ops.power, 2)


def power_of_number(base: Any, exponent: Any) -> Any:
    """``base ** exponent``: products and roots where PyTorch's loops compute these."""
    op = ops.op_of_power(base, exponent)
    if op is not None:
        return op(base)
    if type(exponent) is int and exponent < 0:
        require_power(base, exponent)
    return _power(base, constant(exponent))
