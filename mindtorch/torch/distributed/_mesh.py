"""A connection between every two processes, over which bytes go under tags.

A thread for each peer takes what arrives into queues, so that a process may send without anybody
waiting at the other end.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import struct
import threading
import time
from collections import Counter, defaultdict, deque
from datetime import timedelta
from typing import Any

from . import _failure
from ._store import Store, TCPStore, read_exactly
from ._waits import Wait, Waiting

_HEADER = struct.Struct("<IiQ")


class Mesh:
    """The connections of one process to all others.

    Args:
        store: where processes find each other.
        rank, size: this process's number, and how many there are.
        timeout: how long to wait for a peer or for data.
    """

    def __init__(self, store: Store, rank: int, size: int, timeout: timedelta) -> None:
        self.rank = rank
        self.size = size
        self.timeout = timeout
        self.peers: dict[int, socket.socket] = {}
        self.send_locks: dict[int, threading.Lock] = {}
        self.arrived: dict[tuple[int, int, int], deque[bytearray]] = defaultdict(deque)
        self.changed = threading.Condition()
        self.lost: dict[int, str] = {}
        self.left: set[int] = set()
        self.process = os.getpid()
        self.closed = False
        self.failed = False
        self.stuck = False
        # by group: how many operations were begun, the last one, and what it was about
        self.doing: dict[int, tuple[int, tuple[Any, ...], str]] = {}
        self.made: Counter[tuple[Any, ...]] = Counter()  # modules, by kind and ranks
        self.answers: dict[int, str] = {}
        self.asking = threading.Lock()
        # by thread, what it waits in, and the threads that work for groups
        self.waits: dict[int, Wait] = {}
        self.turns: set[int] = set()
        # by thread, to whom it sends just now: what peers wait for may be on its way
        self.sending: dict[int, int] = {}
        # by what is waited in, what another process has found: that it never ends
        self.cycles: dict[str, str] = {}
        self.silent: set[int] = set()
        if size > 1:
            self._connect_all(store)

    def _connect_all(self, store: Store) -> None:
        host = store.own_address if isinstance(store, TCPStore) else _own_address()
        if self.rank == 0:
            store.set("secret", secrets.token_hex(16))
        secret = store.get("secret")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.create_server((host, 0), family=family, backlog=self.size) as listener:
            listener.settimeout(self.timeout.total_seconds())
            store.set(f"address/{self.rank}", f"{host} {listener.getsockname()[1]}")
            for peer in range(self.rank):
                other, port = store.get(f"address/{peer}").decode().split()
                connection = socket.create_connection(
                    (other, int(port)), timeout=self.timeout.total_seconds()
                )
                connection.sendall(secret + struct.pack("<I", self.rank))
                self._take(peer, connection)
            missing = self.size - 1 - self.rank
            while missing:
                connection, _ = listener.accept()
                told = read_exactly(connection, len(secret) + 4)
                if not secrets.compare_digest(bytes(told[:-4]), secret):
                    connection.close()
                    continue
                self._take(struct.unpack("<I", told[-4:])[0], connection)
                missing -= 1

    def _take(self, peer: int, connection: socket.socket) -> None:
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peers[peer] = connection
        self.send_locks[peer] = threading.Lock()
        threading.Thread(target=self._read, args=(peer, connection), daemon=True).start()

    def _read(self, peer: int, connection: socket.socket) -> None:
        try:
            while True:
                group, tag, count = _HEADER.unpack(read_exactly(connection, _HEADER.size))
                data = read_exactly(connection, count)
                if group == _failure.CONTROL:
                    _failure.heard(self, peer, tag, data.decode())
                    continue
                with self.changed:
                    self.arrived[peer, group, tag].append(data)
                    self.changed.notify_all()
        except OSError as error:
            with self.changed:
                known = peer in self.lost or peer in self.left
                how = "left in order" if peer in self.left else f"ended: {error}"
                self.lost.setdefault(peer, f"rank {peer} has {how}")
                self.changed.notify_all()
                if self.closed:
                    connection.close()
            if not known:
                _failure.end_soon(self, f"the process of rank {peer} has ended")

    def send(self, peer: int, group: int, tag: int, data: Any) -> None:
        """Send bytes, or what has a buffer of bytes, to ``peer`` under a group and a tag."""
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        thread = threading.get_ident()
        try:
            with self.send_locks[peer]:
                connection = self.peers[peer]
                if group != _failure.CONTROL:
                    self.sending[thread] = peer
                connection.sendall(_HEADER.pack(group, tag, len(view)))
                connection.sendall(view)
        except OSError as error:
            raise RuntimeError(f"Connection closed by peer {peer}: {error}") from error
        finally:
            if group != _failure.CONTROL:
                self.sending.pop(thread, None)

    def receive(
        self, peer: int, group: int, tag: int, timeout: timedelta | None = None, about: str = ""
    ) -> bytearray:
        """The oldest bytes from ``peer`` under a group and a tag, waited for.

        Args:
            about: what they are, for errors; "" for those of the group's last operation.
        """
        return self.receive_any([peer], group, tag, timeout, about)[1]

    def receive_any(
        self, peers: list[int], group: int, tag: int, timeout: timedelta | None = None,
        about: str = "",
    ) -> tuple[int, bytearray]:  # fmt: skip
        """The next bytes of any of the peers, and whose they are."""
        limit = (self.timeout if timeout is None else timeout).total_seconds()
        end = time.monotonic() + limit
        look = time.monotonic() + _failure.PATIENCE
        together = tag < 0 and not about
        if not together:
            about = about or f"recv from rank {', '.join(map(str, peers))}"
        with self.changed:
            found = self._take_arrived(peers, group, tag, about)
        if found is not None:
            return found
        text = _failure.last_operation(self, group) if together else about
        key = _failure.key_of(self, group) if together else ""
        with Waiting(self, peers, text, key) as waiting:
            while True:
                with self.changed:
                    found = self._take_arrived(peers, group, tag, about)
                    if found is not None:
                        return found
                    if waiting.wait.key in self.cycles:
                        raise RuntimeError(self.cycles.pop(waiting.wait.key))
                    now = time.monotonic()
                    if now > end:
                        break
                    self.changed.wait(min(end, look) - now)
                if time.monotonic() > look:
                    look = time.monotonic() + _failure.PATIENCE
                    if together:
                        _failure.check_same(self, peers, group)
                    if len(peers) == 1:
                        _failure.check_cycle(self, waiting.wait)
        raise _failure.timed_out(self, peers, group, limit)

    def _take_arrived(
        self, peers: list[int], group: int, tag: int, about: str
    ) -> tuple[int, bytearray] | None:
        """What has arrived of any of the peers; raises where nothing can."""
        for peer in peers:
            queue = self.arrived.get((peer, group, tag))
            if queue:
                return peer, queue.popleft()
        gone = [peer for peer in peers if peer in self.lost]
        if self.closed or len(gone) == len(peers):
            why = self.lost.get(gone[0]) if gone else "the process group was destroyed"
            where = about or _failure.last_operation(self, group)
            raise RuntimeError(
                f"Connection closed by peer {peers} while rank {self.rank} waits in {where}: {why}"
            )
        return None

    def has_arrived(self, peer: int, group: int, tag: int) -> bool:
        """Whether :meth:`receive` would not wait."""
        with self.changed:
            return bool(self.arrived.get((peer, group, tag)))

    def comes(self, peer: int, group: int, tag: int, timeout: timedelta) -> bool:
        """Wait until :meth:`receive` would not; whether that is so within the time."""

        def known() -> bool:
            return bool(self.arrived.get((peer, group, tag))) or peer in self.lost

        with self.changed:
            self.changed.wait_for(known, timeout.total_seconds())
            return bool(self.arrived.get((peer, group, tag)))

    def close(self) -> None:
        """End all connections; what was sent still arrives."""
        if not self.closed and not self.failed:
            _failure.tell_peers(self, _failure.LEAVING, "")
        with self.changed:
            self.closed = True
            self.changed.notify_all()
            for peer, connection in self.peers.items():
                if peer in self.lost:
                    connection.close()
                else:
                    with contextlib.suppress(OSError):
                        connection.shutdown(socket.SHUT_WR)

    def wait_until_left(self) -> bool:
        """Wait for all peers to have ended; whether all of them, and this one, did so in order.

        After a failure, peers that can tell their own traceback are waited for, not longer than
        they are given for it; and mpiexec, which ends the job by the status of who leaves first,
        has a moment to see that of the process that failed.
        """
        end = time.monotonic() + _failure.GRACE + 1
        with self.changed:
            while not self._ended(self.left | self.lost.keys()):
                own = self.failed or self.stuck
                if own and (self._ended(self.left | self.silent) or time.monotonic() > end):
                    break
                self.changed.wait(0.2)
            if self.failed or self.stuck:
                return False
            failed = self.lost.keys() - self.left
        if failed:
            time.sleep(_failure.GRACE)
        return not failed

    def _ended(self, known: set[int]) -> bool:
        return known >= self.peers.keys()


def _own_address() -> str:
    """An address of this machine that its own processes can reach."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
