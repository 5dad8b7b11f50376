"""torch.ao.nn.intrinsic.qat: fused modules whose weights are put on levels while trained."""

from __future__ import annotations

import math
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import nn
from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch.ao.nn import intrinsic as nni
from mindtorch.torch.ao.nn import qat as nnqat

__all__ = [
    "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d",
    "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearBn1d", "LinearReLU", "freeze_bn_stats",
    "update_bn_stats",
]  # fmt: skip


class WithBatchNorm(nni._FusedModule):
    """A layer and the batch norm behind it, trained as one.

    The weight that is put on levels is the one that both have together,
    ``weight * bn.weight / sqrt(running_var + eps)``; the result is divided by that factor again
    before it is normalised.
    """

    _version = 2

    def _begin(self, bn: Any, freeze_bn: bool, qconfig: Any) -> None:
        if not qconfig:
            raise AssertionError("qconfig must be provided for QAT module")
        self.qconfig = qconfig
        self.freeze_bn = freeze_bn if self.training else True
        self.bn = bn
        self.weight_fake_quant = qconfig.weight()
        self.reset_bn_parameters()
        self.bn.train(self.training and not freeze_bn)

    def reset_bn_parameters(self) -> None:
        """Begin the batch norm anew, with random factors."""
        self.bn.reset_running_stats()
        nn.init.uniform_(self.bn.weight)
        nn.init.zeros_(self.bn.bias)

    def _following(self, bn: Any) -> Any:
        """With the parameters and statistics of a batch norm."""
        for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            setattr(self.bn, name, getattr(bn, name))
        return self

    def _factor(self) -> Any:
        return self.bn.weight / torch.sqrt(self.bn.running_var + self.bn.eps)

    def _layer(self, x: Any, weight: Any) -> Any:
        raise NotImplementedError

    def forward(self, input: Any) -> Any:  # noqa: A002
        given: Any = self
        factor = self._factor()
        ends = [1] * (given.weight.dim() - 2)
        weight = self.weight_fake_quant(given.weight * factor.reshape(-1, 1, *ends))
        made = self._layer(input, weight) / factor.reshape(1, -1, *ends)
        if given.bias is not None:
            made = made + given.bias.reshape(1, -1, *ends)
        return self.bn(made)

    def reset_running_stats(self) -> None:
        """Begin the statistics anew."""
        self.bn.reset_running_stats()

    def update_bn_stats(self) -> Any:
        """Let the batch norm follow its batches."""
        self.freeze_bn = False
        self.bn.training = True
        return self

    def freeze_bn_stats(self) -> Any:
        """Normalise by the statistics that are known."""
        self.freeze_bn = True
        self.bn.training = False
        return self

    def train(self, mode: bool = True) -> Any:
        """As of other modules; frozen statistics stay frozen."""
        self.training = mode
        if not self.freeze_bn:
            for module in self.children():
                module.train(mode)
        return self


class ConvBn(WithBatchNorm):
    """A convolution and a batch norm.

    Args:
        in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias,
            padding_mode: of the convolution.
        eps, momentum: of the batch norm.
        freeze_bn: normalise by running statistics.
        qconfig: has the class that puts weights on levels.
    """

    _SPATIAL = 2
    _RELU = False

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: Any = None,
        padding_mode: str = "zeros", eps: float = 1e-05, momentum: float = 0.1,
        freeze_bn: bool = False, qconfig: Any = None,
    ) -> None:  # fmt: skip
        kind = getattr(nn, f"Conv{self._SPATIAL}d")
        kind.__init__(
            self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, False,
            padding_mode,
        )  # fmt: skip
        bn = getattr(nn, f"BatchNorm{self._SPATIAL}d")(out_channels, eps, momentum, True, True)
        given: Any = self
        if bias:
            given.bias = nn.Parameter(torch.empty(out_channels))
        self._begin(bn, freeze_bn, qconfig)

    def reset_bn_parameters(self) -> None:
        super().reset_bn_parameters()
        given: Any = self
        if given.bias is not None:
            bound = 1 / math.sqrt(given.weight[0].numel())
            nn.init.uniform_(given.bias, -bound, bound)

    def _layer(self, x: Any, weight: Any) -> Any:
        given: Any = self
        return given._conv_forward(x, weight, None)

    def forward(self, input: Any) -> Any:  # noqa: A002
        made = super().forward(input)
        return nn.functional.relu(made) if self._RELU else made

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for a fused one, with the same parameters and statistics.

        Args:
            mod: of torch.ao.nn.intrinsic, with a ``qconfig``.

        Raises:
            AssertionError: another class, or there is no ``qconfig``.
        """
        expected = getattr(nni, cls.__name__)
        if type(mod) is not expected:
            raise AssertionError(
                f"qat.{cls.__name__}.from_float only works for {expected.__name__}"
            )
        if not getattr(mod, "qconfig", None):
            raise AssertionError("Input float module must have a valid qconfig")
        conv, bn = mod[0], mod[1]
        made = cls(
            conv.in_channels, conv.out_channels, conv.kernel_size, conv.stride, conv.padding,
            conv.dilation, conv.groups, conv.bias is not None, conv.padding_mode, bn.eps,
            bn.momentum, False, mod.qconfig,
        )  # fmt: skip
        given: Any = made
        given.weight, given.bias = conv.weight, conv.bias
        return made._following(bn)


def _conv_bn(spatial: int, relu: bool) -> Any:
    name = f"ConvBn{'ReLU' * relu}{spatial}d"
    what = "convolution, batch norm and ReLU" if relu else "convolution and batch norm"
    body = {
        "_SPATIAL": spatial, "_RELU": relu, "__module__": __name__,
        "__doc__": f"A {what} over {spatial} axes whose weight is put on levels.",
    }  # fmt: skip
    return type(name, (ConvBn, getattr(nn, f"Conv{spatial}d")), body)


ConvBn1d, ConvBn2d, ConvBn3d = (_conv_bn(n, False) for n in (1, 2, 3))
ConvBnReLU1d, ConvBnReLU2d, ConvBnReLU3d = (_conv_bn(n, True) for n in (1, 2, 3))


class _ReLU(nni._FusedModule):
    """What the layer below gives, without what is below 0."""

    def forward(self, input: Any) -> Any:  # noqa: A002
        parent: Any = super()
        return nn.functional.relu(parent.forward(input))


class ConvReLU1d(_ReLU, nnqat.Conv1d):
    """A convolution over one axis, whose weight is put on levels, and a ReLU."""

    _FLOAT_MODULE = nn.Conv1d


class ConvReLU2d(_ReLU, nnqat.Conv2d):
    """A convolution over two axes, whose weight is put on levels, and a ReLU."""

    _FLOAT_MODULE = nn.Conv2d


class ConvReLU3d(_ReLU, nnqat.Conv3d):
    """A convolution over three axes, whose weight is put on levels, and a ReLU."""

    _FLOAT_MODULE = nn.Conv3d


class LinearReLU(_ReLU, nnqat.Linear):
    """A linear map, whose weight is put on levels, and a ReLU."""

    _FLOAT_MODULE = nn.Linear


class LinearBn1d(WithBatchNorm, nn.Linear):
    """A linear map and a batch norm.

    Args:
        in_features, out_features, bias: of the linear map.
        eps, momentum: of the batch norm.
        freeze_bn: normalise by running statistics.
        qconfig: has the class that puts weights on levels.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, eps: float = 1e-05,
        momentum: float = 0.1, freeze_bn: bool = False, qconfig: Any = None, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        nn.Linear.__init__(self, in_features, out_features, bias)
        self._begin(nn.BatchNorm1d(out_features, eps, momentum, True, True), freeze_bn, qconfig)

    def _layer(self, x: Any, weight: Any) -> Any:
        return nn.functional.linear(x, weight)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for a fused one, with the same parameters and statistics.

        Args:
            mod: a LinearBn1d of torch.ao.nn.intrinsic, with a ``qconfig``.

        Raises:
            AssertionError: another class, or there is no ``qconfig``.
        """
        if type(mod) is not nni.LinearBn1d:
            raise AssertionError(
                f"qat.{cls.__name__}.from_float only works for {nni.LinearBn1d.__name__}"
            )
        if not getattr(mod, "qconfig", None):
            raise AssertionError("Input float module must have a valid config")
        linear, bn = mod[0], mod[1]
        made = cls(
            linear.in_features, linear.out_features, linear.bias is not None, bn.eps, bn.momentum,
            False, mod.qconfig,
        )  # fmt: skip
        made.weight, made.bias = linear.weight, linear.bias
        return made._following(bn)


def update_bn_stats(mod: Any) -> None:
    """Let a fused batch norm follow its batches; for ``model.apply``.

    Args:
        mod: a module, which does nothing unless it has one.
    """
    if isinstance(mod, WithBatchNorm):
        mod.update_bn_stats()


def freeze_bn_stats(mod: Any) -> None:
    """Let a fused batch norm keep its statistics; for ``model.apply``.

    Args:
        mod: a module, which does nothing unless it has one.
    """
    if isinstance(mod, WithBatchNorm):
        mod.freeze_bn_stats()


_own_names(globals())
