"""Who is told of collectives; while nobody is, a call asks for that and does nothing else."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["observed", "observers", "tell"]

# each is called with the name that torch.ops has for a collective, in the thread that asks for it
observers: list[Callable[[str], None]] = []


def tell(name: str) -> None:
    """Say that a collective begins: ``"c10d.allreduce_"``."""
    for observer in tuple(observers):
        observer(name)


def observed(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a collective: observers are told of it, and not of those that it is made of."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not observers:
                return function(*args, **kwargs)
            tell(name)
            kept = observers[:]
            observers.clear()
            try:
                return function(*args, **kwargs)
            finally:
                observers[:] = kept

        return call

    return decorate
