"""The few names of torch's C++ module that packages in Python reach for."""

from __future__ import annotations

import enum
import importlib
from typing import Any

from mindtorch.engine.autograd.backward import running
from mindtorch.engine.autograd.tape import shown
from mindtorch.engine.devices.device import Device
from mindtorch.engine.dispatch import state
from mindtorch.torch._api.default_device import default_device
from mindtorch.torch._api.torch_function_mode import (
    DisableTorchFunctionSubclass as DisableTorchFunctionSubclass,
)
from mindtorch.torch._api.torch_function_mode import (
    disabled_torch_function_impl as _disabled_torch_function_impl,  # noqa: F401  # as torch has it
)
from mindtorch.torch._compat.script_types import TYPES
from mindtorch.torch._compat.unsupported_names import absent_class
from mindtorch.torch._tensor.tensor import Tensor
from mindtorch.torch.library._custom_operators import excluded
from mindtorch.torch.settings import has_lapack, has_mkl, has_openmp, has_spectral

__all__ = [
    "DisableTorchFunctionSubclass", "DispatchKey", "DispatchKeySet", "_ExcludeDispatchKeyGuard",
    "has_lapack", "has_mkl", "has_openmp", "has_spectral",
]  # fmt: skip


class DispatchKey(enum.IntFlag):
    """Keys that packages combine to say which registrations to pass over."""

    AutocastCPU = enum.auto()
    AutocastCUDA = enum.auto()
    AutocastXPU = enum.auto()
    AutogradCPU = enum.auto()
    AutogradCUDA = enum.auto()


class DispatchKeySet:
    """A set of keys: `DispatchKeySet(DispatchKey.AutocastCPU) | ...`."""

    def __init__(self, keys: DispatchKey) -> None:
        self.keys = keys

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self.keys | other.keys)

    def has(self, key: DispatchKey) -> bool:
        return key in self.keys


class _ExcludeDispatchKeyGuard:
    """`with _ExcludeDispatchKeyGuard(keys):` operators called inside pass over these keys."""

    def __init__(self, keys: DispatchKeySet) -> None:
        self._keys = [key.name for key in DispatchKey if keys.has(key) and key.name]

    def __enter__(self) -> None:
        self._block = excluded(self._keys)
        self._block.__enter__()

    def __exit__(self, *exception: Any) -> None:
        self._block.__exit__(*exception)


_NO_SCRIPT = "there is no TorchScript; torch.fx has graphs of functions and modules"
Graph = absent_class("torch._C", "Graph", _NO_SCRIPT)
Node = absent_class("torch._C", "Node", _NO_SCRIPT)
Value = absent_class("torch._C", "Value", _NO_SCRIPT)
TensorType = TYPES["TensorType"]


def _are_functorch_transforms_active() -> bool:
    """Whether the calls of this thread are those of a mapped or captured function."""
    return bool(state.interpreters)


def is_grad_enabled() -> bool:
    """Whether ops on tensors that require gradients are recorded, in this thread."""
    return state.grad_enabled


def _current_graph_task_id() -> int:
    """The number of the backward pass under way in this thread, -1 outside of all."""
    return running()[-1].number if running() else -1


def _current_autograd_node() -> Any:
    """The node that the backward pass of this thread is at; None outside of all."""
    return shown(running()[-1].node) if running() else None


def _get_tracing_state() -> None:
    """None: torch.jit.trace records nothing here."""


def _is_tracing() -> bool:
    """False, as :func:`torch.jit.is_tracing`: what a traced function branches on stays Python's."""
    return False


def _log_api_usage_once(event: str) -> None:
    """Nothing is logged about who uses what."""


def _get_default_device() -> str:
    """The type of device that new tensors go to."""
    return default_device().type


_jit_switches: dict[str, bool] = {}


def _jit_switch(name: str, first: bool) -> Any:
    """A switch of TorchScript's executor: answers what it was; scripts run as Python here."""

    def switch(value: bool) -> bool:
        before = _jit_switches.get(name, first)
        _jit_switches[name] = bool(value)
        return before

    switch.__name__ = switch.__qualname__ = name
    switch.__doc__ = "Remember the value and return the one before; there is no such executor."
    return switch


_jit_set_profiling_executor = _jit_switch("_jit_set_profiling_executor", True)
_jit_set_profiling_mode = _jit_switch("_jit_set_profiling_mode", True)
_jit_set_texpr_fuser_enabled = _jit_switch("_jit_set_texpr_fuser_enabled", True)
_jit_set_nvfuser_enabled = _jit_switch("_jit_set_nvfuser_enabled", False)
_jit_override_can_fuse_on_cpu = _jit_switch("_jit_override_can_fuse_on_cpu", False)
_jit_override_can_fuse_on_gpu = _jit_switch("_jit_override_can_fuse_on_gpu", False)


def _jit_can_fuse_on_cpu() -> bool:
    """What `_jit_override_can_fuse_on_cpu` was told last; False at first."""
    return _jit_switches.get("_jit_override_can_fuse_on_cpu", False)


def _jit_can_fuse_on_gpu() -> bool:
    """What `_jit_override_can_fuse_on_gpu` was told last; False at first."""
    return _jit_switches.get("_jit_override_can_fuse_on_gpu", False)


_jit_set_nvfuser_guard_mode = _jit_switch("_jit_set_nvfuser_guard_mode", False)


def _get_privateuse1_backend_name() -> str:
    """The name of a device of the user's own; there is none but torch's placeholder."""
    return "privateuseone"


def _get_accelerator(check: bool | None = None) -> Any:
    """The device that computes fastest: the CPU."""
    return Device("cpu")


_TensorMeta = type(Tensor)


def __getattr__(name: str) -> Any:
    """Modules that are imported when they are asked for."""
    if name in ("_autograd", "_functions", "_nn"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch._C' has no attribute '{name}'")
