"""What torch.jit.script and trace make: compiled functions, and modules compiled in place."""

from __future__ import annotations

import sys
import types
from typing import Any

from mindtorch.engine.compile.jit import Jitted
from mindtorch.torch.nn import Module
from mindtorch.torch.nn.modules.module import NO_SCRIPT

from ._saving import save, with_save
from ._torchscript.script_modules import RecursiveScriptModule

__all__ = ["ScriptFunction", "compiled"]


class ScriptFunction(Jitted):
    """A function whose calls are captured once and then run as kernels.

    Args:
        function, whole, recorded, limit, dynamic: as of
            :class:`mindtorch.engine.compile.jit.Jitted`.
    """

    def save(self, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
        """Write the function as :func:`torch.jit.save` does."""
        save(self, f, _extra_files)

    def __reduce__(self) -> Any:
        name = getattr(self, "__qualname__", "")
        found: Any = sys.modules.get(getattr(self, "__module__", ""))
        for part in name.split("."):
            found = getattr(found, part, None)
        return name if found is self else super().__reduce__()

    @property
    def name(self) -> str:
        return self.function.__name__

    def __getattr__(self, name: str) -> Any:
        if name in ("code", "graph", "inlined_graph", "code_with_constants"):
            raise AttributeError(f"{getattr(self.function, '__name__', self)}: {NO_SCRIPT}")
        return super().__getattr__(name)


def compiled(obj: Any) -> Any:
    """`obj`, a module or function, with calls that are compiled; anything else as it is."""
    if isinstance(obj, RecursiveScriptModule):
        return obj
    if isinstance(obj, Module):
        if "_compiled_call_impl" not in obj.__dict__:
            obj.compile()
        return with_save(obj)
    if isinstance(obj, (types.FunctionType, types.MethodType)):
        return ScriptFunction(obj)
    return obj
