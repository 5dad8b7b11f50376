"""What front and worker say to each other: a header in JSON, then the bytes of the columns.

A frame is 16 bytes (the lengths of both parts), the header and the payload. Inputs of a usual size
do not go through the socket: they lie in memory that both processes have mapped, in the slot that
the header names.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from .columns import Block, Column

__all__ = ["LENGTHS", "Slots", "columns_of", "decode", "encode", "receive"]

LENGTHS = struct.Struct("<QQ")
SLOTS = 2  # batches that a worker may have
SLOT_BYTES = 4 << 20  # larger inputs go through the socket; what is never written takes no memory
LINE = 64  # where blocks begin: at multiples of it


class Slots:
    """Memory of a front and a worker for the inputs of batches. It has no name, so nothing is left
    behind however they end.

    Args:
        number: of the open file, which :func:`make` gives.
    """

    def __init__(self, number: int) -> None:
        self._memory = memoryview(mmap.mmap(number, SLOTS * SLOT_BYTES))
        self._free = list(range(SLOTS))

    @staticmethod
    def make() -> int:
        """An open file of that size in memory."""
        number = os.memfd_create("inputs")
        os.ftruncate(number, SLOTS * SLOT_BYTES)
        return number

    def put(self, columns: Mapping[str, Column]) -> int:
        """Copy columns into a free slot; gives back which, -1: none is free or large enough."""
        blocks = [block for column in columns.values() for block in column]
        if not self._free or sum([_room(block.size) for block in blocks]) > SLOT_BYTES:
            return -1
        slot = self._free.pop()
        at = slot * SLOT_BYTES
        for block in blocks:
            size = block.size
            block.write(self._memory[at : at + size])
            at += _room(size)
        return slot

    def free(self, slot: int) -> None:
        """The worker has answered what lay there."""
        if slot >= 0:
            self._free.append(slot)

    def at(self, slot: int) -> memoryview:
        """The bytes of a slot."""
        return self._memory[slot * SLOT_BYTES : (slot + 1) * SLOT_BYTES]


def _room(size: int, line: int = LINE) -> int:
    return -(-size // line) * line


def encode(
    header: Mapping[str, Any], columns: Mapping[str, Column] | None = None, sent: bool = True
) -> list[Any]:
    """The buffers of a frame, in the order in which they are sent.

    Args:
        header: what is said beside the columns; what JSON can say.
        columns: the columns, by name.
        sent: whether their bytes are in the frame; else they are in a slot.
    """
    described: dict[str, Any] = {}
    buffers: list[Any] = []
    for name, column in (columns or {}).items():
        described[name] = [
            (block.dtype, block.shape, block.rows, block.size, block.lengths)
            for block in column
        ]
        if sent:
            buffers += [block.data for block in column]
    head = orjson.dumps({**header, "columns": described})
    return [LENGTHS.pack(len(head), sum(map(len, buffers))), head, *buffers]


def decode(head: Any, payload: Any, slots: Slots | None = None) -> dict[str, Any]:
    """The header of a frame, its columns under "columns".

    Args:
        head: the header's bytes.
        payload: the payload.
        slots: where the columns lie of a frame that names a slot.
    """
    header: dict[str, Any] = orjson.loads(head)
    slot, line = header.get("slot", -1), 1
    if slots is not None and slot >= 0:
        payload, line = slots.at(slot), LINE
    header["columns"] = columns_of(header["columns"], memoryview(payload), line)
    return header


def columns_of(described: dict[str, Any], payload: memoryview, line: int = 1) -> dict[str, Column]:
    """The columns of a frame; they are views of its payload, where blocks begin at multiples of
    ``line`` bytes."""
    columns: dict[str, Column] = {}
    start = 0
    for name, blocks in described.items():
        column = []
        for dtype, shape, rows, size, lengths in blocks:
            data = payload[start : start + size]
            column.append(Block(dtype, tuple(shape), rows, data, lengths))
            start += _room(size, line)
        columns[name] = column
    return columns


def receive(connection: socket.socket, slots: Slots | None = None) -> dict[str, Any] | None:
    """The next frame of a blocking socket; None where the other side has ended."""
    lengths = _receive_bytes(connection, LENGTHS.size)
    if lengths is None:
        return None
    head_size, payload_size = LENGTHS.unpack(lengths)
    head = _receive_bytes(connection, head_size)
    payload = _receive_bytes(connection, payload_size)
    return None if head is None or payload is None else decode(bytes(head), payload, slots)


def _receive_bytes(connection: socket.socket, size: int) -> memoryview | None:
    # numpy's memory is not written before it is read, and is aligned for arrays
    buffer = np.empty(size, np.uint8).data
    received = 0
    while received < size:
        count = connection.recv_into(buffer[received:])
        if count == 0:
            return None
        received += count
    return buffer


def send(connection: socket.socket, buffers: list[Any]) -> None:
    """Send a frame over a blocking socket."""
    connection.sendall(b"".join(buffers))
