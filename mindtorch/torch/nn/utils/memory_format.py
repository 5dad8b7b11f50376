"""The order in which convolutions' weights lie in memory."""

from __future__ import annotations

from typing import Any

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Lay the weights of all two-dimensional convolutions in ``module`` in this order.

    Args:
        module: gets them, and is returned.
        memory_format: torch.channels_last or torch.contiguous_format.
    """
    return _converted(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """The same for three-dimensional convolutions.

    Args:
        module: gets them, and is returned.
        memory_format: torch.channels_last_3d or torch.contiguous_format.
    """
    return _converted(module, memory_format, (Conv3d, ConvTranspose3d))


def _converted(module: Any, memory_format: Any, kinds: tuple[type, ...]) -> Any:
    found: list[Any] = [each for each in module.modules() if isinstance(each, kinds)]
    for each in found:
        each.weight.data = each.weight.detach().clone(memory_format=memory_format)
    return module
