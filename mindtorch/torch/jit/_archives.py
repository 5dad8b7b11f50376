"""torch.jit.load: archives of TorchScript, and what our own `save` wrote."""

from __future__ import annotations

import os
from typing import Any

from mindtorch.torch import serialization

from .._serialization.zip_archive import ArchiveReader
from ._compiled import compiled
from ._saving import KIND
from ._torchscript.reader import read_module

__all__ = ["load"]


def load(
    f: Any,
    map_location: Any = None,
    _extra_files: dict[str, Any] | None = None,
    _restore_shapes: bool = False,
) -> Any:
    """Read a module that real torch's `torch.jit.save` or our :func:`save` wrote.

    The code of an archive of TorchScript is run op by op by an interpreter that knows the language
    and the operators, and executes nothing else; so such files need not be trusted further than any
    program that may loop or print. What our `save` wrote of Python's modules is a pickle: load
    only files of that kind that you trust.

    Args:
        f: a path or a file open for reading.
        map_location: as in `torch.load`.
        _extra_files: gets the texts kept under its keys, as bytes.
        _restore_shapes: of no effect.

    Raises:
        ValueError: there is no such file.
        RuntimeError: the file holds something else, or code that is not TorchScript.
    """
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
        with open(f, "rb") as file:
            return _load(file, map_location, _extra_files)
    return _load(f, map_location, _extra_files)


def _load(file: Any, map_location: Any, extra_files: dict[str, Any] | None) -> Any:
    start = file.tell()
    if file.read(4) == b"PK\3\4":
        file.seek(start)
        archive = ArchiveReader(file)
        if any(name.startswith("code/") for name in archive.names()) or "constants.pkl" in archive:
            return read_module(archive, map_location, extra_files)
    file.seek(start)
    found = serialization.load(file, map_location=map_location, weights_only=False)
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise RuntimeError("torch.jit.load: the file was not written by torch.jit.save")
    for name in extra_files if extra_files is not None else ():
        if name not in found["extra_files"]:
            raise RuntimeError(f"torch.jit.load: the file has no extra file {name!r}")
        extra_files[name] = found["extra_files"][name]  # type: ignore[index]
    return compiled(found["object"])
