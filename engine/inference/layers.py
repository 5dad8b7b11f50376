"""What steps can compute: products, convolutions, pooling, sums, and limits on these."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mindtorch.kernels.cpu.inference import inference_packing as packing

from .. import dtypes
from ..op import OPS

__all__ = [
    "Layer", "function_of", "is_border", "is_limit", "is_product", "layer_of", "limits_of", "suits",
    "winograd_tile",
]  # fmt: skip

Arrays = Mapping[int, np.ndarray]
INFINITE = float("inf")
_RULES: dict[str, Any] = {}
_LIMITS: dict[str, Any] = {}


def _by_name(table: dict[str, Any], *ops: str) -> Any:
    """Enter a function for ops of these names."""

    def entered(function: Any) -> Any:
        table.update(dict.fromkeys(ops, function))
        return function

    return entered


@_by_name(_LIMITS, "relu")
def _from_zero() -> Any:
    return 0.0, None


@_by_name(_LIMITS, "clamp", "hardtanh")
def _between(low: Any, high: Any) -> Any:
    return low, high


@_by_name(_LIMITS, "clamp_min")
def _from(low: Any) -> Any:
    return low, None


@_by_name(_LIMITS, "clamp_max")
def _up_to(high: Any) -> Any:
    return None, high


def is_limit(op: str) -> bool:
    """Whether an op keeps numbers between two others."""
    return op in _LIMITS


def is_product(op: str) -> bool:
    """Whether an op is a product or a convolution."""
    return _RULES.get(op) is _suits_product


def is_border(op: str) -> bool:
    """Whether an op puts something around an image, which the convolution behind it must do."""
    return _RULES.get(op) is _suits_border


def limits_of(op: str, others: Sequence[int | None], params: Any, arrays: Arrays) -> Any:
    """The least and greatest result of an op that keeps numbers between two; None for others."""
    if not is_limit(op) or params:
        return None
    numbers = []
    for place in others:
        held = None if place is None else arrays.get(place)
        if place is not None and (held is None or held.size != 1):
            return None
        numbers.append(None if held is None else float(np.float32(held.reshape(-1)[0])))
    if any(n is not None and n != n for n in numbers):
        return None
    low, high = _LIMITS[op](*numbers)
    return (-INFINITE if low is None else low, INFINITE if high is None else high)


def function_of(op: str, others: Any, params: Any, made: Any) -> str:
    """The scalar function of an op of one value; "" for other ops."""
    known = OPS.get(op)
    if known is None or others or params or is_limit(op) or known.input_names != ("x",):
        return ""
    step = known.scalar_step(made, (made,))
    return str(step[0]) if step is not None and step[2] == np.float32 else ""


@dataclass
class Layer:
    """A convolution or a product, in one form.

    Attributes:
        weight: ``[channel, given channel, rows, columns]``, float32 or int8.
        bias, factor, start: of each channel; the last two of quantised layers.
        quantization: (scale, zero point) of the input; None for floats.
        each: whether a channel sees its own input channel only.
        limits: the least and the greatest result.
        function: that is applied to the result, if any.
    """

    weight: np.ndarray
    bias: np.ndarray
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    factor: np.ndarray | None = None
    start: np.ndarray | None = None
    quantization: tuple[float, int] | None = None
    each: bool = False
    limits: tuple[float, float] = (-INFINITE, INFINITE)
    function: str = ""

    @property
    def window(self) -> tuple[int, int]:
        return self.weight.shape[2], self.weight.shape[3]


def layer_of(
    node: Any, image: tuple[int, int, int], arrays: Arrays, described: Any = None
) -> Layer:
    """The layer of a node whose input has these channels, rows and columns.

    Args:
        described: the result, where a function that follows is asked for.
    """
    channels, height, width = image
    weight = arrays[node.inputs[1] or 0]
    if node.op.startswith("quantized"):
        made = _quantized(node, weight, image, arrays)
    else:
        bias = np.zeros(weight.shape[0], np.float32)
        if node.inputs[2] is not None:
            bias = arrays[node.inputs[2]]
        if node.op == "linear":
            made = Layer(weight.reshape(-1, channels, height, width), bias)
        else:
            p = node.params
            made = Layer(weight, bias, p["stride"], p["padding"], p["dilation"])
            made.each = p["groups"] > 1
    for step in node.then:
        others = step.inputs[1:], step.params
        limits = limits_of(step.op, *others, arrays)
        if limits is not None:
            made.limits = limits
        elif described is not None:
            made.function = function_of(step.op, *others, described)
    return made


def _quantized(node: Any, rows: np.ndarray, image: Any, arrays: Arrays) -> Layer:
    channels, height, width = image
    scales, offsets, bias = [arrays[i or 0] for i in node.inputs[2:]]
    scale = node.params["scale"]
    quantization = (float(np.float32(scale)), node.params["zero"])
    factor = scales * np.float32(scale)
    if node.op == "quantized_linear":
        count = channels * height * width
        weight = rows[:, :count].reshape(-1, channels, height, width)
        return Layer(weight, bias, factor=factor, start=offsets, quantization=quantization)
    p = node.params
    window, each = p["window"], p.get("groups", 1) > 1
    inner = 1 if each else channels
    count = inner * window[0] * window[1]
    weight = np.moveaxis(rows[:, :count].reshape(-1, *window, inner), -1, 1)
    return Layer(
        weight, bias, p["stride"], p["padding"], p["dilation"], factor, offsets, quantization, each
    )


def _bytes(aval: Any) -> int:
    """Of an image with its channels last, whose tables hold numbers of 32 bits."""
    channels = aval.shape[1] if aval.ndim > 1 else 1
    return aval.size // max(channels, 1) * (channels + 7) // 8 * 8 * 4


def suits(node: Any, avals: Any, arrays: Arrays, uses: Mapping[int, int]) -> bool:
    """Whether steps compute a node.

    Args:
        avals: of all values by their places.
        arrays: constants.
        uses: how often each value is read.
    """
    made = [avals[i] for i in node.outputs if i == node.outputs[0] or uses.get(i)]
    given = [avals[i] for i in node.inputs if i is not None and i not in arrays]
    if len(made) != 1 or not all(a.size for a in (*made, *given)):
        return False
    for a in (*made, *given):
        if a.dtype is not dtypes.float32 or not a.contiguous or a.weak or _bytes(a) >= 1 << 31:
            return False
    for then in node.then:
        others = then.inputs[1:], then.params
        if limits_of(then.op, *others, arrays) is None and not function_of(
            then.op, *others, made[0]
        ):
            return False
    if len(node.then) > 1 or (node.then and not is_product(node.op)):
        return False
    rule = _RULES.get(node.op, _suits_function)
    return bool(given) and bool(rule(node, given, made[0], arrays))


def _suits_function(node: Any, given: Any, made: Any, arrays: Arrays) -> bool:
    function = function_of(node.op, node.inputs[1:], node.params, made)
    return bool(function) and made.ndim in (2, 4) and given[0].shape == made.shape


@_by_name(_RULES, "view")
def _suits_view(node: Any, given: Any, made: Any, arrays: Arrays) -> bool:
    """Of an image, flattened."""
    (x,) = given
    return x.ndim == 4 and made.shape == (x.shape[0], x.size // x.shape[0])


@_by_name(_RULES, "constant_pad_nd")
def _suits_border(node: Any, given: Any, made: Any, arrays: Arrays) -> bool:
    """Zeros around an image; :func:`is_border` says what has to follow."""
    pads, held = node.params["padding"], arrays.get(node.inputs[1])
    if made.ndim != 4 or held is None or np.any(held):
        return False
    return all(min(pair) >= 0 for pair in pads) and not any(n for pair in pads[:-2] for n in pair)


@_by_name(_RULES, "add")
def _suits_sum(node: Any, given: Any, made: Any, arrays: Arrays) -> bool:
    same = len(given) == 2 and given[0].shape == given[1].shape
    return same and not node.params and made.ndim in (2, 4)


@_by_name(_RULES, "multiply")
def _suits_factors(node: Any, given: Any, made: Any, arrays: Arrays) -> bool:
    """Images times a factor for each channel."""
    if len(given) != 2 or made.ndim != 4 or node.params:
        return False
    return sorted(x.shape == made.shape for x in given) == [False, True] and any(
        x.shape == (*made.shape[:2], 1, 1) for x in given
    )


@_by_name(_RULES, "cat")
def _suits_joined(node: Any, given: Any, made: Any, arrays: Arrays) -> bool:
    return made.ndim == 4 and node.params["axis"] == 1 and len(given) == len(node.inputs)


@_by_name(_RULES, "mean")
def _suits_mean_of_axes(node: Any, given: Any, made: Any, arrays: Arrays) -> bool:
    return given[0].ndim == 4 and node.params.get("axis") == (2, 3) and made.size == (
        made.shape[0] * made.shape[1]
    )


@_by_name(_RULES, "relu", "clamp", "hardtanh", "clamp_min", "clamp_max")
def _suits_limit(node: Any, given: Any, made: Any, arrays: Arrays) -> bool:
    limits = limits_of(node.op, node.inputs[1:], node.params, arrays)
    return limits is not None and made.ndim in (2, 4)


@_by_name(_RULES, "max_pool")
def _suits_largest(node: Any, given: Any, made: Any, arrays: Arrays) -> bool:
    return made.ndim == 4 and len(node.params["kernel_size"]) == 2


@_by_name(_RULES, "adaptive_avg_pool")
def _suits_mean(node: Any, given: Any, made: Any, arrays: Arrays) -> bool:
    return made.ndim == 4 and made.shape[2:] == (1, 1)


@_by_name(_RULES, "convolution", "linear", "quantized_convolution", "quantized_linear")
def _suits_product(node: Any, given: Any, made: Any, arrays: Arrays) -> bool:
    """One of those that there are tiles of."""
    if len(given) != 1 or any(i is not None and i not in arrays for i in node.inputs[1:]):
        return False
    x, weight = given[0], arrays[node.inputs[1] or 0]
    if node.op.endswith("linear"):
        return x.ndim == 2
    if x.ndim != 4 or node.params.get("transposed"):
        return False
    window = node.params["window"] if node.op.startswith("quantized") else weight.shape[2:]
    if made.shape[0] * math.prod(made.shape[2:]) * math.prod(window) > _MOST_PLACES:
        return False
    groups = node.params.get("groups", 1)
    return groups == 1 or groups == x.shape[1] == weight.shape[0]


_MOST_PLACES = 1 << 26  # of a convolution's windows that are listed

# in multiplications of one channel with one channel: a weight comes from memory (12 fitted an AMD
# EPYC, 45 an Intel Xeon of the Emerald Rapids); a number is turned
_STREAM, _TURN = 40, 8


def winograd_tile(layer: Layer, x: Any, image: Any) -> int:
    """The results of a tile of Winograd's, 2 or 4 down and across; 0 where it does not pay.

    Args:
        x, image: given and made: ``count``, ``channels``, ``height``, ``width``, ``pixels``.
    """
    plain = (layer.window, layer.stride, layer.dilation) == ((3, 3), (1, 1), (1, 1))
    inner, outer = x.channels, image.channels
    if layer.quantization or layer.each or not plain or max(layer.padding) > 1:
        return 0
    if not packing.suits_winograd(inner, outer):
        return 0
    both = inner * outer
    times = {0: (-(-image.pixels // 8) * 8 * 9 + 9 * _STREAM) * both}
    for made in (2, 4):
        tiles = x.count * -(-image.height // made) * -(-image.width // made)
        places = (made + 2) ** 2
        times[made] = (-(-tiles // 8) * 8 + _STREAM) * places * both + (
            _TURN * tiles * places * (inner + outer)
        )
    return min(times, key=lambda made: times[made])
