"""What computes operators of layers whose arguments are not those of a public function."""

from __future__ import annotations

from typing import Any

from mindtorch import torch

from .._api.arguments import as_dtype
from .._compat.native_norms import native_batch_norm
from ..nn import functional as F  # noqa: N812
from .kernels import KERNELS, kernel

__all__: list[str] = []

_REDUCTIONS = ("none", "mean", "sum")


# --- norms ------------------------------------------------------------------------------------


@kernel
def _native_batch_norm_legit_no_training(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float,  # noqa: A002
    eps: float,
) -> Any:  # fmt: skip
    """(the input normalised by running statistics, two empty tensors)."""
    return native_batch_norm(
        input, weight, bias, running_mean, running_var, False, momentum, eps
    )


@kernel
def _native_batch_norm_legit_functional(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,  # noqa: A002
    momentum: float, eps: float,
) -> Any:  # fmt: skip
    """The same by the batch's own statistics, and then the new running ones: nothing is written."""
    mean, variance = running_mean.clone(), running_var.clone()
    made = native_batch_norm(input, weight, bias, mean, variance, training, momentum, eps)
    return *made, mean, variance


# --- pooling ----------------------------------------------------------------------------------


def _pooled(name: str) -> None:
    """The largest of windows; strides as long as these where they are an empty list."""

    def body(
        self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Any:  # fmt: skip
        return getattr(F, name.removesuffix("_with_indices"))(
            self, kernel_size, stride or None, padding, dilation, ceil_mode,
            return_indices=name.endswith("_with_indices"),
        )  # fmt: skip

    body.__name__ = body.__qualname__ = name
    KERNELS[name] = body


for _axes in (1, 2, 3):
    _pooled(f"max_pool{_axes}d")
_pooled("max_pool3d_with_indices")


@kernel
def avg_pool1d(
    self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The means of windows."""
    return F.avg_pool1d(self, kernel_size, stride or None, padding, ceil_mode, count_include_pad)


@kernel
def avg_pool3d(
    self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """The means of windows."""
    return F.avg_pool3d(
        self, kernel_size, stride or None, padding, ceil_mode, count_include_pad, divisor_override
    )


@kernel
def _adaptive_avg_pool3d(self: Any, output_size: Any) -> Any:
    """The means of as many windows as ``output_size``."""
    return F.adaptive_avg_pool3d(self, output_size)


def _with_places(name: str) -> None:
    def body(self: Any, output_size: Any) -> Any:
        return getattr(F, name)(self, output_size, return_indices=True)

    body.__name__ = body.__qualname__ = name
    KERNELS[name] = body


for _axes in (1, 2, 3):
    _with_places(f"adaptive_max_pool{_axes}d")


# --- losses -----------------------------------------------------------------------------------


@kernel
def cross_entropy_loss(
    self: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """The cross entropy of logits."""
    return F.cross_entropy(
        self, target, weight, ignore_index=ignore_index, reduction=_REDUCTIONS[reduction],
        label_smoothing=label_smoothing,
    )  # fmt: skip


@kernel
def nll_loss_nd(
    self: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100
) -> Any:
    """The negative log likelihood."""
    return F.nll_loss(
        self, target, weight, ignore_index=ignore_index, reduction=_REDUCTIONS[reduction]
    )


KERNELS["nll_loss"] = nll_loss_nd


@kernel
def l1_loss(self: Any, target: Any, reduction: int = 1) -> Any:
    """The absolute difference."""
    return F.l1_loss(self, target, reduction=_REDUCTIONS[reduction])


@kernel
def soft_margin_loss(self: Any, target: Any, reduction: int = 1) -> Any:
    """``log(1 + exp(-target self))``."""
    return F.soft_margin_loss(self, target, reduction=_REDUCTIONS[reduction])


# --- paddings and other sizes -----------------------------------------------------------------


def _padding(name: str, mode: str) -> None:
    def body(self: Any, padding: Any) -> Any:
        return F.pad(self, list(padding), mode=mode)

    body.__name__ = body.__qualname__ = name
    KERNELS[name] = body


for _axes in (1, 2, 3):
    _padding(f"reflection_pad{_axes}d", "reflect")
    _padding(f"replication_pad{_axes}d", "replicate")


def _resized(name: str, mode: str, axes: int, corners: bool) -> None:
    """Images of another size; ``corners``: whether ``align_corners`` is an argument."""

    def body(input: Any, output_size: Any, *rest: Any, **named: Any) -> Any:  # noqa: A002
        values = list(rest)
        options: dict[str, Any] = {"mode": mode}
        if corners:
            options["align_corners"] = named.pop("align_corners", None)
            if values:
                options["align_corners"] = values.pop(0)
        given = values + list(named.values())
        if len(given) == 1 and isinstance(given[0], (list, tuple)):
            scales: Any = given[0]
        else:
            scales = given if given and None not in given else None
        if output_size is not None and scales is None:
            return F.interpolate(input, size=tuple(output_size), **options)
        made = F.interpolate(input, scale_factor=tuple(scales), **options)
        if output_size is not None and made.shape[2:] != tuple(output_size):
            raise NotImplementedError(f"aten::{name}: a size that does not follow from the scales")
        return made

    body.__name__ = body.__qualname__ = name
    KERNELS[name] = body


_resized("upsample_nearest1d", "nearest", 1, False)
_resized("upsample_nearest2d", "nearest", 2, False)
_resized("upsample_nearest3d", "nearest", 3, False)
for _axes in (1, 2, 3):
    _resized(f"_upsample_nearest_exact{_axes}d", "nearest-exact", _axes, False)
_resized("upsample_linear1d", "linear", 1, True)
_resized("upsample_bilinear2d", "bilinear", 2, True)
_resized("upsample_bicubic2d", "bicubic", 2, True)
_resized("upsample_trilinear3d", "trilinear", 3, True)


@kernel
def col2im(
    self: Any, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> Any:
    """Patches added to an image."""
    return F.fold(self, output_size, kernel_size, dilation, padding, stride)


@kernel
def im2col(self: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """The patches of an image."""
    return F.unfold(self, kernel_size, dilation, padding, stride)


@kernel
def grid_sampler(
    input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool  # noqa: A002
) -> Any:
    """The input at the places of a grid."""
    mode = ("bilinear", "nearest", "bicubic")[interpolation_mode]
    outside = ("zeros", "border", "reflection")[padding_mode]
    return F.grid_sample(input, grid, mode, outside, align_corners)


KERNELS["grid_sampler_2d"] = grid_sampler


# --- activations and dropout ------------------------------------------------------------------


@kernel
def elu(self: Any, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    """``scale x`` above 0, ``scale alpha (exp(input_scale x) - 1)`` below."""
    if input_scale != 1.0:
        below = (torch.expm1(self * input_scale) * alpha) * scale
        return torch.where(self > 0, self * scale, below)
    made = F.elu(self, alpha)
    return made if scale == 1.0 else made * scale


@kernel
def log_sigmoid(self: Any) -> Any:
    """``log(sigmoid(x))``."""
    return F.logsigmoid(self)


@kernel
def dropout(input: Any, p: float, train: bool) -> Any:  # noqa: A002
    """Zeros at random places with probability ``p``, where ``train``."""
    return F.dropout(input, p, train)


# --- tensors ----------------------------------------------------------------------------------


@kernel
def lift_fresh_copy(self: Any) -> Any:
    """A copy of a constant."""
    return self.clone()


@kernel
def copy(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """``src``, broadcast to the shape of ``self`` and in its type."""
    return src.to(self.dtype).expand(self.shape).clone()


@kernel
def numpy_T(self: Any) -> Any:  # noqa: N802
    """The axes in the other order."""
    return self.permute(*range(self.dim() - 1, -1, -1))


@kernel
def type_as(self: Any, other: Any) -> Any:
    """In the type of ``other``."""
    return self.to(other.dtype)


@kernel
def sym_numel(self: Any) -> Any:
    """The number of elements."""
    return self.numel()


@kernel
def sym_stride(self: Any, dim: int) -> Any:
    """A stride in elements."""
    return self.stride(dim)


@kernel
def sym_storage_offset(self: Any) -> Any:
    """Where the first element lies in the storage."""
    return self.storage_offset()


def _of_list(name: str) -> None:
    """A function of several tensors, which the operator takes as a list."""

    def body(tensors: Any) -> Any:
        return getattr(torch, name)(*tensors)

    body.__name__ = body.__qualname__ = name
    KERNELS[name] = body


for _name in ("block_diag", "broadcast_tensors", "cartesian_prod"):
    _of_list(_name)


@kernel
def _assert_async(self: Any, assert_msg: str = "Expected Tensor with all values nonzero") -> None:
    """Nothing, where the only element is True.

    Raises:
        RuntimeError: it is not.
    """
    if not bool(self):
        raise RuntimeError(assert_msg)


@kernel
def _assert_tensor_metadata(
    a: Any, size: Any = None, stride: Any = None, dtype: Any = None, *, device: Any = None,
    layout: Any = None,
) -> None:  # fmt: skip
    """Nothing, for a tensor of these sizes, strides, type and device.

    Raises:
        RuntimeError: it is of others.
    """
    wrong = [
        (what, found, wanted)
        for what, found, wanted in (
            ("sizes", tuple(a.shape), None if size is None else tuple(size)),
            ("strides", tuple(a.stride()), None if stride is None else tuple(stride)),
            ("dtype", a.dtype, None if dtype is None else as_dtype(dtype)),
            ("device", a.device, None if device is None else torch.device(device)),
            ("layout", a.layout, layout),
        ) if wanted is not None and found != wanted
    ]  # fmt: skip
    for what, found, wanted in wrong:
        raise RuntimeError(f"Tensor {what} mismatch! Expected: {wanted}, Got: {found}")
