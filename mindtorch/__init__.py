"""PyTorch scripts on a small functional autodiff engine of our own."""

from typing import Any

from .module_hooker import torch_disable as torch_disable
from .module_hooker import torch_enable as torch_enable
from .module_hooker import torch_pop as torch_pop

__version__ = "0.1.0"

_FUNCTIONAL = ("get_grad", "grad", "jvp", "value_and_grad", "vjp")


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONAL:
        from . import functional

        return getattr(functional, name)
    raise AttributeError(f"module 'mindtorch' has no attribute {name!r}")
