"""Convolutions."""

from __future__ import annotations

import math
from typing import Any

from .. import functional as F  # noqa: N812
from .. import init
from ..parameter import UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _reverse_repeat_tuple, empty_parameter, ntuple

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
    "LazyConv1d", "LazyConv2d", "LazyConv3d",
    "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip


class _ConvNd(Module):
    """What all convolutions share: arguments, weight and bias."""

    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding",
        "in_channels", "out_channels", "kernel_size",
    ]  # fmt: skip

    _spatial = 0
    weight: Any
    bias: Any

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any,
        dilation: Any, transposed: bool, output_padding: Any, groups: int, bias: bool,
        padding_mode: str, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._check(in_channels, out_channels, stride, padding, groups, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._explicit_padding()
        channels = (
            (in_channels, out_channels // groups)
            if transposed
            else (out_channels, in_channels // groups)
        )
        self.weight = empty_parameter((*channels, *kernel_size), device, dtype)
        if bias:
            self.bias = empty_parameter(out_channels, device, dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    @staticmethod
    def _check(
        in_channels: int, out_channels: int, stride: Any, padding: Any, groups: int, mode: str
    ) -> None:
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            valid = {"same", "valid"}
            if padding not in valid:
                raise ValueError(
                    f"Invalid padding string {padding!r}, should be one of {valid}"
                )
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        modes = {"zeros", "reflect", "replicate", "circular"}
        if mode not in modes:
            raise ValueError(
                f"padding_mode must be one of {modes}, but got padding_mode='{mode}'"
            )

    def _explicit_padding(self) -> Any:
        """The padding as ``F.pad`` takes it."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        pairs: list[int] = []
        for d, k in zip(reversed(self.dilation), reversed(self.kernel_size), strict=False):
            total = d * (k - 1) if self.padding == "same" else 0
            pairs += [total // 2, total - total // 2]
        return pairs

    def reset_parameters(self) -> None:
        """Draw weight and bias from [-1/sqrt(fan_in), 1/sqrt(fan_in))."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """The arguments that are not the defaults."""
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Convolution(_ConvNd):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        each = ntuple(self._spatial)
        super().__init__(
            in_channels, out_channels, each(kernel_size), each(stride),
            padding if isinstance(padding, str) else each(padding), each(dilation), False,
            each(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:  # noqa: A002
        convolve = getattr(F, f"conv{self._spatial}d")
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(  # noqa: A001
                input, self._reversed_padding_repeated_twice, mode=self.padding_mode
            )
            padding = (0,) * self._spatial
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Any) -> Any:  # noqa: A002
        """(N, C_in, *) -> (N, C_out, *)."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Convolution):
    """Convolution of (N, C, L), or of (C, L).

    Args:
        padding: a number, "same" or "valid".
        padding_mode: "zeros", "reflect", "replicate" or "circular".
    """

    _spatial = 1


class Conv2d(_Convolution):
    """Convolution of (N, C, H, W), or of (C, H, W); arguments as of :class:`Conv1d`."""

    _spatial = 2


class Conv3d(_Convolution):
    """Convolution of (N, C, D, H, W), or of (C, D, H, W); arguments as of :class:`Conv1d`."""

    _spatial = 3


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
        dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {type(self).__name__}'
            )
        each = ntuple(self._spatial)
        super().__init__(
            in_channels, out_channels, each(kernel_size), each(stride), each(padding),
            each(dilation), True, each(output_padding), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(self, input: Any, output_size: Any) -> Any:  # noqa: A002
        if output_size is None:
            return self.output_padding
        spatial = self._spatial
        wanted = output_size
        if len(wanted) == input.dim() and len(wanted) > spatial:
            wanted = wanted[-spatial:]
        if len(wanted) != spatial:
            raise ValueError(
                f"ConvTranspose{spatial}D: for {input.dim()}D input, output_size must have "
                f"{spatial} or {spatial + 2} elements (got {len(wanted)})"
            )
        result = []
        low = []
        for i in range(spatial):
            low.append(
                (input.shape[i - spatial] - 1) * self.stride[i] - 2 * self.padding[i]
                + self.dilation[i] * (self.kernel_size[i] - 1) + 1
            )
        high = [n + s - 1 for n, s in zip(low, self.stride, strict=True)]
        for w, a, b in zip(wanted, low, high, strict=True):
            if w < a or w > b:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes range from {low} "
                    f"to {high} (for an input of {input.size()[2:]})"
                )
            result.append(w - a)
        return result

    def forward(self, input: Any, output_size: Any = None) -> Any:  # noqa: A002
        """(N, C_in, *) -> (N, C_out, *)."""
        convolve = getattr(F, f"conv_transpose{self._spatial}d")
        return convolve(
            input, self.weight, self.bias, self.stride, self.padding,
            self._output_padding(input, output_size), self.groups, self.dilation,
        )  # fmt: skip


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of :class:`Conv1d`."""

    _spatial = 1


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of :class:`Conv2d`."""

    _spatial = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of :class:`Conv3d`."""

    _spatial = 3


class _LazyConvXdMixin(LazyModuleMixin):
    _names: tuple[str, ...] = (
        "stride", "padding", "dilation", "groups", "bias", "padding_mode", "device", "dtype",
    )  # fmt: skip

    def __init__(self: Any, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        own, most = f"{type(self).__name__}.__init__()", len(self._names) + 3
        if len(args) > len(self._names):
            raise TypeError(
                f"{own} takes from 3 to {most} positional arguments but {len(args) + 3} were given"
            )
        strange = [name for name in kwargs if name not in self._names]
        if strange:
            raise TypeError(f"{own} got an unexpected keyword argument '{strange[0]}'")
        options = dict(zip(self._names, args, strict=False)) | kwargs
        bias = options.pop("bias", True)
        groups = options.pop("groups", 1)
        super().__init__(0, 0, kernel_size, groups=1, bias=False, **options)
        place: Any = {"device": options.get("device"), "dtype": options.get("dtype")}
        self.groups = groups
        self.out_channels = out_channels
        self.weight = UninitializedParameter(**place)
        if bias:
            self.bias = UninitializedParameter(**place)

    def reset_parameters(self: Any) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Any, *args: Any, **kwargs: Any) -> None:  # noqa: A002
        """Take the number of channels from ``input``."""
        if not self.has_uninitialized_params():
            return
        batched = input.dim() == self._spatial + 2
        if not batched and input.dim() != self._spatial + 1:
            raise RuntimeError(
                f"Expected {self._spatial + 1}D (unbatched) or {self._spatial + 2}D (batched) "
                f"input to {type(self).__name__}, but got input of size: {input.shape}"
            )
        self.in_channels = input.shape[1 if batched else 0]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if self.transposed:
            channels = (self.in_channels, self.out_channels // self.groups)
        else:
            channels = (self.out_channels, self.in_channels // self.groups)
        self.weight.materialize((*channels, *self.kernel_size))
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class LazyConv1d(_LazyConvXdMixin, Conv1d):
    """A :class:`Conv1d` whose ``in_channels`` is that of its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvXdMixin, Conv2d):
    """A :class:`Conv2d` whose ``in_channels`` is that of its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvXdMixin, Conv3d):
    """A :class:`Conv3d` whose ``in_channels`` is that of its first input."""

    cls_to_become = Conv3d


class _LazyConvTranspose(_LazyConvXdMixin):
    _names = (
        "stride", "padding", "output_padding", "groups", "bias", "dilation", "padding_mode",
        "device", "dtype",
    )  # fmt: skip


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A :class:`ConvTranspose1d` whose ``in_channels`` is that of its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A :class:`ConvTranspose2d` whose ``in_channels`` is that of its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A :class:`ConvTranspose3d` whose ``in_channels`` is that of its first input."""

    cls_to_become = ConvTranspose3d
