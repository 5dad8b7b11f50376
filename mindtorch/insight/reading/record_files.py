"""Files of records as TensorFlow frames them, read on while they grow.

A record is its length (8 bytes), the length's checksum (4), the content, the content's checksum
(4); checksums are CRC-32C, rotated and moved by a constant. TensorBoard and MindSpore write such.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import google_crc32c

__all__ = ["OutsideError", "RecordFile", "open_regular", "read_content"]

LARGEST = 256 << 20  # bytes of a record
_HEAD = struct.Struct("<QI")


class OutsideError(OSError):
    """The path leads out of the folder, or to what is no regular file."""


def open_regular(path: Path, base: Path) -> BinaryIO:
    """A file below `base` for reading: no link, no pipe, no device.

    Raises:
        OutsideError: it is one of these, or a folder on the way is a link out of `base`.
        OSError: it cannot be opened.
    """
    folder = os.path.realpath(path.parent)
    if folder != os.path.realpath(base) and not folder.startswith(os.path.realpath(base) + os.sep):
        raise OutsideError(f"{path} lies outside of {base}")
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        number = os.open(os.path.join(folder, path.name), flags)
    except OSError as error:
        raise OutsideError(f"{path}: {error.strerror}") from None
    file = os.fdopen(number, "rb")
    if not stat.S_ISREG(os.fstat(number).st_mode):
        file.close()
        raise OutsideError(f"{path} is no regular file")
    return file


def _checksum(content: bytes) -> int:
    found = int(google_crc32c.value(content))
    return ((found >> 15 | found << 17) + 0xA282EAD8) & 0xFFFFFFFF


class RecordFile:
    """Where reading of one file has come to.

    Attributes:
        offset: the first byte that was not read.
        damage: what is wrong with the file, in words; "" for nothing.
    """

    def __init__(self, path: Path, base: Path) -> None:
        self.path, self.base = path, base
        self.offset = 0
        self.damage = ""
        self._identity: tuple[int, int] | None = None

    def was_replaced(self) -> bool:
        """Whether another file, or a shorter one, has this name now; reading begins anew then."""
        try:
            found = os.stat(self.path, follow_symlinks=False)
        except OSError:
            return False
        identity = (found.st_dev, found.st_ino)
        replaced = self._identity not in (None, identity) or found.st_size < self.offset
        self._identity = identity
        if replaced:
            self.offset, self.damage = 0, ""
        return replaced

    def read(self) -> Iterator[tuple[int, bytes]]:
        """(place, content) of each record that is whole by now; the rest waits for more bytes."""
        with open_regular(self.path, self.base) as file:
            size = os.fstat(file.fileno()).st_size
            while size - self.offset >= _HEAD.size + 4:
                file.seek(self.offset)
                head = file.read(_HEAD.size)
                length, checksum = _HEAD.unpack(head)
                if _checksum(head[:8]) != checksum:
                    self.damage = f"byte {self.offset}: no record begins here; the rest is left out"
                    return
                end = self.offset + _HEAD.size + length + 4
                if end > size:
                    return
                place, self.offset = self.offset + _HEAD.size, end
                if length > LARGEST:
                    self.damage = f"byte {place}: a record of {length} bytes was left out"
                    continue
                content = file.read(length)
                if _checksum(content) != int.from_bytes(file.read(4), "little"):
                    self.damage = f"byte {place}: a record with a wrong checksum was left out"
                    continue
                yield place, content

    def unfinished(self) -> int:
        """Bytes at the end that are no whole record (yet)."""
        try:
            return max(0, os.stat(self.path, follow_symlinks=False).st_size - self.offset)
        except OSError:
            return 0


def read_content(path: Path, base: Path, place: int, length: int) -> bytes:
    """Some bytes of a file below `base`.

    Raises:
        OSError: they cannot be read.
    """
    with open_regular(path, base) as file:
        file.seek(place)
        return file.read(length)
