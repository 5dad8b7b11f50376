"""What a client and the server say over their Unix socket: a header in JSON, bytes, descriptors.

A frame is 8 bytes (the lengths of both parts), the header and the payload. Descriptors of shared
memory travel with the first bytes of an answer.
"""

from __future__ import annotations

import array
import json
import socket
import struct
from collections.abc import Sequence
from typing import Any

__all__ = ["FrameError", "receive", "send"]

_LENGTHS = struct.Struct("<II")
_HEADER_LIMIT = 64 << 20
_DESCRIPTORS = 1


class FrameError(OSError):
    """What came is not a frame."""


def send(
    connection: socket.socket, header: dict[str, Any], payload: Sequence[Any] = (),
    descriptors: Sequence[int] = (),
) -> None:  # fmt: skip
    """Send a frame.

    Args:
        header: what JSON can say.
        payload: buffers, one after another.
        descriptors: open files that the other side gets.
    """
    head = json.dumps(header, separators=(",", ":")).encode()
    start = _LENGTHS.pack(len(head), sum(map(len, payload))) + head
    if descriptors:
        sent = socket.send_fds(connection, [start], list(descriptors))
        connection.sendall(memoryview(start)[sent:])
    else:
        connection.sendall(start)
    for buffer in payload:
        connection.sendall(buffer)


def receive(
    connection: socket.socket, buffer: bytearray | None = None
) -> tuple[dict[str, Any], memoryview, list[int]] | None:
    """The next frame: header, payload, descriptors; None where the other side has ended.

    Args:
        buffer: where the payload goes if it is large enough.

    Raises:
        FrameError: what came is no frame, or ends within it.
    """
    first, found, _, _ = connection.recvmsg(
        _LENGTHS.size, socket.CMSG_LEN(_DESCRIPTORS * array.array("i").itemsize),
        socket.MSG_CMSG_CLOEXEC,
    )  # fmt: skip
    if not first:
        return None
    descriptors = array.array("i")
    for level, kind, data in found:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    lengths = bytes(first) + bytes(_receive_bytes(connection, _LENGTHS.size - len(first)))
    head_size, payload_size = _LENGTHS.unpack(lengths)
    if head_size > _HEADER_LIMIT:
        raise FrameError(f"a header of {head_size} bytes")
    head = bytes(_receive_bytes(connection, head_size))
    payload = _receive_bytes(connection, payload_size, buffer)
    try:
        header = json.loads(head)
    except ValueError as error:
        raise FrameError(f"a header that is not JSON: {error}") from None
    if not isinstance(header, dict):
        raise FrameError("a header that is not an object")
    return header, payload, descriptors.tolist()


def _receive_bytes(
    connection: socket.socket, size: int, buffer: bytearray | None = None
) -> memoryview:
    fits = buffer is not None and len(buffer) >= size
    data = memoryview(buffer if buffer is not None and fits else bytearray(size))[:size]
    received = 0
    while received < size:
        count = connection.recv_into(data[received:])
        if count == 0:
            raise FrameError("the other side ended within a frame")
        received += count
    return data
