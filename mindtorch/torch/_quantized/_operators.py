"""What ``torch.ops.quantized`` has, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..nn import functional as F  # noqa: N812
from ._dispatch import torch
from ._embeddings import PackedEmbedding
from ._half import HalfLinear
from ._products import PackedConvolution, PackedLinear
from ._quantizer import PerTensor, limits_of
from ._tensor import QuantizedTensor

__all__ = ["OPERATORS"]

OPERATORS: dict[str, Callable[..., Any]] = {}


def _operator(function: Any) -> Any:
    OPERATORS[function.__name__.rstrip("_")] = function
    return function


def result(numbers: Any, scale: Any, zero_point: Any, dtype: Any) -> QuantizedTensor:
    """Numbers as a quantised tensor of this scale."""
    own = PerTensor(float(scale), int(zero_point))
    return QuantizedTensor(own.levels(numbers, dtype), own, dtype)


# --- products -------------------------------------------------------------------------------------


@_operator
def linear_prepack(W: Any, B: Any = None) -> PackedLinear:  # noqa: N803
    """The weight and bias of a linear map in the kernels' form."""
    return PackedLinear(W, B)


@_operator
def linear_prepack_fp16(W: Any, B: Any = None) -> HalfLinear:  # noqa: N803
    """The weight, rounded to float16, and the bias of a linear map of numbers."""
    return HalfLinear(W, B)


@_operator
def linear(X: Any, W_prepack: Any, Y_scale_i: float, Y_zero_point_i: int) -> Any:  # noqa: N803
    """The product on levels of that scale and zero point."""
    return W_prepack.run(X, Y_scale_i, Y_zero_point_i)


@_operator
def linear_relu(X: Any, W_prepack: Any, Y_scale_i: float, Y_zero_point_i: int) -> Any:  # noqa: N803
    """:func:`linear` without what is below 0."""
    return W_prepack.run(X, Y_scale_i, Y_zero_point_i, True)


@_operator
def linear_dynamic(X: Any, W_prepack: Any, reduce_range: bool = False) -> Any:  # noqa: N803
    """The product of numbers, which are put on 8 bits for it."""
    return W_prepack.run_on_numbers(X, False, reduce_range)


@_operator
def linear_relu_dynamic(X: Any, W_prepack: Any, reduce_range: bool = False) -> Any:  # noqa: N803
    """:func:`linear_dynamic` without what is below 0."""
    return W_prepack.run_on_numbers(X, True, reduce_range)


@_operator
def linear_dynamic_fp16(X: Any, W_prepack: Any) -> Any:  # noqa: N803
    """The product of numbers with a weight of float16."""
    return W_prepack.run_on_numbers(X, False, False)


@_operator
def linear_relu_dynamic_fp16(X: Any, W_prepack: Any) -> Any:  # noqa: N803
    """:func:`linear_dynamic_fp16` without what is below 0."""
    return W_prepack.run_on_numbers(X, True, False)


@_operator
def linear_unpack(W_prepack: Any) -> Any:  # noqa: N803
    """The weight and the bias."""
    return W_prepack.unpack()


OPERATORS["linear_unpack_fp16"] = linear_unpack


def _define_convolutions(spatial: int) -> None:
    def prepack(
        weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
    ) -> PackedConvolution:
        return PackedConvolution(weight, bias, stride, padding, dilation, groups)

    def transposed(
        weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, dilation: Any,
        groups: int,
    ) -> PackedConvolution:  # fmt: skip
        return PackedConvolution(
            weight, bias, stride, padding, dilation, groups, output_padding, True
        )

    def run(qx: Any, packed_weight: Any, output_scale: float, output_zero_point: int) -> Any:
        return packed_weight.run(qx, output_scale, output_zero_point)

    def run_relu(qx: Any, packed_weight: Any, output_scale: float, output_zero_point: int) -> Any:
        return packed_weight.run(qx, output_scale, output_zero_point, True)

    def dynamic(qx: Any, packed_weight: Any, reduce_range: bool = False) -> Any:
        return packed_weight.run_on_numbers(qx, False, reduce_range)

    name = f"conv{spatial}d"
    OPERATORS[f"{name}_prepack"], OPERATORS[name] = prepack, run
    OPERATORS[f"{name}_relu"], OPERATORS[f"{name}_dynamic"] = run_relu, dynamic
    OPERATORS[f"{name}_unpack"] = OPERATORS[f"conv_transpose{spatial}d_unpack"] = linear_unpack
    OPERATORS[f"conv_transpose{spatial}d_prepack"] = transposed
    OPERATORS[f"conv_transpose{spatial}d"] = run
    OPERATORS[f"conv_transpose{spatial}d_dynamic"] = dynamic


for _spatial in (1, 2, 3):
    _define_convolutions(_spatial)


@_operator
def matmul(qa: Any, qb: Any, scale: float, zero_point: int) -> Any:
    """The matrix product of two quantised tensors."""
    return result(
        torch.matmul(qa.dequantize(), qb.dequantize()), scale, zero_point, qa.aval.dtype
    )


# --- elementwise ----------------------------------------------------------------------------------


def _define_pair(name: str, function: Any) -> None:
    def run(qa: Any, qb: Any, scale: float | None = None, zero_point: int = 0) -> Any:
        if scale is None or not isinstance(qb, QuantizedTensor):
            return OPERATORS[f"{name}_scalar"](qa, qb)
        return result(function(_numbers(qa), _numbers(qb)), scale, zero_point, qa.aval.dtype)

    def run_relu(qa: Any, qb: Any, scale: float | None = None, zero_point: int = 0) -> Any:
        if scale is None or not isinstance(qb, QuantizedTensor):
            return OPERATORS[f"{name}_scalar_relu"](qa, qb)
        made = torch.relu(function(_numbers(qa), _numbers(qb)))
        return result(made, scale, zero_point, qa.aval.dtype)

    OPERATORS[name], OPERATORS[f"{name}_relu"] = run, run_relu


def _numbers(x: Any) -> Any:
    if not isinstance(x, QuantizedTensor):
        raise NotImplementedError(
            "Could not run 'quantized::add' with arguments from the 'CPU' backend."
        )
    return x.dequantize()


_define_pair("add", torch.add)
_define_pair("mul", torch.mul)


@_operator
def add_scalar(qa: Any, b: Any) -> QuantizedTensor:
    """Where the zero point can move, the levels stay; else they are put on wider steps."""
    own, dtype = qa.quantizer, qa.aval.dtype
    low, high = limits_of(dtype)
    number = b.item() if hasattr(b, "item") else b
    moved = own.zero_point - int(np.rint(np.float32(number) / np.float32(own.scale)))
    if low <= moved <= high:
        return QuantizedTensor(qa.levels.clone(), PerTensor(own.scale, moved), dtype)
    if moved < low:
        widened = PerTensor((high - moved) / (high - low) * own.scale, low)
    else:
        widened = PerTensor((moved - low) / (high - low) * own.scale, high)
    numbers = PerTensor(own.scale, moved).numbers(qa.levels)
    return QuantizedTensor(widened.levels(numbers, dtype), widened, dtype)


@_operator
def add_scalar_relu(qa: Any, b: Any) -> QuantizedTensor:
    """:func:`add_scalar` without what is below 0."""
    return torch.relu(add_scalar(qa, b))


@_operator
def mul_scalar(qa: Any, b: Any) -> QuantizedTensor:
    """The levels with another scale; mirrored for a negative number."""
    own, dtype = qa.quantizer, qa.aval.dtype
    low, high = limits_of(dtype)
    number = b.item() if hasattr(b, "item") else b
    if number > 0:
        return QuantizedTensor(qa.levels.clone(), PerTensor(own.scale * number, own.zero_point),
                               dtype)  # fmt: skip
    if number < 0:
        mirrored = PerTensor(own.scale * -number, high + low - own.zero_point)
        levels = (high + low - qa.levels.long()).to(qa.levels.aval.dtype)
        return QuantizedTensor(levels, mirrored, dtype)
    return QuantizedTensor(torch.zeros_like(qa.levels), PerTensor(1.0, 0), dtype)


@_operator
def mul_scalar_relu(qa: Any, b: Any) -> QuantizedTensor:
    """:func:`mul_scalar` without what is below 0."""
    return torch.relu(mul_scalar(qa, b))


@_operator
def cat(qx: Any, dim: int, scale: float | None = None, zero_point: int | None = None) -> Any:
    """Tensors one after another, on the levels of the first where no others are named."""
    own = qx[0].quantizer
    numbers = torch.cat([x.dequantize() for x in qx], dim)
    return result(
        numbers, own.scale if scale is None else scale,
        own.zero_point if zero_point is None else zero_point, qx[0].aval.dtype,
    )  # fmt: skip


@_operator
def cat_relu(qx: Any, dim: int, scale: float | None = None, zero_point: int | None = None) -> Any:
    """:func:`cat` without what is below 0."""
    return torch.relu(cat(qx, dim, scale, zero_point))


@_operator
def relu6(qx: Any, inplace: bool = False) -> Any:
    """min(max(x, 0), 6) on the same levels."""
    return F.relu6(qx, inplace)


def _define_on_levels(name: str, function: Any, first: bool = False) -> None:
    """An operator that takes the result's scale and zero point, before or after its others."""

    def run(qx: Any, *args: Any, **named: Any) -> Any:
        if "output_scale" in named:
            scale, zero = named.pop("output_scale"), named.pop("output_zero_point")
        elif first:
            scale, zero, *args = args  # type: ignore[assignment]
        else:
            *args, scale, zero = args  # type: ignore[assignment]
        return result(function(qx.dequantize(), *args, **named), scale, zero, qx.aval.dtype)

    OPERATORS[name] = run


def _leaky(x: Any, negative_slope: float, inplace: bool = False) -> Any:
    return F.leaky_relu(x, negative_slope)


def _prelu(x: Any, weight: Any) -> Any:
    return F.prelu(x, _numbers(weight))


def _softmax(x: Any, dim: int) -> Any:
    return torch.softmax(x, dim)


def _elu(x: Any, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    return torch.where(x > 0, x * scale, torch.expm1(x * input_scale) * (alpha * scale))


def _layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    return F.layer_norm(x, shape, weight, bias, eps)


def _group_norm(x: Any, groups: int, weight: Any, bias: Any, eps: float) -> Any:
    return F.group_norm(x, groups, weight, bias, eps)


def _instance_norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    return F.instance_norm(x, None, None, weight, bias, eps=eps)


for _name, _function in (
    ("leaky_relu", _leaky), ("softmax", _softmax), ("prelu", _prelu), ("hardswish", F.hardswish),
    ("sigmoid", torch.sigmoid), ("layer_norm", _layer_norm), ("group_norm", _group_norm),
    ("instance_norm", _instance_norm),
):  # fmt: skip
    _define_on_levels(_name, _function)
_define_on_levels("elu", _elu, first=True)
_define_on_levels("celu", F.celu, first=True)


@_operator
def batch_norm(
    qx: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float, output_scale: float,
    output_zero_point: int,
) -> Any:  # fmt: skip
    """Normalised by running statistics."""
    made = F.batch_norm(qx.dequantize(), mean, var, weight, bias, False, 0.0, eps)
    return result(made, output_scale, output_zero_point, qx.aval.dtype)


@_operator
def batch_norm_relu(*args: Any, **named: Any) -> Any:
    """:func:`batch_norm` without what is below 0."""
    return torch.relu(batch_norm(*args, **named))


for _name in ("batch_norm1d", "batch_norm2d", "batch_norm3d"):
    OPERATORS[_name], OPERATORS[f"{_name}_relu"] = batch_norm, batch_norm_relu


# --- embeddings -----------------------------------------------------------------------------------


@_operator
def embedding_bag_prepack(weight: Any) -> PackedEmbedding:
    """The rows of an embedding."""
    return PackedEmbedding(weight)


@_operator
def embedding_bag_unpack(W_prepack: Any) -> Any:  # noqa: N803
    """The weight."""
    return W_prepack.weight


def _embedded(weight: Any, indices: Any, pruned_weights: bool = False) -> Any:
    return weight.rows(indices)


def _bags(
    weight: Any, indices: Any, offsets: Any = None, scale_grad_by_freq: bool = False, mode: int = 0,
    pruned_weights: bool = False, per_sample_weights: Any = None,
    compressed_indices_mapping: Any = None, include_last_offset: bool = False,
) -> Any:  # fmt: skip
    return weight.sums(indices, offsets, per_sample_weights, include_last_offset)


OPERATORS["embedding_byte"] = OPERATORS["embedding_4bit"] = _embedded
OPERATORS["embedding_bag_byte"] = OPERATORS["embedding_bag_4bit"] = _bags
