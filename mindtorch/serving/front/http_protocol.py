"""uvicorn's HTTP protocol, with one write for an answer's head and body: two would wake the client
twice, and take it two reads."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["JoinedProtocol"]


class _JoinedWrites:
    """A transport whose writes of one turn of the loop are one.

    Args:
        transport: what they are written to.
        loop: its loop.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Write at the end of the turn."""
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held.append(data)

    def close(self) -> None:
        """Write what is held, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._held and not self._transport.is_closing():
            self._transport.write(b"".join(self._held))
        self._held.clear()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class JoinedProtocol(HttpToolsProtocol):
    """A connection, for `uvicorn.Config(http=)`."""

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        super().connection_made(_JoinedWrites(transport, self.loop))  # type: ignore[arg-type]
