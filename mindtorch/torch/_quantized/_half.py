"""Products with weights of float16, computed in float32."""

from __future__ import annotations

from typing import Any

from ..nn import functional as F  # noqa: N812

__all__ = ["HalfLinear"]


class HalfLinear:
    """The weight, rounded to float16, and the bias of a linear map of numbers.

    Attributes:
        weight, bias: both of float32.
    """

    def __init__(self, weight: Any, bias: Any = None) -> None:
        self.weight, self.bias = weight.detach().half().float(), bias

    def unpack(self) -> tuple[Any, Any]:
        """The weight and the bias."""
        return self.weight, self.bias

    def run_on_numbers(self, x: Any, relu: bool, reduce_range: bool) -> Any:
        """The product; ``reduce_range`` has no meaning for it."""
        bias = None if self.bias is None else self.bias.detach()
        made = F.linear(x.detach(), self.weight, bias)
        return made.relu() if relu else made
