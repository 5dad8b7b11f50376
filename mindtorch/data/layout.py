"""Where rows lie: what the server writes and clients read in shared memory.

Memory comes in pieces that are allocated in full, then sealed (memfd_create(2), F_SEAL_*): they
never shrink, and clients can map them for reading only. A *segment* holds rows. A *block* of the
index holds the entries of 65,536 rows::

    header   64 bytes: total rows + 1 (0: not known), blocks, segments
    entries  24 bytes each: segment (0: absent, 0xFFFFFFFF: on disk), offset / 64, length, checksum

Only the header of block 0 counts. The checksum is XXH3 of the row's bytes, seeded by the cache and
the row's number, so bytes of another row, an entry that is half written and an entry that is broken
do not match either.
"""

from __future__ import annotations

import struct
from typing import Any

import xxhash

__all__ = [
    "BLOCK_BYTES", "BLOCK_SHIFT", "ENTRY", "ENTRY_BYTES", "HEADER", "HEADER_BYTES", "ON_DISK",
    "PROTOCOL", "ROWS_PER_BLOCK", "ROW_LIMIT", "checksum", "disk_key",
]  # fmt: skip

PROTOCOL = 1  # goes up whenever something here, in rows.py or in messages.py changes
BLOCK_SHIFT = 16
ROWS_PER_BLOCK = 1 << BLOCK_SHIFT
HEADER = struct.Struct("<QII")
HEADER_BYTES = 64
ENTRY = struct.Struct("<IIIxxxxQ")
ENTRY_BYTES = ENTRY.size
BLOCK_BYTES = HEADER_BYTES + ROWS_PER_BLOCK * ENTRY_BYTES
ON_DISK = 0xFFFFFFFF
ROW_LIMIT = 1 << 30  # bytes of a row

checksum: Any = xxhash.xxh3_64_intdigest
_DISK_KEY = struct.Struct(">Q")


def disk_key(row: int) -> bytes:
    """The key of a row in LMDB."""
    return _DISK_KEY.pack(row)
