"""Pooling with MindSpore's pad modes and defaults."""

from __future__ import annotations

import math
from typing import Any

from ..common.tensor import F, t
from ..ops._padding import before_and_after, check_pad_mode, explicit, spread
from .cell import Cell

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "MaxPool1d", "MaxPool2d",
    "MaxPool3d",
]  # fmt: skip


class _Pool(Cell):
    axes = 2

    def __init__(
        self, kernel_size: Any, stride: Any, pad_mode: str, padding: Any, dilation: Any,
        ceil_mode: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        owner = type(self).__name__
        self.kernel_size = spread(owner, "kernel_size", kernel_size, self.axes)
        self.stride = spread(owner, "stride", stride, self.axes)
        self.dilation = spread(owner, "dilation", dilation, self.axes)
        self._text = f"kernel_size={kernel_size}, stride={stride}"
        if self.axes == 1:  # MindSpore has a row as a picture of height 1
            self._text = f"kernel_size=(1, {kernel_size}), stride=(1, {stride})"
        self.pad_mode = check_pad_mode(owner, pad_mode, padding)
        if self.pad_mode != "pad" and ceil_mode:
            raise ValueError(f"For '{owner}', 'ceil_mode' needs pad_mode='pad'.")
        self.ceil_mode = ceil_mode
        self._given = explicit(owner, padding, self.axes)

    def _ends(self, x: Any) -> tuple[Any, Any]:
        """(padding on both sides, None), or (None, what ``F.pad`` adds) when the sides differ."""
        if x.aval.ndim not in (self.axes + 1, self.axes + 2):
            raise ValueError(
                f"For '{type(self).__name__}', the input should have {self.axes + 2} axes, but got "
                f"shape {x.aval.shape}."
            )
        padding = before_and_after(
            self.pad_mode, x.aval.shape[-self.axes :], self.kernel_size, self.stride, self.dilation,
            self._given,
        )  # fmt: skip
        if all(b == a and b <= k // 2 for (b, a), k in zip(padding, self.kernel_size, strict=True)):
            return tuple(before for before, _ in padding), None
        return None, [n for pair in reversed(padding) for n in pair]

    def extend_repr(self) -> str:
        return f"{self._text}, pad_mode={self.pad_mode.upper()}"


class _MaxPool(_Pool):
    def __init__(
        self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = "valid", padding: Any = 0,
        dilation: Any = 1, return_indices: bool = False, ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(kernel_size, stride, pad_mode, padding, dilation, ceil_mode)
        self.return_indices = return_indices

    def construct(self, x: Any) -> Any:
        ends, added = self._ends(x)
        if added is not None:
            if self.return_indices:
                raise ValueError("return_indices needs a padding that is the same on both sides")
            x, ends = F.pad(x, added, value=-math.inf), 0
        pool = getattr(F, f"max_pool{self.axes}d")
        return pool(
            x, self.kernel_size, self.stride, ends, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip


class MaxPool1d(_MaxPool):
    """The largest element of each window of (batch, channels, length)."""

    axes = 1


class MaxPool2d(_MaxPool):
    """The largest element of each window of (batch, channels, height, width).

    The stride is 1 unless given. With pad_mode "same" there are ceil(size / stride) windows.
    """


class MaxPool3d(_MaxPool):
    """The largest element of each window of (batch, channels, depth, height, width)."""

    axes = 3


class _AvgPool(_Pool):
    def __init__(
        self, kernel_size: Any = 1, stride: Any = 1, pad_mode: str = "valid", padding: Any = 0,
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(kernel_size, stride, pad_mode, padding, 1, ceil_mode)
        if divisor_override is not None and self.axes == 1:
            raise ValueError("For 'AvgPool1d', there is no 'divisor_override'.")
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def construct(self, x: Any) -> Any:
        ends, added = self._ends(x)
        if added is not None:
            return self._uneven(x, added)
        include = self.count_include_pad and self.pad_mode == "pad"
        further = () if self.axes == 1 else (self.divisor_override,)
        pool = getattr(F, f"avg_pool{self.axes}d")
        return pool(x, self.kernel_size, self.stride, ends, self.ceil_mode, include, *further)

    def _uneven(self, x: Any, added: list[int]) -> Any:
        """Sums over windows, by the number of elements that are not padding in "same" mode."""
        pool = getattr(F, f"avg_pool{self.axes}d")
        means = pool(F.pad(x, added), self.kernel_size, self.stride, 0, self.ceil_mode)
        if self.divisor_override is not None:
            return means * (math.prod(self.kernel_size) / self.divisor_override)
        if self.pad_mode == "pad" and self.count_include_pad:
            return means
        shares = pool(F.pad(t.ones_like(x), added), self.kernel_size, self.stride, 0)
        return means / shares


class AvgPool1d(_AvgPool):
    """The mean of each window of (batch, channels, length)."""

    axes = 1


class AvgPool2d(_AvgPool):
    """The mean of each window of (batch, channels, height, width); "same" leaves padding out."""


class AvgPool3d(_AvgPool):
    """The mean of each window of (batch, channels, depth, height, width)."""

    axes = 3


class _Adaptive(Cell):
    function = ""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def construct(self, x: Any) -> Any:
        return getattr(F, self.function)(x, self.output_size)


class AdaptiveAvgPool1d(_Adaptive):
    """Means of as many windows as ``output_size`` says."""

    function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_Adaptive):
    """Means of as many windows as ``output_size`` says."""

    function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_Adaptive):
    """Means of as many windows as ``output_size`` says."""

    function = "adaptive_avg_pool3d"


class AdaptiveMaxPool1d(_Adaptive):
    """Largest elements of as many windows as ``output_size`` says."""

    function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_Adaptive):
    """Largest elements of as many windows as ``output_size`` says."""

    function = "adaptive_max_pool2d"
