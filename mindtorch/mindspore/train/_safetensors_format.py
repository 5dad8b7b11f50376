"""Files of safetensors: a length, a description in JSON, and the elements of all tensors.

    8 bytes, lowest first: how long the JSON is
    {"__metadata__": {text: text}, name: {"dtype", "shape", "data_offsets": [start, stop]}, ...}

``crc_num`` in the metadata is the CRC-32 of all names and elements, by name: MindSpore writes it
with crc_check=True; here it is always written, and compared where it is. So is ``rows_crc``, that
of the description, which MindSpore does not look at.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.kernels.support.atomic_file import replacing
from mindtorch.torch._serialization.safetensors_types import TYPES

from ._checkpoint_format import CheckpointError, bytes_of

__all__ = ["read", "write"]

_NAMES = {each: name for name, each in TYPES.items()}
_ALIGNMENT = 8


def write(path: str | Path, entries: Iterable[tuple[str, Any]], crc_check: bool = True) -> None:
    """Write (name, array) pairs; the file appears when it is whole, and has checksums anyway.

    Raises:
        TypeError: an element type that the format has no name for, such as texts.
    """
    arrays = {name: np.asarray(array) for name, array in sorted(entries)}
    described: dict[str, Any] = {}
    checksum = start = 0
    for name, array in arrays.items():
        kind = None if array.dtype.kind == "U" else _NAMES.get(dtypes.from_numpy(array.dtype))
        if kind is None:
            raise TypeError(f"{name!r} is of type {array.dtype}, which safetensors do not hold")
        data = bytes_of(array)
        checksum = zlib.crc32(data, zlib.crc32(name.encode(), checksum))
        stop = start + len(data)
        described[name] = {"dtype": kind, "shape": array.shape, "data_offsets": (start, stop)}
        start = stop
    metadata = {"format": "ms", "crc_num": str(checksum), "rows_crc": _sum_of(described)}
    head = json.dumps({"__metadata__": metadata, **described}, separators=(",", ":")).encode()
    head += b" " * (-len(head) % _ALIGNMENT)
    with replacing(path, durable=True) as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for array in arrays.values():
            file.write(bytes_of(array))


def _sum_of(described: dict[str, Any]) -> str:
    return str(zlib.crc32(json.dumps(described).encode()))


def read(path: str | Path) -> tuple[dict[str, Any], bool]:
    """{name: array} of a file, and whether it has a checksum.

    Raises:
        CheckpointError: no such file, a part of one, or one whose checksum is another.
    """
    whole = memoryview(Path(path).read_bytes())
    end = 8 + int.from_bytes(whole[:8], "little")
    if len(whole) < 8 or end > len(whole):
        raise CheckpointError("the file ends within its description, or holds no safetensors")
    try:
        described = json.loads(bytes(whole[8:end]))
        metadata = described.pop("__metadata__", {})
        if metadata.get("rows_crc", _sum_of(described)) != _sum_of(described):
            raise ValueError("it is not what was written")
        stored = metadata.get("crc_num")
        rows = {name: _array(name, each, whole[end:]) for name, each in described.items()}
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise CheckpointError(f"the description of the tensors is damaged: {error}") from None
    _check_places([each["data_offsets"] for each in described.values()], len(whole) - end)
    checksum = 0
    for name in sorted(rows):
        checksum = zlib.crc32(bytes_of(rows[name]), zlib.crc32(name.encode(), checksum))
    if stored is not None and stored != str(checksum):
        raise CheckpointError(
            "For 'load_checkpoint', the crc check has failed. Please check whether the ckpt file "
            "is damaged."
        )
    return rows, stored is not None


def _array(name: str, row: Any, data: memoryview) -> Any:
    kind, shape, (start, stop) = row["dtype"], tuple(row["shape"]), row["data_offsets"]
    if kind not in TYPES:
        raise ValueError(f"{name!r} has the type {kind!r}")
    dtype = TYPES[kind].np
    if not all(type(n) is int and n >= 0 for n in (*shape, start, stop)) or (
        stop - start != math.prod(shape) * dtype.itemsize or stop > len(data)
    ):
        raise ValueError(f"{name!r} of shape {shape} and type {kind} is at {start} to {stop}")
    return np.frombuffer(data[start:stop], np.uint8).copy().view(dtype).reshape(shape)


def _check_places(places: list[Any], size: int) -> None:
    """All bytes belong to one tensor each."""
    at = 0
    for start, stop in sorted(places):
        if start != at:
            raise CheckpointError("the tensors leave bytes out, or share some")
        at = stop
    if at != size:
        raise CheckpointError(f"the tensors have {at} bytes, and the file {size}")
