"""Fake quantisation as modules: what passes is put on levels, and trained as if it were not."""

from __future__ import annotations

from functools import partial
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch.nn.modules.module import Module

from .observer import (
    FixedQParamsObserver,
    HistogramObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PartialWrapper,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
)
from .utils import is_per_channel, is_per_tensor

__all__ = [
    "FakeQuantize", "FakeQuantizeBase", "FixedQParamsFakeQuantize",
    "FusedMovingAvgObsFakeQuantize", "default_affine_fixed_qparams_fake_quant",
    "default_dynamic_fake_quant", "default_embedding_fake_quant",
    "default_embedding_fake_quant_4bit", "default_fake_quant",
    "default_fixed_qparams_range_0to1_fake_quant", "default_fixed_qparams_range_neg1to1_fake_quant",
    "default_fused_act_fake_quant", "default_fused_per_channel_wt_fake_quant",
    "default_fused_wt_fake_quant", "default_histogram_fake_quant",
    "default_per_channel_weight_fake_quant", "default_symmetric_fixed_qparams_fake_quant",
    "default_weight_fake_quant", "disable_fake_quant", "disable_observer", "enable_fake_quant",
    "enable_observer", "fused_per_channel_wt_fake_quant_range_neg_127_to_127",
    "fused_wt_fake_quant_range_neg_127_to_127",
]  # fmt: skip


class FakeQuantizeBase(Module):
    """What modules of fake quantisation have in common: two switches, kept as tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", torch.tensor([1], dtype=torch.uint8))
        self.register_buffer("observer_enabled", torch.tensor([1], dtype=torch.uint8))

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point."""
        raise NotImplementedError

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Put on levels what passes, or let it be."""
        self.fake_quant_enabled[0] = int(enabled)

    def disable_fake_quant(self) -> None:
        """Let what passes be as it is."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Follow the range of what passes, or keep the range that is known."""
        self.observer_enabled[0] = int(enabled)

    def disable_observer(self) -> None:
        """Keep the range that is known."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> PartialWrapper:
        """The class with these arguments, to be called for each module."""
        return PartialWrapper(partial(cls, **kwargs))


def _limits(dtype: Any) -> tuple[int, int]:
    name = repr(dtype).removeprefix("torch.").removeprefix("q")
    info = torch.iinfo(getattr(torch, name)) if name in ("int8", "uint8", "int32") else None
    return (info.min, info.max) if info is not None else (0, 15)


class FakeQuantize(FakeQuantizeBase):
    """``(clamp(round(x / scale + zero_point), quant_min, quant_max) - zero_point) * scale``.

    Args:
        observer: the class that chooses scale and zero point.
        quant_min, quant_max: the lowest and the highest level; None for the observer's.
        is_dynamic: whether the range is that of each call.
        observer_kwargs: further arguments of the observer.

    Raises:
        AssertionError: levels that the type does not have.
    """

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: int | None = None,
        quant_max: int | None = None, is_dynamic: bool = False, **observer_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise AssertionError("quant_min must be less than or equal to quant_max")
            dtype = observer_kwargs.get("dtype", torch.quint8)
            if hasattr(observer, "p"):
                dtype = observer.p.keywords.get("dtype", dtype)
            low, high = _limits(dtype)
            if low > quant_min:
                raise AssertionError("quant_min out of bound")
            if quant_max > high:
                raise AssertionError("quant_max out of bound")
            observer_kwargs |= {"quant_min": quant_min, "quant_max": quant_max}
        observer_kwargs["is_dynamic"] = is_dynamic
        made = self.activation_post_process = observer(**observer_kwargs)
        self.quant_min, self.quant_max = made.quant_min, made.quant_max
        self.is_dynamic = made.is_dynamic
        floating = made.qscheme == torch.per_channel_affine_float_qparams
        kind = torch.float if floating else torch.int
        self.register_buffer("scale", torch.tensor([1.0], dtype=torch.float))
        self.register_buffer("zero_point", torch.tensor([0], dtype=kind))
        self.dtype, self.qscheme = made.dtype, made.qscheme
        self.ch_axis = getattr(made, "ch_axis", -1)
        if not (is_per_channel(self.qscheme) or is_per_tensor(self.qscheme)):
            raise AssertionError(
                "Only per channel and per tensor quantization are supported in fake quantize got "
                f"qscheme: {self.qscheme}"
            )
        self.is_per_channel = is_per_channel(self.qscheme)

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Any) -> Any:  # noqa: N803
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            for known, found in zip(
                (self.scale, self.zero_point), self.calculate_qparams(), strict=True
            ):
                known.resize_(found.shape).copy_(found)
        if self.fake_quant_enabled[0] != 1:
            return X
        made = self.activation_post_process
        ends = made.quant_min, made.quant_max
        if self.is_per_channel:
            return torch.fake_quantize_per_channel_affine(
                X, self.scale, self.zero_point, self.ch_axis, *ends
            )
        return torch.fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, *ends)

    def extra_repr(self) -> str:
        made = self.activation_post_process
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, "
            f"observer_enabled={self.observer_enabled}, quant_min={made.quant_min}, "
            f"quant_max={made.quant_max}, dtype={self.dtype}, qscheme={self.qscheme}, "
            f"ch_axis={self.ch_axis}, scale={self.scale}, zero_point={self.zero_point}"
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
        missing_keys: list[str], *args: Any,
    ) -> None:  # fmt: skip
        for name in ("scale", "zero_point"):
            key = prefix + name
            if key in state_dict:
                getattr(self, name).resize_(state_dict[key].shape)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, *args
        )


class FixedQParamsFakeQuantize(FakeQuantize):
    """Fake quantisation with a given scale and zero point.

    Args:
        observer: a FixedQParamsObserver with its arguments.

    Raises:
        AssertionError: another observer.
    """

    def __init__(self, observer: Any) -> None:
        super().__init__(observer=observer)
        if type(self.activation_post_process) is not FixedQParamsObserver:
            raise AssertionError(
                f"{type(self).__name__}'s observer must be a {FixedQParamsObserver.__name__}"
            )
        self._observer_ctr = observer
        self.scale = self.activation_post_process.scale
        self.zero_point = self.activation_post_process.zero_point

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        return self.scale, self.zero_point

    def extra_repr(self) -> str:
        made = self.activation_post_process
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, "
            f"observer_enabled={self.observer_enabled}, scale={self.scale}, "
            f"zero_point={self.zero_point}, dtype={self.dtype}, quant_min={made.quant_min}, "
            f"quant_max={made.quant_max}, qscheme={self.qscheme}"
        )


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """Moving average of the range and fake quantisation in one call,
    :func:`torch.fused_moving_avg_obs_fake_quant`.

    Args:
        observer: a moving average observer.
        quant_min, quant_max: the lowest and the highest level.
        observer_kwargs: further arguments of the observer.

    Raises:
        AssertionError: another observer.
    """

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: int = 0,
        quant_max: int = 255, **observer_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        kinds = (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver)
        if not isinstance(self.activation_post_process, kinds):
            raise AssertionError(
                "Fused observer+fake_quant module only works with MovingAverageMinMaxObserver"
            )
        self.register_buffer("fake_quant_enabled", torch.tensor([1], dtype=torch.long))
        self.register_buffer("observer_enabled", torch.tensor([1], dtype=torch.long))
        self.is_symmetric_quant = self.activation_post_process.qscheme in (
            torch.per_tensor_symmetric, torch.per_channel_symmetric
        )  # fmt: skip

    def extra_repr(self) -> str:
        made = self.activation_post_process
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, "
            f"observer_enabled={self.observer_enabled}, scale={self.scale}, "
            f"zero_point={self.zero_point}, dtype={self.dtype}, quant_min={made.quant_min}, "
            f"quant_max={made.quant_max}, qscheme={self.qscheme}, "
            f"reduce_range={made.reduce_range}"
        )

    def forward(self, X: Any) -> Any:  # noqa: N803
        made = self.activation_post_process
        return torch.fused_moving_avg_obs_fake_quant(
            X, self.observer_enabled, self.fake_quant_enabled, made.min_val, made.max_val,
            self.scale, self.zero_point, made.averaging_constant, made.quant_min, made.quant_max,
            self.ch_axis, self.is_per_channel, self.is_symmetric_quant,
        )  # fmt: skip


def _switch(name: str, what: str) -> Any:
    def switch(mod: Any) -> None:
        if isinstance(mod, FakeQuantizeBase):
            getattr(mod, name)()

    switch.__name__ = switch.__qualname__ = name
    switch.__doc__ = f"""{what}; for ``model.apply``.

    Args:
        mod: a module, which does nothing unless it is one of fake quantisation.
    """
    return switch


disable_fake_quant = _switch("disable_fake_quant", "Let what passes be as it is")
enable_fake_quant = _switch("enable_fake_quant", "Put on levels what passes")
disable_observer = _switch("disable_observer", "Keep the range that is known")
enable_observer = _switch("enable_observer", "Follow the range of what passes")

_BYTE: dict[str, Any] = {
    "observer": MovingAverageMinMaxObserver, "quant_min": 0, "quant_max": 255,
    "dtype": torch.quint8,
}  # fmt: skip
_WEIGHT: dict[str, Any] = {
    "observer": MovingAverageMinMaxObserver, "quant_min": -128, "quant_max": 127,
    "dtype": torch.qint8, "qscheme": torch.per_tensor_symmetric,
}  # fmt: skip
_CHANNELS = _WEIGHT | {
    "observer": MovingAveragePerChannelMinMaxObserver, "qscheme": torch.per_channel_symmetric
}
_ROWS: dict[str, Any] = {
    "observer": MovingAveragePerChannelMinMaxObserver, "ch_axis": 0, "averaging_constant": 1,
    "qscheme": torch.per_channel_affine_float_qparams,
}  # fmt: skip
_NARROW: dict[str, Any] = {"quant_min": -127, "quant_max": 127, "eps": 2**-12}
_AFFINE: dict[str, Any] = {"qscheme": torch.per_tensor_affine, "reduce_range": True}

default_fake_quant = FakeQuantize.with_args(**_BYTE, **_AFFINE)
default_weight_fake_quant = FakeQuantize.with_args(**_WEIGHT, reduce_range=False)
default_dynamic_fake_quant = FakeQuantize.with_args(
    **_BYTE, is_dynamic=True, averaging_constant=1
)
default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer
)
default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_0to1_observer
)
default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant
default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    **_CHANNELS, reduce_range=False, ch_axis=0
)
default_embedding_fake_quant = FakeQuantize.with_args(
    **_ROWS, dtype=torch.quint8, quant_min=0, quant_max=255
)
default_embedding_fake_quant_4bit = FakeQuantize.with_args(**_ROWS, dtype=torch.quint4x2)
default_histogram_fake_quant = FakeQuantize.with_args(
    **(_BYTE | {"observer": HistogramObserver}), **_AFFINE
)
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_BYTE)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_WEIGHT)
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(**_CHANNELS)
fused_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    **(_WEIGHT | _NARROW)
)
fused_per_channel_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    **(_CHANNELS | _NARROW)
)
