"""What computes the operators of ``torch.ops.aten``: our functions of the same name, and those
here that no function of ``torch`` stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch import torch
from mindtorch.engine.ops import activations as act
from mindtorch.engine.ops import (
    attention,
    elementwise,
    embedding,
    loss,
    movement,
    pooling,
    resizing,
    softmax,
)
from mindtorch.engine.ops import normalization as norms
from mindtorch.engine.tensor import alias, constant

from .._api.publish import FUNCTIONAL, FUNCTIONS, METHODS
from .._compat import aten_private as forms
from .._compat.native_norms import native_dropout_backward
from ..functions.copies import sliced_along
from ..nn import functional as F  # noqa: N812

__all__ = ["KERNELS", "kernel", "kernel_of"]

# modules whose functions torch.ops.aten has under the names of torch
_LAZY_PLACES = (
    "_compat.nn_function_aliases", "_compat.native_norms", "_compat.deprecated_functions",
    "nn.functional",
)  # fmt: skip
_PLAIN_METHODS = (
    "copy_", "detach", "fill_", "new_empty_strided", "new_full", "new_ones", "new_zeros", "to",
    "zero_",
)  # fmt: skip
_REDUCTIONS = ("none", "mean", "sum")

KERNELS: dict[str, Callable[..., Any]] = {"native_dropout_backward": native_dropout_backward}


def kernel(body: Callable[..., Any]) -> Callable[..., Any]:
    """Make the body below what computes the operator of its name."""
    KERNELS[body.__name__] = body
    return body


def kernel_of(name: str) -> Callable[..., Any] | None:
    """What computes ``torch.ops.aten.name``, if anything does."""
    found: Any
    if name in KERNELS:
        return KERNELS[name]
    if name in forms.__all__:
        return getattr(forms, name)
    if torch._LAZY_NAMES.get(name) in _LAZY_PLACES:
        return getattr(torch, name)
    if name in _PLAIN_METHODS:
        found = vars(torch.Tensor).get(name) or getattr(torch.Tensor, name)
        return getattr(found, "__wrapped__", found)
    for place in ("linalg", "fft", "special"):
        if name.startswith(f"{place}_"):
            own = name[len(place) + 1 :]
            return FUNCTIONS.get(name) or getattr(getattr(torch, place), own, None)
    found = FUNCTIONS.get(name) or METHODS.get(name) or FUNCTIONAL.get(name)
    if found is None and name.endswith("_") and name[:-1] in FUNCTIONAL:
        return _written(name)
    return found


def _written(name: str) -> Callable[..., Any]:
    """An activation that overwrites its argument."""
    return lambda x, *args, **named: FUNCTIONAL[name[:-1]](x, *args, inplace=True, **named)


# --- softmax and activations ------------------------------------------------------------------


@kernel
def _safe_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """Softmax along ``dim``; zeros where every element is -inf."""
    hidden = (self == float("-inf")).all(dim, keepdim=True)
    made = FUNCTIONS["softmax"](FUNCTIONS["where"](hidden, 0.0, self), dim, dtype=dtype)
    return FUNCTIONS["where"](hidden, 0.0, made)


@kernel
def _softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    """Softmax along ``dim``; ``half_to_float``, on GPUs in torch, must be False."""
    return FUNCTIONS["softmax"](self, dim)


@kernel
def _log_softmax(self: Any, dim: int, half_to_float: bool) -> Any:
    """Its logarithm."""
    return FUNCTIONS["log_softmax"](self, dim)


@kernel
def _log_softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """``grad_output - exp(output) * sum(grad_output)`` over ``dim``."""
    return softmax.log_softmax_gradient(grad_output, output, axis=dim % output.aval.ndim)


def _backward(name: str, op: Any) -> None:
    """The gradient of an activation."""

    def body(grad_output: Any, self: Any, *numbers: Any) -> Any:
        return op(grad_output, self, *[constant(x) for x in numbers])

    body.__name__ = body.__qualname__ = name
    body.__doc__ = f"The gradient of {name.removesuffix('_backward')}."
    KERNELS[name] = body


for _name, _op in {
    "threshold_backward": act.threshold_gradient, "silu_backward": act.silu_gradient,
    "mish_backward": act.mish_gradient, "hardswish_backward": act.hardswish_gradient,
    "hardsigmoid_backward": act.hardsigmoid_gradient,
    "softplus_backward": act.softplus_gradient, "hardtanh_backward": act.hardtanh_gradient,
    "tanh_backward": elementwise.tanh_gradient, "sigmoid_backward": elementwise.sigmoid_gradient,
}.items():  # fmt: skip
    _backward(_name, _op)


@kernel
def gelu_backward(grad_output: Any, self: Any, *, approximate: str = "none") -> Any:
    """The gradient of gelu."""
    op = act.gelu_tanh_gradient if approximate == "tanh" else act.gelu_gradient
    return op(grad_output, self)


@kernel
def leaky_relu_backward(grad: Any, self: Any, negative_slope: float, self_is_result: bool) -> Any:
    """The gradient of leaky_relu."""
    return act.leaky_relu_gradient(grad, self, constant(negative_slope))


@kernel
def elu_backward(
    grad: Any, alpha: float, scale: float, input_scale: float, is_result: bool, self: Any
) -> Any:
    """The gradient of elu; ``is_result`` must be False."""
    if is_result:
        raise NotImplementedError("elu_backward of the result")
    return act.elu_gradient(
        grad, self, constant(alpha), constant(scale), constant(input_scale)
    )


@kernel
def log_sigmoid_forward(self: Any) -> tuple[Any, Any]:
    """(log(sigmoid(x)), a buffer that torch's kernel leaves empty but on the CPU)."""
    return F.logsigmoid(self), self.new_empty((0,))


@kernel
def log_sigmoid_backward(grad_output: Any, self: Any, buffer: Any) -> Any:
    """Its gradient."""
    return act.log_sigmoid_gradient(grad_output, self)


# --- layers -----------------------------------------------------------------------------------


def _ints(value: Any, count: int = 2) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) and len(value) == count else (
        tuple(value) * count if isinstance(value, (list, tuple)) else (value,) * count
    )


def _of_batch(op: Any, x: Any, *others: Any, **params: Any) -> Any:
    """An op on images where ``x`` is one without a batch, or several."""
    if x.aval.ndim == 4:
        return op(x, *others, **params)
    made = op(*[movement.unsqueeze(y, axis=0) for y in (x, *others)], **params)
    return movement.squeeze(made, axes=(0,))


@kernel
def max_pool2d_with_indices(
    self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """The maxima of windows, and their places."""
    return F.max_pool2d(
        self, kernel_size, stride or None, padding, dilation, ceil_mode, return_indices=True
    )


@kernel
def avg_pool2d(
    self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """The means of windows."""
    return F.avg_pool2d(
        self, kernel_size, stride or None, padding, ceil_mode, count_include_pad, divisor_override
    )


@kernel
def avg_pool2d_backward(
    grad_output: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None,
) -> Any:  # fmt: skip
    """Their gradient."""
    shape = self.aval.shape if self.aval.ndim == 4 else (1, *self.aval.shape)
    return _of_batch(
        pooling.avg_pool_gradient, grad_output, shape=shape, kernel_size=_ints(kernel_size),
        stride=_ints(stride or kernel_size), padding=_ints(padding), ceil_mode=ceil_mode,
        count_include_pad=count_include_pad, divisor_override=divisor_override,
    )  # fmt: skip


@kernel
def _adaptive_avg_pool2d(self: Any, output_size: Any) -> Any:
    """The means of as many windows as ``output_size``."""
    return F.adaptive_avg_pool2d(self, output_size)


@kernel
def _adaptive_avg_pool2d_backward(grad_output: Any, self: Any) -> Any:
    """Their gradient."""
    shape = self.aval.shape if self.aval.ndim == 4 else (1, *self.aval.shape)
    return _of_batch(pooling.adaptive_avg_pool_gradient, grad_output, shape=shape)


def _masked(values: Any, mask: Any) -> tuple[Any, ...]:
    return tuple(v if need else None for v, need in zip(values, mask, strict=True))


@kernel
def native_layer_norm(
    input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float  # noqa: A002
) -> Any:
    """(the last axes normalised, the means, ``1 / sqrt(variance + eps)``)."""
    result, mean, spread = norms.layer_norm(
        input, weight, bias, eps=float(eps), normalized_ndim=len(normalized_shape)
    )
    kept = (*mean.aval.shape, *[1] * len(normalized_shape))
    return result, movement.reshape(mean, kept), movement.reshape(spread, kept)


@kernel
def native_layer_norm_backward(
    grad_out: Any, input: Any, normalized_shape: Any, mean: Any, rstd: Any, weight: Any,  # noqa: A002
    bias: Any, output_mask: Any,
) -> Any:  # fmt: skip
    """The gradients of input, weight and bias, None where the mask has False."""
    count = len(normalized_shape)
    kept = input.aval.shape[: input.aval.ndim - count]
    return _masked(norms.layer_norm_gradient(
        grad_out, input, weight, movement.reshape(mean, kept), movement.reshape(rstd, kept),
        normalized_ndim=count,
    ), output_mask)  # fmt: skip


@kernel
def native_group_norm_backward(
    grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW: int,  # noqa: A002, N803
    group: int, output_mask: Any,
) -> Any:  # fmt: skip
    """The gradients of input, weight and bias, None where the mask has False."""
    return _masked(
        norms.group_norm_gradient(grad_out, input, weight, mean, rstd, groups=group), output_mask
    )


@kernel
def native_batch_norm_backward(
    grad_out: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, save_mean: Any,  # noqa: A002
    save_invstd: Any, train: bool, eps: float, output_mask: Any,
) -> Any:  # fmt: skip
    """The gradients of input, weight and bias, None where the mask has False."""
    if train:
        return _masked(
            norms.batch_norm_gradient(grad_out, input, weight, save_mean, save_invstd), output_mask
        )
    return norms._batch_norm_inference_vjp(
        grad_out, input, weight, running_mean, running_var, (*output_mask, False, False), eps
    )[:3]


@kernel
def embedding_dense_backward(
    grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """The rows of ``grad_output`` added at ``indices``."""
    if scale_grad_by_freq:
        raise NotImplementedError("embedding_dense_backward(scale_grad_by_freq=True)")
    return embedding.embedding_gradient(
        grad_output, indices, rows=num_weights, padding_idx=None if padding_idx < 0 else padding_idx
    )


@kernel
def _scaled_dot_product_flash_attention_for_cpu(
    query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, *,
    attn_mask: Any = None, scale: float | None = None,
) -> Any:  # fmt: skip
    """(attention, the log-sum-exp of each query's scores)."""
    if dropout_p:
        raise NotImplementedError("_scaled_dot_product_flash_attention_for_cpu(dropout_p)")
    factor = query.aval.shape[-1] ** -0.5 if scale is None else scale
    return attention.attention(query, key, value, attn_mask, scale=factor, causal=is_causal)


@kernel
def _scaled_dot_product_flash_attention_for_cpu_backward(
    grad_out: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any, dropout_p: float,
    is_causal: bool, *, attn_mask: Any = None, scale: float | None = None,
) -> Any:  # fmt: skip
    """The gradients of query, key and value."""
    factor = query.aval.shape[-1] ** -0.5 if scale is None else scale
    return attention.attention_gradient(
        grad_out, query, key, value, attn_mask, out, logsumexp, scale=factor, causal=is_causal
    )


# --- losses -----------------------------------------------------------------------------------


def _loss(name: str, body: Callable[..., Any]) -> None:
    """A loss whose reduction is a number in torch's operators."""

    def computed(self: Any, target: Any, reduction: int = 1, *more: Any, **options: Any) -> Any:
        return body(self, target, *more, reduction=_REDUCTIONS[reduction], **options)

    computed.__name__ = computed.__qualname__ = name
    computed.__doc__ = body.__doc__
    KERNELS[name] = computed


_loss("mse_loss", F.mse_loss)
_loss("smooth_l1_loss", lambda x, y, beta=1.0, *, reduction: F.smooth_l1_loss(
    x, y, reduction=reduction, beta=beta))  # fmt: skip
_loss("huber_loss", lambda x, y, delta=1.0, *, reduction: F.huber_loss(
    x, y, reduction=reduction, delta=delta))  # fmt: skip


def _shared(slope: Any, grad: Any, reduction: int) -> Any:
    """The slope of each element times its part of the gradient of the loss."""
    if reduction == 1:
        slope = elementwise.divide(slope, constant(slope.aval.size))
    return elementwise.multiply(slope, grad)


@kernel
def mse_loss_backward(grad_output: Any, self: Any, target: Any, reduction: int) -> Any:
    """``2 (self - target) grad_output``, divided by the number of elements for means."""
    twice = elementwise.multiply(elementwise.subtract(self, target), constant(2.0))
    return _shared(twice, grad_output, reduction)


@kernel
def smooth_l1_loss_backward(
    grad_output: Any, self: Any, target: Any, reduction: int, beta: float
) -> Any:
    """The gradient of smooth_l1_loss."""
    one = torch.ones_like(self)
    return _shared(loss.smooth_l1_gradient(one, self, target, constant(beta)), grad_output,
                   reduction)  # fmt: skip


@kernel
def binary_cross_entropy(self: Any, target: Any, weight: Any = None, reduction: int = 1) -> Any:
    """``-(target log(self) + (1 - target) log(1 - self))``."""
    return F.binary_cross_entropy(self, target, weight, reduction=_REDUCTIONS[reduction])


@kernel
def binary_cross_entropy_with_logits(
    self: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 1
) -> Any:
    """The same of sigmoid(self)."""
    return F.binary_cross_entropy_with_logits(
        self, target, weight, reduction=_REDUCTIONS[reduction], pos_weight=pos_weight
    )


@kernel
def binary_cross_entropy_backward(
    grad_output: Any, self: Any, target: Any, weight: Any = None, reduction: int = 1
) -> Any:
    """Its gradient: ``(self - target) / (self (1 - self))``, the divisor at least 1e-12."""
    slope = (self - target) / (self * (1 - self)).clamp(min=1e-12)
    return _shared(slope if weight is None else slope * weight, grad_output, reduction)


@kernel
def nll_loss_forward(
    self: Any, target: Any, weight: Any, reduction: int, ignore_index: int
) -> tuple[Any, Any]:
    """(the negative log likelihood, the sum of the targets' weights)."""
    found = F.nll_loss(
        self, target, weight, ignore_index=ignore_index, reduction=_REDUCTIONS[reduction]
    )
    known = target != ignore_index
    if weight is None:
        total = known.sum().to(self.dtype)
    else:
        total = weight[target.where(known, 0)].where(known, 0.0).sum()
    return found, total if reduction else self.new_zeros(())


@kernel
def nll_loss_backward(
    grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int,
    total_weight: Any,
) -> Any:  # fmt: skip
    """The gradient of nll_loss."""
    g = grad_output / total_weight if reduction == 1 else grad_output
    x, chosen = (self, target) if self.aval.ndim > 1 else (self[None], target[None])
    made = loss.nll_gradient(
        g.expand(chosen.aval.shape), chosen, weight, shape=x.aval.shape, ignore_index=ignore_index
    )
    return made if self.aval.ndim > 1 else made[0]


KERNELS["nll_loss2d_forward"] = nll_loss_forward
KERNELS["nll_loss2d_backward"] = nll_loss_backward


# --- shapes, types, new tensors ----------------------------------------------------------------


@kernel
def slice(self: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:  # noqa: A001
    """``self[..., start:end:step, ...]`` along ``dim``."""
    return sliced_along(self, dim, start, end, step)


@kernel
def select_backward(grad_output: Any, input_sizes: Any, dim: int, index: int) -> Any:
    """``grad_output`` as a slice of zeros."""
    made = grad_output.new_zeros(input_sizes)
    made.select(dim, index).copy_(grad_output)
    return made


@kernel
def slice_backward(
    grad_output: Any, input_sizes: Any, dim: int, start: int, end: int, step: int
) -> Any:
    """The same for several places."""
    made = grad_output.new_zeros(input_sizes)
    sliced_along(made, dim, start, end, step).copy_(grad_output)
    return made


@kernel
def _unsafe_view(self: Any, size: Any) -> Any:
    """``self.view(size)``, which counts as no view."""
    return alias(METHODS["view"](self, *size))


@kernel
def lift_fresh(self: Any) -> Any:
    """The tensor itself, which was made just now."""
    return self


@kernel
def scalar_tensor(
    s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> Any:
    """A number as a tensor of no axes, of float32 unless told otherwise."""
    return torch.full((), s, dtype=dtype or torch.float32, device=device)


@kernel
def _unique2(
    self: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False  # noqa: A002
) -> tuple[Any, Any, Any]:
    """The different elements, where each is among them, how often each is there."""
    found = FUNCTIONS["unique"](self, sorted, return_inverse, return_counts)
    found = list(found) if isinstance(found, tuple) else [found]
    values = found.pop(0)
    none = values.new_empty((0,), dtype=torch.int64)
    inverse = found.pop(0) if return_inverse else none
    return values, inverse, found.pop(0) if return_counts else none


@kernel
def upsample_nearest2d(
    self: Any, output_size: Any, scales_h: float | None = None, scales_w: float | None = None
) -> Any:
    """Images resized by repeating elements."""
    if output_size is None:
        return F.interpolate(self, scale_factor=(scales_h, scales_w))
    return F.interpolate(self, size=tuple(output_size))


@kernel
def upsample_nearest2d_backward(
    grad_output: Any, output_size: Any, input_size: Any, scales_h: float | None = None,
    scales_w: float | None = None,
) -> Any:  # fmt: skip
    """Its gradient."""
    given = (scales_h, scales_w)
    steps = tuple(
        n / m if scale is None else 1.0 / scale
        for n, m, scale in zip(input_size[2:], output_size, given, strict=True)
    )
    return resizing.resize_gradient(
        grad_output, shape=tuple(input_size), steps=steps, mode="nearest", align=False
    )
