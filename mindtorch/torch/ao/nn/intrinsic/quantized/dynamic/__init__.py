"""torch.ao.nn.intrinsic.quantized.dynamic: a linear map of numbers and a ReLU."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch.ao.nn.quantized import dynamic as nnqd

__all__ = ["LinearReLU"]


class LinearReLU(nnqd.Linear):
    """A linear map with a quantised weight and a ReLU.

    Args:
        in_features, out_features, bias_, dtype: as the dynamic Linear has them.
    """

    def forward(self, x: Any) -> Any:
        return super().forward(x).relu()

    def _get_name(self) -> str:
        return "DynamicQuantizedLinearReLU"


_own_names(globals())
