"""Making quantised tensors: from numbers, from levels, and without contents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.dtypes import DType
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from .._api.arguments import as_shape, normalize_axis
from .._api.warn_caller import warn_caller_once
from .._tensor.rebuild import tensor_from_storage
from ..functions.quantization_parameters import choose_parameters
from . import _dispatch
from ._quantizer import STORED, PerChannel, PerTensor, limits_of
from ._tensor import QuantizedTensor, missing

__all__ = [
    "quantize_per_channel", "quantize_per_tensor", "quantize_per_tensor_dynamic",
    "range_parameters",
]  # fmt: skip


def _require_float(x: Any) -> None:
    if isinstance(x, QuantizedTensor):
        missing("quantize_per_tensor")
    if x.aval.dtype is not dtypes.float32:
        name = dtypes.scalar_type_name(x.aval.dtype)
        raise RuntimeError(f"Quantize only works on Float Tensor, got {name}")


def _check_zero_points(name: str, lowest: int, highest: int, dtype: DType) -> None:
    low, high = limits_of(dtype)
    for value, side in ((lowest, "below lower"), (highest, "above upper")):
        if (value < low) if side[0] == "b" else (value > high):
            raise RuntimeError(f"{name} zero_point {value} is {side} bound.")


def warn_of_removal() -> None:
    """Say once, as torch does, that quantised tensors will go."""
    warn_caller_once(
        "torch.quantize_per_tensor, torch.quantize_per_channel and other quantized tensor creation "
        "functions that produce tensors with dtype torch.quint8, torch.qint8, and torch.qint32 are "
        "deprecated and will be removed in a future PyTorch release."
    )


def quantize_per_tensor(
    input: Any, scale: Any, zero_point: Any, dtype: DType  # noqa: A002
) -> Any:
    """The levels ``clamp(round(input / scale) + zero_point)`` and what they mean.

    Args:
        input: of float32; or a sequence of tensors with a scale and a zero point for each.
        scale, zero_point: numbers, or tensors of one element.
        dtype: torch.quint8, torch.qint8 or torch.qint32.

    Raises:
        RuntimeError: another element type, or a zero point that is no level.
    """
    warn_of_removal()
    if isinstance(input, Sequence):
        pairs = zip(input, scale.unbind(), zero_point.unbind(), strict=True)
        return tuple([quantize_per_tensor(x, s, z, dtype) for x, s, z in pairs])
    _require_float(input)
    limits_of(dtype)
    scale = scale.item() if isinstance(scale, EngineTensor) else float(scale)
    zero = int(zero_point)
    _check_zero_points("quantize_tensor_per_tensor_affine", zero, zero, dtype)
    own = PerTensor(scale, zero)
    return QuantizedTensor(own.levels(_dispatch.plain(input), dtype), own, dtype)


def quantize_per_channel(
    input: Any, scales: Any, zero_points: Any, axis: int, dtype: DType  # noqa: A002
) -> QuantizedTensor:
    """As :func:`quantize_per_tensor`, with a scale and a zero point for each index of an axis.

    Args:
        input: of float32.
        scales, zero_points: one-dimensional, as long as the axis.
        axis: counted from the front.
        dtype: torch.quint8, torch.qint8 or torch.qint32.

    Raises:
        RuntimeError: lengths or types that do not fit, or a zero point that is no level.
    """
    warn_of_removal()
    _require_float(input)
    limits_of(dtype)
    if scales.aval.ndim != 1:
        raise RuntimeError("scale tensor must have dimension 1")
    if scales.aval.size != zero_points.aval.size:
        raise RuntimeError("number of elements in scales and zero_points must match")
    own = PerChannel(scales, zero_points, axis)
    own.fits(input.aval.shape)
    if own.whole and own.zero_points.aval.size:
        zeros = own.zero_points.array()
        _check_zero_points(
            "quantize_tensor_per_channel_affine", int(zeros.min()), int(zeros.max()), dtype
        )
    return QuantizedTensor(own.levels(_dispatch.plain(input), dtype), own, dtype)


def quantize_per_tensor_dynamic(
    input: Any, dtype: DType, reduce_range: bool  # noqa: A002
) -> QuantizedTensor:
    """:func:`quantize_per_tensor` with the scale and zero point that the elements' range asks for.

    Args:
        input: of float32.
        dtype: torch.quint8 or torch.qint8.
        reduce_range: use half of the levels.

    Raises:
        RuntimeError: another type.
    """
    if dtype not in (dtypes.qint8, dtypes.quint8):
        raise RuntimeError(
            "dtype should be torch.quint8 or torch.qint8 for quantize_per_tensor_dynamic"
        ) if dtype in dtypes.ALL else RuntimeError(
            f"dtype {dtypes.scalar_type_name(dtype)} not supported"
        )
    _require_float(input)
    scale, zero = range_parameters(input, limits_of(dtype), reduce_range)
    return quantize_per_tensor(input, scale, zero, dtype)


def range_parameters(
    x: Any, levels: tuple[int, int], reduce_range: bool
) -> tuple[float, int]:
    """:func:`choose_parameters` for the least and the greatest element of a tensor."""
    if not x.aval.size:
        return choose_parameters(0.0, 0.0, *levels, reduce_range=reduce_range)
    ends = x.detach().aminmax()
    low, high = ends.min.item(), ends.max.item()
    return choose_parameters(low, high, *levels, reduce_range=reduce_range)


def _empty_affine_quantized(
    *size: Any, scale: float = 1.0, zero_point: int = 0, dtype: DType | None = None,
    device: Any = None, memory_format: Any = None, **options: Any,
) -> QuantizedTensor:  # fmt: skip
    """Uninitialised levels with one scale.

    Args:
        size: the shape.
        scale, zero_point: what levels mean.
        dtype: torch.quint8, torch.qint8 or torch.qint32.
        device, memory_format: of the levels.
        options: further ones of new tensors.
    """
    kind = dtypes.quint8 if dtype is None else dtype
    limits_of(kind)
    levels = _dispatch.torch.empty(
        as_shape(size, "_empty_affine_quantized"), dtype=STORED[kind], device=device
    )
    return QuantizedTensor(levels, PerTensor(scale, zero_point), kind)


def _empty_per_channel_affine_quantized(
    *size: Any, scales: Any, zero_points: Any, axis: int, dtype: DType | None = None,
    device: Any = None, memory_format: Any = None, **options: Any,
) -> QuantizedTensor:  # fmt: skip
    """Uninitialised levels with a scale for each index of an axis.

    Args:
        size: the shape.
        scales, zero_points, axis: what levels mean.
        dtype: torch.quint8, torch.qint8 or torch.qint32.
        device, memory_format: of the levels.
        options: further ones of new tensors.
    """
    kind = dtypes.quint8 if dtype is None else dtype
    limits_of(kind)
    shape = as_shape(size, "_empty_per_channel_affine_quantized")
    levels = _dispatch.torch.empty(shape, dtype=STORED[kind], device=device)
    return QuantizedTensor(levels, PerChannel(scales, zero_points, axis), kind)


_KIND_OF = {stored: kind for kind, stored in STORED.items()}


def _kind_of(levels: Any) -> DType:
    kind = _KIND_OF.get(levels.aval.dtype)
    if kind is None:
        name = dtypes.scalar_type_name(levels.aval.dtype)
        raise RuntimeError(f"ScalarType {name} is not supported in toQIntType.")
    return kind


def _make_per_tensor_quantized_tensor(
    input: Any, scale: Any, zero_point: Any  # noqa: A002
) -> QuantizedTensor:
    """Levels that are there, with one scale.

    Args:
        input: of int8, uint8 or int32; it is copied.
        scale, zero_point: what levels mean.
    """
    own = PerTensor(float(scale), int(zero_point))
    return QuantizedTensor(input.detach().clone(), own, _kind_of(input))


def _make_per_channel_quantized_tensor(
    input: Any, scale: Any, zero_point: Any, axis: int  # noqa: A002
) -> QuantizedTensor:
    """Levels that are there, with a scale for each index of an axis.

    Args:
        input: of int8, uint8 or int32; it is copied.
        scale, zero_point: one-dimensional.
        axis: which.
    """
    own = PerChannel(scale, zero_point, normalize_axis(axis, input.aval.ndim))
    return QuantizedTensor(input.detach().clone(), own, _kind_of(input))


def of_storage(
    storage: Any, offset: int, size: Any, stride: Any, parameters: Any
) -> QuantizedTensor:
    """A tensor from what a file holds: memory of levels, and the scheme with its numbers.

    Raises:
        TypeError: the storage is of another type.
        ValueError: they do not fit together.
    """
    dtype = getattr(storage, "dtype", None)
    if dtype not in STORED:
        raise TypeError(f"expected a storage of quantized elements, got {dtype}")
    held = storage._untyped_storage._storage
    return _with_parameters(
        tensor_from_storage(held, STORED[dtype], offset, size, stride), parameters, dtype
    )


def _with_parameters(levels: Any, parameters: Any, dtype: DType) -> QuantizedTensor:
    kind, *numbers = parameters
    if repr(kind) == "torch.per_tensor_affine":
        scale, zero = numbers
        return QuantizedTensor(levels, PerTensor(scale, zero), dtype)
    if repr(kind) not in ("torch.per_channel_affine", "torch.per_channel_affine_float_qparams"):
        raise RuntimeError(f"Can't deserialize quantized tensor with qscheme {kind}")
    scales, zeros, axis = numbers
    if isinstance(scales, list):
        whole = repr(kind) == "torch.per_channel_affine"
        scales = from_array(np.array(scales, np.float64 if whole else np.float32))
        zeros = from_array(np.array(zeros, np.int64 if whole else np.float32))
    shape = levels.aval.shape
    if not isinstance(axis, int) or not 0 <= axis < len(shape):
        raise ValueError(
            f"_rebuild_qtensor: per_channel axis {axis} out of range for size {tuple(shape)}"
        )
    if (scales.aval.shape, zeros.aval.shape) != ((shape[axis],),) * 2:
        raise ValueError(
            "_rebuild_qtensor: per_channel scales/zero_points length must equal "
            f"size[axis]={shape[axis]}, got scales={scales.aval.size}, "
            f"zero_points={zeros.aval.size}"
        )
    return QuantizedTensor(levels, PerChannel(scales, zeros, axis), dtype)
