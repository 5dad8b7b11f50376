"""What quantised modules share."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import nn
from mindtorch.torch._quantized._creation import quantize_per_channel, quantize_per_tensor

__all__ = [
    "Scaled", "class_of", "float_module", "output_parameters", "quantize_weight", "weight_levels",
    "weight_observer",
]  # fmt: skip


class Scaled(nn.Module):
    """A module whose results have levels.

    Attributes:
        scale, zero_point: what they mean.
    """

    scale: float
    zero_point: int

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = torch.tensor(self.scale)
        destination[prefix + "zero_point"] = torch.tensor(self.zero_point)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, *args: Any
    ) -> None:
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *args)


def quantize_weight(weight: Any, observer: Any) -> Any:
    """A weight on the levels that its observer chose.

    Raises:
        ValueError: a scheme that weights do not have.
    """
    scale, zero = observer.calculate_qparams()
    if observer.qscheme in (torch.per_tensor_symmetric, torch.per_tensor_affine):
        return quantize_per_tensor(
            weight, float(scale), int(zero), observer.dtype
        )
    if observer.qscheme in (torch.per_channel_symmetric, torch.per_channel_affine):
        return quantize_per_channel(
            weight, scale.to(torch.double), zero.to(torch.int64), observer.ch_axis, observer.dtype
        )
    if observer.qscheme == torch.per_channel_affine_float_qparams:
        return quantize_per_channel(
            weight, scale.to(torch.float), zero.to(torch.float), observer.ch_axis, observer.dtype
        )
    raise ValueError(f"Unexpected qscheme {observer.qscheme}")


def weight_observer(module: Any) -> Any:
    """A new observer of a module's weight, by its ``qconfig``.

    Raises:
        AssertionError: there is none.
    """
    if not hasattr(module, "qconfig"):
        raise AssertionError("Input float module must have qconfig defined")
    if module.qconfig is None or module.qconfig.weight is None:
        raise AssertionError("Input float module must have a qconfig with a weight observer")
    return module.qconfig.weight()


def class_of(module: Any) -> Any:
    """A module's class without what parametrizations made of it."""
    kind = type(module)
    return kind.__bases__[0] if "parametrizations" in module._modules else kind


def float_module(cls: Any, module: Any, allowed: Any) -> None:
    """Check what a quantised module is made of.

    Raises:
        AssertionError: another class, or there is no ``qconfig``.
    """
    if class_of(module) not in allowed:
        names = ", ".join(kind.__name__ for kind in allowed)
        raise AssertionError(
            f"nnq.{cls.__name__}.from_float only works for {names} but got: {type(module)}"
        )
    if not hasattr(module, "qconfig"):
        raise AssertionError("Input float module must have qconfig defined")


def weight_levels(module: Any, observed: bool) -> Any:
    """The weight of a module on levels: those of its fake quantisation, or new ones.

    Args:
        observed: take the range that is known.
    """
    observer = getattr(module, "weight_fake_quant", None)
    if observer is None:
        observer = module.qconfig.weight()
        observed = False
    if not observed:
        observer(module.weight)
    if observer.dtype != torch.qint8:
        raise AssertionError(f"Weight observer must have dtype qint8, got {observer.dtype}")
    return quantize_weight(module.weight.float(), observer)


def output_parameters(module: Any) -> tuple[float, int]:
    """The scale and zero point of a module's results, as its observer chose them."""
    scale, zero = module.activation_post_process.calculate_qparams()
    return float(scale), int(zero)
