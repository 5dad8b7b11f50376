"""The quantised linear map."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import nn
from mindtorch.torch._quantized._creation import _empty_affine_quantized
from mindtorch.torch.ao.nn import intrinsic as nni
from mindtorch.torch.ao.nn import qat as nnqat
from mindtorch.torch.ao.nn.intrinsic import qat as nniqat
from mindtorch.torch.nn.utils.fusion import fuse_linear_bn_weights

from ._shared import Scaled, float_module, output_parameters, weight_levels

__all__ = ["Linear", "LinearPackedParams"]

ops: Any = torch.ops.quantized


class LinearPackedParams(nn.Module):
    """A weight and a bias in the kernels' form.

    Args:
        dtype: torch.qint8, or torch.float16 for weights that are only rounded.
    """

    _version = 3

    def __init__(self, dtype: Any = torch.qint8) -> None:
        super().__init__()
        self.dtype = dtype
        weight = torch.zeros(1, 1)
        if dtype == torch.qint8:
            weight = _empty_affine_quantized(
                [1, 1], scale=1, zero_point=0, dtype=torch.qint8
            )
        self.set_weight_bias(weight, None)

    def set_weight_bias(self, weight: Any, bias: Any) -> None:
        """Take another weight and bias."""
        if self.dtype == torch.qint8:
            self._packed_params = ops.linear_prepack(weight, bias)
        elif self.dtype == torch.float16:
            self._packed_params = ops.linear_prepack_fp16(weight, bias)
        else:
            raise RuntimeError("Unsupported dtype on dynamic quantized linear!")

    def _weight_bias(self) -> Any:
        return self._packed_params.unpack()

    def forward(self, x: Any) -> Any:
        return x

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._weight_bias()

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *args: Any
    ) -> None:
        if prefix + "dtype" in state_dict:
            self.dtype = state_dict.pop(prefix + "dtype")
        if prefix + "_packed_params" in state_dict:
            self.set_weight_bias(*state_dict.pop(prefix + "_packed_params"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *args)

    def __repr__(self) -> str:
        return repr(self._weight_bias())


class Linear(Scaled):
    """A linear map of quantised tensors.

    Args:
        in_features, out_features: lengths of the last axis, before and after.
        bias_: whether there is a bias.
        dtype: of the weight.
    """

    _version = 3
    _FLOAT_MODULE: Any = (nn.Linear, nn.modules.linear.NonDynamicallyQuantizableLinear)

    def __init__(
        self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = torch.qint8
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        bias = torch.zeros(out_features, dtype=torch.float) if bias_ else None
        weight: Any
        if dtype == torch.qint8:
            weight = _empty_affine_quantized(
                [out_features, in_features], scale=1, zero_point=0, dtype=torch.qint8
            )
        elif dtype == torch.float16:
            weight = torch.zeros([out_features, in_features], dtype=torch.float)
        else:
            raise RuntimeError("Unsupported dtype specified for quantized Linear!")
        self._packed_params = LinearPackedParams(dtype)
        self._packed_params.set_weight_bias(weight, bias)
        self.scale = 1.0
        self.zero_point = 0

    def _get_name(self) -> str:
        return "QuantizedLinear"

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"scale={self.scale}, zero_point={self.zero_point}, qscheme={self.weight().qscheme()}"
        )

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def forward(self, x: Any) -> Any:
        return ops.linear(x, self._packed_params._packed_params, self.scale, self.zero_point)

    def _weight_bias(self) -> Any:
        return self._packed_params._weight_bias()

    def weight(self) -> Any:
        """The weight, a quantised tensor."""
        return self._weight_bias()[0]

    def bias(self) -> Any:
        """The bias, of float32; or None."""
        return self._weight_bias()[1]

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Take another weight and bias."""
        self._packed_params.set_weight_bias(w, b)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for one that was prepared and calibrated, or trained.

        Args:
            mod: a Linear, one fused with what follows it, or one of quantisation-aware training.
            use_precomputed_fake_quant: do not observe the weight again.

        Raises:
            AssertionError: another class of module.
        """
        scale, zero = output_parameters(mod)
        source = mod
        if hasattr(mod, "weight_fake_quant"):
            if type(mod) is nniqat.LinearBn1d:
                mod.weight, mod.bias = fuse_linear_bn_weights(
                    mod.weight, mod.bias, mod.bn.running_mean, mod.bn.running_var, mod.bn.eps,
                    mod.bn.weight, mod.bn.bias,
                )  # fmt: skip
        else:
            float_module(cls, mod, (*cls._FLOAT_MODULE, nni.LinearReLU, nnqat.Linear))
            if type(mod) is nni.LinearReLU:
                source = mod[0]
                source.qconfig = mod.qconfig
        weight = weight_levels(source, use_precomputed_fake_quant)
        made = cls(source.in_features, source.out_features, dtype=weight.dtype)
        made.set_weight_bias(weight, source.bias)
        made.scale, made.zero_point = scale, zero
        return made

    @classmethod
    def from_reference(cls, ref_qlinear: Any, output_scale: Any, output_zero_point: Any) -> Any:
        """The module for a reference one.

        Args:
            ref_qlinear: has ``get_quantized_weight()``.
            output_scale, output_zero_point: of the results.
        """
        made = cls(ref_qlinear.in_features, ref_qlinear.out_features)
        made.set_weight_bias(ref_qlinear.get_quantized_weight(), ref_qlinear.bias)
        made.scale, made.zero_point = float(output_scale), int(output_zero_point)
        return made


