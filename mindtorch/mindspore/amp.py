"""Mixed precision: levels, loss scales, training networks."""

from __future__ import annotations

import warnings
from typing import Any

from mindtorch import mixed_precision
from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch.nn import modules as torch_modules
from mindtorch.torch.utils._pytree import tree_map

from . import nn
from .common.dtype import as_dtype
from .common.parameter import Parameter
from .common.tensor import Tensor
from .nn.wrap import all_finite

__all__ = [
    "DynamicLossScaleManager", "DynamicLossScaler", "FixedLossScaleManager", "LossScaleManager",
    "LossScaler", "StaticLossScaler", "all_finite", "auto_mixed_precision", "build_train_network",
    "custom_mixed_precision", "get_black_list", "get_white_list",
]  # fmt: skip

_WHITE = [
    nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Conv1dTranspose, nn.Conv2dTranspose, nn.Conv3dTranspose,
    nn.Dense, nn.LSTMCell, nn.RNNCell, nn.GRUCell, nn.PReLU, nn.ReLU,
]  # fmt: skip
_BLACK = [nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.LayerNorm]
# the same layers as PyTorch's namespace has them
_TORCH_WHITE = [
    torch_modules.Conv1d, torch_modules.Conv2d, torch_modules.Conv3d,
    torch_modules.ConvTranspose1d, torch_modules.ConvTranspose2d, torch_modules.ConvTranspose3d,
    torch_modules.Linear, torch_modules.LSTMCell, torch_modules.RNNCell, torch_modules.GRUCell,
    torch_modules.PReLU, torch_modules.ReLU,
]  # fmt: skip
_TORCH_BLACK = [
    torch_modules.BatchNorm1d, torch_modules.BatchNorm2d, torch_modules.BatchNorm3d,
    torch_modules.LayerNorm,
]  # fmt: skip


def get_white_list() -> list[type]:
    """The cells that compute in 16 bits at level O1, in a new list."""
    return list(_WHITE)


def get_black_list() -> list[type]:
    """The cells that compute in float32 at level O2, in a new list."""
    return list(_BLACK)


def auto_mixed_precision(
    network: Any, amp_level: str = "O0", dtype: Any = dtypes.float16
) -> Any:
    """Let the network's layers compute in 16 bits; its parameters stay as they are.

    Args:
        amp_level: "O0": nothing changes; "O1": the cells of the white list; "O2": all but those
            of the black list; "O3": all; "auto" needs a GPU.
        dtype: float16 or bfloat16.

    Returns:
        the network, whose results are float32.

    Raises:
        ValueError: no such level, or "auto" on the CPU.
        TypeError: not a cell.
    """
    if not isinstance(network, torch_modules.Module):
        raise TypeError("The network type should be Cell.")
    if amp_level not in mixed_precision.LEVELS:
        raise ValueError(f"The amp level {amp_level} is not supported")
    if amp_level == "auto":
        raise ValueError("The amp level auto is for GPU and Ascend: on the CPU name a level")
    if amp_level == "O0":
        return network
    kind = as_dtype(dtype)
    if amp_level == "O1":
        return mixed_precision.cast_listed(network, (*_WHITE, *_TORCH_WHITE), kind)
    if amp_level == "O2":
        return mixed_precision.cast_unlisted(network, (*_BLACK, *_TORCH_BLACK), kind)
    return mixed_precision.cast_all(network, kind)


def custom_mixed_precision(
    network: Any, *, white_list: list[type] | None = None, black_list: list[type] | None = None,
    dtype: Any = dtypes.float16,
) -> Any:  # fmt: skip
    """Let the cells of ``white_list``, or all but those of ``black_list``, compute in 16 bits.

    Raises:
        ValueError: both lists, or none.
    """
    if (white_list is None) == (black_list is None):
        raise ValueError(
            "For custom_mixed_precision, one of white_list and black_list must be given, and only "
            "one."
        )
    for each in white_list or black_list or []:
        if not isinstance(each, type):
            raise TypeError(f"the lists hold classes of cells, but got {each!r}")
    kind = as_dtype(dtype)
    if white_list is not None:
        return mixed_precision.cast_listed(network, white_list, kind, "custom")
    return mixed_precision.cast_unlisted(network, black_list or [], kind, "custom")


# --- scalers -----------------------------------------------------------------------------------


def _floor(scale: float) -> float:
    """At least 1; a message when that is reached."""
    if scale < 1:
        warnings.warn(
            "the loss scale fell to its floor of 1: gradients overflow at every scale. Look for "
            "NaN or infinity in the data, the loss or the parameters",
            stacklevel=4,
        )
        return 1.0
    return scale


class LossScaler:
    """Base of loss scalers."""

    def scale(self, inputs: Any) -> Any:
        """``inputs``, a tensor or nested tuples of them, times the scale, in their types."""
        raise NotImplementedError

    def unscale(self, inputs: Any) -> Any:
        """``inputs`` divided by the scale, in their types."""
        raise NotImplementedError

    def adjust(self, grads_finite: Any) -> Any:
        """Adapt the scale; whether it may change."""
        raise NotImplementedError


def _times(inputs: Any, factor: float) -> Any:
    def times(x: Any) -> Any:
        tensor: Any = x
        return (tensor * factor).to(tensor.dtype) if isinstance(x, EngineTensor) else x

    return tree_map(times, inputs)


class StaticLossScaler(LossScaler):
    """A loss scale that stays.

    Args:
        scale_value: the scale.
    """

    def __init__(self, scale_value: float) -> None:
        if not isinstance(scale_value, (int, float)) or scale_value < 1:
            raise ValueError(f"For 'StaticLossScaler', 'scale_value' must be >= 1: {scale_value}")
        self.scale_value = Parameter(Tensor(float(scale_value), dtypes.float32), "scale_value",
                                     False)  # fmt: skip

    def scale(self, inputs: Any) -> Any:
        return _times(inputs, float(self.scale_value.item()))

    def unscale(self, inputs: Any) -> Any:
        return _times(inputs, 1 / float(self.scale_value.item()))

    def adjust(self, grads_finite: Any) -> bool:
        return False


class DynamicLossScaler(StaticLossScaler):
    """A scale divided by ``scale_factor`` when gradients overflow, but not below 1, and
    multiplied by it after ``scale_window`` steps without overflow.

    Args:
        scale_value: the scale to begin with.
    """

    def __init__(self, scale_value: float, scale_factor: int, scale_window: int) -> None:
        super().__init__(scale_value)
        if not isinstance(scale_factor, int) or scale_factor < 1:
            raise ValueError(f"For 'DynamicLossScaler', 'scale_factor' must be > 0: {scale_factor}")
        if not isinstance(scale_window, int) or scale_window < 1:
            raise ValueError(f"For 'DynamicLossScaler', 'scale_window' must be > 0: {scale_window}")
        self.scale_factor, self.scale_window = scale_factor, scale_window
        self.counter = Parameter(Tensor(0, dtypes.int32), "counter", False)

    def adjust(self, grads_finite: Any) -> bool:
        scale, counter = float(self.scale_value.item()), int(self.counter.item())
        if not bool(grads_finite):
            scale, counter = _floor(scale / self.scale_factor), -1
        elif counter == self.scale_window - 1 and scale * self.scale_factor < 3.4e38:
            scale *= self.scale_factor
        self.scale_value.assign_value(Tensor(scale, dtypes.float32))
        self.counter.assign_value(Tensor((counter + 1) % self.scale_window, dtypes.int32))
        return True


# --- managers ----------------------------------------------------------------------------------


class LossScaleManager:
    """Base of what ``build_train_network`` and ``Model`` take as ``loss_scale_manager``."""

    def get_loss_scale(self) -> float:
        """The scale."""
        raise NotImplementedError

    def update_loss_scale(self, overflow: Any) -> None:
        """Adapt the scale."""
        raise NotImplementedError

    def get_update_cell(self) -> Any:
        """The cell that adapts the scale, None where overflow does not matter."""
        raise NotImplementedError


class FixedLossScaleManager(LossScaleManager):
    """A scale that stays.

    Args:
        drop_overflow_update: leave steps out whose gradients overflow. Otherwise the optimizer
            needs the same ``loss_scale``.
    """

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True) -> None:
        if loss_scale < 1:
            raise ValueError(
                "For 'FixedLossScaleManager', the argument 'loss_scale' must be >= 1, but got "
                f"{loss_scale}"
            )
        self._loss_scale, self._drop_overflow_update = loss_scale, drop_overflow_update

    def get_loss_scale(self) -> float:
        return self._loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Whether steps that overflow are left out."""
        return self._drop_overflow_update

    def update_loss_scale(self, overflow: Any) -> None:
        pass

    def get_update_cell(self) -> Any:
        if not self._drop_overflow_update:
            return None
        return nn.FixedLossScaleUpdateCell(self._loss_scale)


class DynamicLossScaleManager(LossScaleManager):
    """A scale divided by ``scale_factor`` after an overflow, never below 1, and multiplied by it
    after ``scale_window`` steps without.

    Args:
        init_loss_scale: the scale to begin with.
    """

    def __init__(
        self, init_loss_scale: float = 2**24, scale_factor: int = 2, scale_window: int = 2000
    ) -> None:
        if init_loss_scale < 1:
            raise ValueError(
                "For 'DynamicLossScaleManager', the argument 'init_loss_scale' must be >= 1, but "
                f"got {init_loss_scale}"
            )
        for name, value in (("scale_factor", scale_factor), ("scale_window", scale_window)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"For 'DynamicLossScaleManager', '{name}' must be > 0: {value}")
        self.loss_scale = float(init_loss_scale)
        self.scale_factor, self.scale_window = scale_factor, scale_window
        self.cur_iter, self.last_overflow_iter = 1, 0

    def get_loss_scale(self) -> float:
        return self.loss_scale

    def update_loss_scale(self, overflow: Any) -> None:
        if bool(overflow):
            self.loss_scale = _floor(self.loss_scale / self.scale_factor)
            self.last_overflow_iter = self.cur_iter
        elif (self.cur_iter - self.last_overflow_iter) % self.scale_window == 0:
            self.loss_scale *= self.scale_factor
        self.cur_iter += 1

    def get_drop_overflow_update(self) -> bool:
        """True: steps that overflow are left out."""
        return True

    def get_update_cell(self) -> Any:
        return nn.DynamicLossScaleUpdateCell(
            self.loss_scale, self.scale_factor, self.scale_window
        )


# --- training networks -------------------------------------------------------------------------


class _InSingle(nn.Cell):
    """A loss of outputs that were cast to float32."""

    def __init__(self, backbone: Any, loss_fn: Any) -> None:
        super().__init__(auto_prefix=False)
        self._backbone, self._loss_fn = backbone, loss_fn

    def construct(self, data: Any, label: Any) -> Any:
        outputs = mixed_precision.lowered(self._backbone(data), dtypes.float32)
        return self._loss_fn(outputs, mixed_precision.lowered(label, dtypes.float32))


def build_train_network(
    network: Any, optimizer: Any, loss_fn: Any = None, level: str = "O0", boost_level: str = "O0",
    **kwargs: Any,
) -> Any:  # fmt: skip
    """The cell that makes a training step: ``cell(data, label)``.

    Args:
        level: see :func:`auto_mixed_precision`.
        keep_batchnorm_fp32: whether batch normalisation computes in float32 (not at O3).
        loss_scale_manager: adapts the scale of the loss; None for none. At O2 a dynamic one when
            it is not given.
        boost_level: "O0"; others are not available.
    """
    unknown = set(kwargs) - {"loss_scale_manager", "keep_batchnorm_fp32", "cast_model_type"}
    if unknown:
        raise ValueError(f"build_train_network() does not know {sorted(unknown)}")
    if boost_level != "O0":
        raise NotImplementedError(f"build_train_network(boost_level={boost_level!r}): only 'O0'")
    kind = as_dtype(kwargs.get("cast_model_type", dtypes.float16))
    keep = kwargs.get("keep_batchnorm_fp32")
    if keep is not None and level in ("O2", "O3"):
        black = [*_BLACK, *_TORCH_BLACK] if keep else []
        mixed_precision.cast_unlisted(network, black, kind, level)
    else:
        auto_mixed_precision(network, level, kind)
    if loss_fn is not None:
        network = _InSingle(network, loss_fn)
    default = DynamicLossScaleManager() if level == "O2" else None
    manager = kwargs.get("loss_scale_manager", default)
    if manager is None:
        return nn.TrainOneStepCell(network, optimizer).set_train()
    update = manager.get_update_cell()
    if update is None:
        return nn.TrainOneStepCell(network, optimizer, manager.get_loss_scale()).set_train()
    return nn.TrainOneStepWithLossScaleCell(network, optimizer, update).set_train()
