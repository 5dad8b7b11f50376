"""The base of script modules: those of Python, which are compiled, and those read from archives."""

from __future__ import annotations

from typing import Any

from ..nn import Module
from ._saving import save

__all__ = ["ScriptModule"]


class _Scripted(type):
    """Modules that were scripted or traced, in place, are script modules, too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or (
            cls is ScriptModule and isinstance(instance, Module) and "save" in instance.__dict__
        )


class ScriptModule(Module, metaclass=_Scripted):
    """The base of modules whose methods are marked as scripts; they run as Python."""

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Write the module as :func:`save` does."""
        save(self, f, _extra_files)
