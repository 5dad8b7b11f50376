"""Folders of data sets, and files in MNIST's format."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["checked_usage", "directory_of", "idx_array"]

_IDX_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def directory_of(path: Any) -> Path:
    """A folder that is there.

    Raises:
        ValueError: it is not.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise ValueError(f"The folder {path} does not exist or is not a directory or permission "
                         "denied!")  # fmt: skip
    return folder


def checked_usage(usage: Any, allowed: Sequence[str]) -> str:
    """A part of a data set; "all" for None.

    Raises:
        ValueError: it is not one of those that are allowed.
    """
    if usage is None:
        return "all"
    if usage not in allowed:
        raise ValueError(f"usage should be one of {list(allowed)}, but got {usage!r}")
    return str(usage)


def idx_array(folder: Path, name: str) -> Any:
    """The array of a file in MNIST's format: a magic number, lengths of the axes, elements."""
    path = folder / name
    if path.exists():
        content = path.read_bytes()
    elif (folder / (name + ".gz")).exists():
        content = gzip.decompress((folder / (name + ".gz")).read_bytes())
    else:
        raise RuntimeError(f"{folder} has no file {name}")
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _IDX_TYPES:
        raise RuntimeError(f"{path} is not a file of MNIST's format")
    axes = content[3]
    shape = tuple(int(n) for n in np.frombuffer(content, ">u4", axes, 4))
    data = np.frombuffer(content, _IDX_TYPES[content[2]], offset=4 + 4 * axes)
    if data.size != np.prod(shape, dtype=np.int64):
        raise RuntimeError(f"{path} should hold {shape} elements, and has {data.size}")
    return data.reshape(shape)
