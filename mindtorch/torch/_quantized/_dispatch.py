"""What quantised tensors have of torch's functions."""

from __future__ import annotations

from typing import Any

import numpy as np

import mindtorch.torch.nn.functional  # noqa: F401  # declares the functions that F has
from mindtorch.engine import dtypes
from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._api.warn_caller import warn_caller_once
from .._tensor.tensor import Tensor
from .._tensor.tensor_classes import by_its_method, implements, refuse_the_rest, torch
from .._tensor.tensor_classes import functional as F  # noqa: N812
from ._quantizer import LIMITS, PerTensor
from ._tensor import QuantizedTensor, missing, require_per_tensor

__all__ = ["plain", "torch"]


def plain(x: Any) -> Any:
    """A tensor without history."""
    return x.detach()


def _alike(x: Any, found: Any) -> Any:
    """Levels, or several tensors of them, as tensors like ``x``."""
    if isinstance(found, (tuple, list)):
        return type(found)([x.like(part) for part in found])
    return x.like(found)


# --- those that move levels -----------------------------------------------------------------------


@implements(
    QuantizedTensor,
    torch.permute, torch.transpose, torch.swapaxes, torch.movedim, torch.t, torch.unsqueeze,
    torch.squeeze, torch.select, torch.narrow, torch.chunk, torch.split, torch.unbind, torch.flip,
    torch.index_select, torch.as_strided, torch.unflatten, torch.adjoint, Tensor.expand,
    Tensor.unfold, Tensor.repeat, Tensor.expand_as,
)  # fmt: skip
def _moved(function: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    require_per_tensor(input, function.__name__)
    return _alike(input, _of_levels(function, input, args, kwargs))


def _of_levels(function: Any, x: Any, args: Any, kwargs: Any) -> Any:
    """By the method, which takes sizes one by one, too."""
    others = [a.levels if isinstance(a, QuantizedTensor) else a for a in args]
    return getattr(x.levels, function.__name__)(*others, **kwargs)


@implements(
    QuantizedTensor, torch.reshape, torch.flatten, Tensor.view, Tensor.view_as, Tensor.reshape_as,
    Tensor.contiguous,
)  # fmt: skip
def _seen_otherwise(function: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    """Also of several scales, where the axis keeps its length."""
    found = _of_levels(function, input, args, kwargs)
    return input if found is input.levels else input.like(found)


@implements(
    QuantizedTensor, F.max_pool1d, F.max_pool2d, F.channel_shuffle, F.pixel_shuffle,
    F.pixel_unshuffle,
)  # fmt: skip
def _by_levels(function: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    """What is computed of levels as it is of numbers, since both have one order."""
    require_per_tensor(input, function.__name__)
    levels = input.levels
    if input.aval.dtype is dtypes.qint32:
        missing(function.__name__)
    found = function(movement.cast(levels, dtype=dtypes.float32), *args, **kwargs)
    return input.like(movement.cast(found, dtype=levels.aval.dtype))


@implements(QuantizedTensor, torch.cat, torch.stack)
def _joined(function: Any, tensors: Any, dim: int = 0) -> Any:
    """On the levels of the first."""
    for x in tensors:
        if not isinstance(x, QuantizedTensor):
            missing(function.__name__)
        if not isinstance(x.quantizer, PerTensor):
            raise RuntimeError("Only per-tensor quantization is supported in 'cat'!")
    first = tensors[0]
    if all(x.quantizer == first.quantizer and x.aval.dtype is first.aval.dtype for x in tensors):
        return first.like(function([x.levels for x in tensors], dim))
    warn_caller_once(
        "All inputs of this cat operator must share the same quantization parameters. Otherwise "
        "large numerical inaccuracies may occur."
    )
    return first.requantized(function([x.dequantize() for x in tensors], dim))


# --- those of numbers whose result is on the same levels ------------------------------------------


@implements(
    QuantizedTensor,
    torch.relu, torch.clamp, torch.mean, torch.std, F.relu6, F.hardtanh, F.leaky_relu, F.threshold,
    F.gelu, F.interpolate, F.avg_pool2d, F.avg_pool3d, F.adaptive_avg_pool2d,
    F.adaptive_avg_pool3d, F.pad, torch.masked_fill,
)  # fmt: skip
def _of_numbers(function: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    if not isinstance(input, QuantizedTensor):
        return NotImplemented
    require_per_tensor(input, function.__name__)
    if kwargs.pop("inplace", False):
        input.levels.copy_(_of_numbers(function, input, *args, **kwargs).levels)
        return input
    return input.requantized(function(input.dequantize(), *args, **kwargs))


@implements(QuantizedTensor, F.relu)
def _relu(function: Any, input: Any, inplace: bool = False) -> Any:  # noqa: A002
    return input.relu_() if inplace else _of_numbers(torch.relu, input)


@implements(QuantizedTensor, Tensor.relu_, Tensor.clamp_, Tensor.masked_fill_)
def _in_place(function: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    name = function.__name__.removesuffix("_")
    self.levels.copy_(_of_numbers(getattr(torch, name), self, *args, **kwargs).levels)
    return self


_FIXED = {"sigmoid": (1 / 256, 0), "hardsigmoid": (1 / 256, 0), "tanh": (2 / 256, 128)}


@implements(QuantizedTensor, torch.sigmoid, torch.tanh, F.sigmoid, F.tanh, F.hardsigmoid)
def _of_known_range(
    function: Any, input: Any, inplace: bool = False  # noqa: A002
) -> QuantizedTensor:
    """On the levels that the function's range asks for."""
    require_per_tensor(input, function.__name__)
    if inplace:
        missing(f"{function.__name__}_")
    scale, zero = _FIXED[function.__name__]
    if input.aval.dtype is dtypes.qint8:
        zero -= 128
    if input.aval.dtype is dtypes.qint32:
        scale = scale / 2**24
        zero = 0
    own = PerTensor(scale, zero)
    numbers = function(input.dequantize())
    return QuantizedTensor(own.levels(numbers, input.aval.dtype), own, input.aval.dtype)


@implements(QuantizedTensor, torch.max, torch.min)
def _extreme(function: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    require_per_tensor(input, function.__name__)
    found = function(input.levels, *args, **kwargs)
    if isinstance(found, EngineTensor):
        return input.like(found)
    return type(found)((input.like(found[0]), found[1]))


@implements(QuantizedTensor, torch.sort, torch.topk)
def _sorted(function: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    return _extreme(function, input, *args, **kwargs)


# --- those that give plain tensors ----------------------------------------------------------------


@implements(QuantizedTensor, torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge)
def _compared(function: Any, input: Any, other: Any) -> Any:  # noqa: A002
    return function(_numbers(input), _numbers(other))


def _numbers(x: Any) -> Any:
    return x.dequantize() if isinstance(x, QuantizedTensor) else x


def _comparison(function: Any) -> Any:
    return lambda self, other: _compared(function, self, other)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(QuantizedTensor, f"__{_name}__", _comparison(getattr(torch, _name)))


@implements(QuantizedTensor, torch.equal)
def _equal(function: Any, input: Any, other: Any) -> bool:  # noqa: A002
    if not (isinstance(input, QuantizedTensor) and isinstance(other, QuantizedTensor)):
        return False
    return (
        input.aval.dtype is other.aval.dtype and input.quantizer == other.quantizer
        and bool(function(input.levels, other.levels))
    )  # fmt: skip


@implements(QuantizedTensor, torch.dequantize)
def _dequantized(function: Any, input: Any) -> Any:  # noqa: A002
    if isinstance(input, (list, tuple)):
        return tuple([x.dequantize() for x in input])
    return input.dequantize()


@implements(QuantizedTensor, torch.empty_like)
def _empty_like(
    function: Any, input: Any, *, dtype: Any = None, **options: Any  # noqa: A002
) -> Any:
    if dtype not in (None, input.aval.dtype):
        return function(input.levels, dtype=dtype, **options)
    return input.like(function(input.levels, **options))


implements(
    QuantizedTensor, torch.clone, torch.int_repr, torch.q_scale, torch.q_zero_point,
    torch.q_per_channel_scales, torch.q_per_channel_zero_points, torch.q_per_channel_axis,
)(by_its_method)  # fmt: skip


def _refused_cast(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")


for _name in (
    "float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool",
):  # fmt: skip
    setattr(QuantizedTensor, _name, _refused_cast)
refuse_the_rest(
    QuantizedTensor, missing, "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__",
    "__truediv__", "__rtruediv__", "__matmul__", "__rmatmul__", "__pow__", "__neg__", "__abs__",
    "__iadd__", "__isub__", "__imul__", "__itruediv__",
)  # fmt: skip


def levels_above(x: QuantizedTensor) -> tuple[Any, int]:
    """Levels as float32 from 0 to 255, and the one that stands for 0 among them."""
    own = require_per_tensor(x, "op")
    low, _ = LIMITS[x.aval.dtype]
    if x.aval.dtype is dtypes.qint32:
        raise RuntimeError("expected scalar type QUInt8 but found QInt32")
    whole = movement.cast(x.levels, dtype=dtypes.float32)
    return (whole - np.float32(low).item() if low else whole), own.zero_point - low
