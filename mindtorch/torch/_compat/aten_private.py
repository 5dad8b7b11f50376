"""Functions that torch keeps below its public ones, as its own ops and ``torch.ops.aten`` have
them."""

from __future__ import annotations

import math
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import tape
from mindtorch.engine.dispatch import state
from mindtorch.engine.dtype_support import refuse_kinds
from mindtorch.engine.ops import movement
from mindtorch.engine.ops import pooling as pool
from mindtorch.engine.ops import softmax as soft
from mindtorch.engine.ops.comparison import where
from mindtorch.engine.tensor import constant

from .. import autograd
from .._api.arguments import as_dtype, normalize_axis
from .._api.publish import FUNCTIONS, module_function
from ..nn._functional_antialias import output_size as output_size_of
from ..nn._functional_antialias import resize_smoothly
from ..sparse import addmm as sparse_addmm
from .deprecated_functions import convolution
from .native_norms import native_batch_norm

__all__ = [
    "_batch_norm_with_update",
    "_chunk_cat",
    "_local_scalar_dense",
    "_native_batch_norm_legit",
    "_pin_memory",
    "_softmax_backward_data",
    "_sparse_addmm",
    "_to_copy",
    "_unsafe_masked_index",
    "_unsafe_masked_index_put_accumulate",
    "_upsample_bicubic2d_aa",
    "_upsample_bilinear2d_aa",
    "alias",
    "convolution_backward",
    "index",
    "max_pool2d_with_indices_backward",
    "sym_size",
]  # fmt: skip


# --- softmax, batch norm, pooling ---------------------------------------------------------------


def _softmax_backward_data(grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    """``output * (grad_output - sum(grad_output * output))`` over ``dim``, in the input's type."""
    axis = normalize_axis(dim, grad_output.aval.ndim)
    refuse_kinds(
        "softmax_backward_lastdim_kernel_impl", grad_output.aval, "bool whole complex"
    )
    made = soft.softmax_gradient(grad_output, output, axis=axis)
    kind = as_dtype(input_dtype)
    return made if made.aval.dtype is kind else movement.cast(made, dtype=kind)


def _native_batch_norm_legit(
    input: Any, weight: Any, bias: Any, *arguments: Any  # noqa: A002
) -> tuple[Any, Any, Any]:
    """(the normalised input, the batch's means, ``1 / sqrt(variance + eps)``).

    Args:
        arguments: ``running_mean, running_var, training, momentum, eps``, or the last three. Both
            statistics that are returned are empty where not ``training``.
    """
    if len(arguments) not in (3, 5):
        raise TypeError("_native_batch_norm_legit() takes 6 or 8 arguments")
    mean, variance = arguments[:2] if len(arguments) == 5 else (None, None)
    training, momentum, eps = arguments[-3:]
    made = native_batch_norm(input, weight, bias, mean, variance, training, momentum, eps)
    tape.named(made[0], "NativeBatchNormLegitBackward0")
    return made


def _batch_norm_with_update(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, momentum: float,  # noqa: A002
    eps: float,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """:func:`_native_batch_norm_legit` in training, and what its gradient reserves: nothing."""
    made = _native_batch_norm_legit(
        input, weight, bias, running_mean, running_var, True, momentum, eps
    )
    tape.named(made[0], "BatchNormWithUpdateBackward0")
    return *made, input.new_empty((0,), dtype=dtypes.uint8)


def max_pool2d_with_indices_backward(
    grad_output: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
    ceil_mode: bool, indices: Any,
) -> Any:  # fmt: skip
    """``grad_output`` added at ``indices``, the places of the maxima, of zeros like ``self``."""
    if grad_output.aval.shape != indices.aval.shape:
        raise RuntimeError(
            f"Expected a gradient of the shape of the indices, {list(indices.aval.shape)}, but "
            f"got {list(grad_output.aval.shape)}"
        )
    refuse_kinds("max_pool2d_backward", grad_output.aval, "bool whole complex")
    shape = self.aval.shape
    if tape.requires_grad(self) and state.grad_enabled:  # as in torch: differentiable, slope 0
        still = constant(False)
        made = max_pool2d_with_indices_backward(
            grad_output, self.detach(), kernel_size, stride, padding, dilation, ceil_mode, indices
        )
        return where(still, self, made)
    if len(shape) == 4:
        return pool.max_pool_gradient(grad_output, indices, shape=shape)
    made = pool.max_pool_gradient(
        movement.unsqueeze(grad_output, axis=0), movement.unsqueeze(indices, axis=0),
        shape=(1, *shape),
    )  # fmt: skip
    return movement.squeeze(made, axes=(0,))


# --- places behind a mask -----------------------------------------------------------------------


def _safe_places(x: Any, mask: Any, indices: Any) -> list[Any]:
    """The indices, 0 where the mask is false, so that each is within ``x``."""
    return [
        None if index is None else FUNCTIONS["where"](mask, index, 0).clamp(0, n - 1)
        for index, n in zip(indices, x.aval.shape, strict=False)
    ]


def _unsafe_masked_index(self: Any, mask: Any, indices: Any, fill: Any) -> Any:
    """``self[indices]`` where ``mask``, else ``fill``; other indices may lie outside."""
    found = self[tuple(_safe_places(self, mask, indices))]
    return tape.named(found.masked_fill(~mask, fill), "UnsafeMaskedIndexBackward0")


def _unsafe_masked_index_put_accumulate(self: Any, mask: Any, indices: Any, values: Any) -> Any:
    """``self`` with the ``values`` where ``mask`` added at ``indices``."""
    places = _safe_places(self, mask, indices)
    made = self.index_put(places, where(mask, values, constant(False)), accumulate=True)
    return tape.named(made, "UnsafeMaskedIndexPutAccumulateBackward0")


# --- joining ------------------------------------------------------------------------------------


def _check_chunks(tensors: Any, dim: int, num_chunks: int) -> None:
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if num_chunks <= 0:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    first = tensors[0].aval
    for each in (x.aval for x in tensors):
        if not each.size:
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        if each.dtype is not first.dtype:
            raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
        if each.ndim != first.ndim and dim < 0:
            raise RuntimeError(
                "_chunk_cat expects non-negative dim when input tensors have different ndims"
            )
        if each.ndim != first.ndim and dim >= each.ndim:
            raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
    axis = normalize_axis(dim, first.ndim)
    if any(x.aval.shape[:axis] != first.shape[:axis] for x in tensors):
        raise RuntimeError(
            "_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors"
        )


@module_function(out=True)
def _chunk_cat(tensors: Any, dim: int, num_chunks: int) -> Any:
    """Each tensor filled up with zeros along ``dim`` and cut into ``num_chunks``, these as rows of
    ``(*shape[:dim], num_chunks, -1)``; all joined along the last axis."""
    _check_chunks(tensors, dim, num_chunks)
    axis = normalize_axis(dim, tensors[0].aval.ndim)
    parts = []
    for x in tensors:
        n = x.aval.shape[axis]
        missing = -n % num_chunks
        padding = tuple((0, missing if i == axis else 0) for i in range(x.aval.ndim))
        whole = movement.pad(x, constant(0), padding=padding) if missing else x
        rest = math.prod(x.aval.shape[axis + 1 :]) * (n + missing) // num_chunks
        parts.append(movement.reshape(whole, (*x.aval.shape[:axis], num_chunks, rest)))
    return movement.cat(*parts, axis=axis + 1)


# --- resizing -----------------------------------------------------------------------------------


def _smooth(mode: str) -> Any:
    def body(
        input: Any, output_size: Any = None, align_corners: bool = False,  # noqa: A002
        scale_factors: Any = None, *, scales_h: float | None = None, scales_w: float | None = None,
    ) -> Any:  # fmt: skip
        new = output_size_of(input.aval.shape[2:], output_size, scale_factors)
        scales = tuple(scale_factors) if scale_factors is not None else (scales_h, scales_w)
        return resize_smoothly(input, (new[0], new[1]), scales, mode, bool(align_corners))

    body.__name__ = body.__qualname__ = f"_upsample_{mode}2d_aa"
    body.__doc__ = f"``input`` resized by the {mode} filter, smoothed where it shrinks."
    return body


_upsample_bilinear2d_aa = _smooth("bilinear")
_upsample_bicubic2d_aa = _smooth("bicubic")


def convolution_backward(
    grad_output: Any, input: Any, weight: Any, bias_sizes: Any, stride: Any, padding: Any,  # noqa: A002
    dilation: Any, transposed: bool, output_padding: Any, groups: int, output_mask: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The gradients of a convolution for input, weight and bias, None where the mask has False."""
    bias = None if bias_sizes is None else weight.new_zeros(bias_sizes)
    recorded = state.grad_enabled and any(
        x.requires_grad for x in (grad_output, input, weight)
    )
    leaves: Any = [
        x if x is None or (recorded and x.requires_grad) else x.detach()
        for x in (input, weight, bias)
    ]
    with autograd.enable_grad():
        chosen = [
            x if x.requires_grad else x.requires_grad_()
            for x, need in zip(leaves, output_mask, strict=True) if need and x is not None
        ]  # fmt: skip
        found = convolution(
            leaves[0], leaves[1], leaves[2], stride, padding, dilation, transposed, output_padding,
            groups,
        )  # fmt: skip
    every = autograd.grad(found, chosen, grad_output, create_graph=recorded)
    gradients = iter([tape.named(x, "ConvolutionBackwardBackward0") for x in every])
    return tuple(  # type: ignore[return-value]
        next(gradients) if need and x is not None else None
        for x, need in zip(leaves, output_mask, strict=True)
    )


# --- what methods and indexing are made of ------------------------------------------------------


def _to_copy(
    self: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool | None = None, non_blocking: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    """``self.to(...)`` that copies also where nothing changes; a pinned copy is an ordinary one."""
    if layout is not None and layout != self.layout:
        raise NotImplementedError(f"_to_copy(layout={layout}) of a tensor that is {self.layout}")
    chosen = {} if memory_format is None else {"memory_format": memory_format}
    return self.to(
        device=self.device if device is None else device,
        dtype=self.dtype if dtype is None else dtype,
        non_blocking=non_blocking, copy=True, **chosen,
    )  # fmt: skip


def _pin_memory(self: Any, device: Any = None) -> Any:
    """``self.pin_memory()``."""
    return self.pin_memory() if device is None else self.pin_memory(device)


def alias(self: Any) -> Any:
    """A view of all of ``self``."""
    return self.view_as(self)


def index(self: Any, indices: Any) -> Any:
    """``self[indices]``; None stands for all of an axis."""
    return self[tuple(slice(None) if each is None else each for each in indices)]


def sym_size(self: Any, dim: int) -> int:
    """``self.size(dim)``."""
    length: int = self.size(dim)
    return length


def _local_scalar_dense(self: Any) -> Any:
    """``self.item()``."""
    return self.item()


def _sparse_addmm(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * self + alpha * mat1 @ mat2``, of a sparse ``mat1``."""
    return sparse_addmm(self, mat1, mat2, beta=beta, alpha=alpha)
