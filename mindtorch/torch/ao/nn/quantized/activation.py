"""Quantised activations, and the modules at the ends of a quantised part."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import nn
from mindtorch.torch._quantized._creation import quantize_per_tensor

from ._shared import output_parameters, quantize_weight

__all__ = [
    "ELU",
    "DeQuantize",
    "Dropout",
    "Hardswish",
    "LeakyReLU",
    "PReLU",
    "Quantize",
    "ReLU6",
    "Sigmoid",
    "Softmax",
]  # fmt: skip

ops: Any = torch.ops.quantized


class Quantize(nn.Module):
    """Puts tensors on levels.

    Args:
        scale, zero_point: what levels mean.
        dtype: of the levels.
        factory_kwargs: the device of what is kept.
    """

    def __init__(
        self, scale: Any, zero_point: Any, dtype: Any, factory_kwargs: Any = None
    ) -> None:
        super().__init__()
        options = factory_kwargs or {}
        device = {"device": options["device"]} if options.get("device") else {}
        self.register_buffer("scale", torch.tensor([scale], **options))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.long, **device))
        self.dtype = dtype

    def forward(self, X: Any) -> Any:  # noqa: N803
        return quantize_per_tensor(X, float(self.scale), int(self.zero_point), self.dtype)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Quantize:
        """The module for a QuantStub that has observed."""
        scale, zero = output_parameters(mod)
        return Quantize(scale, zero, mod.activation_post_process.dtype)

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(nn.Module):
    """Gives the numbers that levels stand for."""

    def forward(self, Xq: Any) -> Any:  # noqa: N803
        return Xq.dequantize()

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> DeQuantize:
        """The module for a DeQuantStub."""
        return DeQuantize()


class ReLU6(nn.ReLU):
    """min(max(x, 0), 6) of quantised tensors.

    Args:
        inplace: write over the argument.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.inplace = inplace

    def forward(self, input: Any) -> Any:  # noqa: A002
        return ops.relu6(input, self.inplace)

    def _get_name(self) -> str:
        return "QuantizedReLU6"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ReLU6:
        """The module for a ReLU6."""
        return ReLU6(mod.inplace)


class Hardswish(nn.Hardswish):
    """Hardswish of quantised tensors.

    Args:
        scale, zero_point: of the result.
    """

    def __init__(
        self, scale: float, zero_point: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor(scale))
        self.register_buffer("zero_point", torch.tensor(zero_point))

    def forward(self, input: Any) -> Any:  # noqa: A002
        return ops.hardswish(input, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedHardswish"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Hardswish:
        """The module for a Hardswish that was calibrated."""
        return Hardswish(*output_parameters(mod))

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Any:
        """The module with this scale and zero point."""
        return cls(float(scale), int(zero_point))


class ELU(nn.ELU):
    """ELU of quantised tensors.

    Args:
        scale, zero_point: of the result.
        alpha: as torch.nn.ELU has it.
    """

    def __init__(self, scale: float, zero_point: int, alpha: float = 1.0) -> None:
        super().__init__(alpha)
        self.scale, self.zero_point = scale, zero_point

    def forward(self, input: Any) -> Any:  # noqa: A002
        return ops.elu(input, self.scale, self.zero_point, self.alpha)

    def _get_name(self) -> str:
        return "QuantizedELU"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ELU:
        """The module for an ELU that was calibrated."""
        return ELU(*output_parameters(mod), mod.alpha)


class LeakyReLU(nn.LeakyReLU):
    """LeakyReLU of quantised tensors.

    Args:
        scale, zero_point: of the result.
        negative_slope, inplace: as torch.nn.LeakyReLU has them.
    """

    def __init__(
        self, scale: float, zero_point: int, negative_slope: float = 1e-2, inplace: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(negative_slope, inplace)
        self.register_buffer("scale", torch.tensor(scale))
        self.register_buffer("zero_point", torch.tensor(zero_point))

    def forward(self, input: Any) -> Any:  # noqa: A002
        return ops.leaky_relu(
            input, self.negative_slope, self.inplace, self.scale, self.zero_point
        )

    def _get_name(self) -> str:
        return "QuantizedLeakyReLU"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for a LeakyReLU that was calibrated."""
        return cls(*output_parameters(mod), mod.negative_slope, mod.inplace)


class Sigmoid(nn.Sigmoid):
    """Sigmoid of quantised tensors.

    Args:
        output_scale, output_zero_point: of the result.
    """

    def __init__(self, output_scale: float, output_zero_point: int) -> None:
        super().__init__()
        self.output_scale, self.output_zero_point = output_scale, output_zero_point

    def forward(self, input: Any) -> Any:  # noqa: A002
        return ops.sigmoid(input, self.output_scale, self.output_zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for a Sigmoid that was calibrated."""
        return cls(*output_parameters(mod))


class Softmax(nn.Softmax):
    """Softmax of quantised tensors.

    Args:
        dim: the axis.
        scale, zero_point: of the result.
    """

    def __init__(self, dim: int | None = None, scale: float = 1.0, zero_point: int = 0) -> None:
        super().__init__()
        self.dim, self.scale, self.zero_point = dim, scale, zero_point

    def forward(self, input: Any) -> Any:  # noqa: A002
        dim = self.dim
        if dim is None:
            dim = 0 if input.dim() in (0, 1, 3) else 1
        return ops.softmax(input, dim, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedSoftmax"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Softmax:
        """The module for a Softmax that was calibrated."""
        return Softmax(mod.dim, *output_parameters(mod))


class PReLU(nn.Module):
    """PReLU of quantised tensors.

    Args:
        output_scale, output_zero_point: of the result.
        num_parameters: of the weight, which is random at first.
    """

    def __init__(
        self, output_scale: float, output_zero_point: int, num_parameters: int = 1
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.scale, self.zero_point = output_scale, output_zero_point
        self.weight = quantize_per_tensor(
            torch.randn(num_parameters), scale=1.0, zero_point=0, dtype=torch.quint8
        )

    def set_weight(self, w: Any) -> None:
        """Take another weight, a quantised tensor."""
        self.weight = w

    def forward(self, input: Any) -> Any:  # noqa: A002
        return ops.prelu(input, self.weight, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedPReLU"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for a PReLU that was calibrated."""
        made = cls(*output_parameters(mod), mod.num_parameters)
        observer = mod.qconfig.weight()
        observer(mod.weight)
        if observer.dtype != torch.quint8:
            raise AssertionError(
                f"PReLU's weight observer should have dtype quint8 but got {observer.dtype}"
            )
        made.set_weight(quantize_weight(mod.weight.float(), observer))
        return made


class Dropout(nn.Dropout):
    """Nothing: what is quantised is not trained.

    Args:
        p, inplace: as torch.nn.Dropout has them.
    """

    def forward(self, input: Any) -> Any:  # noqa: A002
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module for a Dropout."""
        return cls(mod.p, mod.inplace)
