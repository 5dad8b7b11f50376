"""Convolutions with MindSpore's pad modes and initialisers."""

from __future__ import annotations

import math
from typing import Any

from mindtorch.engine import dtypes

from ..common.initializer import HeUniform, Uniform, initializer
from ..common.parameter import Parameter
from ..common.tensor import F
from ..ops._padding import before_and_after, check_pad_mode, explicit, spread
from ._half import in_type_of
from .cell import Cell

__all__ = [
    "Conv1d", "Conv1dTranspose", "Conv2d", "Conv2dTranspose", "Conv3d", "Conv3dTranspose",
]  # fmt: skip


class _Convolution(Cell):
    axes = 2
    transposed = False

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, pad_mode: str,
        padding: Any, dilation: Any, group: int, has_bias: bool, weight_init: Any, bias_init: Any,
        dtype: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        owner = type(self).__name__
        for name, value in (("in_channels", in_channels), ("out_channels", out_channels)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"For '{owner}', '{name}' should be a positive int, got {value}.")
        if in_channels % group or out_channels % group:
            raise ValueError(
                f"For '{owner}', 'in_channels' and 'out_channels' must be divisible by 'group', "
                f"but got {in_channels}, {out_channels} and {group}."
            )
        self.in_channels, self.out_channels, self.group = in_channels, out_channels, group
        self.kernel_size = spread(owner, "kernel_size", kernel_size, self.axes)
        self.stride = spread(owner, "stride", stride, self.axes)
        self.dilation = spread(owner, "dilation", dilation, self.axes)
        self.pad_mode = check_pad_mode(owner, pad_mode, padding)
        self.padding = padding
        self._given = explicit(owner, padding, self.axes)
        self.has_bias = has_bias
        first, second = (
            (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        )
        shape = (first, second // group, *self.kernel_size)
        weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.weight = Parameter(initializer(weight_init, shape, dtype), "weight")
        self.bias: Any = None
        if has_bias:
            bound = 1 / math.sqrt(in_channels // group * math.prod(self.kernel_size))
            bias_init = Uniform(bound) if bias_init is None else bias_init
            self.bias = Parameter(initializer(bias_init, (out_channels,), dtype), "bias")
        object.__setattr__(self, "weight_init", weight_init)
        object.__setattr__(self, "bias_init", bias_init if has_bias else None)

    def construct(self, x: Any) -> Any:
        if x.aval.ndim != self.axes + 2:
            raise ValueError(
                f"For '{type(self).__name__}', the input should have {self.axes + 2} axes, but got "
                f"shape {x.aval.shape}."
            )
        sizes = x.aval.shape[2:]
        padding = before_and_after(
            self.pad_mode, sizes, self.kernel_size, self.stride, self.dilation, self._given
        )
        if all(before == after for before, after in padding):
            ends = tuple(before for before, _ in padding)
        else:
            ends = (0,) * self.axes
            x = F.pad(x, [n for pair in reversed(padding) for n in pair])
        convolve = getattr(F, f"conv{self.axes}d")
        weight, bias = in_type_of(x, self.weight, self.bias)
        return convolve(x, weight, bias, self.stride, ends, self.dilation, self.group)

    def extend_repr(self) -> str:
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, "
            f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode}, "
            f"padding={self.padding}, dilation={self.dilation}, group={self.group}, "
            f"has_bias={self.has_bias}, weight_init={self.weight_init}, "
            f"bias_init={self.bias_init}, format={'NCDHW' if self.axes == 3 else 'NCHW'}"
        )


def _check_format(data_format: str, expected: str) -> None:
    if data_format != expected:
        raise ValueError(f"data_format {data_format!r}: only {expected!r} is supported")


class Conv1d(_Convolution):
    """Cross-correlation over (batch, channels, length); pad modes "same", "valid" and "pad"."""

    axes = 1

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        pad_mode: str = "same", padding: Any = 0, dilation: Any = 1, group: int = 1,
        has_bias: bool = False, weight_init: Any = None, bias_init: Any = None,
        dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group,
            has_bias, weight_init, bias_init, dtype,
        )  # fmt: skip


class Conv2d(_Convolution):
    """Cross-correlation over (batch, channels, height, width).

    Args:
        pad_mode: "same": ceil(size / stride) outputs, an odd element of padding goes after;
            "valid": no padding; "pad": ``padding``, one number or (top, bottom, left, right).
        weight_init: HeUniform(sqrt(5)) when None.
        bias_init: uniform up to 1 / sqrt(fan in) when None.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        pad_mode: str = "same", padding: Any = 0, dilation: Any = 1, group: int = 1,
        has_bias: bool = False, weight_init: Any = None, bias_init: Any = None,
        data_format: str = "NCHW", dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        _check_format(data_format, "NCHW")
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group,
            has_bias, weight_init, bias_init, dtype,
        )  # fmt: skip


class Conv3d(_Convolution):
    """Cross-correlation over (batch, channels, depth, height, width); see :class:`Conv2d`."""

    axes = 3

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        pad_mode: str = "same", padding: Any = 0, dilation: Any = 1, group: int = 1,
        has_bias: bool = False, weight_init: Any = None, bias_init: Any = None,
        data_format: str = "NCDHW", dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        _check_format(data_format, "NCDHW")
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group,
            has_bias, weight_init, bias_init, dtype,
        )  # fmt: skip


class _Transposed(_Convolution):
    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        pad_mode: str = "same", padding: Any = 0, output_padding: Any = 0, dilation: Any = 1,
        group: int = 1, has_bias: bool = False, weight_init: Any = None, bias_init: Any = None,
        dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group,
            has_bias, weight_init, bias_init, dtype,
        )  # fmt: skip
        if self.pad_mode != "pad" and output_padding not in (0, (0,) * self.axes):
            raise ValueError("'output_padding' must be zero when 'pad_mode' is not 'pad'.")
        self.output_padding = output_padding

    def construct(self, x: Any) -> Any:
        sizes = x.aval.shape[2:]
        convolve = getattr(F, f"conv_transpose{self.axes}d")
        weight, bias = in_type_of(x, self.weight, self.bias)
        if self.pad_mode == "pad" and all(a == b for a, b in self._given):
            ends = tuple(before for before, _ in self._given)
            return convolve(
                x, weight, bias, self.stride, ends, self.output_padding, self.group,
                self.dilation,
            )  # fmt: skip
        extra = self.output_padding if self.pad_mode == "pad" else 0
        whole = convolve(
            x, weight, bias, self.stride, 0, extra, self.group, self.dilation
        )
        cut = []
        for i, (n, k, s, d) in enumerate(
            zip(sizes, self.kernel_size, self.stride, self.dilation, strict=True)
        ):
            spare = whole.aval.shape[2 + i] - n * s
            if self.pad_mode == "pad":
                before, after = self._given[i]
            elif self.pad_mode == "same":
                before, after = max(spare, 0) // 2, spare - max(spare, 0) // 2
            else:  # every input has its whole stride, though the kernel may be shorter
                before, after = 0, -max(s - (k - 1) * d - 1, 0)
            cut.append((-before, -after))
        if self.bias is not None and any(after > 0 for _, after in cut):
            raise ValueError("a kernel shorter than the stride, with bias, needs pad_mode='pad'")
        return F.pad(whole, [n for pair in reversed(cut) for n in pair])


class Conv1dTranspose(_Transposed):
    """The transpose of :class:`Conv1d`: "same" gives size * stride elements."""

    axes = 1


class Conv2dTranspose(_Transposed):
    """The transpose of :class:`Conv2d`: "same" gives size * stride elements along each axis."""


class Conv3dTranspose(_Transposed):
    """The transpose of :class:`Conv3d`."""

    axes = 3
