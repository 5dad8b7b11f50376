"""What files are written and read with: checksums, byte order, mapping, elements left out."""

from __future__ import annotations

import threading
from enum import Enum
from mmap import MAP_PRIVATE, MAP_SHARED


class LoadEndianness(Enum):
    """The byte order assumed of files that do not record theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _Options(threading.local):
    checksums = True
    endianness: LoadEndianness | None = None
    mmap_flags = MAP_PRIVATE
    skip_data = False


options = _Options()


def get_crc32_options() -> bool:
    """Whether `save` computes a CRC-32 sum for each record (it does by default)."""
    return options.checksums


def set_crc32_options(compute_crc32: bool) -> None:
    """Choose whether `save` computes CRC-32 sums; without, other zip programs report damage."""
    options.checksums = compute_crc32


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order assumed of files that do not record theirs; None means little."""
    return options.endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Choose the byte order assumed of files that do not record theirs."""
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    options.endianness = endianness


def get_default_mmap_options() -> int:
    """How ``load(mmap=True)`` maps files: ``mmap.MAP_PRIVATE`` by default."""
    return options.mmap_flags


class set_default_mmap_options:  # noqa: N801
    """Choose how ``load(mmap=True)`` maps files; as a context manager, for the block only."""

    def __init__(self, flags: int) -> None:
        if flags not in (MAP_PRIVATE, MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE "
                f"or mmap.MAP_SHARED, but got {flags}"
            )
        self._before = options.mmap_flags
        options.mmap_flags = flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        options.mmap_flags = self._before


class skip_data:  # noqa: N801
    """Within this block `save` leaves room for the elements without writing them, and `load` gives
    tensors of zeros."""

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        if materialize_fake_tensors:
            raise NotImplementedError("mindtorch has no fake tensors to materialize")

    def __enter__(self) -> None:
        self._before = options.skip_data
        options.skip_data = True

    def __exit__(self, *_: object) -> None:
        options.skip_data = self._before
