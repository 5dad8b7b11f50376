"""How memory without values is treated where only deterministic algorithms are allowed."""

from __future__ import annotations

import sys
from types import ModuleType


class _Settings(ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """What was set last; new memory is never filled here, which only False promises."""
        return self.__dict__["_fill"]

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"expected a bool, but got {type(mode).__name__}")
        self.__dict__["_fill"] = mode


_fill = True
sys.modules[__name__].__class__ = _Settings
