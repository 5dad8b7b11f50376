"""``torch.classes``: classes of C++ that libraries register with torch; there are none."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn

from mindtorch._module_class import set_module_class

from ._compat.unsupported_names import refuse


class _Space(ModuleType):
    """``torch.classes.<name>``."""

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        name = self.__name__.rpartition(".")[2]
        raise RuntimeError(
            f"Tried to instantiate class '{name}.{attribute}', but it does not exist! Ensure that "
            "it is registered via torch::class_"
        )


class _Classes(_Space):
    loaded_libraries: frozenset[str] = frozenset()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = self.__dict__[name] = _Space(f"torch.classes.{name}")
        return made

    def load_library(self, path: str) -> NoReturn:
        """Raises NotImplementedError: libraries of C++ are not loaded."""
        refuse("torch.classes.load_library", "libraries of C++ are not loaded")


set_module_class(__name__, _Classes)
