"""The format before the zip archive: pickles one after another, then the storages' elements.

magic number, protocol version, system facts, the object, the keys of the storages,
then for each key the number of elements (64 bits) and the elements
"""

from __future__ import annotations

import io
import pickle
import struct
import sys
from typing import Any

import numpy as np

from mindtorch.engine.dtypes import DType
from mindtorch.engine.tensor import Storage

from ..storage import TypedStorage, UntypedStorage
from .safe_unpickler import UNSAFE_MESSAGE
from .storage_refs import StorageTable, bytes_of, dump, element_type, storage_id
from .zip_archive import fill_storage

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
_FACTS = {
    "protocol_version": PROTOCOL_VERSION,
    "little_endian": sys.byteorder == "little",
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}


def chunks(obj: Any, module: Any, protocol: int) -> list[Any]:
    """The parts of a file that holds ``obj``, in order."""
    table = StorageTable(lambda _count, storage: str(storage._cdata))
    body = dump(obj, module, protocol, lambda storage: (*table.persistent_id(storage), None))
    keys = sorted(table.storages)
    parts: list[Any] = [
        pickle.dumps(fact, protocol) for fact in (MAGIC_NUMBER, PROTOCOL_VERSION, _FACTS)
    ]
    parts += [body, pickle.dumps(keys, protocol)]
    for key in keys:
        storage, dtype = table.storages[key]
        parts += [struct.pack("=q", storage.nbytes() // dtype.itemsize), bytes_of(storage)]
    return parts


def load(file: Any, reading: Any) -> Any:
    """Read a file of this format, from its current position."""
    start = file.tell()
    if _is_tar(file, start):
        if reading.weights_only:
            raise RuntimeError(
                "Cannot use ``weights_only=True`` with files saved in the legacy .tar format. "
                + UNSAFE_MESSAGE
            )
        raise RuntimeError(
            "mindtorch does not read the .tar format of PyTorch 0.1; load the file with an older "
            "PyTorch and save it again"
        )
    if reading.unpickle(file, _no_storages) != MAGIC_NUMBER:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = reading.unpickle(file, _no_storages)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    facts = reading.unpickle(file, _no_storages)
    storages = _Storages(reading, _remaining(file))
    result = reading.unpickle(file, storages.persistent_load)
    keys = reading.unpickle(file, _no_storages)
    little = facts.get("little_endian", True) if isinstance(facts, dict) else True
    storages.fill(file, keys, swap=bool(little) != (sys.byteorder == "little"))
    return result


def _is_tar(file: Any, start: int) -> bool:
    header = file.read(263)
    file.seek(start)
    return bool(header[257:262] == b"ustar")


def _remaining(file: Any) -> int:
    here: int = file.tell()
    end: int = file.seek(0, io.SEEK_END)
    file.seek(here)
    return end - here


def _no_storages(saved_id: Any) -> Any:
    raise pickle.UnpicklingError("unsupported persistent id encountered")


class _Storages:
    """The storages that a pickle names, whose elements follow it."""

    def __init__(self, reading: Any, limit: int) -> None:
        self._reading = reading
        self._limit = limit
        self._found: dict[str, tuple[UntypedStorage, UntypedStorage, DType]] = {}
        self._views: dict[Any, UntypedStorage] = {}

    def persistent_load(self, saved_id: Any) -> Any:
        if isinstance(saved_id, tuple) and saved_id[:1] in (("module",), (b"module",)):
            return saved_id[1]
        kind, key, location, count = storage_id(saved_id, 6)
        dtype = element_type(kind)
        if key not in self._found:
            self._limit -= count * dtype.itemsize
            if self._limit < 0:
                raise RuntimeError(
                    f"unexpected EOF, expected {-self._limit} more bytes. The file might be "
                    "corrupted."
                )
            buffer = np.zeros(count, dtype.np)
            read = UntypedStorage._wrap(Storage(buffer))
            self._found[key] = (read, self._reading.restore(read, location), dtype)
        placed = self._found[key][1]
        if saved_id[5] is not None:
            placed = self._view(placed, dtype, saved_id[5])
        return TypedStorage(wrap_storage=placed, dtype=dtype, _internal=True)

    def _view(self, storage: UntypedStorage, dtype: DType, view: Any) -> UntypedStorage:
        """A part of a storage, as files of PyTorch 0.x describe views."""
        if not isinstance(view, tuple) or len(view) != 3:
            raise pickle.UnpicklingError(f"malformed storage reference: {view!r}")
        key, offset, count = view
        if not (isinstance(key, str) and type(offset) is int and type(count) is int):
            raise pickle.UnpicklingError(f"malformed storage reference: {view!r}")
        first, last = offset * dtype.itemsize, (offset + count) * dtype.itemsize
        if not 0 <= first <= last <= storage.nbytes():
            raise RuntimeError(f"a view from {first} to {last} lies outside of its storage")
        if key not in self._views:
            self._views[key] = storage[first:last]
        return self._views[key]

    def fill(self, file: Any, keys: Any, swap: bool) -> None:
        """Read the elements of all storages, in the order of ``keys``."""
        if isinstance(keys, list):  # with encoding="bytes" they are not yet text
            keys = [key.decode("ascii") if isinstance(key, bytes) else key for key in keys]
        if not isinstance(keys, list) or set(keys) != set(self._found):
            raise RuntimeError("the file's list of storages does not match its contents")
        for key in keys:
            read, placed, dtype = self._found[key]
            _read_elements(file, read, dtype)
            if swap:
                read.byteswap(dtype)
            if placed is not read and placed.device.type != "meta":
                placed.copy_(read)


def _read_elements(file: Any, storage: UntypedStorage, dtype: DType) -> None:
    header = file.read(8)
    if len(header) != 8:
        raise RuntimeError(
            f"unexpected EOF, expected {8 - len(header)} more bytes. The file might be corrupted."
        )
    (count,) = struct.unpack("=q", header)
    if count * dtype.itemsize != storage.nbytes():
        raise RuntimeError(
            f"storage has wrong byte size: expected {storage.nbytes()} got {count * dtype.itemsize}"
        )
    target = memoryview(storage._bytes())
    if not fill_storage(file, target):
        raise RuntimeError(
            f"unexpected EOF, expected {len(target)} more bytes. The file might be corrupted."
        )
