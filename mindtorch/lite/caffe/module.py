"""What Caffe's layers compute, as a module to be traced."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.torch import nn
from mindtorch.torch.nn import functional

from ..errors import ConvertError
from .schema import layer_type

__all__ = ["CaffeModule"]

_LAYERS: dict[str, Callable[..., Any]] = {}
_IGNORED = ("Accuracy", "Silence", "Input")


def _layer(*types: str) -> Any:
    """Enter a function ``compute(module, layer, *inputs)`` for layers of these types."""

    def enter(compute: Any) -> Any:
        _LAYERS.update(dict.fromkeys(types, compute))
        return compute

    return enter


class _Normalised:
    """The result of a BatchNorm layer, whose scale and shift may be those of the next layer."""

    def __init__(self, x: Any, mean: Any, variance: Any, eps: float) -> None:
        self.parts, self.eps = (x, mean, variance), eps

    def value(self, scale: Any = None, shift: Any = None) -> Any:
        x, mean, variance = self.parts
        return functional.batch_norm(x, mean, variance, scale, shift, False, 0.0, self.eps)


class CaffeModule(nn.Module):
    """The layers that inference runs, with their weights.

    Args:
        layers: of the description, in their order.
        weights: arrays of layers, by their names.
        inputs: the names of what the model takes.

    Attributes:
        outputs: the names of what no layer reads.

    Raises:
        ConvertError: a layer is not known, or its weights are missing.
    """

    def __init__(
        self, layers: list[Any], weights: dict[str, list[np.ndarray]], inputs: list[str]
    ) -> None:
        super().__init__()
        self.layers = [each for each in layers if layer_type(each) not in _IGNORED]
        unknown = sorted({layer_type(each) for each in self.layers} - set(_LAYERS))
        if unknown:
            raise ConvertError(f"layers that are not known: {', '.join(unknown)}")
        self.inputs, self.held = inputs, weights
        for layer in self.layers:
            for number, array in enumerate(weights.get(layer.name, ())):
                self.register_buffer(_name(layer, number), torch.from_numpy(array))
        made: dict[str, None] = dict.fromkeys(inputs)
        for layer in self.layers:
            for name in layer.bottom:
                if name not in made:
                    raise ConvertError(f"layer {layer.name!r} reads {name!r}, which is not there")
            for name in set(layer.bottom) - set(layer.top):
                made.pop(name) if self._last_reader(name) is layer else None
            made.update(dict.fromkeys(layer.top))
        self.outputs = [name for name in made if name not in inputs]

    def _last_reader(self, name: str) -> Any:
        return next((x for x in reversed(self.layers) if name in x.bottom), None)

    def weight(self, layer: Any, number: int) -> Any:
        """A weight of a layer.

        Raises:
            ConvertError: there is none.
        """
        if number >= len(self.held.get(layer.name, ())):
            raise ConvertError(f"layer {layer.name!r} has no weights in the weight file")
        return getattr(self, _name(layer, number))

    def forward(self, *inputs: Any) -> Any:
        known: dict[str, Any] = dict(zip(self.inputs, inputs, strict=True))
        for layer in self.layers:
            kind = layer_type(layer)
            given = [known[name] for name in layer.bottom]
            if kind != "Scale":
                given = [_value(x) for x in given]
            made = _LAYERS[kind](self, layer, *given)
            results = made if isinstance(made, (tuple, list)) else [made] * len(layer.top)
            known.update(zip(layer.top, results, strict=True))
        results = [_value(known[name]) for name in self.outputs]
        return results[0] if len(results) == 1 else tuple(results)


def _value(x: Any) -> Any:
    return x.value() if isinstance(x, _Normalised) else x


def _name(layer: Any, number: int) -> str:
    return f"{layer.name.replace('.', '_')}:{number}"


def _or(message: Any, field: str, default: Any) -> Any:
    """A field, or Caffe's default for it."""
    return getattr(message, field) if message.HasField(field) else default


def _pair(message: Any, name: str, names: tuple[str, str], default: int) -> tuple[int, int]:
    """Height and width of a setting that may be given as one number, two, or by two names."""
    if message.HasField(names[0]) or message.HasField(names[1]):
        return int(_or(message, names[0], default)), int(_or(message, names[1], default))
    held = getattr(message, name)
    if isinstance(held, int):
        held = [held] if message.HasField(name) else []
    numbers = [int(n) for n in held] or [default]
    if len(numbers) > 2:
        raise ConvertError(f"{name}: convolutions and pooling over two axes are known")
    return numbers[0], numbers[-1]


@_layer("Convolution", "DepthwiseConvolution", "ConvolutionDepthwise")
def _convolution(module: CaffeModule, layer: Any, x: Any) -> Any:
    p = layer.convolution_param
    weight = module.weight(layer, 0)
    inner, (down, across) = weight.shape[1], _pair(p, "kernel_size", ("kernel_h", "kernel_w"), 0)
    weight = weight.reshape(weight.shape[-4], inner, down, across)
    bias = module.weight(layer, 1).reshape(-1) if _or(p, "bias_term", True) else None
    dilation = [int(n) for n in p.dilation] or [1]
    return torch.conv2d(
        x, weight, bias, _pair(p, "stride", ("stride_h", "stride_w"), 1),
        _pair(p, "pad", ("pad_h", "pad_w"), 0), (dilation[0], dilation[-1]),
        x.shape[1] // weight.shape[1],
    )  # fmt: skip


@_layer("Deconvolution")
def _deconvolution(module: CaffeModule, layer: Any, x: Any) -> Any:
    p = layer.convolution_param
    bias = module.weight(layer, 1).reshape(-1) if _or(p, "bias_term", True) else None
    return functional.conv_transpose2d(
        x, module.weight(layer, 0), bias, _pair(p, "stride", ("stride_h", "stride_w"), 1),
        _pair(p, "pad", ("pad_h", "pad_w"), 0), groups=int(_or(p, "group", 1)),
    )  # fmt: skip


@_layer("Pooling")
def _pooling(module: CaffeModule, layer: Any, x: Any) -> Any:
    p = layer.pooling_param
    if p.global_pooling:
        largest = functional.adaptive_max_pool2d
        return largest(x, 1) if p.pool == 0 else functional.adaptive_avg_pool2d(x, 1)
    window = _pair(p, "kernel_size", ("kernel_h", "kernel_w"), 0)
    stride = _pair(p, "stride", ("stride_h", "stride_w"), 1)
    padding, up = _pair(p, "pad", ("pad_h", "pad_w"), 0), p.round_mode == 0
    if p.pool == 0:
        return functional.max_pool2d(x, window, stride, padding, ceil_mode=up)
    if p.pool == 1:
        return functional.avg_pool2d(x, window, stride, padding, ceil_mode=up)
    raise ConvertError(f"layer {layer.name!r}: stochastic pooling is for training")


@_layer("InnerProduct")
def _product(module: CaffeModule, layer: Any, x: Any) -> Any:
    p = layer.inner_product_param
    weight = module.weight(layer, 0)
    weight = weight.reshape(weight.shape[-2], weight.shape[-1])
    if p.transpose:
        weight = weight.t()
    bias = module.weight(layer, 1).reshape(-1) if _or(p, "bias_term", True) else None
    axis = _or(p, "axis", 1)
    if x.ndim > axis % x.ndim + 1:
        x = torch.flatten(x, axis)
    return functional.linear(x, weight, bias)


@_layer("ReLU")
def _relu(module: CaffeModule, layer: Any, x: Any) -> Any:
    slope = layer.relu_param.negative_slope
    return functional.leaky_relu(x, slope) if slope else torch.relu(x)


@_layer("ReLU6")
def _relu6(module: CaffeModule, layer: Any, x: Any) -> Any:
    return functional.relu6(x)


@_layer("PReLU")
def _prelu(module: CaffeModule, layer: Any, x: Any) -> Any:
    return functional.prelu(x, module.weight(layer, 0).reshape(-1))


@_layer("Sigmoid")
def _sigmoid(module: CaffeModule, layer: Any, x: Any) -> Any:
    return torch.sigmoid(x)


@_layer("TanH")
def _tanh(module: CaffeModule, layer: Any, x: Any) -> Any:
    return torch.tanh(x)


@_layer("AbsVal")
def _abs(module: CaffeModule, layer: Any, x: Any) -> Any:
    return torch.abs(x)


@_layer("ELU")
def _elu(module: CaffeModule, layer: Any, x: Any) -> Any:
    return functional.elu(x, _or(layer.elu_param, "alpha", 1.0))


@_layer("Dropout", "Split")
def _same(module: CaffeModule, layer: Any, x: Any) -> Any:
    return x


@_layer("Softmax")
def _softmax(module: CaffeModule, layer: Any, x: Any) -> Any:
    return torch.softmax(x, _or(layer.softmax_param, "axis", 1))


@_layer("LRN")
def _response(module: CaffeModule, layer: Any, x: Any) -> Any:
    p = layer.lrn_param
    if p.norm_region:
        raise ConvertError(f"layer {layer.name!r}: LRN within channels is not known")
    return functional.local_response_norm(
        x, int(_or(p, "local_size", 5)), _or(p, "alpha", 1.0), _or(p, "beta", 0.75),
        _or(p, "k", 1.0),
    )  # fmt: skip


@_layer("Concat")
def _concat(module: CaffeModule, layer: Any, *given: Any) -> Any:
    p = layer.concat_param
    return torch.cat(given, int(_or(p, "axis", _or(p, "concat_dim", 1))))


@_layer("Slice")
def _slice(module: CaffeModule, layer: Any, x: Any) -> Any:
    p = layer.slice_param
    axis = int(_or(p, "axis", _or(p, "slice_dim", 1)))
    length, count = x.shape[axis], len(layer.top)
    points = [int(n) for n in p.slice_point] or [length * i // count for i in range(1, count)]
    ends = [0, *points, length]
    return [torch.narrow(x, axis, a, b - a) for a, b in itertools.pairwise(ends)]


@_layer("Eltwise")
def _eltwise(module: CaffeModule, layer: Any, *given: Any) -> Any:
    p = layer.eltwise_param
    operation, factors = _or(p, "operation", 1), list(p.coeff)
    if operation == 1 and factors and any(f != 1 for f in factors):
        given = tuple(x * f for x, f in zip(given, factors, strict=True))
    combine = (torch.mul, torch.add, torch.maximum)[operation]
    total = given[0]
    for x in given[1:]:
        total = combine(total, x)
    return total


@_layer("BatchNorm")
def _batch_norm(module: CaffeModule, layer: Any, x: Any) -> Any:
    counted = module.weight(layer, 2).reshape(-1)
    factor = torch.where(counted == 0, torch.zeros_like(counted), 1 / counted)
    mean, variance = (module.weight(layer, i).reshape(-1) * factor for i in (0, 1))
    return _Normalised(x, mean, variance, _or(layer.batch_norm_param, "eps", 1e-5))


@_layer("Scale")
def _scale(module: CaffeModule, layer: Any, x: Any, *others: Any) -> Any:
    p = layer.scale_param
    if others:
        return _value(x) * _spread(_value(x), _value(others[0]), _or(p, "axis", 1))
    scale = module.weight(layer, 0).reshape(-1)
    shift = module.weight(layer, 1).reshape(-1) if p.bias_term else None
    if isinstance(x, _Normalised) and _or(p, "axis", 1) == 1:
        return x.value(scale, shift)
    x = _value(x)
    made = x * _spread(x, scale, _or(p, "axis", 1))
    return made if shift is None else made + _spread(x, shift, _or(p, "axis", 1))


@_layer("Bias")
def _bias(module: CaffeModule, layer: Any, x: Any) -> Any:
    return x + _spread(x, module.weight(layer, 0).reshape(-1), _or(layer.bias_param, "axis", 1))


def _spread(x: Any, numbers: Any, axis: int) -> Any:
    """Numbers along some axes from ``axis`` on, the same along the others."""
    behind = x.ndim - axis % x.ndim - numbers.ndim
    return numbers.reshape(*numbers.shape, *[1] * behind)


@_layer("Power")
def _power(module: CaffeModule, layer: Any, x: Any) -> Any:
    p = layer.power_param
    x = x * _or(p, "scale", 1.0) + _or(p, "shift", 0.0)
    power = _or(p, "power", 1.0)
    return x if power == 1 else torch.pow(x, power)


@_layer("Flatten")
def _flatten(module: CaffeModule, layer: Any, x: Any) -> Any:
    p = layer.flatten_param
    return torch.flatten(x, _or(p, "axis", 1), _or(p, "end_axis", -1))


@_layer("Reshape")
def _reshape(module: CaffeModule, layer: Any, x: Any) -> Any:
    p = layer.reshape_param
    if p.axis or _or(p, "num_axes", -1) != -1:
        raise ConvertError(f"layer {layer.name!r}: a part of the axes is not reshaped here")
    dims = [x.shape[i] if n == 0 else int(n) for i, n in enumerate(p.shape.dim)]
    return x.reshape(dims)
