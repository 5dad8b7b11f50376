"""A linear map of numbers with a quantised weight."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch.ao.nn import intrinsic as nni

from .._shared import class_of, quantize_weight, weight_observer
from ..linear import Linear as StaticLinear

__all__ = ["Linear"]

ops: Any = torch.ops.quantized


class Linear(StaticLinear):
    """A linear map with a weight of 8 bits; what comes in is put on levels by its range.

    Args:
        in_features, out_features, bias_: as torch.nn.Linear has them.
        dtype: torch.qint8, or torch.float16 for a weight that is only rounded.
    """

    _version = 4

    def __init__(
        self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = torch.qint8
    ) -> None:
        super().__init__(in_features, out_features, bias_, dtype=dtype)
        self.version = 4

    def forward(self, x: Any) -> Any:
        packed = self._packed_params._packed_params
        if self._packed_params.dtype == torch.float16:
            return ops.linear_dynamic_fp16(x, packed)
        return ops.linear_dynamic(x, packed, reduce_range=True).to(x.dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        text = (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"dtype={self._packed_params.dtype}"
        )
        if self._packed_params.dtype == torch.qint8:
            text += f", qscheme={self.weight().qscheme()}"
        return text

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for a Linear.

        Args:
            mod: with a ``qconfig``.

        Raises:
            AssertionError: another class, or there is no ``qconfig``.
        """
        kind = class_of(mod)
        if kind not in (*cls._FLOAT_MODULE, nni.LinearReLU):
            raise AssertionError(
                "nn.quantized.dynamic.Linear.from_float only works for one of "
                f"{[each.__name__ for each in cls._FLOAT_MODULE]}"
            )
        source = mod[0] if kind is nni.LinearReLU else mod
        observer = weight_observer(mod)
        if observer.dtype not in (torch.qint8, torch.float16):
            raise AssertionError(
                "The only supported dtypes for dynamic quantized linear are qint8 and float16 got: "
                f"{observer.dtype}"
            )
        observer(source.weight)
        weight = source.weight.float()
        if observer.dtype == torch.qint8:
            weight = quantize_weight(weight, observer)
        made = cls(source.in_features, source.out_features, dtype=observer.dtype)
        made.set_weight_bias(weight, source.bias)
        return made


