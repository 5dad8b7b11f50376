"""Observers: modules that follow the range of what passes through them."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import Any, NoReturn

import numpy as np

import mindtorch.torch as torch
from mindtorch.torch._api.public_names import own_names as _own_names

from ._histogram_observer import HistogramObserver
from ._observer_base import (
    EPS,
    GAP,
    ObserverBase,
    UniformQuantizationObserverBase,
)
from ._observer_base import (
    PartialWrapper as PartialWrapper,
)
from .utils import is_per_channel, is_per_tensor

__all__ = [
    "FixedQParamsObserver", "HistogramObserver", "MinMaxObserver",
    "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver", "NoopObserver",
    "ObserverBase", "PerChannelMinMaxObserver", "PlaceholderObserver", "RecordingObserver",
    "ReuseInputObserver", "UniformQuantizationObserverBase",
    "default_affine_fixed_qparams_observer", "default_debug_observer",
    "default_dynamic_quant_observer", "default_fixed_qparams_range_0to1_observer",
    "default_fixed_qparams_range_neg1to1_observer", "default_float_qparams_observer",
    "default_float_qparams_observer_4bit", "default_histogram_observer", "default_observer",
    "default_per_channel_weight_observer", "default_placeholder_observer",
    "default_reuse_input_observer", "default_symmetric_fixed_qparams_observer",
    "default_weight_observer", "get_observer_state_dict", "load_observer_state_dict",
    "per_channel_weight_observer_range_neg_127_to_127", "weight_observer_range_neg_127_to_127",
]  # fmt: skip

_PartialWrapper = PartialWrapper
_NARROW_SYMMETRIC = f"Cannot reduce range for symmetric{GAP * 2}quantization for quint8"


class MinMaxObserver(UniformQuantizationObserverBase):
    """Follows the least and the greatest element of all tensors that it met.

    Args:
        dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic: as
            :class:`UniformQuantizationObserverBase` has them.
    """

    def __init__(
        self, dtype: Any = torch.quint8, qscheme: Any = torch.per_tensor_affine,
        reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None,
        factory_kwargs: Any = None, eps: float = EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if not is_per_tensor(qscheme):
            raise NotImplementedError(
                "MinMaxObserver's qscheme only support torch.per_tensor_symmetric "
                f"{GAP}and torch.per_tensor_affine."
            )
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic,
            **kwargs,
        )  # fmt: skip
        options = factory_kwargs or {}
        self.register_buffer("min_val", torch.tensor(float("inf"), **options))
        self.register_buffer("max_val", torch.tensor(float("-inf"), **options))
        if qscheme == torch.per_tensor_symmetric and reduce_range and dtype == torch.quint8:
            raise NotImplementedError(_NARROW_SYMMETRIC)

    def forward(self, x_orig: Any) -> Any:
        if x_orig.numel() == 0:
            return x_orig
        low, high = torch.aminmax(x_orig.detach().to(self.min_val.dtype))
        self.min_val.copy_(torch.min(low, self.min_val))
        self.max_val.copy_(torch.max(high, self.max_val))
        return x_orig

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        self.min_val.fill_(float("inf"))
        self.max_val.fill_(float("-inf"))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Follows the moving average of the least and the greatest element.

    Args:
        averaging_constant: the weight of a new tensor.
        dtype, qscheme, reduce_range, quant_min, quant_max, eps, is_dynamic: as
            :class:`UniformQuantizationObserverBase` has them.
    """

    def __init__(
        self, averaging_constant: float = 0.01, dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, eps: float = EPS,
        is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if not is_per_tensor(qscheme):
            raise NotImplementedError(
                f"MovingAverageMinMaxObserver's qscheme only support {GAP[:16]}"
                f"torch.per_tensor_symmetric and torch.per_tensor_affine. {GAP[:16]}"
                f"but got: {qscheme}"
            )
        self.averaging_constant = averaging_constant
        if is_dynamic and averaging_constant != 1:
            raise NotImplementedError(
                "MovingAverageMinMaxObserver doesn't support dynamic quantization for "
                f"averaging constant of {averaging_constant}"
            )
        super().__init__(
            dtype=dtype, qscheme=qscheme, reduce_range=reduce_range, quant_min=quant_min,
            quant_max=quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs,
        )  # fmt: skip

    def forward(self, x_orig: Any) -> Any:
        if x_orig.numel() == 0:
            return x_orig
        low, high = torch.aminmax(x_orig.detach().to(self.min_val.dtype))
        if not np.isinf(self.min_val.item()) or not np.isinf(self.max_val.item()):
            low = self.min_val + self.averaging_constant * (low - self.min_val)
            high = self.max_val + self.averaging_constant * (high - self.max_val)
        self.min_val.copy_(low)
        self.max_val.copy_(high)
        return x_orig


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Follows the least and the greatest element for each index of an axis.

    Args:
        ch_axis: the axis.
        dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic: as
            :class:`UniformQuantizationObserverBase` has them.
    """

    def __init__(
        self, ch_axis: int = 0, dtype: Any = torch.quint8,
        qscheme: Any = torch.per_channel_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: Any = None,
        eps: float = EPS, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if not is_per_channel(qscheme):
            raise NotImplementedError(
                f"PerChannelMinMaxObserver's qscheme only support {GAP}"
                "torch.per_channel_symmetric, torch.per_channel_affine and "
                "torch.per_channel_affine_float_qparams."
            )
        if is_dynamic:
            raise NotImplementedError(
                "PerChannelMinMaxObserver doesn't support dynamic quantization"
            )
        super().__init__(
            dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic,
            **kwargs,
        )  # fmt: skip
        self.ch_axis = ch_axis
        options = factory_kwargs or {}
        self.register_buffer("min_val", torch.tensor([], **options))
        self.register_buffer("max_val", torch.tensor([], **options))
        if qscheme == torch.per_channel_symmetric and reduce_range and dtype == torch.quint8:
            raise NotImplementedError(_NARROW_SYMMETRIC)

    def _ends(self, x: Any) -> tuple[Any, Any]:
        rows = x.detach().transpose(0, self.ch_axis).to(self.min_val.dtype).flatten(1)
        return torch.aminmax(rows, dim=1)

    def _joined(self, low: Any, high: Any) -> tuple[Any, Any]:
        return torch.min(low, self.min_val), torch.max(high, self.max_val)

    def forward(self, x_orig: Any) -> Any:
        if x_orig.numel() == 0:
            return x_orig
        low, high = self._ends(x_orig)
        if self.min_val.numel() and self.max_val.numel():
            low, high = self._joined(low, high)
        self.min_val.resize_(low.shape).copy_(low)
        self.max_val.resize_(high.shape).copy_(high)
        return x_orig

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """What was kept has the lengths of the file's."""
        for name in ("min_val", "max_val"):
            key = prefix + name
            if key in state_dict:
                getattr(self, name).resize_(state_dict[key].shape)
            elif strict:
                missing_keys.append(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    def reset_min_max_vals(self) -> None:
        self.min_val = torch.rand(0)
        self.max_val = torch.rand(0)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Follows the moving average of both ends for each index of an axis.

    Args:
        averaging_constant: the weight of a new tensor.
        ch_axis: the axis.
        dtype, qscheme, reduce_range, quant_min, quant_max, eps, is_dynamic: as
            :class:`UniformQuantizationObserverBase` has them.
    """

    def __init__(
        self, averaging_constant: float = 0.01, ch_axis: int = 0, dtype: Any = torch.quint8,
        qscheme: Any = torch.per_channel_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, eps: float = EPS,
        is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if is_dynamic:
            raise NotImplementedError(
                "MovingAveragePerChannelMinMaxObserver doesn't support dynamic quantization"
            )
        super().__init__(
            ch_axis=ch_axis, dtype=dtype, qscheme=qscheme, reduce_range=reduce_range,
            quant_min=quant_min, quant_max=quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs,
        )  # fmt: skip
        self.averaging_constant = averaging_constant

    def _joined(self, low: Any, high: Any) -> tuple[Any, Any]:
        weight = self.averaging_constant
        return (
            self.min_val + weight * (low - self.min_val),
            self.max_val + weight * (high - self.max_val),
        )


class FixedQParamsObserver(ObserverBase):
    """Observes nothing: scale and zero point are given.

    Args:
        scale, zero_point: what levels mean.
        dtype, qscheme, quant_min, quant_max: of the levels.
        is_dynamic: False.
    """

    def __init__(
        self, scale: float, zero_point: int, dtype: Any = torch.quint8,
        qscheme: Any = torch.per_tensor_affine, quant_min: int = 0, quant_max: int = 255,
        is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if is_dynamic:
            raise NotImplementedError(
                "FixedQParamsObserver doesn't support dynamic quantization"
            )
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min, self.quant_max = quant_min, quant_max
        self.register_buffer("scale", torch.tensor([scale], dtype=torch.float))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.int))
        self.qscheme = qscheme

    def forward(self, X: Any) -> Any:  # noqa: N803
        return X

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        return self.scale, self.zero_point


class _Silent(ObserverBase):
    """Observers that compute no levels."""

    def forward(self, x: Any) -> Any:
        return x

    def calculate_qparams(self) -> NoReturn:  # type: ignore[override]
        raise Exception(
            f"calculate_qparams should not be called for {type(self).__name__}"
        )


class PlaceholderObserver(_Silent):
    """Says of which type something will be, and observes nothing.

    Args:
        dtype: the type.
        custom_op_name: kept as ``custom_op``.
        compute_dtype: an older word for ``is_dynamic=True``.
        quant_min, quant_max, qscheme, eps: kept.
        is_dynamic: whether levels are chosen at each call.
    """

    def __init__(
        self, dtype: Any = torch.float32, custom_op_name: str = "", compute_dtype: Any = None,
        quant_min: int | None = None, quant_max: int | None = None, qscheme: Any = None,
        eps: float | None = None, is_dynamic: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(dtype=dtype, is_dynamic=is_dynamic or bool(compute_dtype))
        self.qscheme = torch.per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max = quant_min, quant_max
        self.eps = EPS if eps is None else eps
        self.custom_op = custom_op_name
        if compute_dtype:
            warnings.warn(
                f"Please use `is_dynamic` instead of `compute_dtype`. {GAP}`compute_dtype` will "
                f"be deprecated in a future release {GAP}of PyTorch.",
                stacklevel=2,
            )

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"


class RecordingObserver(_Silent):
    """Keeps every tensor that it meets.

    Args:
        dtype: kept.
    """

    def __init__(self, dtype: Any = torch.quint8) -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.tensor_val: list[Any] = []

    def forward(self, x: Any) -> Any:
        self.tensor_val.append(x.clone())
        return x

    def get_tensor_value(self) -> list[Any]:
        """The tensors."""
        return self.tensor_val


class NoopObserver(_Silent):
    """Observes nothing; for types that need no levels.

    Args:
        dtype: the type.
        custom_op_name: kept as ``custom_op``.
    """

    def __init__(self, dtype: Any = torch.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.custom_op = custom_op_name


class ReuseInputObserver(_Silent):
    """Stands for the observer of an operation's input."""

    def __init__(self) -> None:
        super().__init__(torch.quint8, is_dynamic=False)


def is_activation_post_process(module: Any) -> bool:
    return isinstance(module, ObserverBase) or hasattr(module, "fake_quant_enabled")


def get_observer_state_dict(mod: Any) -> Any:
    """The entries of a module's state that observers own."""
    return OrderedDict(
        (name, value) for name, value in mod.state_dict().items()
        if "observer" in name or "activation_post_process" in name
    )  # fmt: skip


def load_observer_state_dict(mod: Any, obs_dict: Any) -> None:
    """Give observers what :func:`get_observer_state_dict` took from others.

    Args:
        mod: has the observers.
        obs_dict: their state.

    Raises:
        Exception: an observer's entry is missing.
    """
    absent: list[str] = []
    unknown: list[str] = []
    for name, module in mod.named_modules():
        if is_activation_post_process(module):
            module._load_from_state_dict(obs_dict, f"{name}.", {}, False, absent, unknown, [])
    for word, keys in (("Missing", absent), ("Unexpected", unknown)):
        for key in keys:
            if "observer" in key or "activation_post_process" in key:
                raise Exception(
                    f"{word} keys for observer {key} in state_dict"
                )


_INT8: dict[str, Any] = {"dtype": torch.qint8, "qscheme": torch.per_tensor_symmetric}
_INT8_CHANNELS: dict[str, Any] = {"dtype": torch.qint8, "qscheme": torch.per_channel_symmetric}
_NARROW: dict[str, Any] = {"quant_min": -127, "quant_max": 127, "eps": 2**-12}
_BYTE: dict[str, Any] = {"dtype": torch.quint8, "quant_min": 0, "quant_max": 255}
_ROWS: dict[str, Any] = {"qscheme": torch.per_channel_affine_float_qparams, "ch_axis": 0}

default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_weight_observer = MinMaxObserver.with_args(**_INT8)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(**_INT8, **_NARROW)
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(**_INT8_CHANNELS)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    **_INT8_CHANNELS, **_NARROW
)
default_dynamic_quant_observer = PlaceholderObserver.with_args(**_BYTE, is_dynamic=True)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(dtype=torch.quint8, **_ROWS)
default_float_qparams_observer_4bit = PerChannelMinMaxObserver.with_args(
    dtype=torch.quint4x2, **_ROWS
)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, **_BYTE
)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, **_BYTE
)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
default_reuse_input_observer = ReuseInputObserver

_own_names(globals())
