"""Batch and instance normalisation."""

from __future__ import annotations

import warnings
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine import dtypes

from .. import functional as F  # noqa: N812
from .. import init
from ..parameter import UninitializedBuffer, UninitializedParameter
from ._statistics import normalised, world_of
from .lazy import LazyModuleMixin
from .module import Module
from .utils import empty_parameter

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
    "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d", "SyncBatchNorm",
]  # fmt: skip


class _NormBase(Module):
    """Weight, bias and running statistics of each channel."""

    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]

    _version = 2
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any
    weight: Any
    bias: Any
    _dims: tuple[int, ...] = ()

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = empty_parameter(num_features, device, dtype)
        else:
            self.register_parameter("weight", None)
        if affine and bias:
            self.bias = empty_parameter(num_features, device, dtype)
        else:
            self.register_parameter("bias", None)
        if track_running_stats:
            mean = torch.zeros(num_features, device=device, dtype=dtype)
            variance = torch.ones(num_features, device=device, dtype=dtype)
            self.register_buffer("running_mean", mean)
            self.register_buffer("running_var", variance)
            count = torch.tensor(0, dtype=dtypes.int64, device=device)
            self.register_buffer("num_batches_tracked", count)
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batch seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0, statistics reset."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Any) -> None:  # noqa: A002
        if input.dim() not in self._dims:
            listed = " or ".join(f"{n}D" for n in self._dims)
            raise ValueError(f"expected {listed} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        """The arguments."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, "
            f"affine={self.affine}, bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any
    ) -> None:
        version = local_metadata.get("version", None)
        if (version is None or version < 2) and self.track_running_stats:
            key = prefix + "num_batches_tracked"
            if key not in state_dict:
                held = self.num_batches_tracked
                state_dict[key] = torch.tensor(0, dtype=dtypes.int64) if held is None else held
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Normalised, of the same shape."""
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        return self._normalised(input, by_batch, factor)

    def _normalised(self, x: Any, by_batch: bool, factor: float) -> Any:
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(
            x,
            self.running_mean if tracked else None,
            self.running_var if tracked else None,
            self.weight,
            self.bias,
            by_batch,
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel of (N, C) or (N, C, L).

    Args:
        momentum: how far the running statistics move to each batch's; None averages all batches.
        affine: whether there are weight and bias.
        track_running_stats: whether evaluation uses running statistics.
    """

    _dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """:class:`BatchNorm1d` for (N, C, H, W)."""

    _dims = (4,)


class BatchNorm3d(_BatchNorm):
    """:class:`BatchNorm1d` for (N, C, D, H, W)."""

    _dims = (5,)


class _InstanceNorm(_NormBase):
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None,
        *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _get_no_batch_dim(self) -> int:
        """How many axes an input without a batch has; subclasses of users override it."""
        return self._dims[0]

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Normalised, of the same shape."""
        self._check_input_dim(input)
        batched = input.dim() != self._get_no_batch_dim()
        x = input if batched else input.unsqueeze(0)
        if x.shape[1] != self.num_features:
            axis = 1 if batched else 0
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={axis} to match num_features "
                    f"({self.num_features}), but got: {x.size(1)}."
                )
            warnings.warn(
                f"input's size at dim={axis} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False",
                stacklevel=2,
            )
        result = F.instance_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0, self.eps,
        )  # fmt: skip
        return result if batched else result.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """Normalisation of each channel of each sample of (N, C, L) or (C, L)."""

    _dims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """:class:`InstanceNorm1d` for (N, C, H, W) or (C, H, W)."""

    _dims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """:class:`InstanceNorm1d` for (N, C, D, H, W) or (C, D, H, W)."""

    _dims = (4, 5)


class SyncBatchNorm(_BatchNorm):
    """Batch norm of (N, C, ...) over the batches of all processes; in one process, of its own.

    Here it works on the CPU too, where PyTorch's raises once processes are joined.

    Args:
        process_group: the processes; all of them when None.
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, process_group: Any = None,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def forward(self, input: Any) -> Any:  # noqa: A002
        """Normalised, of the same shape."""
        return super().forward(input)

    def _normalised(self, x: Any, by_batch: bool, factor: float) -> Any:
        world = world_of(self.process_group) if self.training else None
        if world is None:
            return super()._normalised(x, by_batch, factor)
        return normalised(self, x, factor, world)

    def _check_input_dim(self, input: Any) -> None:  # noqa: A002
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """``module`` with every batch norm in it replaced by one of this class.

        Parameters and buffers stay the same tensors.
        """
        result = module
        if isinstance(module, _BatchNorm):
            result = cls(
                module.num_features, module.eps, module.momentum, module.affine,
                module.track_running_stats, process_group,
            )  # fmt: skip
            result.weight, result.bias = module.weight, module.bias
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                setattr(result, name, getattr(module, name))
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result


class _LazyNormBase(LazyModuleMixin):
    """The number of features is the size of the first input's axis 1."""

    def __init__(
        self: Any, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None,
        *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, False, False, device, dtype)
        place = {"device": device, "dtype": dtype}
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self.weight = UninitializedParameter(**place)
            if bias:
                self.bias = UninitializedParameter(**place)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**place)
            self.running_var = UninitializedBuffer(**place)
            self.num_batches_tracked = torch.tensor(0, dtype=dtypes.int64, device=device)

    def reset_parameters(self: Any) -> None:
        """Draw the values once the shapes are known."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Any) -> None:  # noqa: A002
        """Take the number of features from ``input``."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for value in (self.weight, self.bias, self.running_mean, self.running_var):
                if value is not None:
                    value.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, BatchNorm1d):
    """A :class:`BatchNorm1d` that takes its number of features from its first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNormBase, BatchNorm2d):
    """A :class:`BatchNorm2d` that takes its number of features from its first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNormBase, BatchNorm3d):
    """A :class:`BatchNorm3d` that takes its number of features from its first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNormBase, InstanceNorm1d):
    """A :class:`InstanceNorm1d` that takes its number of features from its first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNormBase, InstanceNorm2d):
    """A :class:`InstanceNorm2d` that takes its number of features from its first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNormBase, InstanceNorm3d):
    """A :class:`InstanceNorm3d` that takes its number of features from its first input."""

    cls_to_become = InstanceNorm3d
