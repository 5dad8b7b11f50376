"""What observers have in common."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch.nn.modules.module import Module

from .utils import (
    calculate_qmin_qmax,
    check_min_max_valid,
    is_per_channel,
    is_per_tensor,
    validate_qmin_qmax,
)

__all__ = ["EPS", "GAP", "ObserverBase", "PartialWrapper", "UniformQuantizationObserverBase"]

EPS = torch.finfo(torch.float32).eps
GAP = " " * 20  # inside of some of torch's texts
_SYMMETRIC = (torch.per_tensor_symmetric, torch.per_channel_symmetric)


class PartialWrapper:
    """A class with some of its arguments; what `with_args` gives.

    Attributes:
        p: a functools.partial.
        callable_args: functions that are called for further arguments.
    """

    def __init__(self, p: Any) -> None:
        self.p = p
        self.callable_args: dict[str, Any] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        made = {k: v() for k, v in self.callable_args.items() if k not in keywords}
        return self.p(*args, **keywords, **made)

    def __repr__(self) -> str:
        return f"{self.p!r}{self.callable_args!r}"

    def with_args(self, **kwargs: Any) -> PartialWrapper:
        return PartialWrapper(partial(self, **kwargs))

    def with_callable_args(self, **kwargs: Any) -> PartialWrapper:
        found = PartialWrapper(self.p)
        found.callable_args = {**self.callable_args, **kwargs}
        return found


class ObserverBase(Module):
    """What observers have in common.

    Args:
        dtype: of the levels.
        is_dynamic: whether ranges are those of each call.
    """

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point."""
        raise NotImplementedError

    @classmethod
    def with_args(cls, **kwargs: Any) -> PartialWrapper:
        """The class with these arguments, to be called for each observer."""
        return PartialWrapper(partial(cls, **kwargs))

    @classmethod
    def with_callable_args(cls, **kwargs: Any) -> PartialWrapper:
        """The class with arguments that functions give when it is called."""
        return PartialWrapper(partial(cls)).with_callable_args(**kwargs)


class UniformQuantizationObserverBase(ObserverBase):
    """Observers of a range that is divided evenly.

    Args:
        dtype: of the levels.
        qscheme: one scale for a tensor or one for each channel; symmetric around 0 or not.
        reduce_range: use every second level.
        quant_min, quant_max: the lowest and the highest level; None for those of the type.
        factory_kwargs: the device of what is kept.
        eps: the least scale.
        is_dynamic: whether ranges are those of each call.
    """

    _version = 3

    def __init__(
        self, dtype: Any = torch.quint8, qscheme: Any = torch.per_tensor_affine,
        reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None,
        factory_kwargs: Any = None, eps: float = EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.qscheme = qscheme
        if reduce_range:
            warnings.warn(
                "Please use quant_min and quant_max to specify the range for observers. "
                f"{GAP}reduce_range will be deprecated in a future release of PyTorch.",
                stacklevel=2,
            )
        self.reduce_range = reduce_range
        options = factory_kwargs or {}
        self.register_buffer("eps", torch.tensor([eps], **options))
        if not (is_per_tensor(qscheme) or is_per_channel(qscheme)):
            raise AssertionError(
                "Default Observer only works for per_tensor_affine, per_tensor_symmetric, "
                "per_channel_affine, per_channel_symmetric and per_channel_float_qparams "
                "quantization scheme"
            )
        allowed = (
            torch.qint8, torch.quint8, torch.quint4x2, torch.qint32, torch.int8, torch.uint8,
            torch.int16, torch.int32, torch.float8_e5m2, torch.float8_e4m3fn, torch.uint16,
        )  # fmt: skip
        if self.dtype not in allowed:
            raise AssertionError(f"Default Observer only works for {allowed} data type")
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if self.has_customized_qrange:
            validate_qmin_qmax(quant_min, quant_max)  # type: ignore[arg-type]
        self.quant_min, self.quant_max = calculate_qmin_qmax(
            quant_min, quant_max, self.has_customized_qrange, self.dtype, self.reduce_range
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *args: Any
    ) -> None:
        if local_metadata.get("version") in (None, 1):
            state_dict[prefix + "eps"] = torch.tensor([EPS])
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def _calculate_qparams(self, min_val: Any, max_val: Any) -> tuple[Any, Any]:
        """Scale and zero point of a range, or of one for each channel."""
        if not check_min_max_valid(min_val, max_val):
            return torch.tensor([1.0]), torch.tensor([0])
        zero = torch.zeros_like(min_val)
        low, high = torch.min(min_val, zero), torch.max(max_val, zero)
        first, last = self.quant_min, self.quant_max
        if self.qscheme in _SYMMETRIC:
            scale = torch.max(torch.max(-low, high) / ((last - first) / 2), self.eps)
            start = torch.full_like(scale, self._middle(), dtype=torch.int64)
        elif self.qscheme == torch.per_channel_affine_float_qparams:
            scale = (max_val - min_val) / float(last - first)
            scale = torch.where(scale > self.eps, scale, torch.ones_like(scale))
            start = -1 * min_val / scale
        else:
            scale = torch.max((high - low) / float(last - first), self.eps)
            start = torch.clamp(first - torch.round(low / scale).to(torch.int), first, last)
        return scale.reshape(-1), start.reshape(-1)

    def _middle(self) -> int:
        """The level of 0 where levels are symmetric."""
        if self.dtype in (torch.quint8, torch.uint8):
            return (self.quant_min + self.quant_max) // 2 if self.has_customized_qrange else 128
        return 2**15 if self.dtype == torch.uint16 else 0

    def reset_min_max_vals(self) -> None:
        """Forget what was observed."""
        raise NotImplementedError("Cannot reset min/max values in the given observer.")
