"""torch.jit.save: modules and functions kept as Python objects."""

from __future__ import annotations

import functools
from typing import Any

from mindtorch.torch import serialization
from mindtorch.torch.nn import Module

__all__ = ["KIND", "save", "with_save"]

KIND = "mindtorch.jit"


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Write a scripted or traced module or function to a file.

    What `torch.jit.load` read from an archive of TorchScript is written as one, which real torch
    loads. Anything else is pickled whole, as `torch.save` does, and the classes that it is made of
    must be importable where it is loaded; real torch cannot run such a file.

    Args:
        m: what `script` or `trace` gave.
        f: a path or a file open for writing.
        _extra_files: texts or bytes kept beside it, by name.
    """
    extra = {
        name: text.encode() if isinstance(text, str) else bytes(text)
        for name, text in (_extra_files or {}).items()
    }
    if hasattr(m, "_save_archive"):
        m._save_archive(f, extra)
        return
    serialization.save({"kind": KIND, "object": m, "extra_files": extra}, f)


def with_save(obj: Any) -> Any:
    """`obj`, a module, with the method `save` that scripts have."""
    if isinstance(obj, Module) and not hasattr(obj, "save"):
        object.__setattr__(obj, "save", functools.partial(save, obj))
    return obj
