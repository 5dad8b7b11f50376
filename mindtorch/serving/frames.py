"""What front and worker say to each other: a header in JSON, then the bytes of the columns.

A frame is 16 bytes (the lengths of both parts), the header and the payload.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from .columns import Block, Column

__all__ = ["LENGTHS", "columns_of", "decode", "encode", "receive"]

LENGTHS = struct.Struct("<QQ")


def encode(header: Mapping[str, Any], columns: Mapping[str, Column] | None = None) -> list[Any]:
    """The buffers of a frame, in the order in which they are sent.

    Args:
        header: what is said beside the columns; what JSON can say.
        columns: the columns, by name.
    """
    described: dict[str, Any] = {}
    buffers: list[Any] = []
    for name, column in (columns or {}).items():
        described[name] = [
            (block.dtype, block.shape, block.rows, len(block.data), block.lengths)
            for block in column
        ]
        buffers += [block.data for block in column]
    head = orjson.dumps({**header, "columns": described})
    return [LENGTHS.pack(len(head), sum(map(len, buffers))), head, *buffers]


def decode(head: Any, payload: Any) -> dict[str, Any]:
    """The header of a frame, its columns under "columns"."""
    header: dict[str, Any] = orjson.loads(head)
    header["columns"] = columns_of(header["columns"], memoryview(payload))
    return header


def columns_of(described: dict[str, Any], payload: memoryview) -> dict[str, Column]:
    """The columns of a frame; they are views of its payload."""
    columns: dict[str, Column] = {}
    start = 0
    for name, blocks in described.items():
        column = []
        for dtype, shape, rows, size, lengths in blocks:
            data = payload[start : start + size]
            column.append(Block(dtype, tuple(shape), rows, data, lengths))
            start += size
        columns[name] = column
    return columns


def receive(connection: socket.socket) -> dict[str, Any] | None:
    """The next frame of a blocking socket; None where the other side has ended."""
    lengths = _receive_bytes(connection, LENGTHS.size)
    if lengths is None:
        return None
    head_size, payload_size = LENGTHS.unpack(lengths)
    head = _receive_bytes(connection, head_size)
    payload = _receive_bytes(connection, payload_size)
    return None if head is None or payload is None else decode(bytes(head), payload)


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
