"""The file ``.metadata``: a pickle under torch's names, with a sum of its bytes behind it.

Whoever unpickles stops at the pickle's end, so PyTorch reads the file as its own.
"""

from __future__ import annotations

import dataclasses
import enum
import io
import os
import pathlib
import pickle
import zlib
from typing import Any

from mindtorch.kernels.support.atomic_file import replacing

from ..._serialization import pickle_names, safe_unpickler
from ..._serialization.pickle_names import TorchPickler
from .metadata import Metadata

__all__ = ["read", "write"]

_MARK = b"\ncrc32="
_PROTOCOL = 4
_HOME = "torch.distributed.checkpoint."
_PATHS = {
    f"{module}.{name}" for module in ("pathlib", "pathlib._local")
    for name in ("Path", "PosixPath", "PurePosixPath")
}  # fmt: skip


def write(path: str, metadata: Metadata, durable: bool) -> None:
    """Write the file, in the place of an older one, as a whole.

    Args:
        path: of the file.
        metadata: what is in it.
        durable: wait until it is on the disk.
    """
    data = io.BytesIO()
    TorchPickler(data, _PROTOCOL, _no_storage).dump(metadata)
    content = data.getvalue()
    with replacing(path, durable) as file:
        file.write(content + _MARK + b"%08x" % zlib.crc32(content))


def _no_storage(storage: Any) -> Any:
    raise pickle.PicklingError("the planner's data must not hold tensors")


def read(path: str | os.PathLike[str]) -> Metadata:
    """The content of a file of ours or PyTorch's. Only descriptions, sizes, types and paths are
    made of it, and what torch.serialization.add_safe_globals was given.

    Args:
        path: of the file.

    Raises:
        FileNotFoundError: there is none, so that there is no checkpoint, or one that was never
            finished.
        RuntimeError: it is damaged.
        pickle.UnpicklingError: it asks for other things.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError as error:
        raise FileNotFoundError(
            error.errno, "no checkpoint here, or one that was not finished", str(path)
        ) from None
    content, mark, told = data.rpartition(_MARK)
    if not mark or len(told) != 8:
        content, told = data, b""
    if told and told != b"%08x" % zlib.crc32(content):
        raise RuntimeError(f"{path} is damaged: the sum of its bytes is not the one written")
    try:
        found = _Unpickler(io.BytesIO(content)).load()
    except pickle.UnpicklingError as error:
        if "Unsupported global" in str(error) or "is blocked" in str(error):
            raise
        raise RuntimeError(f"{path} is damaged: {error}") from error
    except Exception as error:
        raise RuntimeError(f"{path} is damaged: {type(error).__name__}: {error}") from error
    if not isinstance(found, Metadata):
        raise RuntimeError(f"{path} is damaged: it holds a {type(found).__name__}")
    return found


class _Unpickler(pickle.Unpickler):
    """Makes descriptions and plain things, nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if full in _PATHS:
            return getattr(pathlib, name)
        if module.startswith(_HOME):
            found = pickle_names.resolve(module, name)
            home = str(getattr(found, "__module__", "")).removeprefix("mindtorch.")
            own = isinstance(found, type) and home.startswith(_HOME)
            if own and (dataclasses.is_dataclass(found) or issubclass(found, enum.Enum)):
                return found
        return safe_unpickler.safe_global(module, name)

    def persistent_load(self, saved_id: Any) -> Any:
        return _no_storage(saved_id)
