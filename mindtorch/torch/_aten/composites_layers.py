"""Layers, losses and new tensors in calls of overloads, as torch decomposes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._api.arguments import as_device, as_dtype
from .._tensor.size_and_formats import preserve_format
from .composites import NOT_MADE, public
from .lowerings import call

__all__: list[str] = []

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _pair(value: Any, count: int) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value)


# --- softmax and activations ------------------------------------------------------------------


def _softmax_of(name: str) -> Any:
    def body(
        input: Any, dim: Any = None, _stacklevel: int = 3, dtype: Any = None, **named: Any  # noqa: A002
    ) -> Any:
        if dim is None or not isinstance(dim, int) or named:
            return NOT_MADE
        x = input
        if dtype is not None and as_dtype(dtype) is not x.aval.dtype:
            x = call("_to_copy", x, dtype=as_dtype(dtype))
        return call(name, x, dim, False)

    return body


public("F.softmax")(_softmax_of("_softmax"))
public("F.log_softmax")(_softmax_of("_log_softmax"))


@public("softmax")
def _softmax(input: Any, dim: Any, dtype: Any = None) -> Any:  # noqa: A002
    return _softmax_of("_softmax")(input, dim, dtype=dtype)


@public("log_softmax")
def _log_softmax(input: Any, dim: Any, dtype: Any = None) -> Any:  # noqa: A002
    return _softmax_of("_log_softmax")(input, dim, dtype=dtype)


def _activation(name: str, *arguments: str, **defaults: Any) -> None:
    """A function of torch.nn.functional with ``inplace=``."""

    def body(input: Any, *args: Any, inplace: bool = False, **named: Any) -> Any:  # noqa: A002
        given = dict(zip((*arguments, "inplace"), args, strict=False)) | named
        inplace = given.pop("inplace", inplace)
        values = [given.pop(key, defaults[key]) for key in arguments]
        if given:
            return NOT_MADE
        return call(f"{name}_" if inplace else name, input, *values)

    public(f"F.{name}")(body)


_activation("relu")
_activation("silu")
_activation("mish")
_activation("hardswish")
_activation("hardsigmoid")
_activation("elu", "alpha", alpha=1.0)
_activation("leaky_relu", "negative_slope", negative_slope=0.01)
_activation("hardtanh", "min_val", "max_val", min_val=-1.0, max_val=1.0)


@public("F.softplus")
def _softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:  # noqa: A002
    values = [beta, threshold] if threshold != 20.0 else [beta] if beta != 1.0 else []
    return call("softplus", input, *values)


@public("F.gelu")
def _gelu(input: Any, approximate: str = "none") -> Any:  # noqa: A002
    named = {} if approximate == "none" else {"approximate": approximate}
    return call("gelu", input, **named)


@public("F.logsigmoid")
def _logsigmoid(input: Any) -> Any:  # noqa: A002
    return call("log_sigmoid_forward", input)[0]


@public("F.dropout", "dropout")
def _dropout(
    input: Any, p: float = 0.5, training: bool = True, inplace: bool = False, *, train: Any = None  # noqa: A002
) -> Any:
    training = training if train is None else train
    if not 0 <= p <= 1 or inplace:
        return NOT_MADE
    if not training or p == 0:
        return input
    if p == 1:
        return call("mul.Tensor", input, call("zeros", [], dtype=input.aval.dtype))
    kept = call("empty_like", input)
    call("bernoulli_.float", kept, 1 - p)
    call("div_.Scalar", kept, 1 - p)
    return call("mul.Tensor", input, kept)


# --- norms ------------------------------------------------------------------------------------


@public("F.layer_norm")
def _layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05  # noqa: A002
) -> Any:
    shape = list(normalized_shape)
    if list(input.aval.shape[input.aval.ndim - len(shape) :]) != shape:
        return NOT_MADE
    return call("native_layer_norm", input, shape, weight, bias, eps)[0]


@public("F.group_norm")
def _group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05  # noqa: A002
) -> Any:
    shape = input.aval.shape
    if len(shape) < 2 or not input.aval.contiguous:
        return NOT_MADE
    return call(
        "native_group_norm", input, weight, bias, shape[0], shape[1], math.prod(shape[2:]),
        num_groups, eps,
    )[0]  # fmt: skip


@public("F.batch_norm")
def _batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,  # noqa: A002
    training: bool = False, momentum: float = 0.1, eps: float = 1e-05,
) -> Any:  # fmt: skip
    shape = input.aval.shape
    if len(shape) < 2 or (training and math.prod(shape) == shape[1]):
        return NOT_MADE
    call(
        "empty.memory_format", [0], dtype=dtypes.uint8, layout=input.layout, device=input.device
    )
    return call(
        "native_batch_norm", input, weight, bias, running_mean, running_var, training, momentum, eps
    )[0]


@public("F.rms_norm", "rms_norm")
def _rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:  # noqa: A002
    count, kind = len(normalized_shape), input.aval.dtype
    if list(input.aval.shape[input.aval.ndim - count :]) != list(normalized_shape):
        return NOT_MADE
    if kind not in (dtypes.float32, dtypes.float64):
        return NOT_MADE
    axes = list(range(input.aval.ndim - count, input.aval.ndim))
    mean = call("mean.dim", call("pow.Tensor_Scalar", input, 2), axes, True)
    spread = float(np.finfo(kind.np).eps) if eps is None else eps
    made = call("mul.Tensor", input, call("rsqrt", call("add_.Scalar", mean, spread)))
    return made if weight is None else call("mul.Tensor", made, weight)


@public("isfinite")
def _isfinite(input: Any) -> Any:  # noqa: A002
    if not input.aval.dtype.is_floating_point:
        return NOT_MADE
    finite = call("ne.Scalar", call("abs", input), math.inf)
    return call("mul.Tensor", call("eq.Tensor", input, input), finite)


@public("F.interpolate")
def _interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",  # noqa: A002
    align_corners: Any = None, recompute_scale_factor: Any = None, antialias: bool = False,
) -> Any:  # fmt: skip
    if mode != "nearest" or input.aval.ndim != 4 or antialias or recompute_scale_factor:
        return NOT_MADE
    if size is not None:
        return call("upsample_nearest2d", input, _pair(size, 2))
    scales = [float(x) for x in (scale_factor if isinstance(scale_factor, (tuple, list))
                                 else [scale_factor] * 2)]  # fmt: skip
    sizes = [math.floor(n * x) for n, x in zip(input.aval.shape[2:], scales, strict=True)]
    return call("upsample_nearest2d", input, sizes, *scales)


# --- convolutions and pooling -----------------------------------------------------------------


def _convolution(count: int) -> Any:
    def body(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,  # noqa: A002
        dilation: Any = 1, groups: int = 1,
    ) -> Any:  # fmt: skip
        if input.aval.ndim != count + 2 or isinstance(padding, str):
            return NOT_MADE
        return call(
            "convolution", input, weight, bias, _pair(stride, count), _pair(padding, count),
            _pair(dilation, count), False, [0] * count, groups,
        )  # fmt: skip

    return body


def _transposed(count: int) -> Any:
    def body(
        input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0,  # noqa: A002
        output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
    ) -> Any:  # fmt: skip
        if input.aval.ndim != count + 2:
            return NOT_MADE
        return call(
            "convolution", input, weight, bias, _pair(stride, count), _pair(padding, count),
            _pair(dilation, count), True, _pair(output_padding, count), groups,
        )  # fmt: skip

    return body


for _count in (1, 2, 3):
    public(f"F.conv{_count}d", f"conv{_count}d")(_convolution(_count))
    public(f"F.conv_transpose{_count}d", f"conv_transpose{_count}d")(_transposed(_count))


@public("F.max_pool2d")
def _max_pool(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,  # noqa: A002
    ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    found = call(
        "max_pool2d_with_indices", input, _pair(kernel_size, 2), _strides(stride),
        _pair(padding, 2), _pair(dilation, 2), ceil_mode,
    )  # fmt: skip
    return tuple(found) if return_indices else found[0]


@public("F.avg_pool2d")
def _avg_pool(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,  # noqa: A002
    count_include_pad: bool = True, divisor_override: Any = None,
) -> Any:  # fmt: skip
    return call(
        "avg_pool2d", input, _pair(kernel_size, 2), _strides(stride), _pair(padding, 2),
        ceil_mode, count_include_pad, divisor_override,
    )  # fmt: skip


def _strides(stride: Any) -> list[int]:
    """None: as long as the windows, which is an empty list."""
    return [] if stride is None else _pair(stride, 2)


@public("F.adaptive_avg_pool2d")
def _adaptive(input: Any, output_size: Any) -> Any:  # noqa: A002
    sizes = [output_size] * 2 if isinstance(output_size, int) else list(output_size)
    if None in sizes:
        return NOT_MADE
    if sizes == [1, 1]:
        return call("mean.dim", input, [-1, -2], True)
    return call("_adaptive_avg_pool2d", input, sizes)


@public("F.pad")
def _pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:  # noqa: A002
    if mode != "constant":
        return NOT_MADE
    return call("constant_pad_nd", input, list(pad), float(value or 0.0))


@public("F.embedding")
def _embedding(
    input: Any, weight: Any, padding_idx: Any = None, max_norm: Any = None,  # noqa: A002
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    if max_norm is not None or sparse or scale_grad_by_freq:
        return NOT_MADE
    if padding_idx is None:
        return call("embedding", weight, input)
    rows = weight.aval.shape[0]
    if not -rows <= padding_idx < rows:
        return NOT_MADE
    return call("embedding", weight, input, padding_idx % rows)


@public("F.scaled_dot_product_attention")
def _attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: Any = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    plain = query.aval.ndim == key.aval.ndim == value.aval.ndim == 4 and not enable_gqa
    if not plain or dropout_p or attn_mask is not None:
        return NOT_MADE
    if not (query.aval.shape[:2] == key.aval.shape[:2] == value.aval.shape[:2]):
        return NOT_MADE
    named = {} if scale is None else {"scale": scale}
    return call(
        "_scaled_dot_product_flash_attention_for_cpu", query, key, value,
        *([0.0, True] if is_causal else []), **named,
    )[0]  # fmt: skip


# --- losses -----------------------------------------------------------------------------------


def _old_reduction(size_average: Any, reduce: Any) -> bool:
    return size_average is not None or reduce is not None


@public("F.mse_loss")
def _mse(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean", weight: Any = None,
) -> Any:  # fmt: skip
    same = input.aval.shape == target.aval.shape
    if not same or weight is not None or _old_reduction(size_average, reduce):
        return NOT_MADE
    return call("mse_loss", input, target, *_number(reduction))


def _number(reduction: str) -> list[int]:
    return [] if reduction == "mean" else [_REDUCTIONS[reduction]]


@public("F.l1_loss")
def _l1(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean", weight: Any = None,
) -> Any:  # fmt: skip
    same = input.aval.shape == target.aval.shape
    if not same or weight is not None or _old_reduction(size_average, reduce):
        return NOT_MADE
    made = call("abs", call("sub.Tensor", input, target))
    return made if reduction == "none" else call(reduction, made)


@public("F.smooth_l1_loss")
def _smooth_l1(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean", beta: float = 1.0,
) -> Any:  # fmt: skip
    same = input.aval.shape == target.aval.shape
    if not same or beta <= 0 or _old_reduction(size_average, reduce):
        return NOT_MADE
    more = [_REDUCTIONS[reduction], beta] if beta != 1.0 else _number(reduction)
    return call("smooth_l1_loss", input, target, *more)


@public("F.binary_cross_entropy")
def _bce(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean",
) -> Any:  # fmt: skip
    same = input.aval.shape == target.aval.shape
    if not same or _old_reduction(size_average, reduce) or target.requires_grad:
        return NOT_MADE
    more = [weight, _REDUCTIONS[reduction]] if reduction != "mean" else [weight] * (
        weight is not None)  # fmt: skip
    return call("binary_cross_entropy", input, target, *more)


@public("F.binary_cross_entropy_with_logits")
def _bce_with_logits(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None,  # noqa: A002
    reduction: str = "mean", pos_weight: Any = None,
) -> Any:  # fmt: skip
    if input.aval.shape != target.aval.shape or _old_reduction(size_average, reduce):
        return NOT_MADE
    more = [weight, pos_weight, _REDUCTIONS[reduction]]
    for default in (1, None, None):
        if more[-1] is not default and more[-1] != default:
            break
        more.pop()
    return call("binary_cross_entropy_with_logits", input, target, *more)


@public("F.nll_loss")
def _nll(
    input: Any, target: Any, weight: Any = None, size_average: Any = None,  # noqa: A002
    ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    ndim = input.aval.ndim
    if ndim not in (2, 4) or _old_reduction(size_average, reduce):
        return NOT_MADE
    name = "nll_loss_forward" if ndim == 2 else "nll_loss2d_forward"
    return call(name, input, target, weight, _REDUCTIONS[reduction], ignore_index)[0]


@public("F.cross_entropy")
def _cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None,  # noqa: A002
    ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    if label_smoothing or input.aval.ndim not in (2, 4) or target.aval.dtype.is_floating_point:
        return NOT_MADE
    logs = call("_log_softmax", input, 1, False)
    return _nll(logs, target, weight, size_average, ignore_index, reduce, reduction)


# --- new tensors ------------------------------------------------------------------------------


@public("Tensor.detach")
def _detach(x: Any) -> Any:
    return call("detach", x)


@public("randint")
def _randint(*args: Any, **named: Any) -> Any:
    numbers = [x for x in args if isinstance(x, int)]
    if len(numbers) == len(args) - 1 and len(numbers) in (1, 2) and not named:
        low, high = numbers if len(numbers) == 2 else (0, numbers[0])
        place = {"device": as_device(None), "pin_memory": False}
        return call("randint.low", low, high, list(args[-1]), **place)
    return NOT_MADE


@public("arange")
def _arange(start: Any = 0, end: Any = None, step: Any = 1, **named: Any) -> Any:
    known = {k: v for k, v in named.items() if v is not None}
    if known.pop("requires_grad", False) or "out" in known:
        return NOT_MADE
    if "dtype" in known:
        known["dtype"] = as_dtype(known["dtype"])
    known["device"] = as_device(known.get("device"))
    known.setdefault("pin_memory", False)
    if any(isinstance(x, EngineTensor) for x in (start, end, step)):
        return NOT_MADE
    if end is None:
        return call("arange", start, **known)
    if step == 1:
        return call("arange.start", start, end, **known)
    return call("arange.start_step", start, end, step, **known)


def _factory(name: str, overload: str, count: int = 0) -> None:
    """A factory of a shape; ``count``: how many arguments follow it."""

    def body(*args: Any, **named: Any) -> Any:
        known = {k: v for k, v in named.items() if v is not None}
        requires_grad = known.pop("requires_grad", False)
        shape = known.pop("size", None)
        if not known.keys() <= {"dtype", "device", "layout", "generator", "pin_memory"}:
            return NOT_MADE
        if shape is None:
            flat = args[: len(args) - count]
            shape = flat[0] if len(flat) == 1 and not isinstance(flat[0], int) else flat
            args = args[len(args) - count :] if count else ()
        if not all(isinstance(n, int) for n in shape):
            return NOT_MADE
        if "dtype" in known:
            known["dtype"] = as_dtype(known["dtype"])
        known["device"] = as_device(known.get("device"))
        known.setdefault("pin_memory", False)
        made = call(overload, list(shape), *args, **known)
        return made.requires_grad_() if requires_grad else made

    public(name)(body)


_factory("zeros", "zeros")
_factory("ones", "ones")
_factory("empty", "empty.memory_format")
_factory("randn", "randn")
_factory("rand", "rand")


def _like(name: str, count: int = 0) -> None:
    """A factory of tensors like another one; ``count``: how many arguments follow it."""

    def body(input: Any, *args: Any, **named: Any) -> Any:  # noqa: A002
        known = {k: v for k, v in named.items() if v is not None}
        requires_grad = known.pop("requires_grad", False)
        if known.get("memory_format") is preserve_format:
            del known["memory_format"]
        if "dtype" in known:
            known["dtype"] = as_dtype(known["dtype"])
        known.setdefault("pin_memory", False)
        made = call(name, input, *args, **known)
        return made.requires_grad_() if requires_grad else made

    public(name)(body)


for _name in ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like"):
    _like(_name)
_like("full_like", 1)


@public("tensor", "from_numpy")
def _made_of_data(made: Any) -> Any:
    """What becomes of a tensor that was made of numbers."""
    return call("lift_fresh", made)


_made_of_data.after = True  # type: ignore[attr-defined]
