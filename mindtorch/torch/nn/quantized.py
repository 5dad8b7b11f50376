"""torch.nn.quantized: functions as modules, which observers could be put into.

Quantized modules themselves are not available: there are no quantized tensors.
"""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch._compat.unsupported_names import absent_class

from .modules.linear import Identity
from .modules.module import Module

__all__ = ["FloatFunctional"]

_WHY = "there are no quantised kernels"


class FloatFunctional(Module):
    """Functions of floating-point tensors, each result passed through an observer.

    The observer, `activation_post_process`, is the identity unless somebody replaces it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = Identity()

    def forward(self, x: Any) -> Any:
        """Not for use: it says which methods are.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(
            "FloatFunctional is not intended to use the 'forward'. Please use the underlying "
            "operation"
        )

    def add(self, x: Any, y: Any) -> Any:
        """``x + y``, observed."""
        return self.activation_post_process(torch.add(x, y))

    def add_scalar(self, x: Any, y: float) -> Any:
        """``x + y`` for a number; not observed, since a quantized sum keeps its scale."""
        return torch.add(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """``x * y``, observed."""
        return self.activation_post_process(torch.mul(x, y))

    def mul_scalar(self, x: Any, y: float) -> Any:
        """``x * y`` for a number; not observed."""
        return torch.mul(x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """The tensors one after another, observed."""
        return self.activation_post_process(torch.cat(x, dim=dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        """``max(x + y, 0)``, observed."""
        return self.activation_post_process(torch.relu(torch.add(x, y)))

    def matmul(self, x: Any, y: Any) -> Any:
        """The matrix product, observed."""
        return self.activation_post_process(torch.matmul(x, y))


def __getattr__(name: str) -> Any:
    if name in ("Conv1d", "Conv2d", "Conv3d", "Linear", "QFunctional", "Quantize", "DeQuantize"):
        return absent_class("torch.nn.quantized", name, _WHY)
    raise AttributeError(f"module 'torch.nn.quantized' has no attribute '{name}'")
