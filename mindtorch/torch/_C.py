"""The few names of torch's C++ module that packages in Python reach for."""

from __future__ import annotations

import enum

__all__ = ["DisableTorchFunctionSubclass", "DispatchKey", "DispatchKeySet"]


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


class DisableTorchFunctionSubclass:
    """A block in which `__torch_function__` of tensor subclasses is not called."""

    depth = 0

    def __enter__(self) -> None:
        DisableTorchFunctionSubclass.depth += 1

    def __exit__(self, *exception: object) -> None:
        DisableTorchFunctionSubclass.depth -= 1
