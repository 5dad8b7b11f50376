"""The few names of torch's C++ module that packages in Python reach for."""

from __future__ import annotations

import enum
from typing import Any

__all__ = ["DispatchKey", "DispatchKeySet"]


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


def _get_tracing_state() -> None:
    """None: torch.jit.trace records nothing here."""


def _log_api_usage_once(event: str) -> None:
    """Nothing is logged about who uses what."""


def __getattr__(name: str) -> Any:
    if name == "DisableTorchFunctionSubclass":
        from .overrides import DisableTorchFunctionSubclass

        return DisableTorchFunctionSubclass
    raise AttributeError(f"module 'torch._C' has no attribute '{name}'")
