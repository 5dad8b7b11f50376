"""The bytes of protobuf messages, where parsing them whole would copy tensors or look at each row.

What is read here is a message of the usual form; of any other form the answer is None, and protobuf
parses the message and says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

__all__ = [
    "LEAST", "MALFORMED", "MOST_KEPT", "Known", "Rows", "bytes_field", "fields", "keep",
    "length_delimited", "without_field",
]  # fmt: skip

LEAST = 1 << 15  # bytes of a message, below which protobuf alone is as fast
MALFORMED = (ValueError, IndexError, KeyError)
KEPT = 64  # messages whose meaning is known
MOST_KEPT = 1 << 16  # bytes of one outside of its tensors
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


def length_delimited(number: int, size: int) -> bytes:
    """What stands before the content of a text, bytes or message.

    Args:
        number: of the field, less than 16.
        size: of the content.
    """
    made = bytearray([number << 3 | _LENGTH_DELIMITED])
    while size > 0x7F:
        made.append(size & 0x7F | 0x80)
        size >>= 7
    made.append(size)
    return bytes(made)


def without_field(data: bytes, number: int) -> tuple[bytes, list[Span]] | None:
    """A message without one of its fields of bytes, and where the contents of that field lie.

    Args:
        data: the message.
        number: of the field.
    """
    view, kept, found, end = memoryview(data), [], [], 0
    try:
        for each, tag, at, after in fields(data, 0, len(data)):
            if each == number:
                kept.append(view[end:tag])
                found.append((at, after))
                end = after
    except MALFORMED:
        return None
    return b"".join([*kept, view[end:]]), found


class Known:
    """What messages mean that came before: clients send the same one again, with other numbers.

    Whatever stands outside of the tensors' bytes is compared, so that a message which is found
    here has been parsed, but for these.
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[list[tuple[int, int, bytes]], Any]] = {}

    def find(self, data: bytes) -> Any:
        """The meaning of a message; None: it did not come before."""
        pieces, meaning = self._kept.get(len(data), ((), None))
        for start, end, piece in pieces:
            if data[start:end] != piece:
                return None
        return meaning

    def keep(self, data: bytes, holes: Sequence[Span], meaning: Any) -> None:
        """Note the meaning of a message.

        Args:
            data: the message.
            holes: where the bytes of its tensors stand.
            meaning: what :meth:`find` gives for it.
        """
        pieces, end = [], 0
        for at, after in [*holes, (len(data), 0)]:
            pieces.append((end, at, data[end:at]))
            end = after
        if sum(end - start for start, end, _ in pieces) <= MOST_KEPT:
            keep(self._kept, len(data), (pieces, meaning))


def keep(known: dict[Any, Any], key: Any, value: Any) -> None:
    """Note a value; the oldest one goes where there are many."""
    if len(known) >= KEPT and key not in known:
        del known[next(iter(known))]
    known[key] = value


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
        self.first = np.array(np.frombuffer(first, np.uint8))
        self.holes = list(holes)
        for at, after in self.holes:
            self.first[at:after] = 0

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
