"""Functions as modules, so that observers and scales have a place."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import nn

from ._shared import Scaled, output_parameters

__all__ = ["FXFloatFunctional", "FloatFunctional", "QFunctional"]

ops: Any = torch.ops.quantized


class FXFloatFunctional(nn.Module):
    """Functions of floating-point tensors under the names that QFunctional has."""

    def forward(self, x: Any) -> Any:
        """Not for use: it says which methods are.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(
            "FloatFunctional is not intended to use the 'forward'. Please use the underlying "
            "operation"
        )

    def _observed(self, x: Any) -> Any:
        return x

    def add(self, x: Any, y: Any) -> Any:
        """``x + y``, observed."""
        return self._observed(torch.add(x, y))

    def add_scalar(self, x: Any, y: float) -> Any:
        """``x + y`` for a number; not observed, since a quantized sum keeps its scale."""
        return torch.add(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """``x * y``, observed."""
        return self._observed(torch.mul(x, y))

    def mul_scalar(self, x: Any, y: float) -> Any:
        """``x * y`` for a number; not observed."""
        return torch.mul(x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """The tensors one after another, observed."""
        return self._observed(torch.cat(x, dim=dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        """``max(x + y, 0)``, observed."""
        return self._observed(nn.functional.relu(torch.add(x, y)))

    def matmul(self, x: Any, y: Any) -> Any:
        """The matrix product, observed."""
        return self._observed(torch.matmul(x, y))


class FloatFunctional(FXFloatFunctional):
    """Functions of floating-point tensors, each result passed through an observer.

    The observer, `activation_post_process`, is the identity until `prepare` replaces it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = nn.Identity()

    def _observed(self, x: Any) -> Any:
        return self.activation_post_process(x)


class QFunctional(Scaled):
    """The same of quantised tensors.

    Attributes:
        scale, zero_point: of results.
    """

    def __init__(self) -> None:
        super().__init__()
        self.scale = 1.0
        self.zero_point = 0
        self.activation_post_process = nn.Identity()

    def _get_name(self) -> str:
        return "QFunctional"

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}"

    def forward(self, x: Any) -> Any:
        """Not for use: it says which methods are.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(
            "Functional is not intended to use the 'forward'. Please use the underlying operation"
        )

    def _observed(self, x: Any) -> Any:
        return self.activation_post_process(x)

    def add(self, x: Any, y: Any) -> Any:
        """``x + y``."""
        return self._observed(ops.add(x, y, scale=self.scale, zero_point=self.zero_point))

    def add_scalar(self, x: Any, y: float) -> Any:
        """``x + y`` for a number."""
        return ops.add_scalar(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        """``x * y``."""
        return self._observed(ops.mul(x, y, scale=self.scale, zero_point=self.zero_point))

    def mul_scalar(self, x: Any, y: float) -> Any:
        """``x * y`` for a number."""
        return ops.mul_scalar(x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        """The tensors one after another."""
        return self._observed(ops.cat(x, scale=self.scale, zero_point=self.zero_point, dim=dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        """``max(x + y, 0)``."""
        return self._observed(ops.add_relu(x, y, scale=self.scale, zero_point=self.zero_point))

    def matmul(self, x: Any, y: Any) -> Any:
        """The matrix product."""
        return self._observed(ops.matmul(x, y, scale=self.scale, zero_point=self.zero_point))

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for a FloatFunctional that was calibrated.

        Raises:
            AssertionError: another class of module.
        """
        if type(mod) is not FloatFunctional:
            raise AssertionError(
                "QFunctional.from_float expects an instance of FloatFunctional"
            )
        made = cls()
        made.scale, made.zero_point = output_parameters(mod)
        return made
