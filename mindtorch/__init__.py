"""PyTorch scripts on a small functional autodiff engine of our own."""

from typing import Any

from .module_hooker import torch_disable as torch_disable
from .module_hooker import torch_enable as torch_enable
from .module_hooker import torch_pop as torch_pop

__version__ = "0.1.0"
version = __version__
VERSION = tuple(int(part) for part in __version__.split("."))

_FUNCTIONAL = ("get_grad", "grad", "jvp", "value_and_grad", "vjp")
_TRANSFORMS = ("GradOperation", "jacfwd", "jacrev", "recompute", "stop_gradient", "vmap")
_MODULES = ("functional", "mindspore", "onnx", "ops", "torch", "transforms")


def unsupported_attr(value: Any) -> Any:
    """``value``: scripts wrap attributes in it that the original had no meaning for."""
    return value


def pynative_mode_condition() -> bool:
    """Whether MindSpore's mode is PYNATIVE_MODE, in which every op runs when it is called."""
    import importlib

    context = importlib.import_module(f"{__name__}.mindspore.context")
    return bool(context.get_context("mode") == context.PYNATIVE_MODE)


def __getattr__(name: str) -> Any:
    """What needs the engine is imported when it is first used."""
    import importlib

    if name in _FUNCTIONAL:
        return getattr(importlib.import_module(f"{__name__}.functional"), name)
    if name == "jit":
        return importlib.import_module(f"{__name__}.torch").compile
    if name == "explain":
        return importlib.import_module(f"{__name__}.engine.compile.explain").explain
    if name in _TRANSFORMS:
        return getattr(importlib.import_module(f"{__name__}.transforms"), name)
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'mindtorch' has no attribute {name!r}")
