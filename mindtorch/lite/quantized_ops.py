"""Ops on quantised tensors: products and convolutions of 8 bits whose results are float32.

Both take ``x`` (float32, quantised on the way by ``scale`` and ``zero``), ``weight`` (int8, a row
for each channel), ``scales``, ``offsets`` (``-zero * sum of the row``) and ``bias``.
"""

from __future__ import annotations

import math
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.aval import Aval, aval
from mindtorch.engine.compile.ir.ir import GraphOp
from mindtorch.engine.op import Plan, find_kernel, layouts
from mindtorch.engine.ops.convolution import output_length

__all__ = ["QUANTIZED_OPS", "ROW"]

ROW = 64  # rows of weights are filled up to multiples of it, with zeros


def _check(x: Aval, weight: Aval, others: Any, scale: Any, zero: Any) -> None:
    rows, count = weight.shape if weight.ndim == 2 else (0, 0)
    if x.dtype is not dtypes.float32 or weight.dtype is not dtypes.int8 or not rows:
        raise ValueError("a quantised product takes float32 and rows of int8")
    kinds = (dtypes.float32, dtypes.int32, dtypes.float32)
    for given, kind in zip(others, kinds, strict=True):
        if given is None or given.shape != (rows,) or given.dtype is not kind:
            raise ValueError("a quantised product has a scale, an offset and a bias for each row")
    if not all(a.contiguous for a in (x, weight, *others)) or count >= 1 << 16:
        raise ValueError("the operands of a quantised product lie in C order")
    if not isinstance(scale, float) or not math.isfinite(scale) or scale <= 0:
        raise ValueError(f"{scale!r} is no scale")
    if type(zero) is not int or not 0 <= zero <= 255:
        raise ValueError(f"{zero!r} is no zero point")


class _QuantizedOp(GraphOp):
    """One of them."""

    def aval(self, *inputs: Any, **params: Any) -> Aval:
        raise NotImplementedError

    def plan_for(self, inputs: Any, params: dict[str, Any]) -> Plan:
        avals = [v.aval for v in inputs]
        made = self.aval(*avals, **params)
        make = find_kernel(self, "cpu")  # type: ignore[arg-type]
        return self.plan(inputs, (made,), make(layouts((made,)), layouts(avals), **params))


class QuantizedLinear(_QuantizedOp):
    """``x @ weight^T + bias``."""

    name = "quantized_linear"
    kernel = "quantized.linear"

    def aval(self, *inputs: Any, **params: Any) -> Aval:
        x, weight, *others = inputs
        _check(x, weight, others, params["scale"], params["zero"])
        if not x.ndim or x.shape[-1] > weight.shape[1]:
            raise ValueError(f"rows of {x.shape[-1:]} do not fit those of {weight.shape[1]}")
        return aval((*x.shape[:-1], weight.shape[0]), x.dtype)


class QuantizedConvolution(_QuantizedOp):
    """A convolution over two axes; ``window`` is the kernel's height and width.

    There is one group, or one for each channel.
    """

    name = "quantized_convolution"
    kernel = "quantized.convolution"

    def aval(self, *inputs: Any, **params: Any) -> Aval:
        x, weight, *others = inputs
        _check(x, weight, others, params["scale"], params["zero"])
        window, padding = params["window"], params["padding"]
        stride, dilation = params["stride"], params["dilation"]
        for pair, least in ((window, 1), (padding, 0), (stride, 1), (dilation, 1)):
            if len(pair) != 2 or any(type(n) is not int or n < least for n in pair):
                raise ValueError(f"{pair!r} is not two lengths")
        groups = params.get("groups", 1)
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


QUANTIZED_OPS: dict[str, Any] = {
    op.name: op for op in (QuantizedLinear(), QuantizedConvolution())
}
