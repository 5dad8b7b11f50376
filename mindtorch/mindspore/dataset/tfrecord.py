"""TFRecord files: framed records with checksums, and the examples in them.

A record is its length (8 bytes, little-endian), the masked checksum of these 8 bytes, the data, and
the masked checksum of the data; checksums are CRC-32C, turned right by 15 bits, plus 0xa282ead8.
Data is an ``Example`` of protocol buffers: features by name, each a list of bytes, floats or ints.
"""

from __future__ import annotations

import functools
import gzip
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["RecordWriter", "content_of", "example_of", "features_of", "record_at", "records_of"]

try:
    import google_crc32c
except ImportError:  # told when a file is read or written
    google_crc32c = None  # type: ignore[assignment]


def _checksum(data: Any) -> int:
    if google_crc32c is None:
        raise ImportError("TFRecord files need google-crc32c for their checksums")
    value = google_crc32c.value(bytes(data))
    return (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF


@functools.cache
def _example() -> Any:
    """The class of the messages in records."""
    try:
        from mindtorch.protobuf_messages import make_messages
    except ImportError:
        raise ImportError("TFRecord files need protobuf for what is in their records") from None
    made = make_messages("example.proto", "tensorflow", {
        "BytesList": "1 value bytes*", "FloatList": "1 value float*", "Int64List": "1 value int64*",
        "Feature": "1 kind.bytes_list BytesList; 2 kind.float_list FloatList; "
                   "3 kind.int64_list Int64List",
        "Features": "1 feature string->Feature", "Example": "1 features Features",
    })  # fmt: skip
    return made["Example"]


def content_of(path: Path, compression: str | None) -> Any:
    """The bytes of a file, or a view of them that is not read before it is used.

    Raises:
        RuntimeError: it is not compressed as it is said to be.
    """
    if not compression:
        if path.stat().st_size == 0:
            return memoryview(b"")
        return np.memmap(path, np.uint8, "r").data
    try:
        raw = path.read_bytes()
        return memoryview(gzip.decompress(raw) if compression == "GZIP" else zlib.decompress(raw))
    except (OSError, EOFError, zlib.error) as error:
        raise RuntimeError(f"{path} is not compressed by {compression}: {error}") from None


def records_of(content: Any, path: Path) -> Iterator[tuple[int, int]]:
    """(place, length) of the data of each record.

    Raises:
        RuntimeError: a length does not have its checksum, or the file ends within a record.
    """
    place = 0
    while place < len(content):
        head = content[place : place + 12]
        if len(head) < 12:
            raise RuntimeError(f"{path} ends within a record, at byte {place}")
        length, told = struct.unpack("<QI", head)
        if _checksum(head[:8]) != told:
            raise RuntimeError(f"{path} is not a TFRecord file: the length of the record at byte "
                               f"{place} does not have its checksum")  # fmt: skip
        if place + 16 + length > len(content):
            raise RuntimeError(f"{path} ends within a record, at byte {place}")
        yield place + 12, length
        place += 16 + length


def record_at(content: Any, place: int, length: int, path: Path) -> Any:
    """The data of a record.

    Raises:
        RuntimeError: it does not have its checksum.
    """
    data = content[place : place + length]
    (told,) = struct.unpack("<I", content[place + length : place + length + 4])
    if _checksum(data) != told:
        raise RuntimeError(f"{path}: the record at byte {place - 12} does not have its checksum")
    return data


def features_of(data: Any, path: Path) -> dict[str, Any]:
    """{name: array of one axis} of an example: numpy's bytes, float32 or int64.

    Raises:
        RuntimeError: the data is no example.
    """
    kinds: dict[str, Any] = {"float_list": np.float32, "int64_list": np.int64}
    example = _example()()
    try:
        example.ParseFromString(bytes(data))
    except Exception as error:
        raise RuntimeError(f"{path} holds a record that is no Example: {error}") from None
    found = {}
    for name, feature in example.features.feature.items():
        kind = feature.WhichOneof("kind")
        if kind == "bytes_list":
            found[name] = np.array(list(feature.bytes_list.value), dtype=np.bytes_)
        elif kind is not None:
            found[name] = np.array(getattr(feature, kind).value, kinds[kind])
    return found


def example_of(row: dict[str, Any]) -> bytes:
    """The data of a record of arrays: whole numbers as ints, others as floats, texts as bytes."""
    example = _example()()
    for name, array in row.items():
        feature = example.features.feature[name]
        flat = array.reshape(-1)
        if array.dtype.kind in "iub":
            feature.int64_list.value.extend(flat.astype(np.int64).tolist())
        elif array.dtype.kind == "f":
            feature.float_list.value.extend(flat.astype(np.float32).tolist())
        elif array.dtype.kind == "U":
            feature.bytes_list.value.extend(text.encode() for text in flat.tolist())
        elif array.dtype.kind == "S":
            feature.bytes_list.value.extend(flat.tolist())
        else:
            raise RuntimeError(f"TFRecord files hold no {array.dtype}")
    return bytes(example.SerializeToString(deterministic=True))


class RecordWriter:
    """Writes records to a file that is open for bytes."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def write(self, data: bytes) -> None:
        """One record."""
        head = struct.pack("<Q", len(data))
        self.file.write(head + struct.pack("<I", _checksum(head)))
        self.file.write(data + struct.pack("<I", _checksum(data)))
