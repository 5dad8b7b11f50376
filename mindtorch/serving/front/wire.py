"""The bytes of protobuf messages, where parsing them whole would copy tensors or look at each row.

What is read here is a message of the usual form; of any other form the answer is None, and protobuf
parses the message and says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

__all__ = ["LEAST", "MALFORMED", "Rows", "bytes_field", "fields", "without_field"]

LEAST = 1 << 15  # bytes of a message, below which protobuf alone is as fast
MALFORMED = (ValueError, IndexError, KeyError)
_VARINT, _LENGTH_DELIMITED = 0, 2
_SIZES = {1: 8, 5: 4}  # of numbers of other kinds

Array = np.ndarray[Any, Any]
Span = tuple[int, int]


def _varint(data: Any, at: int) -> tuple[int, int]:
    """A number and the place after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number has more than 64 bits")


def fields(data: Any, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """The fields of a message that are texts, bytes or messages; numbers are passed over.

    Args:
        data: the bytes.
        start: where the message begins.
        end: where it ends.

    Yields:
        Number of the field, place of its tag, place of its content, and the place after it.

    Raises:
        ValueError: a field does not end within the message.
        IndexError: the bytes end before.
        KeyError: there is a group.
    """
    while start < end:
        tag, at = _varint(data, start)
        kind = tag & 7
        if kind == _LENGTH_DELIMITED:
            size, at = _varint(data, at)
            after = at + size
        elif kind == _VARINT:
            after = _varint(data, at)[1]
        else:
            after = at + _SIZES[kind]
        if after > end:
            raise ValueError("a field does not end within its message")
        if kind == _LENGTH_DELIMITED:
            yield tag >> 3, start, at, after
        start = after


def without_field(data: bytes, number: int) -> tuple[bytes, list[memoryview]] | None:
    """A message without one of its fields of bytes, and the contents of that field.

    Args:
        data: the message.
        number: of the field.
    """
    view, kept, found, end = memoryview(data), [], [], 0
    try:
        for each, tag, at, after in fields(data, 0, len(data)):
            if each == number:
                kept.append(view[end:tag])
                found.append(view[at:after])
                end = after
    except MALFORMED:
        return None
    return b"".join([*kept, view[end:]]), found


def bytes_field(data: Any, span: Span, path: Sequence[int]) -> list[Span]:
    """Where the contents of a field of bytes lie, in the messages that a path leads through.

    Args:
        data: the bytes.
        span: of the outermost message.
        path: the numbers of fields.

    Raises:
        ValueError, IndexError, KeyError: as :func:`fields`.
    """
    found = [span]
    for number in path:
        found = [(at, after) for start, end in found
                 for each, _, at, after in fields(data, start, end) if each == number]  # fmt: skip
    return found


class Rows:
    """Messages of one form, one after another, which differ in some of their bytes only.

    Args:
        first: one message, with its tag and length.
        holes: where the bytes stand that differ.
    """

    def __init__(self, first: Any, holes: Sequence[Span]) -> None:
        self.first = np.frombuffer(first, np.uint8)
        self.holes = list(holes)

    def read(self, data: bytes, start: int) -> list[Array] | None:
        """What stands in the holes, an array (rows, bytes) for each.

        Args:
            data: bytes of which the messages are the last ones.
            start: where they begin.
        """
        stride = self.first.size
        count, rest = divmod(len(data) - start, stride)
        if rest:
            return None
        rows = np.frombuffer(data, np.uint8)[start:].reshape(count, stride)
        end = 0
        for at, after in [*self.holes, (stride, stride)]:
            if not (rows[:, end:at] == self.first[end:at]).all():
                return None
            end = after
        return [rows[:, at:after] for at, after in self.holes]

    def write(self, contents: Sequence[Array]) -> bytes:
        """The bytes of as many messages as there are rows.

        Args:
            contents: an array (rows, bytes) for each hole.
        """
        rows = np.empty((len(contents[0]), self.first.size), np.uint8)
        rows[:] = self.first
        for (at, after), content in zip(self.holes, contents, strict=True):
            rows[:, at:after] = content
        return rows.tobytes()
