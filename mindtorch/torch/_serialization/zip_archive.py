"""The container of a saved file: a zip archive of uncompressed, aligned records.

Records lie in one folder of the archive (``archive/data.pkl``, ``archive/data/0``, ...). Each
begins at a multiple of the alignment, so that a file can be mapped into memory and used in place.
"""

from __future__ import annotations

import errno
import hashlib
import io
import struct
import zipfile
import zlib
from typing import Any, Protocol

FORMAT_VERSION = 3
NEWEST_READABLE_VERSION = 10
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_CENTRAL_HEADER = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR64 = struct.Struct("<4sIQI")
_UTF8, _SIZES_FOLLOW = 1 << 11, 1 << 3
_LIMIT32 = 0xFFFFFFFF  # from here on sizes and places take 64 bits
_PADDING_HEADER = 4
_WIDE = 0xFFFFFFFF
_INFLATION_LIMIT = 1032

_CORRUPT = (
    " This is an internal miniz error. If you are seeing this error, there is a high likelihood "
    "that your checkpoint file is corrupted. This can happen if the checkpoint was not saved "
    "properly, was transferred incorrectly, or the file was modified after saving."
)

_ZIP_ERRORS = (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OSError)


class Writable(Protocol):
    def write(self, data: Any, /) -> Any: ...


def write_all(file: Writable, data: Any) -> None:
    """Write all of ``data``, also to a file without a buffer, which may take a part at a time."""
    if not isinstance(file, io.RawIOBase):
        file.write(data)
        return
    rest = memoryview(data)
    while rest:
        count = file.write(rest)
        if not count:
            raise BlockingIOError(errno.EAGAIN, "write could not complete without blocking")
        rest = rest[count:]


class ArchiveWriter:
    """Writes records one after another to anything with ``write``.

    Args:
        file: receives the bytes, from its current position on.
        folder: the folder of the archive that holds the records.
        alignment: every record's data begins at a multiple of it.
        checksums: whether CRC-32 sums are computed; without them 0 is written, which other zip
            programs report as damage.
    """

    def __init__(
        self, file: Writable, folder: str = "archive", alignment: int = 64, checksums: bool = True
    ) -> None:
        self._file = file
        self._folder = folder
        self._alignment = alignment
        self._checksums = checksums
        self._position = 0
        self._directory: list[tuple[bytes, int, int, int, int]] = []

    def _put(self, data: Any) -> None:
        write_all(self._file, data)
        self._position += len(data)

    def write(self, name: str, data: Any) -> None:
        """Add a record. ``data`` is bytes or any contiguous buffer."""
        view = memoryview(data).cast("B") if not isinstance(data, bytes) else memoryview(data)
        path = f"{self._folder}/{name}".encode()
        size, start = len(view), self._position
        flags = _UTF8 | (_SIZES_FOLLOW if size else 0)
        wide = size >= _LIMIT32 or start >= _LIMIT32
        extra = self._extra(start + _LOCAL_HEADER.size + len(path), size, wide)
        shown = _WIDE if wide and size else 0
        header = (b"PK\3\4", 0, flags, 0, 0, 0, 0, shown, shown, len(path), len(extra))
        self._put(_LOCAL_HEADER.pack(*header) + path + extra)
        self._put(view)
        checksum = zlib.crc32(view) if self._checksums else 0
        if size:
            descriptor = struct.Struct("<4sI2Q" if wide else "<4sI2I")
            self._put(descriptor.pack(b"PK\7\10", checksum, size, size))
        self._directory.append((path, flags, checksum, size, start))

    def _extra(self, position: int, size: int, wide: bool) -> bytes:
        """The extra field of a local header: 64-bit sizes if needed, then padding."""
        sizes = b""
        if wide and size:
            sizes = struct.pack("<2H2Q", 1, 16, size, size)
        position += len(sizes) + _PADDING_HEADER
        padding = -position % self._alignment
        return sizes + b"FB" + struct.pack("<H", padding) + b"Z" * padding

    def close(self, version: int = FORMAT_VERSION) -> None:
        """Write the version, the identification of the contents, and the directory."""
        self.write("version", b"%d\n" % version)
        names = b"\0".join(entry[0] for entry in self._directory)
        sums = struct.pack(f"<{len(self._directory)}I", *(entry[2] for entry in self._directory))
        words = (names, sums)
        digits = [int.from_bytes(hashlib.sha256(word).digest()[:8], "little") for word in words]
        self.write(".data/serialization_id", b"%020d%020d" % tuple(digits))
        start = self._position
        for entry in self._directory:
            self._put(_directory_entry(*entry))
        self._put(_end_of_archive(len(self._directory), start, self._position - start))


def _directory_entry(path: bytes, flags: int, checksum: int, size: int, start: int) -> bytes:
    wide = size >= _LIMIT32 or start >= _LIMIT32
    extra = struct.pack("<2H3Q", 1, 24, size, size, start) if wide else b""
    shown, place = (_WIDE, _WIDE) if wide else (size, start)
    sizes = (checksum, shown, shown, len(path), len(extra))
    fields = (0, 0, flags, 0, 0, 0, *sizes, 0, 0, 0, 0, place)
    return _CENTRAL_HEADER.pack(b"PK\1\2", *fields) + path + extra


def _end_of_archive(count: int, start: int, size: int) -> bytes:
    """The end of the directory: in 64-bit fields, where to find those, and as far as it fits."""
    wide = _END64.pack(b"PK\6\6", _END64.size - 12, 798, 45, 0, 0, count, count, size, start)
    locator = _LOCATOR64.pack(b"PK\6\7", 0, start + size, 1)
    few, shown, place = min(count, 0xFFFF), min(size, _WIDE), min(start, _WIDE)
    return wide + locator + _END.pack(b"PK\5\6", 0, 0, few, few, shown, place, 0)


class ArchiveReader:
    """Reads the records of an archive, and nothing outside of their bounds.

    Args:
        file: a seekable binary file, positioned at the archive's first byte.

    Raises:
        RuntimeError: not an archive, a damaged one, one of a newer version, or one whose files do
            not share one folder.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._base = file.tell()
        self._end = file.seek(0, io.SEEK_END)
        entries = self._entries()
        first = entries[0].filename if entries else ""
        folder, slash, _ = first.partition("/")
        if entries and not slash:
            raise RuntimeError(f"file in archive is not in a subdirectory: {first}")
        self.folder = folder
        self._records: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            if not entry.filename.startswith(folder + "/"):
                raise RuntimeError(
                    f"file in archive is not in a subdirectory {folder}/: {entry.filename}"
                )
            self._records[entry.filename[len(folder) + 1 :]] = entry
        self._check_version()

    def _entries(self) -> list[zipfile.ZipInfo]:
        self._file.seek(self._base)
        try:
            with zipfile.ZipFile(self._file) as archive:
                return archive.infolist()
        except _ZIP_ERRORS as error:
            short = self._end - self._base < _END.size
            reason = "not a ZIP archive" if short else "failed finding central directory"
            raise RuntimeError(
                f"PytorchStreamReader failed reading zip archive: {reason}." + _CORRUPT
            ) from error

    def _check_version(self) -> None:
        name = ".data/version" if ".data/version" in self._records else "version"
        if name not in self._records:
            raise RuntimeError('Expected hasRecord("version") to be true, but got false.')
        text = self.read(name).decode("latin-1")
        try:
            self.version = int(text)
        except ValueError:
            raise RuntimeError(f"Couldn't parse the version {text} as Long Long.") from None
        if self.version < 1 or self.version > NEWEST_READABLE_VERSION:
            raise RuntimeError(
                f"Attempted to read a PyTorch file with version {self.version}, but the maximum "
                f"supported version for reading is {NEWEST_READABLE_VERSION}. The version of your "
                "PyTorch installation may be too old, please upgrade PyTorch to latest version to "
                "mitigate this issue."
            )

    def __contains__(self, name: str) -> bool:
        return name in self._records

    def names(self) -> list[str]:
        return list(self._records)

    def size(self, name: str) -> int:
        """How many bytes the record holds; no more than the file can account for."""
        entry = self._entry(name)
        if self.offset(name) is None:
            _, stored = self._bounds(name, entry)
            if entry.file_size > (stored + 1) * _INFLATION_LIMIT:
                raise self._damaged(name, "sizes disagree")
        return entry.file_size

    def _entry(self, name: str) -> zipfile.ZipInfo:
        entry = self._records.get(name)
        if entry is None:
            raise RuntimeError(
                f"PytorchStreamReader failed locating file {name}: file not found." + _CORRUPT
            )
        return entry

    def offset(self, name: str) -> int | None:
        """Where the record's bytes begin in the file; None if they are compressed."""
        entry = self._entry(name)
        if entry.compress_type != zipfile.ZIP_STORED:
            return None
        start, size = self._bounds(name, entry)
        if size != entry.file_size:
            raise self._damaged(name, "sizes disagree")
        return start

    def _bounds(self, name: str, entry: zipfile.ZipInfo) -> tuple[int, int]:
        """The place and length of what is stored for ``entry``, checked against the file."""
        self._file.seek(max(entry.header_offset, 0))
        header = self._file.read(_LOCAL_HEADER.size)
        inside = entry.header_offset >= self._base and len(header) == _LOCAL_HEADER.size
        if not inside or header[:4] != b"PK\3\4":
            raise self._damaged(name, "invalid header or archive is corrupted")
        fields = _LOCAL_HEADER.unpack(header)
        start = entry.header_offset + _LOCAL_HEADER.size + fields[9] + fields[10]
        if start < self._base or start + entry.compress_size > self._end:
            raise self._damaged(name, "file read failed")
        return start, entry.compress_size

    def _damaged(self, name: str, reason: str) -> RuntimeError:
        return RuntimeError(f"PytorchStreamReader failed reading file {name}: {reason}." + _CORRUPT)

    def read(self, name: str) -> bytes:
        """The whole record."""
        result = bytearray(self.size(name))
        self.read_into(name, memoryview(result))
        self.check(name, result)
        return bytes(result)

    def read_into(self, name: str, target: memoryview) -> None:
        """Fill ``target``, which must have the record's size."""
        entry = self._entry(name)
        if len(target) != entry.file_size:
            raise self._damaged(name, "sizes disagree")
        start = self.offset(name)
        if start is None:
            self._inflate(name, entry, target)
        else:
            self._file.seek(start)
            if not fill_storage(self._file, target):
                raise self._damaged(name, "file read failed")

    def check(self, name: str, data: Any, remedy: str = "") -> None:
        """An error if ``data`` is not what was saved; files may be without these checksums."""
        checksum = self._entry(name).CRC
        if checksum and zlib.crc32(data) != checksum:
            raise self._damaged(name, "CRC-32 check failed" + remedy)

    def _inflate(self, name: str, entry: zipfile.ZipInfo, target: memoryview) -> None:
        """Decompress a record that some other program has compressed."""
        if entry.compress_type != zipfile.ZIP_DEFLATED:
            raise self._damaged(name, "unsupported method")
        start, stored = self._bounds(name, entry)
        self._file.seek(start)
        try:
            data = zlib.decompressobj(-15).decompress(self._file.read(stored), len(target) + 1)
        except zlib.error as error:
            raise self._damaged(name, "decompression failed") from error
        if len(data) != len(target):
            raise self._damaged(name, "sizes disagree")
        target[:] = data


def fill_storage(file: Any, target: memoryview) -> bool:
    """Read exactly ``len(target)`` bytes; False when the file ends before."""
    readinto = getattr(file, "readinto", None)
    done = 0
    while done < len(target):
        if readinto is not None:
            count = readinto(target[done:])
        else:
            piece = file.read(min(len(target) - done, 1 << 26))
            count = len(piece)
            target[done : done + count] = piece
        if not count:
            return False
        done += count
    return True
