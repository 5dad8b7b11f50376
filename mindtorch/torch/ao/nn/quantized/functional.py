"""torch.ao.nn.quantized.functional: functions of quantised tensors."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import nn
from mindtorch.torch._quantized._products import PackedConvolution
from mindtorch.torch._quantized._tensor import QuantizedTensor

__all__ = [
    "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool2d", "avg_pool3d", "celu", "clamp",
    "conv1d", "conv2d", "conv3d", "elu", "hardsigmoid", "hardswish", "hardtanh", "interpolate",
    "leaky_relu", "linear", "max_pool1d", "max_pool2d", "threshold", "upsample",
]  # fmt: skip

ops: Any = torch.ops.quantized


def _only_quantized(name: str, x: Any) -> None:
    if not isinstance(x, QuantizedTensor):
        raise ValueError(f"Input to 'quantized.{name}' must be quantized!")


def _of_float_name(name: str) -> Any:
    function = getattr(nn.functional, name)

    def checked(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
        _only_quantized(name, input)
        return function(input, *args, **kwargs)

    checked.__name__ = checked.__qualname__ = name
    checked.__doc__ = f"""torch.nn.functional.{name} of a quantised tensor.

    Args:
        input: the tensor.
        args, kwargs: as there.

    Raises:
        ValueError: the tensor is not quantised.
    """
    return checked


avg_pool2d, avg_pool3d = _of_float_name("avg_pool2d"), _of_float_name("avg_pool3d")
adaptive_avg_pool2d = _of_float_name("adaptive_avg_pool2d")
adaptive_avg_pool3d = _of_float_name("adaptive_avg_pool3d")
interpolate = upsample = _of_float_name("interpolate")
max_pool1d, max_pool2d = nn.functional.max_pool1d, nn.functional.max_pool2d
hardsigmoid, hardtanh = _of_float_name("hardsigmoid"), _of_float_name("hardtanh")
threshold = _of_float_name("threshold")


def linear(
    input: Any, weight: Any, bias: Any = None, scale: float | None = None,  # noqa: A002
    zero_point: int | None = None,
) -> Any:
    """The product with a quantised weight.

    Args:
        input, weight: quantised.
        bias: of float32.
        scale, zero_point: of the result; None for those of the input.
    """
    return ops.linear(
        input, ops.linear_prepack(weight, bias), input.q_scale() if scale is None else scale,
        input.q_zero_point() if zero_point is None else zero_point,
    )  # fmt: skip


def _convolution(spatial: int) -> Any:
    name = f"conv{spatial}d"

    def function(
        input: Any, weight: Any, bias: Any, stride: Any = 1, padding: Any = 0,  # noqa: A002
        dilation: Any = 1, groups: int = 1, padding_mode: str = "zeros", scale: float = 1.0,
        zero_point: int = 0, dtype: Any = torch.quint8,
    ) -> Any:
        if padding_mode != "zeros":
            raise NotImplementedError("Only zero-padding is supported!")
        if input.dtype != torch.quint8:
            raise NotImplementedError(
                "Only torch.quint8 is supported for activation tensor!"
            )
        if weight.dtype != torch.qint8:
            raise NotImplementedError("Only torch.qint8 is supported for weight tensor!")
        if input.dim() != spatial + 2:
            raise ValueError(f"Input shape must be `(N, C, {'DHW'[3 - spatial:]})`!")
        packed = PackedConvolution(weight, bias, stride, padding, dilation, groups)
        return packed.run(input, scale, zero_point)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""A convolution of quantised tensors over {spatial} axes.

    Args:
        input, weight: of quint8 and of qint8.
        bias: of float32, or None.
        stride, padding, dilation, groups: as torch.nn.functional.{name} has them.
        padding_mode: "zeros".
        scale, zero_point: of the result.
        dtype: torch.quint8.
    """
    return function


conv1d, conv2d, conv3d = _convolution(1), _convolution(2), _convolution(3)


def leaky_relu(
    input: Any, negative_slope: float = 0.01, inplace: bool = False,  # noqa: A002
    scale: float | None = None, zero_point: int | None = None,
) -> Any:
    """x where x > 0, else ``negative_slope * x``.

    Args:
        input: quantised.
        negative_slope: of what is below 0.
        inplace: write over the input.
        scale, zero_point: of the result; None for those of the input.
    """
    if scale is not None and zero_point is not None:
        return ops.leaky_relu(input, negative_slope, False, scale, zero_point)
    return nn.functional.leaky_relu(input, negative_slope, inplace)


def hardswish(input: Any, scale: float, zero_point: int) -> Any:  # noqa: A002
    """Hardswish on levels of that scale and zero point.

    Args:
        input: quantised.
        scale, zero_point: of the result.
    """
    _only_quantized("hardswish", input)
    return ops.hardswish(input, scale, zero_point)


def elu(input: Any, scale: float, zero_point: int, alpha: float = 1.0) -> Any:  # noqa: A002
    """ELU on levels of that scale and zero point.

    Args:
        input: quantised.
        scale, zero_point: of the result.
        alpha: as torch.nn.functional.elu has it.
    """
    _only_quantized("elu", input)
    return ops.elu(input, scale, zero_point, alpha)


def celu(input: Any, scale: float, zero_point: int, alpha: float = 1.0) -> Any:  # noqa: A002
    """CELU on levels of that scale and zero point.

    Args:
        input: quantised.
        scale, zero_point: of the result.
        alpha: as torch.nn.functional.celu has it.
    """
    _only_quantized("celu", input)
    return ops.celu(input, scale, zero_point, alpha)


def clamp(input: Any, min_: float, max_: float) -> Any:  # noqa: A002
    """Elements cut off at both ends.

    Args:
        input: quantised.
        min_, max_: the ends.
    """
    _only_quantized("clamp", input)
    return torch.clamp(input, min_, max_)
