"""Products and convolutions of quantised tensors.

Weights are brought into the form that the kernels take once (packed). A product is

    out = round((sum of (level - zero) * weight level) * scale * weight scale / out scale
                + bias / out scale) + out zero

the sum being exact. Where a kernel does not take a shape (groups, three axes, weights with zero
points), the sum is that of floating-point numbers which are wide enough to be exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.ops.quantization import (
    ROW,
    quantize_levels,
    quantized_convolution,
    quantized_linear,
)
from mindtorch.engine.tensor import constant, from_array

from ..nn import functional as F  # noqa: N812
from ._creation import range_parameters
from ._dispatch import levels_above
from ._quantizer import PerChannel, PerTensor, limits_of, stored
from ._tensor import QuantizedTensor

__all__ = ["PackedConvolution", "PackedLinear"]

_EXACT = 2**24 // (255 * 255)  # products of so many levels add up exactly in float32


class _Packed:
    """A weight and a bias.

    Attributes:
        weight: a QuantizedTensor of qint8.
        bias: of float32, or None.
        scales: (channels,) float32.
        sums: (channels,) int32, of each channel's levels; None where the kernels do not take it.
    """

    def __init__(self, weight: Any, bias: Any, channel_axis: int = 0) -> None:
        if not isinstance(weight, QuantizedTensor) or weight.aval.dtype is not dtypes.qint8:
            raise RuntimeError(
                "Quantized weights have to be tensors of torch.qint8, got "
                f"{getattr(weight, 'dtype', type(weight))}"
            )
        self.weight, self.bias = weight, bias
        own, count = weight.quantizer, weight.aval.shape[channel_axis]
        if isinstance(own, PerChannel):
            scales, zeros = own.scales.array(), own.zero_points.array()
        else:
            scales, zeros = np.array([own.scale]), np.array([own.zero_point])
        self.scales = np.broadcast_to(scales.astype(np.float32), count)
        self.symmetric = not zeros.any()
        self.sums: Any = None
        self._zeros = zeros
        self._rows: Any = None
        self._factors_of: Any = (None, None)  # of the last call

    def _pack(self, rows: np.ndarray) -> None:
        """Rows of levels filled up as the kernels want them."""
        count, length = rows.shape
        held = np.zeros((count, -(-length // ROW) * ROW), np.int8)
        held[:, :length] = rows
        self._rows = from_array(held)
        self.sums = rows.sum(axis=1, dtype=np.int64).astype(np.int32)

    def __reduce__(self) -> Any:
        return type(self), (self.weight, self.bias)

    def unpack(self) -> tuple[Any, Any]:
        """The weight and the bias."""
        return self.weight, self.bias

    def _bias(self) -> np.ndarray:
        if self.bias is None:
            return np.zeros(self.scales.shape, np.float32)
        return np.asarray(self.bias.detach().array(), np.float32)

    def _factors(self, scale: float, zero: int, out_scale: float | None) -> tuple[Any, ...]:
        """Scales, offsets and bias of a product whose result is in steps of ``out_scale``."""
        key = (scale, zero, out_scale)
        if self._factors_of[0] != key:
            factors, bias = self._scaled(scale, out_scale)
            offsets = (-zero * self.sums.astype(np.int64)).astype(np.int32)
            made = (from_array(factors), from_array(offsets), from_array(bias))
            self._factors_of = (key, made)
        found: tuple[Any, ...] = self._factors_of[1]
        return found

    def _scaled(self, scale: float, out_scale: float | None) -> tuple[Any, Any]:
        """What sums are multiplied with, and the bias."""
        factors, bias = self.scales * np.float32(scale), self._bias()
        if out_scale is None:
            return factors, bias
        return factors / np.float32(out_scale), bias / np.float32(out_scale)

    def _whole_weight(self, channel_axis: int, exact: Any) -> Any:
        """The weight's levels less their zero points, as floating-point numbers."""
        levels = self.weight.levels.array().astype(exact)
        shape = [1] * levels.ndim
        if self._zeros.size > 1:
            shape[channel_axis] = self._zeros.size
        return from_array(levels - self._zeros.astype(exact).reshape(shape))


def on_levels(steps: Any, scale: float, zero: int, dtype: Any, relu: bool) -> QuantizedTensor:
    """Numbers in steps of ``scale`` as a quantised tensor; with ``relu`` none below 0."""
    low, high = limits_of(dtype)
    ends = [constant(float(v)) for v in (1, zero, max(low, zero) if relu else low, high)]
    levels = stored(quantize_levels(steps, *ends), dtype)
    return QuantizedTensor(levels, PerTensor(scale, zero), dtype)


class PackedLinear(_Packed):
    """The weight (out, in) and the bias of a linear map."""

    def __init__(self, weight: Any, bias: Any = None) -> None:
        if weight.dim() != 2:
            raise RuntimeError(
                "The weight tensor for quantized::linear_prepack (fbgemm) should be 2-dimensional."
            )
        super().__init__(weight, bias)
        if self.symmetric and 0 < weight.shape[1] < (1 << 16) - ROW:
            self._pack(weight.levels.array())

    def _check(self, x: Any) -> None:
        if not x.aval.ndim or x.aval.shape[-1] != self.weight.aval.shape[1]:
            raise RuntimeError(
                f"The size of the last dimension of the input, {tuple(x.aval.shape)}, does not fit "
                f"the weight, {tuple(self.weight.aval.shape)}"
            )

    def _steps(self, levels: Any, zero: int, scale: float, out_scale: float | None) -> Any:
        """The result as float32, in steps of ``out_scale``."""
        self._check(levels)
        if self.sums is not None:
            parts = self._factors(scale, zero, out_scale)
            return quantized_linear(levels.contiguous(), self._rows, *parts, scale=1.0, zero=0)
        kind = np.float32 if self.weight.aval.shape[1] <= _EXACT else np.float64
        moved = levels - zero
        sums = F.linear(moved.to(dtypes.from_numpy(kind)), self._whole_weight(0, kind))
        factors, bias = self._scaled(scale, out_scale)
        return sums.float() * from_array(factors) + from_array(bias)

    def run(self, x: Any, scale: float, zero: int, relu: bool = False) -> QuantizedTensor:
        """The product on levels of ``scale`` and ``zero``."""
        levels, origin = levels_above(x)
        steps = self._steps(levels, origin, x.q_scale(), scale)
        return on_levels(steps, scale, zero, x.aval.dtype, relu)

    def run_on_numbers(self, x: Any, relu: bool, reduce_range: bool) -> Any:
        """The product with numbers, which are put on 8 bits for it by their range."""
        scale, zero = range_parameters(x, (0, 255), reduce_range)
        with np.errstate(divide="ignore"):
            inverse = np.float32(1) / np.float32(scale)
        ends = [constant(float(v)) for v in (inverse, zero, 0, 255)]
        steps = self._steps(quantize_levels(x.detach(), *ends), zero, scale, None)
        return steps.relu() if relu else steps


def _lengths(value: Any, count: int) -> tuple[int, ...]:
    return (value,) * count if isinstance(value, int) else tuple(int(v) for v in value)


class PackedConvolution(_Packed):
    """The weight and the bias of a convolution.

    Attributes:
        stride, padding, dilation, output_padding: for each spatial axis.
        groups: how many.
        transpose: of a transposed convolution, whose weight's second axis is that of the results.
    """

    def __init__(
        self, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int,
        output_padding: Any = 0, transpose: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(weight, bias, int(transpose))
        spatial = weight.dim() - 2
        self.stride, self.padding = _lengths(stride, spatial), _lengths(padding, spatial)
        self.dilation, self.groups, self.transpose = _lengths(dilation, spatial), groups, transpose
        self.output_padding = _lengths(output_padding, spatial)
        if transpose:
            self.scales = np.broadcast_to(self.scales[:1], weight.shape[1] * groups)
            if isinstance(weight.quantizer, PerChannel):
                raise RuntimeError("a transposed convolution takes weights with one scale")
        levels = weight.levels.array()
        length = int(np.prod(weight.shape[1:]))
        if self.symmetric and not transpose and groups == 1 and spatial < 3 and (
            0 < length < (1 << 16) - ROW
        ):
            rows = np.moveaxis(levels, 1, -1).reshape(levels.shape[0], -1)
            self._pack(np.ascontiguousarray(rows))

    def __reduce__(self) -> Any:
        return PackedConvolution, (
            self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups,
            self.output_padding, self.transpose,
        )  # fmt: skip

    def _steps(self, levels: Any, zero: int, scale: float, out_scale: float | None) -> Any:
        if self.sums is not None:
            parts = self._factors(scale, zero, out_scale)
            flat = self.weight.dim() == 3
            lead: Any = ((1,), (0,), (1,), (1,)) if flat else ((),) * 4
            window = (*lead[0], *self.weight.shape[2:])
            image = (levels - zero).unsqueeze(2) if flat else levels - zero
            made = quantized_convolution(
                image.contiguous(), self._rows, *parts, scale=1.0, zero=zero, window=window,
                stride=(*lead[2], *self.stride), padding=(*lead[1], *self.padding),
                dilation=(*lead[3], *self.dilation),
            )  # fmt: skip
            return made.squeeze(2) if flat else made
        length = int(np.prod(self.weight.shape[1:]))
        kind = np.float32 if length <= _EXACT else np.float64
        moved = (levels - zero).to(dtypes.from_numpy(kind))
        weight, spatial = self._whole_weight(0, kind), self.weight.dim() - 2
        if self.transpose:
            function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[spatial - 1]
            sums = function(
                moved, weight, None, self.stride, self.padding, self.output_padding, self.groups,
                self.dilation,
            )  # fmt: skip
        else:
            function = (F.conv1d, F.conv2d, F.conv3d)[spatial - 1]
            sums = function(
                moved, weight, None, self.stride, self.padding, self.dilation, self.groups
            )
        factors, bias = self._scaled(scale, out_scale)
        shape = (1, -1, *[1] * spatial)
        return sums.float() * from_array(factors.reshape(shape)) + from_array(bias.reshape(shape))

    def _check(self, x: Any) -> None:
        spatial, channels = self.weight.dim() - 2, self.weight.shape[0 if self.transpose else 1]
        if x.dim() != spatial + 2:
            raise ValueError(f"Input shape must be `(N, C, {', '.join('DHW'[3 - spatial:])})`!")
        expected = channels if self.transpose else channels * self.groups
        if x.shape[1] != expected:
            raise RuntimeError(
                f"a quantized convolution expected {expected} channels, got {x.shape[1]}"
            )

    def run(self, x: Any, scale: float, zero: int, relu: bool = False) -> QuantizedTensor:
        """The convolution on levels of ``scale`` and ``zero``."""
        self._check(x)
        levels, origin = levels_above(x)
        steps = self._steps(levels, origin, x.q_scale(), scale)
        return on_levels(steps, scale, zero, x.aval.dtype, relu)

    def run_on_numbers(self, x: Any, relu: bool, reduce_range: bool) -> Any:
        """The convolution of numbers, which are put on 8 bits for it by their range."""
        self._check(x)
        scale, zero = range_parameters(x, (0, 255), reduce_range)
        own = PerTensor(scale, zero)
        levels = own.levels(x.detach(), dtypes.quint8).float()
        steps = self._steps(levels, zero, scale, None)
        return steps.relu() if relu else steps
