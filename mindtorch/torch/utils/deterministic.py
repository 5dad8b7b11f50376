"""How memory without values is treated where only deterministic algorithms are allowed."""

from __future__ import annotations

from types import ModuleType

from mindtorch._module_class import set_module_class


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
set_module_class(__name__, _Settings)
