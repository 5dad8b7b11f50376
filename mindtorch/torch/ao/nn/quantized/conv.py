"""Quantised convolutions."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import nn
from mindtorch.torch._quantized._creation import _empty_affine_quantized
from mindtorch.torch.ao.nn import intrinsic as nni
from mindtorch.torch.ao.nn.intrinsic import qat as nniqat
from mindtorch.torch.nn.utils.fusion import fuse_conv_bn_weights

from ._shared import Scaled, float_module, output_parameters, weight_levels

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
]  # fmt: skip

ops: Any = torch.ops.quantized


def _lengths(value: Any, spatial: int) -> tuple[int, ...]:
    return (value,) * spatial if isinstance(value, int) else tuple(value)


class ConvNd(Scaled):
    """What quantised convolutions have in common.

    Args:
        in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias: as those
            of torch.nn have them.
        padding_mode: "zeros", or "reflect" for those that are not transposed.
        output_padding: of transposed ones.
    """

    _spatial = 2
    _transposed = False
    _NAME = ""
    _relu = False

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None, *,
        output_padding: Any = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        if padding_mode == "circular" or (self._transposed and padding_mode != "zeros"):
            raise NotImplementedError(
                f"Currently only zero-padding is supported by quantized {type(self).__name__}"
            )
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels, self.out_channels = in_channels, out_channels
        count = self._spatial
        self.kernel_size, self.stride = _lengths(kernel_size, count), _lengths(stride, count)
        self.padding, self.dilation = _lengths(padding, count), _lengths(dilation, count)
        self.transposed = self._transposed
        self.output_padding = _lengths(output_padding, count)
        self.groups, self.padding_mode = groups, padding_mode
        shape = (
            [in_channels, out_channels // groups] if self._transposed
            else [out_channels, in_channels // groups]
        )  # fmt: skip
        weight = _empty_affine_quantized(
            [*shape, *self.kernel_size], scale=1, zero_point=0, dtype=torch.qint8
        )
        held = torch.zeros(out_channels, dtype=torch.float) if bias else None
        self.set_weight_bias(weight, held)
        self.scale = 1.0
        self.zero_point = 0

    def _get_name(self) -> str:
        return f"Quantized{self._NAME or type(self).__name__}"

    def extra_repr(self) -> str:
        zeros, ones = (0,) * self._spatial, (1,) * self._spatial
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, scale={self.scale}, zero_point={self.zero_point}"
        )
        for name, usual in (
            ("padding", zeros), ("dilation", ones), ("output_padding", zeros), ("groups", 1)
        ):  # fmt: skip
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text if self.bias() is not None else f"{text}, bias=False"

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Take another weight and bias."""
        padding = (0,) * self._spatial if self.padding_mode != "zeros" else self.padding
        prepack = getattr(ops, f"conv{'_transpose' * self._transposed}{self._spatial}d_prepack")
        steps = (self.output_padding,) if self._transposed else ()
        self._packed_params = prepack(
            w, b, self.stride, padding, *steps, self.dilation, self.groups
        )

    def _weight_bias(self) -> Any:
        return self._packed_params.unpack()

    def weight(self) -> Any:
        """The weight, a quantised tensor."""
        return self._weight_bias()[0]

    def bias(self) -> Any:
        """The bias, of float32; or None."""
        return self._weight_bias()[1]

    def forward(self, input: Any) -> Any:  # noqa: A002
        if input.dim() != self._spatial + 2:
            raise ValueError(f"Input shape must be `(N, C, {'DHW'[3 - self._spatial:]})`!")
        x = input
        if self.padding_mode != "zeros":
            around = [n for n in reversed(self.padding) for _ in range(2)]
            x = nn.functional.pad(x, around, mode=self.padding_mode)
        return self._packed_params.run(x, self.scale, self.zero_point, self._relu)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        destination[prefix + "weight"], destination[prefix + "bias"] = self._weight_bias()
        super()._save_to_state_dict(destination, prefix, keep_vars)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *args: Any
    ) -> None:
        weight, bias = (state_dict.pop(prefix + name) for name in ("weight", "bias"))
        self.set_weight_bias(weight, bias)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *args)

    @classmethod
    def _made_of(cls, source: Any, weight: Any) -> Any:
        options: dict[str, Any] = {"padding_mode": source.padding_mode}
        if cls._transposed:
            options["output_padding"] = source.output_padding
        made = cls(
            source.in_channels, source.out_channels, source.kernel_size, stride=source.stride,
            padding=source.padding, dilation=source.dilation, groups=source.groups,
            bias=source.bias is not None, **options,
        )  # fmt: skip
        made.set_weight_bias(weight, source.bias)
        return made

    @classmethod
    def _allowed(cls) -> tuple[Any, ...]:
        count = cls._spatial
        names = (f"ConvReLU{count}d", f"ConvBn{count}d", f"ConvBnReLU{count}d")
        return (
            getattr(nn, f"Conv{'Transpose' * cls._transposed}{count}d"),
            *[getattr(nni, name) for name in names],
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for one that was prepared and calibrated, or trained.

        Args:
            mod: a convolution, one fused with what follows it, or one of quantisation-aware
                training.
            use_precomputed_fake_quant: do not observe the weight again.

        Raises:
            AssertionError: another class of module.
        """
        source = mod
        if hasattr(mod, "weight_fake_quant"):
            if isinstance(mod, nniqat.ConvBn):
                mod.weight, mod.bias = fuse_conv_bn_weights(
                    mod.weight, mod.bias, mod.bn.running_mean, mod.bn.running_var, mod.bn.eps,
                    mod.bn.weight, mod.bn.bias,
                )  # fmt: skip
        else:
            float_module(cls, mod, cls._allowed())
            if isinstance(mod, nn.Sequential):
                source = mod[0]
                source.qconfig = mod.qconfig
        made = cls._made_of(source, weight_levels(source, use_precomputed_fake_quant))
        if hasattr(mod, "activation_post_process"):
            made.scale, made.zero_point = output_parameters(mod)
        return made

    @classmethod
    def from_reference(cls, ref_qconv: Any, output_scale: Any, output_zero_point: Any) -> Any:
        """The module for a reference one.

        Args:
            ref_qconv: has ``get_quantized_weight()``.
            output_scale, output_zero_point: of the results.
        """
        made = cls._made_of(ref_qconv, ref_qconv.get_quantized_weight())
        made.scale, made.zero_point = float(output_scale), int(output_zero_point)
        return made


class Conv1d(ConvNd):
    """A convolution of quantised tensors over one axis."""

    _spatial = 1


class Conv2d(ConvNd):
    """A convolution of quantised tensors over two axes."""


class Conv3d(ConvNd):
    """A convolution of quantised tensors over three axes."""

    _spatial = 3


class ConvTransposeNd(ConvNd):
    """What transposed ones have in common.

    Args:
        in_channels, out_channels, kernel_size, stride, padding, output_padding, groups, bias,
            dilation, padding_mode: as those of torch.nn have them.
    """

    _transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
        dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
            padding_mode, output_padding=output_padding,
        )  # fmt: skip


class ConvTranspose1d(ConvTransposeNd):
    """A transposed convolution of quantised tensors over one axis."""

    _spatial = 1


class ConvTranspose2d(ConvTransposeNd):
    """A transposed convolution of quantised tensors over two axes."""


class ConvTranspose3d(ConvTransposeNd):
    """A transposed convolution of quantised tensors over three axes."""

    _spatial = 3
