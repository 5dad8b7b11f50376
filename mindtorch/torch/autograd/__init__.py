"""Gradients: ``backward``, ``grad``, grad modes, and functions with rules of their own."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mindtorch.engine.autograd.saved_tensors import SavedTensor as SavedTensor
from mindtorch.torch._api.public_names import own_names as _own_names

from . import forward_ad as forward_ad
from . import graph as graph
from ._gradients import backward, grad
from .anomaly_mode import detect_anomaly, set_detect_anomaly
from .function import Function
from .grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from .grad_mode import enforce_grad_layout_policy as enforce_grad_layout_policy
from .grad_mode import is_grad_enabled as is_grad_enabled
from .grad_mode import is_multithreading_enabled as is_multithreading_enabled
from .grad_mode import set_multithreading_enabled as set_multithreading_enabled
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable

if TYPE_CHECKING:
    from . import functional as functional
    from . import profiler as profiler

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "forward_ad",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
_AT_FIRST_USE = ("functional", "profiler")


def __dir__() -> list[str]:
    return sorted({*globals(), *_AT_FIRST_USE})


def _found_later(name: str) -> Any:
    """Modules that few programs use are imported when they are first used."""
    if name in _AT_FIRST_USE:
        return importlib.import_module(f"{__package__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if not TYPE_CHECKING:
    __getattr__ = _found_later


def kineto_available() -> bool:
    """False: profiles are this library's own."""
    return False

_own_names(globals(), "SavedTensor")
