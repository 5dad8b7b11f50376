"""The names torch gives to nodes where it has several for what is one op here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any


def _over_axes(avals: Any, params: Any) -> int:
    """torch has one node for all elements and another for some axes."""
    return int(len(params["axis"]) < len(avals[0].shape))


def _power(avals: Any, params: Any) -> int:
    base, exponent = avals
    return 2 if base.weak and not base.shape else 0 if exponent.weak and not exponent.shape else 1


def _product(avals: Any) -> str:
    return "BmmBackward0" if len(avals[0].shape) == 3 == len(avals[1].shape) else "MmBackward0"


def _linear(avals: Any) -> str:
    if len(avals[0].shape) == 2:
        return "MmBackward0" if avals[2] is None else "AddmmBackward0"
    return "UnsafeViewBackward0" if avals[2] is None else "ViewBackward0"


def _pooled(kind: str) -> Callable[[Any], str]:
    return lambda avals: f"{kind.format(len(avals[0].shape) - 2)}Backward0"


def _resized(avals: Any, params: Any) -> str:
    kind = "".join(part.capitalize() for part in params["mode"].split("-"))
    return f"Upsample{kind}{len(avals[0].shape) - 2}DBackward0"


def _cross_entropy(avals: Any, params: Any) -> str:
    if params.get("smoothing"):
        return "AddBackward0"
    return "NllLoss2DBackward0" if len(avals[0].shape) > 2 else "NllLossBackward0"


_BY_PARAMS: dict[str, Callable[[Any, Any], str]] = {
    "resize": _resized,
    "cross_entropy_loss": _cross_entropy,
}
_BY_INPUTS: dict[str, Callable[[Any], str]] = {
    "linear": _linear,
    "matmul": _product,
    "max_pool": _pooled("MaxPool{}DWithIndices"),
    "avg_pool": _pooled("AvgPool{}D"),
    "adaptive_avg_pool": _pooled("AdaptiveAvgPool{}D"),
    "adaptive_max_pool": _pooled("AdaptiveMaxPool{}D"),
    "grid_sample": _pooled("GridSampler{}D"),
    "scaled_dot_product_attention": lambda avals: "ScaledDotProductFlashAttentionForCpuBackward0",
    "_fft_r2c": lambda avals: "FftR2CBackward0",
}
_NUMBERS: dict[str, Callable[[Any, Any], int]] = {
    "sum": _over_axes,
    "mean": _over_axes,
    "prod": _over_axes,
    "power": _power,
}


def name_of(op: Any, avals: Any, params: Any) -> str:
    """The name of the node of ``op``, applied to inputs of these avals."""
    name = str(op.grad_name)
    if op.name == "subtract" and avals[0].weak and not avals[0].shape:
        return "RsubBackward1"
    if op.name == "log1p":
        return "Log1PBackward0"
    if op.name in _BY_INPUTS:
        return _BY_INPUTS[op.name](avals)
    if op.name in _BY_PARAMS:
        return _BY_PARAMS[op.name](avals, params)
    number = _NUMBERS.get(op.name)
    if number is not None:
        name = re.sub(r"\d+$", str(number(avals, params)), name)
    return f"torch::autograd::{name}" if name.startswith("Copy") else name
