"""Blocks in which no class of tensors answers for functions."""

from __future__ import annotations

from typing import Any


class DisableTorchFunctionSubclass:
    """A block in which `__torch_function__` of tensor subclasses is not called."""

    depth = 0

    def __enter__(self) -> None:
        DisableTorchFunctionSubclass.depth += 1

    def __exit__(self, *exception: object) -> None:
        DisableTorchFunctionSubclass.depth -= 1


def disabled_torch_function_impl(
    func: Any, types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """The ``__torch_function__`` of classes that want none: results are plain tensors."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def disabled_torch_dispatch_impl(
    func: Any, types: Any, args: Any = (), kwargs: Any = None
) -> Any:
    """The ``__torch_dispatch__`` of classes that have none: the call itself."""
    return func(*args, **(kwargs or {}))
