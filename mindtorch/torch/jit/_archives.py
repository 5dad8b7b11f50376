"""torch.jit.save and load: modules and functions kept as Python objects."""

from __future__ import annotations

import functools
import os
import zipfile
from typing import Any

from mindtorch.torch import serialization
from mindtorch.torch.nn import Module

__all__ = ["load", "save", "with_save"]

_KIND = "mindtorch.jit"


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Write a scripted or traced module or function to a file.

    There is no TorchScript: the object is pickled whole, as `torch.save` does, and the classes that
    it is made of must be importable where it is loaded. Real torch cannot run such a file.

    Args:
        m: what `script` or `trace` gave.
        f: a path or a file open for writing.
        _extra_files: texts or bytes kept beside it, by name.
    """
    extra = {
        name: text.encode() if isinstance(text, str) else bytes(text)
        for name, text in (_extra_files or {}).items()
    }
    serialization.save({"kind": _KIND, "object": m, "extra_files": extra}, f)


def _refuse_script(f: Any) -> None:
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "seek"):
        return
    place = None if isinstance(f, (str, os.PathLike)) else f.tell()
    try:
        with zipfile.ZipFile(f) as archive:
            scripted = any("/code/" in name for name in archive.namelist())
    except zipfile.BadZipFile:
        scripted = False
    if place is not None:
        f.seek(place)
    if scripted:
        raise NotImplementedError(
            "torch.jit.load: the file holds TorchScript, which mindtorch does not run. Build the "
            "module in Python and load its state_dict"
        )


def load(
    f: Any,
    map_location: Any = None,
    _extra_files: dict[str, Any] | None = None,
    _restore_shapes: bool = False,
) -> Any:
    """Read what :func:`save` wrote. As it unpickles objects, only load files that you trust.

    Args:
        f: a path or a file open for reading.
        map_location: as in `torch.load`.
        _extra_files: gets the texts kept under its keys, as bytes.

    Raises:
        NotImplementedError: the file holds TorchScript.
        RuntimeError: the file holds something else.
    """
    if isinstance(f, (str, os.PathLike)) and not os.path.exists(f):
        raise ValueError(f"The provided filename {f} does not exist")
    _refuse_script(f)
    found = serialization.load(f, map_location=map_location, weights_only=False)
    if not isinstance(found, dict) or found.get("kind") != _KIND:
        raise RuntimeError("torch.jit.load: the file was not written by torch.jit.save")
    for name in _extra_files if _extra_files is not None else ():
        if name not in found["extra_files"]:
            raise RuntimeError(f"torch.jit.load: the file has no extra file {name!r}")
        _extra_files[name] = found["extra_files"][name]  # type: ignore[index]
    from ._compiled import compiled

    return compiled(found["object"])


def with_save(obj: Any) -> Any:
    """`obj`, a module, with the method `save` that scripts have."""
    if isinstance(obj, Module) and not hasattr(obj, "save"):
        object.__setattr__(obj, "save", functools.partial(save, obj))
    return obj
