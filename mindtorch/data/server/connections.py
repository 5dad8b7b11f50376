"""The server's Unix socket: one thread for each client, which opens caches and sends rows."""

from __future__ import annotations

import logging
import os
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindtorch

from ..layout import PROTOCOL
from ..messages import receive, send
from .store import Cache, Refused, Row, Store

__all__ = ["Connections"]

_log = logging.getLogger("mindtorch.data.server")
_PEER = struct.Struct("3i")
_USUAL_PAYLOAD = 8 << 20  # bytes; clients send rows when 4 MiB are full


class Connections:
    """Accepts clients of this user.

    Args:
        store: what they work on.
        path: of the socket; a file that is left there is replaced.
        instance: tells this run of the server from others.
        at_once: how many clients' rows are stored at the same time.
    """

    def __init__(self, store: Store, path: Path, instance: str, at_once: int) -> None:
        self.store, self.path, self.instance = store, path, instance
        self._storing = threading.BoundedSemaphore(at_once)
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        path.unlink(missing_ok=True)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(os.fspath(path))
        path.chmod(0o600)
        self._listening.listen(128)
        self._ending = False
        self._thread = threading.Thread(target=self._accept, name="accept", daemon=True)
        self._thread.start()

    def count(self) -> int:
        """How many clients are connected."""
        return len(self._open)

    def close(self) -> None:
        """End all connections, and the socket."""
        if self._ending:
            return
        self._ending = True
        self.path.unlink(missing_ok=True)
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._lock:
            for connection in self._open:
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._ending:
            try:
                connection, _ = self._listening.accept()
            except OSError as error:
                if not self._ending:
                    _log.error("a client could not be accepted: %s", error)
                    threading.Event().wait(0.1)
                continue
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            credentials = connection.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size
            )
            process, user, _ = _PEER.unpack(credentials)
            if user not in (os.getuid(), 0):
                _log.warning("process %d of user %d was refused", process, user)
                return
            with self._lock:
                self._open.add(connection)
            try:
                _Client(self, connection).serve()
            except OSError as error:  # it died, also within a frame: nothing of that was stored
                _log.info("the connection of process %d ended: %s", process, error)
            finally:
                with self._lock:
                    self._open.discard(connection)

    def store_rows(self, cache: Cache, rows: list[Row]) -> int:
        """Rows into a cache; how many were taken."""
        with self._storing:
            return cache.put(rows)


class _Client:
    """One client's requests, in turn."""

    def __init__(self, owner: Connections, connection: socket.socket) -> None:
        self.owner, self.connection = owner, connection
        self.caches: list[Cache] = []
        self.greeted, self.buffer = False, bytearray(_USUAL_PAYLOAD)
        self._requests: dict[str, Callable[[dict[str, Any], memoryview], None]] = {
            "hello": self._hello, "session": self._session, "open": self._open,
            "piece": self._piece, "put": self._put, "finish": self._finish,
            "withdraw": self._withdraw, "stat": self._stat,
        }  # fmt: skip

    def serve(self) -> None:
        while True:
            frame = receive(self.connection, self.buffer)
            if frame is None:
                return
            header, payload, descriptors = frame
            for each in descriptors:  # nothing asks for files: none is kept open
                os.close(each)
            kind = header.get("kind")
            answer = self._requests.get(kind) if isinstance(kind, str) else None
            try:
                if answer is None or not (self.greeted or kind == "hello"):
                    raise Refused("protocol", f"there is no request {kind!r}, or no greeting came")
                answer(header, payload)
            except Refused as error:
                send(self.connection, {"refused": error.kind, "text": error.text})
            except (KeyError, IndexError, TypeError, ValueError) as error:
                text = f"a request {kind!r} that is not well formed: {error!r}"
                send(self.connection, {"refused": "protocol", "text": text})

    def _hello(self, header: dict[str, Any], payload: memoryview) -> None:
        if header["protocol"] != PROTOCOL:
            raise Refused(
                "version",
                f"the cache server is of mindtorch {mindtorch.__version__} (protocol {PROTOCOL}), "
                f"this program of mindtorch {header['version']} (protocol {header['protocol']}): "
                "stop the server and start it again with this version",
            )
        self.greeted = True
        send(self.connection, {"instance": self.owner.instance, "version": mindtorch.__version__})

    def _session(self, header: dict[str, Any], payload: memoryview) -> None:
        self.owner.store.check_session(int(header["session"]))
        send(self.connection, {})

    def _open(self, header: dict[str, Any], payload: memoryview) -> None:
        store, session = self.owner.store, int(header["session"])
        if header["instance"] not in ("", self.owner.instance):
            store.restore_session(session)  # a server before this one had it
        cache = store.open(
            session, str(header["key"]), int(header["megabytes"]), bool(header["spilling"])
        )
        self.caches.append(cache)
        self._answer(cache, number=len(self.caches) - 1, salt=cache.salt,
                     folder=None if cache.spill is None else os.fspath(cache.spill.folder),
                     map_size=0 if cache.spill is None else cache.spill.map_size)  # fmt: skip

    def _answer(self, cache: Cache, **facts: Any) -> None:
        """Facts, and those that change as rows are added."""
        facts["blocks"] = sorted(cache.index.blocks)
        send(self.connection, {
            **facts, "segments": len(cache.segments.pieces), "full": cache.full,
            "total": cache.total,
        })  # fmt: skip

    def _piece(self, header: dict[str, Any], payload: memoryview) -> None:
        cache, number = self.caches[header["cache"]], int(header["number"])
        with cache.lock:
            if cache.closed:
                raise Refused("session", "A destroy request came for this cache.")
            pieces: Any = cache.segments.pieces if header["of"] == "rows" else cache.index.blocks
            piece = pieces[number]
            send(self.connection, {"size": piece.size}, (), [piece.descriptor])

    def _put(self, header: dict[str, Any], payload: memoryview) -> None:
        cache = self.caches[header["cache"]]
        rows, start = [], 0
        for number, length, checksum in header["rows"]:
            rows.append(Row(int(number), payload[start : start + length], int(checksum)))
            start += length
        if start != len(payload):
            raise Refused("protocol", f"rows of {start} bytes in a payload of {len(payload)}")
        taken = self.owner.store_rows(cache, rows)
        self._answer(cache, taken=taken)

    def _finish(self, header: dict[str, Any], payload: memoryview) -> None:
        cache = self.caches[header["cache"]]
        cache.finish(int(header["total"]))
        self._answer(cache)

    def _withdraw(self, header: dict[str, Any], payload: memoryview) -> None:
        cache = self.caches[header["cache"]]
        cache.withdraw(int(header["row"]))
        _log.warning("a damaged row was withdrawn: %d of cache %d", header["row"], cache.number)
        self._answer(cache)

    def _stat(self, header: dict[str, Any], payload: memoryview) -> None:
        counts = self.caches[header["cache"]].counts
        send(self.connection, {
            "in_memory": counts.in_memory, "on_disk": counts.on_disk, "bytes": counts.bytes,
        })  # fmt: skip
