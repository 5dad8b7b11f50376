"""torch.ao.nn.intrinsic.quantized: quantised layers with a ReLU."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._quantized._operators import OPERATORS as _OPERATORS
from mindtorch.torch.ao.nn import quantized as nnq

__all__ = [
    "BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU",
]  # fmt: skip


class LinearReLU(nnq.Linear):
    """A linear map of quantised tensors and a ReLU.

    Args:
        in_features, out_features, bias, dtype: as the quantised Linear has them.
    """

    def forward(self, x: Any) -> Any:
        return _OPERATORS["linear_relu"](
            x, self._packed_params._packed_params, self.scale, self.zero_point
        )

    def _get_name(self) -> str:
        return "QuantizedLinearReLU"


class ConvReLU1d(nnq.Conv1d):
    """A convolution of quantised tensors over one axis and a ReLU."""

    _relu = True


class ConvReLU2d(nnq.Conv2d):
    """A convolution of quantised tensors over two axes and a ReLU."""

    _relu = True


class ConvReLU3d(nnq.Conv3d):
    """A convolution of quantised tensors over three axes and a ReLU."""

    _relu = True


class BNReLU2d(nnq.BatchNorm2d):
    """Batch norm of quantised images and a ReLU."""

    _relu = True


class BNReLU3d(nnq.BatchNorm3d):
    """Batch norm of quantised tensors with three spatial axes and a ReLU."""

    _relu = True


_own_names(globals())
