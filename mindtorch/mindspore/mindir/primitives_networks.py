"""Primitives of arithmetic, sums, products, convolutions, pooling, normalization, recurrence."""

from __future__ import annotations

from typing import Any

from mindtorch.engine import dtypes
from mindtorch.torch.linalg import vector_norm

from .. import nn
from ..common.tensor import F, t
from ..ops import function
from .errors import UnsupportedPrimitiveError
from .primitives import reads, whole, whole_numbers
from .primitives_shapes import element_type

_PAD_MODES = ("pad", "same", "valid", "full")  # as they are numbered

# --- elementwise ----------------------------------------------------------------------------------


def _of_two(operator: str, function_: Any) -> None:
    """An operation of a tensor and a tensor or number, under both its names."""
    reads(operator + "s", operator + "Scalar")(lambda x, y: function_(x, y))


_of_two("Add", t.add)
_of_two("Sub", t.sub)
_of_two("Mul", t.mul)
_of_two("Div", t.true_divide)
_of_two("Less", t.lt)
_of_two("LessEqual", t.le)
_of_two("Greater", t.gt)
_of_two("GreaterEqual", t.ge)
_of_two("Equal", t.eq)
_of_two("NotEqual", t.ne)
_of_two("Pow", t.pow)


@reads("AddExt")
def _add(x: Any, y: Any, alpha: Any = 1) -> Any:
    return t.add(x, y, alpha=alpha)


@reads("SubExt")
def _sub(x: Any, y: Any, alpha: Any = 1) -> Any:
    return t.sub(x, y, alpha=alpha)


@reads("Mod")
def _mod(x: Any, y: Any) -> Any:
    return t.fmod(x, y)


@reads("RemainderTensorScalar", "RemainderScalarTensor", "RemainderTensorTensor")
def _remainder(x: Any, y: Any) -> Any:
    return t.remainder(x, y)


@reads("DivMod", "DivMods")
def _div_mod(x: Any, y: Any, rounding: Any = None) -> Any:
    modes = {None: None, 0: None, 1: "trunc", 2: "floor"}
    return t.div(x, y, rounding_mode=modes.get(rounding, rounding))


@reads("Fmax")
def _fmax(x: Any, y: Any, *, ignore_nan: Any = True) -> Any:
    return t.fmax(x, y)


@reads("Logit")
def _logit(x: Any, eps: Any = -1.0) -> Any:
    return t.logit(x, None if eps is None or eps < 0 else eps)


@reads("Addcmul")
def _addcmul(x: Any, y: Any, z: Any, value: Any = 1) -> Any:
    return x + value * (y * z)


@reads("Addcdiv")
def _addcdiv(x: Any, y: Any, z: Any, value: Any = 1) -> Any:
    return x + value * (y / z)


@reads("LeftShift")
def _left_shift(x: Any, y: Any) -> Any:
    return t.bitwise_left_shift(x, y)


@reads("RightShift")
def _right_shift(x: Any, y: Any) -> Any:
    return t.bitwise_right_shift(x, y)


@reads("Cdist")
def _cdist(x: Any, y: Any, p: Any = 2.0) -> Any:
    return t.cdist(x, y, float(p))


@reads("Histogram")
def _histogram(x: Any, *, bins: Any = 100, min: Any = 0.0, max: Any = 0.0) -> Any:  # noqa: A002
    return t.histc(x, whole(bins), min, max)


@reads("Round")
def _round(x: Any, *, decimals: Any = 0) -> Any:
    return t.round(x, decimals=decimals)


@reads("Log")
def _log(x: Any, *, base: Any = -1.0, scale: Any = 1.0, shift: Any = 0.0) -> Any:
    if (base, scale, shift) != (-1.0, 1.0, 0.0):
        raise UnsupportedPrimitiveError("Log of another base, scale or shift")
    return t.log(x)


@reads("Exp")
def _exp(x: Any, base: Any = -1.0, scale: Any = 1.0, shift: Any = 0.0) -> Any:
    if (base, scale, shift) != (-1.0, 1.0, 0.0):
        raise UnsupportedPrimitiveError("Exp of another base, scale or shift")
    return t.exp(x)


@reads("ClampScalar", "ClampTensor")
def _clamp(x: Any, low: Any = None, high: Any = None) -> Any:
    return t.clamp(x, low, high)


@reads("Elu", "EluExt")
def _elu(x: Any, *, alpha: Any = 1.0) -> Any:
    return F.elu(x, alpha)


@reads("LeakyRelu", "LeakyReLUExt")
def _leaky_relu(x: Any, *, negative_slope: Any = 0.01) -> Any:
    return F.leaky_relu(x, negative_slope)


@reads("GeLU")
def _gelu(x: Any) -> Any:
    return F.gelu(x, approximate="tanh")


@reads("GeluExt")
def _gelu_ext(x: Any, *, approximate: Any = 0) -> Any:
    return F.gelu(x, approximate="tanh" if approximate in (1, "tanh") else "none")


@reads("SiLU")
def _silu(x: Any) -> Any:
    return F.silu(x)


@reads("HSigmoid")
def _hsigmoid(x: Any) -> Any:
    return F.hardsigmoid(x)


@reads("HSwish")
def _hswish(x: Any) -> Any:
    return F.hardswish(x)


@reads("PReLU")
def _prelu(x: Any, weight: Any) -> Any:
    return F.prelu(x, weight)


@reads("Softmax", "SoftmaxExt")
def _softmax(x: Any, *, axis: Any = -1) -> Any:
    for each in whole_numbers(axis):
        x = F.softmax(x, each)
    return x


@reads("LogSoftmax")
def _log_softmax(x: Any, *, axis: Any = -1) -> Any:
    return F.log_softmax(x, whole(axis))


@reads("Dropout")
def _dropout(x: Any, *, keep_prob: Any = 0.5, Seed0: Any = 0, Seed1: Any = 0) -> Any:  # noqa: N803
    if keep_prob != 1:
        raise UnsupportedPrimitiveError("Dropout: the file was exported in training")
    return x, t.ones_like(x)


# --- several into one -----------------------------------------------------------------------------


def _reduction(name: str, reduce: Any) -> None:
    def run(x: Any, axis: Any = (), *, keep_dims: Any = False) -> Any:
        axes = () if axis is None else whole_numbers(axis)
        return reduce(x, axes or tuple(range(x.aval.ndim)), keep_dims)

    reads(name)(run)


def _product(x: Any, axes: Any, keep_dims: bool) -> Any:
    for each in sorted((a % x.aval.ndim for a in axes), reverse=True):
        x = t.prod(x, each, keepdim=keep_dims, dtype=x.aval.dtype)
    return x


_reduction("ReduceMean", function.mean)
_reduction("ReduceMax", lambda x, axes, kept: t.amax(x, axes, keepdim=kept))
_reduction("ReduceMin", lambda x, axes, kept: t.amin(x, axes, keepdim=kept))
_reduction("ReduceAll", lambda x, axes, kept: t.all(x, axes, keepdim=kept))
_reduction("ReduceAny", lambda x, axes, kept: t.any(x, axes, keepdim=kept))
_reduction("ReduceProd", _product)


@reads("ReduceSum")
def _reduce_sum(x: Any, axis: Any = (), *, keep_dims: Any = False, skip_mode: Any = False) -> Any:
    axes = () if axis is None else whole_numbers(axis)
    if not axes and skip_mode:
        return x
    axes = axes or tuple(range(x.aval.ndim))
    return t.sum(x, axes, keepdim=keep_dims, dtype=x.aval.dtype)


def _reduction_ext(name: str, what: str) -> None:
    def run(x: Any, axis: Any = None, keepdim: Any = False, dtype: Any = None) -> Any:
        axes = whole_numbers(axis) if axis is not None else tuple(range(x.aval.ndim))
        return getattr(t, what)(x, axes, keepdim=keepdim, dtype=element_type(dtype))

    reads(name)(run)


_reduction_ext("SumExt", "sum")
_reduction_ext("MeanExt", "mean")


@reads("CumSum")
def _cumsum(x: Any, axis: Any, *, exclusive: Any = False, reverse: Any = False) -> Any:
    axis = whole(axis)
    x = t.flip(x, (axis,)) if reverse else x
    total = t.cumsum(x, axis).to(x.aval.dtype)
    total = total - x if exclusive else total
    return t.flip(total, (axis,)) if reverse else total


@reads("ProdExt")
def _prod_ext(x: Any, axis: Any = None, keepdim: Any = False, dtype: Any = None) -> Any:
    kind = element_type(dtype)
    if axis is None:
        return t.prod(x, dtype=kind)
    return t.prod(x, whole(axis), keepdim=bool(keepdim), dtype=kind)


@reads("ReduceStd")
def _reduce_std(x: Any, axis: Any = (), unbiased: Any = True, keep_dims: Any = False) -> Any:
    axes = whole_numbers(axis) or tuple(range(x.aval.ndim))
    made: Any = t.std_mean(x, axes, correction=int(unbiased), keepdim=bool(keep_dims))
    return made


@reads("Max")
def _max(x: Any) -> Any:
    return t.amax(x)


@reads("Min")
def _min(x: Any) -> Any:
    return t.amin(x)


@reads("Median")
def _median(
    x: Any, *, axis: Any = 0, keep_dims: Any = False, global_median: Any = False,
    ignore_nan: Any = False,
) -> Any:  # fmt: skip
    find = t.nanmedian if ignore_nan else t.median
    if not global_median:
        return tuple(find(x, whole(axis), keepdim=bool(keep_dims)))
    found = find(x)
    return found, t.zeros_like(found).long()


@reads("Cummax")
def _cummax(x: Any, axis: Any) -> Any:
    return tuple(t.cummax(x, whole(axis)))


@reads("Cummin")
def _cummin(x: Any, axis: Any) -> Any:
    values, places = t.cummin(x, whole(axis))
    return values, places.to(dtypes.int32)


@reads("CumulativeLogsumexp")
def _log_sums(x: Any, axis: Any, *, exclusive: Any = False, reverse: Any = False) -> Any:
    if exclusive:
        raise UnsupportedPrimitiveError("CumulativeLogsumexp without each element itself")
    x = t.flip(x, (whole(axis),)) if reverse else x
    made = t.logcumsumexp(x, whole(axis))
    return t.flip(made, (whole(axis),)) if reverse else made


@reads("LpNorm")
def _norm(
    x: Any, *, axis: Any, p: Any = 2, keep_dims: Any = False, epsilon: Any = 1e-12
) -> Any:
    found = vector_norm(x, p, whole_numbers(axis), bool(keep_dims))
    return t.clamp_min(found, epsilon)


@reads("SmoothL1Loss")
def _smooth_l1_loss(x: Any, y: Any, *, beta: Any = 1.0, reduction: Any = "none") -> Any:
    return F.smooth_l1_loss(x, y, reduction=_REDUCTIONS.get(reduction, reduction), beta=beta)


@reads("BCEWithLogitsLoss")
def _bce_with_logits(
    x: Any, y: Any, weight: Any = None, positive: Any = None, reduction: Any = "mean"
) -> Any:
    kind = _REDUCTIONS.get(reduction, reduction)
    return F.binary_cross_entropy_with_logits(x, y, weight, reduction=kind, pos_weight=positive)


_REDUCTIONS = {0: "sum", 1: "mean", 2: "none"}  # as they are numbered


@reads("MatrixInverse")
def _matrix_inverse(x: Any, *, adjoint: Any = False) -> Any:
    made = t.inverse(x)
    return t.transpose(made, -2, -1) if adjoint else made


@reads("MatrixPower")
def _matrix_power(x: Any, *, n: Any) -> Any:
    return t.matrix_power(x, whole(n))


# --- products -------------------------------------------------------------------------------------


@reads("MatMul", "BatchMatMul", "MatMulV2")
def _matmul(x: Any, y: Any, *, transpose_a: Any = False, transpose_b: Any = False) -> Any:
    if transpose_b and not transpose_a and y.aval.ndim == 2:
        return F.linear(x, y)
    x = t.transpose(x, -2, -1) if transpose_a else x
    return t.matmul(x, t.transpose(y, -2, -1) if transpose_b else y)


@reads("MatMulExt", "BatchMatMulExt")
def _matmul_ext(x: Any, y: Any) -> Any:
    return t.matmul(x, y)


@reads("Dense")
def _dense(x: Any, weight: Any, bias: Any = None) -> Any:
    return F.linear(x, weight, bias)


@reads("BiasAdd")
def _bias_add(x: Any, bias: Any, *, data_format: Any = "NCHW") -> Any:
    if data_format not in ("NCHW", 0, "NCDHW", 14):
        raise UnsupportedPrimitiveError(f"BiasAdd in the order {data_format!r}")
    return function.bias_add(x, bias)


def pad_mode_of(value: Any) -> str:
    """A pad mode's name in lower case, of its name or number."""
    return _PAD_MODES[value] if isinstance(value, int) else str(value).lower()


def inner(value: Any, count: int = 2) -> tuple[int, ...]:
    """The settings of the last axes, where all four may be given."""
    numbers = whole_numbers(value)
    return numbers * count if len(numbers) == 1 else numbers[-count:]


def _of_axes(pad: Any) -> tuple[int, ...]:
    numbers = whole_numbers(pad)
    return numbers * 4 if len(numbers) == 1 else numbers


@reads("Conv2D")
def _conv2d(
    x: Any, weight: Any, *, out_channel: Any = 0, kernel_size: Any = 1, mode: Any = 1,
    pad_mode: Any = "valid", pad: Any = 0, stride: Any = 1, dilation: Any = 1, group: Any = 1,
    data_format: Any = "NCHW", pad_list: Any = None, groups: Any = None, offset_a: Any = 0,
) -> Any:  # fmt: skip
    if data_format not in ("NCHW", 0):
        raise UnsupportedPrimitiveError(f"Conv2D in the order {data_format!r}")
    found = pad_mode_of(pad_mode)
    return function.conv2d(
        x, weight, None, stride=inner(stride), pad_mode=found,
        padding=_of_axes(pad) if found == "pad" else 0, dilation=inner(dilation), groups=group,
    )  # fmt: skip


@reads("Conv2DTranspose", "Conv2DBackpropInput")
def _conv2d_transpose(
    y: Any, weight: Any, size: Any, *, out_channel: Any = 0, kernel_size: Any = 1,
    pad_mode: Any = "valid", pad: Any = 0, pad_list: Any = None, mode: Any = 1, stride: Any = 1,
    dilation: Any = 1, group: Any = 1, groups: Any = None, data_format: Any = "NCHW",
) -> Any:  # fmt: skip
    if data_format not in ("NCHW", 0):
        raise UnsupportedPrimitiveError(f"Conv2DTranspose in the order {data_format!r}")
    return cropped_transposition(
        y, weight, whole_numbers(size)[2:], inner(stride), inner(dilation), group,
        pad_mode_of(pad_mode), _of_axes(pad),
    )  # fmt: skip


def cropped_transposition(
    y: Any, weight: Any, sizes: Any, stride: Any, dilation: Any, group: int, kind: str, pads: Any
) -> Any:
    """A transposed convolution whose results have these sizes.

    Args:
        kind: the pad mode.
        pads: before and after each axis, where that is "pad".
    """
    before = list(pads[::2]) if kind == "pad" else [0] * len(sizes)
    if kind == "same":  # as much as the convolution the other way would have
        before = [
            max((n - 1) * s + (k - 1) * d + 1 - m, 0) // 2
            for n, s, k, d, m in zip(
                y.shape[2:], stride, weight.shape[2:], dilation, sizes, strict=True
            )
        ]
    convolve = getattr(F, f"conv_transpose{len(sizes)}d")
    full = convolve(y, weight, None, stride, 0, 0, group, dilation)
    missing = [max(b + m - n, 0) for b, m, n in zip(before, sizes, full.shape[2:], strict=True)]
    if any(missing):
        full = F.pad(full, [n for m in reversed(missing) for n in (0, m)])
    return full[(..., *[slice(b, b + m) for b, m in zip(before, sizes, strict=True)])]


# --- pooling --------------------------------------------------------------------------------------


def _pooling(name: str, layer: Any) -> None:
    def run(
        x: Any, *, kernel_size: Any = 1, strides: Any = 1, pad_mode: Any = "valid",
        data_format: Any = "NCHW",
    ) -> Any:  # fmt: skip
        if data_format not in ("NCHW", 0):
            raise UnsupportedPrimitiveError(f"{name} in the order {data_format!r}")
        return layer(inner(kernel_size), inner(strides), pad_mode_of(pad_mode))(x)

    reads(name)(run)


_pooling("MaxPool", nn.MaxPool2d)
_pooling("AvgPool", nn.AvgPool2d)


# --- normalization --------------------------------------------------------------------------------


@reads("BatchNorm")
def _batch_norm(
    x: Any, weight: Any, bias: Any, mean: Any, variance: Any, *, is_training: Any = False,
    epsilon: Any = 1e-5, momentum: Any = 0.1, data_format: Any = "NCHW",
) -> Any:  # fmt: skip
    if data_format not in ("NCHW", 0):
        raise UnsupportedPrimitiveError(f"BatchNorm in the order {data_format!r}")
    if is_training:
        raise UnsupportedPrimitiveError("BatchNorm: the file was exported in training")
    made = F.batch_norm(x, mean, variance, weight, bias, False, momentum, epsilon)
    return made, weight, bias, mean, variance


@reads("LayerNorm")
def _layer_norm(
    x: Any, gamma: Any, beta: Any, *, begin_norm_axis: Any = 1, begin_params_axis: Any = 1,
    epsilon: Any = 1e-7,
) -> Any:  # fmt: skip
    first = begin_norm_axis % x.aval.ndim
    if begin_params_axis % x.aval.ndim == first:
        return F.layer_norm(x, tuple(x.shape[first:]), gamma, beta, epsilon), None, None
    made = F.layer_norm(x, tuple(x.shape[first:]), None, None, epsilon)
    return t.add(t.mul(made, gamma), beta), None, None


@reads("LayerNormExt")
def _layer_norm_ext(x: Any, shape: Any, gamma: Any, beta: Any, eps: Any = 1e-5) -> Any:
    return F.layer_norm(x, whole_numbers(shape), gamma, beta, eps), None, None


@reads("GroupNorm")
def _group_norm(x: Any, groups: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-5) -> Any:
    return F.group_norm(x, whole(groups), weight, bias, eps), None, None


# --- recurrent layers -----------------------------------------------------------------------------


def _parts(row: Any, shapes: list[tuple[int, ...]]) -> list[Any]:
    """Tensors of these shapes that follow each other in a row."""
    made, begin = [], 0
    for shape in shapes:
        size = 1
        for n in shape:
            size *= n
        made.append(t.reshape(row[begin : begin + size], shape))
        begin += size
    if begin != row.shape[0]:
        raise UnsupportedPrimitiveError(f"LSTM has {row.shape[0]} weights, expected {begin}")
    return made


@reads("LSTM")
def _lstm(
    x: Any, h: Any, c: Any, weights: Any, *, input_size: Any, hidden_size: Any, num_layers: Any,
    has_bias: Any, bidirectional: Any, dropout: Any = 0.0, proj_size: Any = 0,
) -> Any:  # fmt: skip
    if num_layers != 1 or bidirectional or proj_size:
        raise UnsupportedPrimitiveError("LSTM of several layers, directions or with a projection")
    rows = 4 * hidden_size
    shapes: list[tuple[int, ...]] = [(rows, input_size), (rows, hidden_size)]
    parts = _parts(t.reshape(weights, (-1,)), [*shapes, (rows,)] if has_bias else shapes)
    flat = [*parts, t.zeros_like(parts[2])] if has_bias else parts
    y, h, c = t.lstm(x, (h, c), flat, has_bias, 1, 0.0, False, False, False)
    return y, h, c, None, None


def _resized(x: Any, size: Any, mode: str, align_corners: Any, half_pixel_centers: Any) -> Any:
    if mode == "bilinear" and not align_corners and not half_pixel_centers:
        raise UnsupportedPrimitiveError("ResizeBilinear without half_pixel_centers")
    if mode == "nearest" and (align_corners or half_pixel_centers):
        raise UnsupportedPrimitiveError("ResizeNearestNeighbor with centers or corners")
    corners = bool(align_corners) if mode == "bilinear" else None
    return F.interpolate(x, whole_numbers(size), mode=mode, align_corners=corners)


@reads("ResizeNearestNeighbor")
def _resize_nearest(
    x: Any, *, size: Any, align_corners: Any = False, half_pixel_centers: Any = False
) -> Any:
    return _resized(x, size, "nearest", align_corners, half_pixel_centers)


@reads("ResizeNearestNeighborV2")
def _resize_nearest_v2(
    x: Any, size: Any, *, align_corners: Any = False, half_pixel_centers: Any = False
) -> Any:
    return _resized(x, size, "nearest", align_corners, half_pixel_centers)


@reads("ResizeBilinear", "ResizeBilinearV2")
def _resize_bilinear(
    x: Any, size: Any, *, align_corners: Any = False, half_pixel_centers: Any = False
) -> Any:
    return _resized(x, size, "bilinear", align_corners, half_pixel_centers)


@reads("LRN")
def _lrn(
    x: Any, *, depth_radius: Any = 5, bias: Any = 1.0, alpha: Any = 1.0, beta: Any = 0.5,
    norm_region: Any = "ACROSS_CHANNELS",
) -> Any:  # fmt: skip
    if norm_region != "ACROSS_CHANNELS":
        raise UnsupportedPrimitiveError(f"LRN over {norm_region!r}")
    size = 2 * depth_radius + 1
    return F.local_response_norm(x, size, alpha * size, beta, bias)

