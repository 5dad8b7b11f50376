"""Ops on quantised tensors: products and convolutions of 8 bits whose results are float32.

They take ``x`` (float32, quantised on the way by ``scale`` and ``zero``), ``weight`` (int8, a row
for each channel), ``scales``, ``offsets`` (``-zero * sum of the row``) and ``bias``. The dynamic
one finds scale and zero point in ``x``; its offsets are those of a zero point of 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes
from ..aval import Aval, aval
from ..op import Op, find_kernel, layouts
from ..tensor import as_array
from .base import Elementwise
from .convolution import output_length

__all__ = [
    "ROW", "dynamic_quantized_linear", "quantize_levels", "quantized_convolution",
    "quantized_linear",
]  # fmt: skip

ROW = 64  # rows of weights are filled up to multiples of it, with zeros

# clamp(round(x * y + z), w, v), nan being the highest
quantize_levels = Elementwise("quantize_levels", (None,) * 5)


def _check_constants(x: Aval, weight: Aval, others: Any) -> None:
    rows, count = weight.shape if weight.ndim == 2 else (0, 0)
    if x.dtype is not dtypes.float32 or weight.dtype is not dtypes.int8 or not rows:
        raise ValueError("a quantised product takes float32 and rows of int8")
    kinds = (dtypes.float32, dtypes.int32, dtypes.float32)
    for given, kind in zip(others, kinds, strict=True):
        if given is None or given.shape != (rows,) or given.dtype is not kind:
            raise ValueError("a quantised product has a scale, an offset and a bias for each row")
    if not all(a.contiguous for a in (weight, *others)) or count >= 1 << 16:
        raise ValueError("the constants of a quantised product lie in C order")


def _check(x: Aval, weight: Aval, others: Any, scale: Any, zero: Any) -> None:
    _check_constants(x, weight, others)
    if not isinstance(scale, float) or not math.isfinite(scale) or scale <= 0:
        raise ValueError(f"{scale!r} is no scale")
    if type(zero) is not int or not 0 <= zero <= 255:
        raise ValueError(f"{zero!r} is no zero point")


def _linear_aval(
    x: Aval, weight: Aval, scales: Aval, offsets: Aval, bias: Aval, *, scale: float, zero: int
) -> Aval:
    _check(x, weight, (scales, offsets, bias), scale, zero)
    return _product_aval(x, weight)


def _product_aval(x: Aval, weight: Aval) -> Aval:
    if not x.ndim or x.shape[-1] > weight.shape[1]:
        raise ValueError(f"rows of {x.shape[-1:]} do not fit those of {weight.shape[1]}")
    return aval((*x.shape[:-1], weight.shape[0]), x.dtype)


def _dynamic_aval(
    x: Aval, weight: Aval, scales: Aval, offsets: Aval, bias: Aval, *, per_row: bool
) -> Aval:
    _check_constants(x, weight, (scales, offsets, bias))
    if type(per_row) is not bool:
        raise ValueError(f"{per_row!r} is not True or False")
    return _product_aval(x, weight)


def _convolution_aval(
    x: Aval, weight: Aval, scales: Aval, offsets: Aval, bias: Aval, *, scale: float, zero: int,
    window: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1,
) -> Aval:  # fmt: skip
    _check(x, weight, (scales, offsets, bias), scale, zero)
    for pair, least in ((window, 1), (padding, 0), (stride, 1), (dilation, 1)):
        if len(pair) != 2 or any(type(n) is not int or n < least for n in pair):
            raise ValueError(f"{pair!r} is not two lengths")
    if type(groups) is not int or x.ndim != 4 or groups not in (1, weight.shape[0]):
        raise ValueError(f"a quantised convolution has 1 group or {weight.shape[0]}")
    if x.shape[1] % groups or x.shape[1] // groups * window[0] * window[1] > weight.shape[1]:
        raise ValueError("the weight's rows do not fit the image's channels")
    spatial = tuple(
        output_length(*each)
        for each in zip(x.shape[2:], window, stride, padding, dilation, strict=True)
    )
    if min(spatial) < 1:
        raise ValueError("the image is smaller than the window")
    return aval((x.shape[0], weight.shape[0], *spatial), x.dtype)


class _QuantizedOp(Op):
    """One whose kernel makes plans, which take flat arrays."""

    def bind(self, avals: Any, in_avals: Any, params: dict[str, Any]) -> Callable[..., Any]:
        x = in_avals[0]
        given = in_avals if x.contiguous else (aval(x.shape, x.dtype), *in_avals[1:])
        made: Callable[..., Any] = find_kernel(self, "cpu")(
            layouts(avals), layouts(given), **params
        )
        return made if x.contiguous else _of_view(made, x)


def _of_view(run: Callable[..., Any], x: Aval) -> Callable[..., Any]:
    """A plan whose first operand lies in another order."""

    def run_of_view(out: Any, flat: Any, *constants: Any) -> None:
        run(out, np.ascontiguousarray(as_array(flat, x)).reshape(-1), *constants)

    return run_of_view


# x @ weight^T + bias
quantized_linear = _QuantizedOp("quantized_linear", _linear_aval, "quantized.linear")

# the same; the numbers of each row of x, or all of them, have the smallest scale that reaches them
dynamic_quantized_linear = _QuantizedOp(
    "dynamic_quantized_linear", _dynamic_aval, "quantized.dynamic_linear"
)

# over two axes, of one group or one for each channel; ``window`` is the kernel's height and width
quantized_convolution = _QuantizedOp(
    "quantized_convolution", _convolution_aval, "quantized.convolution"
)
