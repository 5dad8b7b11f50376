"""MindSpore's checkpoint files: protobuf messages, written and read without a compiler for them.

    Checkpoint { repeated Value value = 1 }
    Value { string tag = 1; TensorProto tensor = 2 }
    TensorProto { repeated int64 dims = 1; string tensor_type = 2; bytes tensor_content = 3 }

A tensor that is too large for one message is continued in the next values of the same tag.

Two fields that MindSpore does not know and passes over make damage known: the first says that the
last is there, which is the CRC-32 of all before it. With ``crc_check`` b"crc_num" and the CRC-32 of
everything follow, ten bytes, highest first; where MindSpore wrote that, it is compared as well.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.kernels.support.atomic_file import replacing

from ..common.dtype import text_of

__all__ = ["CheckpointError", "bytes_of", "read", "write"]

SLICE = 512 * 1024 * 1024  # bytes of a tensor in one value
_TEXT = "str"  # the type of texts: shape (0,), four bytes for each character
_MARK, _DIGITS = b"crc_num", 10
_SUMMED = b"\x78\x01"  # field 15, the number 1: a checksum is at the end
_CHECKSUM = b"\x75"  # field 14, four bytes
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

_TYPES = {
    text_of(each): each
    for each in (
        dtypes.bool_, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8,
        dtypes.uint16, dtypes.uint32, dtypes.uint64, dtypes.float16, dtypes.float32,
        dtypes.float64, dtypes.bfloat16, dtypes.complex64, dtypes.complex128,
    )
}  # fmt: skip


class CheckpointError(ValueError):
    """The file is no checkpoint, or not a whole one."""


# --- writing -----------------------------------------------------------------------------------


def _varint(number: int) -> bytes:
    """Seven bits in each byte, the lowest first; the top bit says that more follow."""
    number &= 2**64 - 1
    result = bytearray()
    while number > 0x7F:
        result.append(number & 0x7F | 0x80)
        number >>= 7
    result.append(number)
    return bytes(result)


def _head(field: int, size: int) -> bytes:
    """The beginning of a field of bytes."""
    return _varint(field << 3 | _BYTES) + _varint(size)


def _field(field: int, content: bytes) -> bytes:
    return _head(field, len(content)) + content


class _Summed:
    """A file that is written, and the checksum of what was."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.checksum = file, 0

    def write(self, data: Any) -> None:
        self.checksum = zlib.crc32(data, self.checksum)
        self.file.write(data)


def _write_value(file: _Summed, tag: bytes, dims: tuple[int, ...], kind: str, data: Any) -> None:
    """One value, the tensor's bytes last and not copied."""
    described = b"".join(b"\x08" + _varint(n) for n in dims) + _field(2, kind.encode())
    described += _head(3, len(data))
    value = _field(1, tag) + _head(2, len(described) + len(data)) + described
    file.write(_head(1, len(value) + len(data)) + value)
    file.write(data)


def bytes_of(array: Any) -> memoryview:
    """The elements' bytes in their order, not copied where they lie so."""
    flat: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return memoryview(flat)


def write(
    path: str | Path, entries: Iterable[tuple[str, Any]], crc_check: bool = False,
    slice_size: int = SLICE,
) -> None:  # fmt: skip
    """Write (name, array) pairs; the file appears when it is whole. A text is an array of one.

    Args:
        crc_check: put MindSpore's checksum at the end, too.
        slice_size: bytes after which a tensor goes on in another value.
    """
    with replacing(path, durable=True) as file:
        summed = _Summed(file)
        summed.write(_SUMMED)
        for name, array in entries:
            array = np.asarray(array)
            if array.dtype.kind == "U":
                kind, array = _TEXT, array.reshape(1).view(np.uint32)
            else:
                kind = text_of(dtypes.from_numpy(array.dtype))
            data = bytes_of(array)
            for start in range(0, max(len(data), 1), slice_size):
                part = data[start : start + slice_size]
                dims = (0,) if kind == _TEXT else array.shape
                _write_value(summed, name.encode(), dims, kind, part)
        summed.write(_CHECKSUM + summed.checksum.to_bytes(4, "little"))
        if crc_check:
            file.write(_MARK + summed.checksum.to_bytes(_DIGITS, "big"))


# --- reading -----------------------------------------------------------------------------------


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise CheckpointError("the file ends within a number, or is no checkpoint")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """(number, content) of a message's fields: ints, or bytes as memory views."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        kind = key & 7
        if key < 8:
            raise CheckpointError("a field without a number: no checkpoint")
        if kind == _VARINT:
            number, at = _read_varint(data, at)
            yield key >> 3, number
            continue
        if kind == _BYTES:
            size, at = _read_varint(data, at)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise CheckpointError(f"a field of the unknown kind {kind}: no checkpoint")
        if at + size > len(data):
            raise CheckpointError("the file ends within a value: it was not written to its end")
        yield key >> 3, data[at : at + size]
        at += size


def _text(content: Any) -> str:
    if isinstance(content, int):
        raise CheckpointError("a number where a text should be: no checkpoint")
    try:
        return bytes(content).decode()
    except UnicodeDecodeError:
        raise CheckpointError("a name that is no text: no checkpoint") from None


def _dims_of(content: Any) -> list[int]:
    """One length, or several packed into one field."""
    if isinstance(content, int):
        return [content]
    dims, at = [], 0
    while at < len(content):
        number, at = _read_varint(content, at)
        dims.append(number)
    return dims


def _tensor_of(message: memoryview) -> tuple[tuple[int, ...], str, memoryview]:
    dims: list[int] = []
    kind, data = "", memoryview(b"")
    for number, content in _fields(message):
        if number == 1:
            dims += _dims_of(content)
        elif number == 2:
            kind = _text(content)
        elif number == 3:
            data = content
    return tuple(dims), kind, data


def read(path: str | Path) -> tuple[dict[str, Any], bool]:
    """{name: array, or text} of a checkpoint file, and whether it has a checksum.

    Raises:
        CheckpointError: no checkpoint, a part of one, or a type that tensors do not have.
    """
    whole, checked = _checked(memoryview(Path(path).read_bytes()))
    parts: dict[str, list[memoryview]] = {}
    described: dict[str, tuple[tuple[int, ...], str]] = {}
    for number, value in _fields(whole):
        if number != 1 or isinstance(value, int):
            continue
        tag, tensor = "", None
        for field, content in _fields(value):
            if field == 1:
                tag = _text(content)
            elif field == 2 and not isinstance(content, int):
                tensor = _tensor_of(content)
        if tensor is None:
            raise CheckpointError(f"the value {tag!r} holds no tensor")
        described.setdefault(tag, tensor[:2])
        parts.setdefault(tag, []).append(tensor[2])
    arrays = {tag: _array(tag, *described[tag], parts[tag]) for tag in parts}
    return arrays, checked


def _checked(whole: memoryview) -> tuple[memoryview, bool]:
    """The file without the checksums at its end, and whether it has one."""
    found = False
    end = len(whole) - len(_MARK) - _DIGITS
    if end >= 0 and whole[end : end + len(_MARK)] == _MARK:
        _compare(whole[:end], int.from_bytes(whole[-_DIGITS:], "big"))
        whole, found = whole[:end], True
    if whole[: len(_SUMMED)] != _SUMMED:
        return whole, found
    end = len(whole) - 4
    if whole[end - 1 : end] != _CHECKSUM:
        raise CheckpointError("the file has lost its end")
    _compare(whole[: end - 1], int.from_bytes(whole[end:], "little"))
    return whole[: end - 1], True


def _compare(content: memoryview, checksum: int) -> None:
    if zlib.crc32(content) != checksum:
        raise CheckpointError(
            "For 'load_checkpoint', the crc check is failed, please check whether the ckpt file "
            "is damaged."
        )


def _characters(tag: str, content: bytes) -> str:
    """A text of four bytes for each character."""
    try:
        return content.decode("utf-32-le").rstrip("\0")
    except UnicodeDecodeError:
        raise CheckpointError(f"{tag!r} should be a text, and is none") from None


def _array(tag: str, dims: tuple[int, ...], kind: str, parts: list[memoryview]) -> Any:
    if kind == _TEXT:
        return _characters(tag, b"".join(parts))
    if kind not in _TYPES:
        raise CheckpointError(f"{tag!r} has the type {kind!r}, which tensors do not have")
    dtype = _TYPES[kind].np
    content = b"".join(parts)
    if dims == (0,) and len(content) == dtype.itemsize:
        dims = ()  # older writers gave numbers the shape (0,)
    expected = int(np.prod(dims, dtype=np.int64)) * dtype.itemsize
    if len(content) != expected:
        raise CheckpointError(
            f"{tag!r} of shape {dims} and type {kind} needs {expected} bytes, and the file has "
            f"{len(content)}"
        )
    return np.frombuffer(content, np.uint8).copy().view(dtype).reshape(dims)
