"""Which storage a name means."""

from __future__ import annotations

import os
import warnings
from typing import Any

from .. import _world
from .filesystem import FileSystemReader, FileSystemWriter


def storage_for(storage: Any, checkpoint_id: str | os.PathLike[str] | None, kind: Any) -> Any:
    """The storage, told of the checkpoint's name; one in a folder where there is none.

    Args:
        storage: a reader or writer, or None.
        checkpoint_id: the checkpoint's name, or None.
        kind: FileSystemReader or FileSystemWriter.

    Raises:
        RuntimeError: neither is given, or the name is no folder's.
    """
    if storage is not None:
        if checkpoint_id is not None:
            storage.reset(checkpoint_id)
        return storage
    if not checkpoint_id:
        raise RuntimeError(
            "`checkpoint_id` must be specified if storage_reader/storage_writer is None."
        )
    if not kind.validate_checkpoint_id(checkpoint_id):
        wanted = "StorageReader" if kind is FileSystemReader else "StorageWriter"
        raise RuntimeError(
            f"Cannot detect which {wanted} to use for {checkpoint_id}. Please specify the "
            "storage_reader/storage_writer."
        )
    if kind is FileSystemWriter:
        return kind(checkpoint_id, single_file_per_rank=True)
    return kind(checkpoint_id)


def is_alone(no_dist: bool, what: str) -> bool:
    """Whether one process saves or loads by itself; warns where there is no group."""
    alone = no_dist or not _world.is_initialized()
    if alone:
        warnings.warn(
            "torch.distributed is disabled, unavailable or uninitialized, assuming the intent is "
            f"to {what} in a single process.",
            stacklevel=3,
        )
    return alone
