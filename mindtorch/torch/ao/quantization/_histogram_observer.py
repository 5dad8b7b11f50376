"""The observer that counts elements."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import mindtorch.torch as torch

from ._observer_base import EPS, GAP, UniformQuantizationObserverBase
from ._range_search import best_bins
from .utils import is_per_tensor

__all__ = ["HistogramObserver"]


class HistogramObserver(UniformQuantizationObserverBase):
    """Counts elements, and takes the part of their range for which the squared error is least.

    Args:
        bins: of the histogram.
        dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic: as
            :class:`UniformQuantizationObserverBase` has them.
    """

    upsample_rate = 16

    def __init__(
        self, bins: int = 2048, dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: Any = None,
        eps: float = EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if not is_per_tensor(qscheme):
            raise NotImplementedError(
                f"HistogramObserver's qscheme only support torch.per_tensor_symmetric {GAP}"
                "and torch.per_tensor_affine."
            )
        if is_dynamic:
            raise NotImplementedError("HistogramObserver doesn't support dynamic quantization")
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic,
            **kwargs,
        )  # fmt: skip
        self.bins = bins
        options = factory_kwargs or {}
        self.register_buffer("histogram", torch.zeros(bins, **options))
        self.register_buffer("min_val", torch.tensor(float("inf"), **options))
        self.register_buffer("max_val", torch.tensor(float("-inf"), **options))
        self.dst_nbins = 2 ** (8 * self.dtype.itemsize)

    def _finite(self, x: Any) -> Any:
        low, high = torch.aminmax(x)
        if low.item() == -float("inf") or high.item() == float("inf"):
            warnings.warn("torch.inf detected in input tensor, ignoring input", stacklevel=3)
            return x[x.abs() != float("inf")]
        return x

    def forward(self, x_orig: Any) -> Any:
        if x_orig.numel() == 0:
            return x_orig
        x = self._finite(x_orig.detach())
        if x.numel() == 0:
            return x_orig
        low, high = torch.aminmax(x)
        if np.isinf(self.min_val.item()) or np.isinf(self.max_val.item()):
            self.reset_histogram(x, low, high)
            return x_orig
        old_low, old_high = self.min_val.clone(), self.max_val.clone()
        low, high = torch.min(old_low, low), torch.max(old_high, high)
        counts = torch.histc(x, self.bins, min=low.item(), max=high.item())
        self.histogram.copy_(counts + self._moved(old_low, old_high, low, high))
        self.min_val.copy_(low)
        self.max_val.copy_(high)
        return x_orig

    def reset_histogram(self, x: Any, min_val: Any, max_val: Any) -> None:
        """Begin anew with a tensor and its range."""
        self.min_val.copy_(min_val)
        self.max_val.copy_(max_val)
        self.histogram.copy_(
            torch.histc(x, self.bins, min=min_val.item(), max=max_val.item())
        )

    def _moved(self, old_low: Any, old_high: Any, low: Any, high: Any) -> Any:
        """What was counted, in the bins of a wider range."""
        if old_low.item() == low.item() and old_high.item() == high.item():
            return self.histogram
        if old_low.item() == old_high.item():
            place = torch.histc(old_low, bins=self.bins, min=low.item(), max=high.item())
            return place * torch.sum(self.histogram)
        rate, bins = self.upsample_rate, self.bins
        fine = self.histogram.repeat_interleave(rate) / rate
        width = (old_high - old_low) / (bins * rate)
        middles = torch.linspace(old_low.item(), old_high.item(), bins * rate + 1)[:-1]
        edges = torch.linspace(low.item(), high.item(), bins + 1)
        owner = torch.bucketize(middles + 0.5 * width, edges, right=True) - 1
        return torch.bincount(
            owner.clamp(0, bins - 1), weights=fine, minlength=bins
        )

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        if np.isinf(self.min_val.item()) and np.isinf(self.max_val.item()):
            warnings.warn(
                f"must run observer before calling calculate_qparams.{' ' * 36}"
                "Returning default scale and zero point ",
                stacklevel=2,
            )
            return torch.tensor([1.0]), torch.tensor([0])
        if self.bins != len(self.histogram):
            raise AssertionError(
                "The number of bins in histogram should be equal to the number of bins supplied "
                "while making this observer"
            )
        return self._calculate_qparams(*self._non_linear_param_search())

    def _non_linear_param_search(self) -> tuple[Any, Any]:
        width = (self.max_val - self.min_val) / self.bins
        exact = (self.max_val.item() - self.min_val.item()) / self.bins
        start, stop = best_bins(
            self.histogram.numpy(), torch.cumsum(self.histogram, 0).numpy(),
            torch.sum(self.histogram).item(), exact, self.dst_nbins,
        )  # fmt: skip
        return self.min_val + width * start, self.min_val + width * (stop + 1)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *args: Any
    ) -> None:
        version = local_metadata.get("version")
        if version is None or version < 3:
            for name, value in (("min_val", float("inf")), ("max_val", float("-inf"))):
                if prefix + name in state_dict and state_dict[prefix + name].shape == (0,):
                    state_dict[prefix + name] = torch.tensor(value)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"
