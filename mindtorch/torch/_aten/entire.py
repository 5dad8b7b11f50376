"""Public functions as the one overload that torch's own functions call, before it is decomposed.

A function that is not here is the overload of its name that takes its arguments.
"""

from __future__ import annotations

import functools
from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from .._api.arguments import as_dtype
from .composites import NOT_MADE, Body, whole
from .lowerings import call

__all__ = ["entire_of"]

_BY_PLACE: dict[str, Body] = {}
_UNCHANGED: set[str] = set()
_REDUCTIONS = ("none", "mean", "sum")


def entire(*names: str) -> Any:
    """Make the body below what these public names, with their places, are."""

    def keep(body: Body) -> Body:
        for name in names:
            _BY_PLACE[name] = body
        return body

    return keep


def takes_the_same(*names: str) -> None:
    """Say that these functions of torch.nn.functional take their arguments as the overload does."""
    _UNCHANGED.update(names)


takes_the_same(
    "adaptive_avg_pool1d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "alpha_dropout",
    "bilinear", "celu", "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "cosine_similarity", "hardshrink", "linear",
    "logsigmoid", "native_channel_shuffle", "one_hot", "pairwise_distance", "pdist",
    "pixel_shuffle", "pixel_unshuffle", "prelu", "relu_", "scaled_dot_product_attention",
    "selu_", "sigmoid", "softplus", "softshrink", "tanh",
)  # fmt: skip


@functools.cache
def entire_of(place: str, name: str) -> Body | None:
    """What the function ``name`` of ``place`` is; None where no one overload is it."""
    found = _BY_PLACE.get(f"{place}{name}")
    if found is None and place != "F.":
        found = _BY_PLACE.get(name)
    if found is not None:
        return found
    return whole(name) if place != "F." or name in _UNCHANGED else None


def _sizes(value: Any, count: int) -> list[int]:
    return list(value) if isinstance(value, (list, tuple)) else [value] * count


# --- layers -----------------------------------------------------------------------------------


@entire("F.batch_norm")
def _batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,  # noqa: A002
    training: bool = False, momentum: float = 0.1, eps: float = 1e-05,
) -> Any:  # fmt: skip
    return call(
        "batch_norm", input, weight, bias, running_mean, running_var, training, momentum, eps, False
    )


@entire("F.instance_norm")
def _instance_norm(
    input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None,  # noqa: A002
    bias: Any = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-05,
) -> Any:  # fmt: skip
    return call(
        "instance_norm", input, weight, bias, running_mean, running_var, use_input_stats, momentum,
        eps, False,
    )  # fmt: skip


@entire("F.layer_norm")
def _layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05  # noqa: A002
) -> Any:
    return call("layer_norm", input, list(normalized_shape), weight, bias, eps, False)


@entire("F.group_norm")
def _group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05  # noqa: A002
) -> Any:
    return call("group_norm", input, num_groups, weight, bias, eps, False)


@entire("F.rms_norm")
def _rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:  # noqa: A002
    return call("rms_norm", input, list(normalized_shape), weight, eps)


@entire("F.embedding")
def _embedding(
    input: Any, weight: Any, padding_idx: Any = None, max_norm: Any = None,  # noqa: A002
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    if max_norm is not None:
        return NOT_MADE
    place = -1 if padding_idx is None else padding_idx % weight.aval.shape[0]
    return call("embedding", weight, input, place, scale_grad_by_freq, sparse)


def _pooled(name: str, axes: int) -> None:
    def body(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,  # noqa: A002
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        found = f"{name}_with_indices" if return_indices else name
        strides = [] if stride is None else _sizes(stride, axes)
        made = call(
            found, input, _sizes(kernel_size, axes), strides, _sizes(padding, axes),
            _sizes(dilation, axes), ceil_mode,
        )  # fmt: skip
        return tuple(made) if return_indices else made

    entire(f"F.{name}")(body)


for _axes in (1, 2, 3):
    _pooled(f"max_pool{_axes}d", _axes)


def _averaged(name: str, axes: int) -> None:
    def body(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,  # noqa: A002
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None,
    ) -> Any:  # fmt: skip
        strides = [] if stride is None else _sizes(stride, axes)
        more = () if divisor_override is None else (divisor_override,)
        return call(
            name, input, _sizes(kernel_size, axes), strides, _sizes(padding, axes), ceil_mode,
            count_include_pad, *more,
        )  # fmt: skip

    entire(f"F.{name}")(body)


for _axes in (1, 2, 3):
    _averaged(f"avg_pool{_axes}d", _axes)


def _adapted(name: str, axes: int) -> None:
    def body(input: Any, output_size: Any, return_indices: bool = False) -> Any:  # noqa: A002
        given = _sizes(output_size, axes)
        shape = input.aval.shape[input.aval.ndim - axes :]
        made = call(name, input, [m if n is None else n for n, m in zip(given, shape, strict=True)])
        return made[0] if "max" in name and not return_indices else made

    entire(f"F.{name}")(body)


_adapted("adaptive_avg_pool2d", 2)
_adapted("adaptive_max_pool2d", 2)


def _dropping(name: str) -> None:
    def body(
        input: Any, p: float = 0.5, training: bool = True, inplace: bool = False, **named: Any  # noqa: A002
    ) -> Any:
        training = named.pop("train", training)
        if named or not 0 <= p <= 1:
            return NOT_MADE
        overload = {"dropout": "dropout", "alpha_dropout": "alpha_dropout"}.get(
            name, "feature_alpha_dropout" if "alpha" in name else "feature_dropout"
        )
        return call(f"{overload}_" if inplace else overload, input, p, training)

    entire(f"F.{name}")(body)


for _name in ("dropout", "alpha_dropout", "dropout1d", "dropout2d", "dropout3d",
              "feature_alpha_dropout"):  # fmt: skip
    _dropping(_name)


@entire("F.interpolate")
def _interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",  # noqa: A002
    align_corners: Any = None, recompute_scale_factor: Any = None, antialias: bool = False,
) -> Any:  # fmt: skip
    axes = input.aval.ndim - 2
    corners = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
    if antialias or recompute_scale_factor or not 1 <= axes <= 3:
        return NOT_MADE
    if mode not in ("nearest", "nearest-exact") and corners.get(mode) != axes:
        return NOT_MADE
    sizes = None if size is None else _sizes(size, axes)
    scales = None if scale_factor is None else [float(x) for x in _sizes(scale_factor, axes)]
    if (sizes is None) is (scales is None):
        return NOT_MADE
    end = "" if mode in corners else f"{axes}d"
    name = f"{mode}2d" if mode in ("bilinear", "bicubic") else {
        "linear": "linear1d", "trilinear": "trilinear3d", "nearest": f"nearest{end}",
        "nearest-exact": f"_nearest_exact{end}",
    }[mode]  # fmt: skip
    place = f"_upsample{name}.vec" if name[0] == "_" else f"upsample_{name}.vec"
    if mode in corners:
        return call(place, input, sizes, bool(align_corners), scales)
    return call(place, input, sizes, scales)


@entire("F.unfold")
def _unfold(
    input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1  # noqa: A002
) -> Any:
    return call(
        "im2col", input, *[_sizes(x, 2) for x in (kernel_size, dilation, padding, stride)]
    )


@entire("F.fold")
def _fold(
    input: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,  # noqa: A002
    stride: Any = 1,
) -> Any:  # fmt: skip
    given = (output_size, kernel_size, dilation, padding, stride)
    return call("col2im", input, *[_sizes(x, 2) for x in given])


_SAMPLING = ("bilinear", "nearest", "bicubic")
_OUTSIDE = ("zeros", "border", "reflection")


@entire("F.grid_sample")
def _grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros",  # noqa: A002
    align_corners: Any = None,
) -> Any:  # fmt: skip
    if mode not in _SAMPLING or padding_mode not in _OUTSIDE:
        return NOT_MADE
    numbers = _SAMPLING.index(mode), _OUTSIDE.index(padding_mode)
    return call("grid_sampler", input, grid, *numbers, bool(align_corners))


@entire("F.pad")
def _pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:  # noqa: A002
    given = () if value is None else (value,)
    return call("pad", input, list(pad), *((mode, *given) if mode != "constant" or given else ()))


# --- activations ------------------------------------------------------------------------------


def _of_axis(name: str, overload: str) -> None:
    def body(
        input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None  # noqa: A002
    ) -> Any:
        if dim is None:
            return NOT_MADE
        more = () if dtype is None else (as_dtype(dtype),)
        return call(overload, input, dim, *more)

    entire(f"F.{name}")(body)


_of_axis("softmax", "softmax.int")
_of_axis("log_softmax", "log_softmax.int")


def _activation(name: str, *arguments: str, **defaults: Any) -> None:
    """A function of torch.nn.functional with ``inplace=``."""

    def body(input: Any, *args: Any, **named: Any) -> Any:  # noqa: A002
        given = dict(zip((*arguments, "inplace"), args, strict=False)) | named
        inplace = given.pop("inplace", False)
        values = [given.pop(key, defaults[key]) for key in arguments]
        return NOT_MADE if given else call(f"{name}_" if inplace else name, input, *values)

    entire(f"F.{name}")(body)


for _name in ("relu", "silu", "mish", "hardswish", "hardsigmoid", "selu"):
    _activation(_name)
_activation("elu", "alpha", alpha=1.0)
_activation("celu", "alpha", alpha=1.0)
_activation("leaky_relu", "negative_slope", negative_slope=0.01)
_activation("hardtanh", "min_val", "max_val", min_val=-1.0, max_val=1.0)
_activation("threshold", "threshold", "value")
_activation("rrelu", "lower", "upper", "training", lower=1.0 / 8, upper=1.0 / 3, training=False)


@entire("F.relu6")
def _relu6(input: Any, inplace: bool = False) -> Any:  # noqa: A002
    return call("hardtanh_" if inplace else "hardtanh", input, 0.0, 6.0)


@entire("F.gelu")
def _gelu(input: Any, approximate: str = "none") -> Any:  # noqa: A002
    return call("gelu", input, approximate=approximate)


@entire("F.glu")
def _glu(input: Any, dim: int = -1) -> Any:  # noqa: A002
    return call("glu", input, dim)


@entire("F.logsigmoid")
def _logsigmoid(input: Any) -> Any:  # noqa: A002
    return call("log_sigmoid", input)


# --- losses -----------------------------------------------------------------------------------


def _simple_loss(name: str, *arguments: str) -> None:
    def body(
        input: Any, target: Any, size_average: Any = None, reduce: Any = None,  # noqa: A002
        reduction: str = "mean", *rest: Any, **named: Any,
    ) -> Any:  # fmt: skip
        given = dict(zip(arguments, rest, strict=False)) | named
        known = size_average is None and reduce is None and reduction in _REDUCTIONS
        if not known or not given.keys() <= set(arguments) or (
            input.aval.shape != target.aval.shape
        ):
            return NOT_MADE
        number = _REDUCTIONS.index(reduction)
        return call(name, input, target, number, *[given[x] for x in arguments if x in given])

    entire(f"F.{name}")(body)


_simple_loss("mse_loss")
_simple_loss("l1_loss")
_simple_loss("soft_margin_loss")
_simple_loss("smooth_l1_loss", "beta")


@entire("F.cross_entropy")
def _cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None,  # noqa: A002
    ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    if size_average is not None or reduce is not None or reduction not in _REDUCTIONS:
        return NOT_MADE
    number = _REDUCTIONS.index(reduction)
    return call("cross_entropy_loss", input, target, weight, number, ignore_index, label_smoothing)


@entire("F.nll_loss")
def _nll(
    input: Any, target: Any, weight: Any = None, size_average: Any = None,  # noqa: A002
    ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    if size_average is not None or reduce is not None or reduction not in _REDUCTIONS:
        return NOT_MADE
    return call("nll_loss_nd", input, target, weight, _REDUCTIONS.index(reduction), ignore_index)


# --- tensors ----------------------------------------------------------------------------------


@entire("Tensor.T")
def _turned(x: Any) -> Any:
    return call("numpy_T", x)


@entire("chunk")
def _chunk(input: Any, chunks: int, dim: int = 0) -> Any:  # noqa: A002
    return tuple(call("chunk", input, chunks, *([dim] if dim else [])))


@entire("split")
def _split(tensor: Any, split_size_or_sections: Any = None, dim: int = 0, **named: Any) -> Any:
    sizes = named.get("split_size", split_size_or_sections)
    more = [dim] if dim else []
    if isinstance(sizes, int):
        return tuple(call("split.Tensor", tensor, sizes, *more))
    return tuple(call("split_with_sizes", tensor, list(sizes), *more))


@entire("reshape")
def _reshape(input: Any, *shape: Any, **named: Any) -> Any:  # noqa: A002
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
    return call("reshape", input, list(sizes or named.get("shape", ())))


@entire("Tensor.type_as")
def _type_as(x: Any, other: Any) -> Any:
    return call("type_as", x, other) if isinstance(other, EngineTensor) else NOT_MADE
