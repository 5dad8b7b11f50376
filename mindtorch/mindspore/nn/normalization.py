"""Normalisations that hold gamma, beta, moving_mean and moving_variance."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes

from ..common.initializer import initializer
from ..common.parameter import Parameter
from ..common.tensor import F
from ..ops import operations
from .cell import Cell

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "LayerNorm",
]  # fmt: skip


class _BatchNorm(Cell):
    """(x - mean) / sqrt(variance + eps) gamma + beta, over all axes but the channels.

    In training mean and variance are the batch's, and
    ``moving = momentum moving + (1 - momentum) batch``; otherwise they are the moving ones.

    Args:
        momentum: the weight of the past: 0.9 is what torch calls 0.1.
        affine: whether gamma and beta are trained.
        use_batch_statistics: True or False whatever the mode; None follows the mode.
    """

    axes: tuple[int, ...] = ()

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.9, affine: bool = True,
        gamma_init: Any = "ones", beta_init: Any = "zeros", moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones", use_batch_statistics: bool | None = None,
        data_format: str = "NCHW", dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        owner = type(self).__name__
        if not isinstance(num_features, int) or num_features < 1:
            raise ValueError(
                f"For '{owner}', the 'num_features' must be at least 1, but got {num_features}."
            )
        if not 0 <= momentum <= 1:
            raise ValueError(
                f"For '{owner}', the 'momentum' must be a number in range [0, 1], but got "
                f"{momentum}."
            )
        if data_format not in ("NCHW", "NCDHW"):
            raise ValueError(f"data_format {data_format!r}: channels are axis 1")
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.use_batch_statistics = use_batch_statistics
        shape = (num_features,)
        self.moving_mean = Parameter(
            initializer(moving_mean_init, shape, dtype), "moving_mean", requires_grad=False
        )
        self.moving_variance = Parameter(
            initializer(moving_var_init, shape, dtype), "moving_variance", requires_grad=False
        )
        self.gamma = Parameter(initializer(gamma_init, shape, dtype), "gamma", affine)
        self.beta = Parameter(initializer(beta_init, shape, dtype), "beta", affine)

    def construct(self, x: Any) -> Any:
        if x.aval.ndim not in self.axes:
            raise ValueError(
                f"For '{type(self).__name__}', the input should have {self.axes[0]} axes, but got "
                f"shape {x.aval.shape}."
            )
        batch = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        return F.batch_norm(
            x, self.moving_mean, self.moving_variance, self.gamma, self.beta, batch,
            1 - self.momentum, self.eps,
        )  # fmt: skip

    def extend_repr(self) -> str:
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"gamma={self.gamma}, beta={self.beta}, moving_mean={self.moving_mean}, "
            f"moving_variance={self.moving_variance}"
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (batch, channels) or (batch, channels, length)."""

    axes = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (batch, channels, height, width)."""

    axes = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (batch, channels, depth, height, width)."""

    axes = (5,)


for _kind in (BatchNorm1d, BatchNorm2d, BatchNorm3d):
    _kind.__doc__ = f"{_kind.__doc__}\n\n    {_BatchNorm.__doc__}"


class LayerNorm(Cell):
    """(x - mean) / sqrt(variance + epsilon) gamma + beta, over the axes of ``normalized_shape``.

    Args:
        begin_norm_axis: the first axis of those over which mean and variance are taken; the axes
            are those of ``normalized_shape``, at the end.
        begin_params_axis: the first axis of gamma and beta; the same one.
    """

    def __init__(
        self, normalized_shape: Any, begin_norm_axis: int = -1, begin_params_axis: int = -1,
        gamma_init: Any = "ones", beta_init: Any = "zeros", epsilon: float = 1e-7,
        dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        if not isinstance(normalized_shape, (tuple, list)):
            raise TypeError(
                "For 'LayerNorm', the type of 'normalized_shape' should be tuple[int] or "
                f"list[int], but got {normalized_shape} and the type is {type(normalized_shape)}."
            )
        self.normalized_shape = tuple(normalized_shape)
        self._given_shape = normalized_shape
        self.begin_norm_axis, self.begin_params_axis = begin_norm_axis, begin_params_axis
        self.epsilon = epsilon
        self.gamma = Parameter(initializer(gamma_init, self.normalized_shape, dtype), "gamma")
        self.beta = Parameter(initializer(beta_init, self.normalized_shape, dtype), "beta")
        # for cells that are built on this one: (result, mean, variance) of (x, gamma, beta)
        primitive: Any = getattr(operations, "LayerNorm")  # noqa: B009
        self.layer_norm = primitive(begin_norm_axis, begin_params_axis, epsilon)

    def construct(self, x: Any) -> Any:
        count = len(self.normalized_shape)
        for axis in (self.begin_norm_axis, self.begin_params_axis):
            if axis % x.aval.ndim != x.aval.ndim - count:
                raise ValueError(
                    f"For 'LayerNorm', axis {axis} of an input of shape {x.aval.shape} does not "
                    f"begin 'normalized_shape' {self.normalized_shape}."
                )
        return F.layer_norm(x, self.normalized_shape, self.gamma, self.beta, self.epsilon)

    def extend_repr(self) -> str:
        return (
            f"normalized_shape={self._given_shape}, "
            f"begin_norm_axis={self.begin_norm_axis}, begin_params_axis={self.begin_params_axis}, "
            f"gamma{self.gamma}, beta={self.beta}"  # MindSpore's text: no = there
        )


class GroupNorm(Cell):
    """Normalisation over groups of channels of each example."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
        gamma_init: Any = "ones", beta_init: Any = "zeros", dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                "For 'GroupNorm', the 'num_channels' must be divided by 'num_groups', but got "
                f"{num_channels} and {num_groups}."
            )
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        shape = (num_channels,)
        self.gamma = Parameter(initializer(gamma_init, shape, dtype), "gamma", affine)
        self.beta = Parameter(initializer(beta_init, shape, dtype), "beta", affine)

    def construct(self, x: Any) -> Any:
        return F.group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}"


class _InstanceNorm(Cell):
    """Normalisation of each channel of each example; nothing is kept of past batches."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
        gamma_init: Any = "ones", beta_init: Any = "zeros", dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        shape = (num_features,)
        self.gamma = Parameter(initializer(gamma_init, shape, dtype), "gamma", affine)
        self.beta = Parameter(initializer(beta_init, shape, dtype), "beta", affine)

    def construct(self, x: Any) -> Any:
        return F.instance_norm(x, None, None, self.gamma, self.beta, True, 0.1, self.eps)


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (batch, channels, length)."""


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of (batch, channels, height, width)."""


class InstanceNorm3d(_InstanceNorm):
    """Instance normalisation of (batch, channels, depth, height, width)."""
