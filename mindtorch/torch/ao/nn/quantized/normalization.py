"""Quantised normalisations."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import nn
from mindtorch.torch.ao.nn import intrinsic as nni

from ._shared import output_parameters

__all__ = [
    "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "LayerNorm",
]  # fmt: skip

ops: Any = torch.ops.quantized


class BatchNormNd(nn.modules.batchnorm._BatchNorm):
    """What quantised batch norms have in common: they are normalised by running statistics.

    Args:
        num_features, eps, momentum: as those of torch.nn have them.
    """

    _spatial = 2
    _relu = False

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, True, True)
        self.register_buffer("scale", torch.tensor(1.0))
        self.register_buffer("zero_point", torch.tensor(0))

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def _check_input_dim(self, input: Any) -> None:  # noqa: A002
        if input.dim() != self._spatial + 2:
            raise ValueError("Input shape must be `(N, C, H, W)`!")

    def forward(self, input: Any) -> Any:  # noqa: A002
        function = ops.batch_norm_relu if self._relu else ops.batch_norm
        return function(
            input, self.weight, self.bias, self.running_mean, self.running_var, self.eps,
            self.scale, self.zero_point,
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for a batch norm that was calibrated.

        Args:
            mod: the batch norm, or one fused with a ReLU.
        """
        scale, zero = mod.activation_post_process.calculate_qparams()
        source = mod[0] if isinstance(mod, (nni.BNReLU2d, nni.BNReLU3d)) else mod
        made = cls(source.num_features, source.eps)
        for name in ("weight", "bias", "running_mean", "running_var"):
            setattr(made, name, getattr(source, name))
        made.scale, made.zero_point = scale, zero
        return made


class BatchNorm2d(BatchNormNd):
    """Batch norm of quantised images."""


class BatchNorm3d(BatchNormNd):
    """Batch norm of quantised tensors with three spatial axes."""

    _spatial = 3


class _Normalised(nn.Module):
    """With a scale and a zero point of the results, kept as buffers."""

    def _keep(self, weight: Any, bias: Any, scale: float, zero_point: int) -> None:
        self.weight, self.bias = weight, bias
        self.register_buffer("scale", torch.tensor(scale))
        self.register_buffer("zero_point", torch.tensor(zero_point))

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"


class LayerNorm(_Normalised, nn.LayerNorm):
    """Layer norm of quantised tensors.

    Args:
        normalized_shape, eps, elementwise_affine: as torch.nn.LayerNorm has them.
        weight, bias: of float32.
        scale, zero_point: of the result.
    """

    def __init__(
        self, normalized_shape: Any, weight: Any, bias: Any, scale: float, zero_point: int,
        eps: float = 1e-5, elementwise_affine: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(normalized_shape, eps=eps, elementwise_affine=elementwise_affine)
        self._keep(weight, bias, scale, zero_point)

    def forward(self, input: Any) -> Any:  # noqa: A002
        return ops.layer_norm(
            input, self.normalized_shape, self.weight, self.bias, self.eps, self.scale,
            self.zero_point,
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for a LayerNorm that was calibrated."""
        return cls(
            mod.normalized_shape, mod.weight, mod.bias, *output_parameters(mod), mod.eps,
            mod.elementwise_affine,
        )  # fmt: skip


class GroupNorm(_Normalised, nn.GroupNorm):
    """Group norm of quantised tensors.

    Args:
        num_groups, num_channels, eps, affine: as torch.nn.GroupNorm has them.
        weight, bias: of float32.
        scale, zero_point: of the result.
    """

    def __init__(
        self, num_groups: int, num_channels: int, weight: Any, bias: Any, scale: float,
        zero_point: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_groups, num_channels, eps, affine)
        self._keep(weight, bias, scale, zero_point)

    def forward(self, input: Any) -> Any:  # noqa: A002
        return ops.group_norm(
            input, self.num_groups, self.weight, self.bias, self.eps, self.scale, self.zero_point
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for a GroupNorm that was calibrated."""
        return cls(
            mod.num_groups, mod.num_channels, mod.weight, mod.bias, *output_parameters(mod),
            mod.eps, mod.affine,
        )  # fmt: skip


class _InstanceNorm(_Normalised):
    def __init__(
        self, num_features: int, weight: Any, bias: Any, scale: float, zero_point: int,
        eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        parent: Any = super()
        parent.__init__(num_features, eps, momentum, affine, track_running_stats)
        self._keep(weight, bias, scale, zero_point)

    def forward(self, input: Any) -> Any:  # noqa: A002
        return ops.instance_norm(
            input, self.weight, self.bias, self.eps, self.scale, self.zero_point
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for an instance norm that was calibrated."""
        return cls(
            mod.num_features, mod.weight, mod.bias, *output_parameters(mod), mod.eps, mod.affine
        )


class InstanceNorm1d(_InstanceNorm, nn.InstanceNorm1d):
    """Instance norm of quantised tensors with one spatial axis."""


class InstanceNorm2d(_InstanceNorm, nn.InstanceNorm2d):
    """Instance norm of quantised images."""


class InstanceNorm3d(_InstanceNorm, nn.InstanceNorm3d):
    """Instance norm of quantised tensors with three spatial axes."""
