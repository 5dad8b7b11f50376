"""Stores: what processes tell each other before they are connected: keys with bytes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from ._errors import DistNetworkError, DistStoreError

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore", "read_exactly"]

_SET, _GET, _ADD, _CHECK, _DELETE, _COUNT, _SWAP = range(7)
_DEFAULT = timedelta(minutes=5)


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


class Store:
    """Keys with values. ``get`` and ``wait`` block until a key is there or the time is over."""

    def __init__(self, timeout: timedelta = _DEFAULT) -> None:
        self.timeout = timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """How long ``get`` and ``wait`` wait."""
        self.timeout = timeout

    def set(self, key: str, value: Any) -> None:
        """Write a value, a string or bytes."""
        self._ask(_SET, key, _bytes(value))

    def get(self, key: str) -> bytes:
        """The value, waited for."""
        self.wait([key])
        return self._ask(_GET, key)

    def add(self, key: str, amount: int) -> int:
        """Add to a counter, which begins at 0; the sum."""
        return int(self._ask(_ADD, key, str(int(amount)).encode()))

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there."""
        return all(self._ask(_CHECK, key) == b"1" for key in keys)

    def wait(self, keys: list[str], timeout: timedelta | None = None) -> None:
        """Block until all keys are there."""
        limit = self.timeout if timeout is None else timeout
        end = time.monotonic() + limit.total_seconds()
        pause = 0.001
        while not self.check(keys):
            if time.monotonic() > end:
                raise DistStoreError(
                    f"wait timeout after {int(limit.total_seconds() * 1000)}ms, keys: "
                    f"{', '.join(keys)}"
                )
            time.sleep(pause)
            pause = min(pause * 2, 0.05)

    def delete_key(self, key: str) -> bool:
        """Remove a key; whether it was there."""
        return self._ask(_DELETE, key) == b"1"

    def num_keys(self) -> int:
        """How many keys there are."""
        return int(self._ask(_COUNT, ""))

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        """Write ``desired_value`` when the value is as expected ("" for none); the value then."""
        return self._ask(_SWAP, key, _bytes(expected_value), _bytes(desired_value))

    def _ask(self, command: int, key: str, *values: bytes) -> bytes:
        raise NotImplementedError


def _answer(table: dict[str, bytes], command: int, key: str, values: list[bytes]) -> bytes:
    """Do a command on the table of keys."""
    if command == _SET:
        table[key] = values[0]
    elif command == _GET:
        return table[key]
    elif command == _ADD:
        table[key] = str(int(table.get(key, b"0")) + int(values[0])).encode()
        return table[key]
    elif command == _CHECK:
        return b"1" if key in table else b"0"
    elif command == _DELETE:
        return b"1" if table.pop(key, None) is not None else b"0"
    elif command == _COUNT:
        return str(len(table)).encode()
    elif command == _SWAP:
        expected, desired = values
        if (key in table and table[key] == expected) or (key not in table and not expected):
            table[key] = desired
        return table.get(key, expected)
    return b""


class HashStore(Store):
    """A store for the threads of one process."""

    def __init__(self) -> None:
        super().__init__()
        self._table: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def _ask(self, command: int, key: str, *values: bytes) -> bytes:
        with self._lock:
            return _answer(self._table, command, key, list(values))


class PrefixStore(Store):
    """Another store, with ``prefix`` before every key."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__(store.timeout)
        self.prefix = prefix
        self.underlying_store = store

    def _ask(self, command: int, key: str, *values: bytes) -> bytes:
        return self.underlying_store._ask(command, f"{self.prefix}/{key}", *values)


class FileStore(Store):
    """A store in a file that all processes see; the last one to leave removes it.

    Args:
        file_name: the file, made when it is not there.
        world_size: how many processes use it; -1 when it is not known.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = file_name
        self.world_size = world_size
        with self._locked():
            pass

    @contextlib.contextmanager
    def _locked(self) -> Iterator[Any]:
        with open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file

    def _ask(self, command: int, key: str, *values: bytes) -> bytes:
        with self._locked() as file:
            file.seek(0)
            table = _parse(file.read())
            before = dict(table)
            result = _answer(table, command, key, list(values))
            if table != before:
                file.truncate(0)
                file.write(_format(table))
            return result

    def leave(self) -> None:
        """Count this process out; the last one removes the file."""
        if self.world_size > 0 and os.path.exists(self.path) and (
            self.add("left", 1) >= self.world_size
        ):
            os.unlink(self.path)


def _format(table: dict[str, bytes]) -> bytes:
    parts = []
    for key, value in table.items():
        name = key.encode()
        parts.append(struct.pack("<II", len(name), len(value)) + name + value)
    return b"".join(parts)


def _parse(data: bytes) -> dict[str, bytes]:
    table: dict[str, bytes] = {}
    place = 0
    while place < len(data):
        first, second = struct.unpack_from("<II", data, place)
        place += 8
        table[data[place : place + first].decode()] = data[place + first : place + first + second]
        place += first + second
    return table


def read_exactly(connection: socket.socket, count: int) -> bytearray:
    """``count`` bytes; ConnectionError when the other side has ended."""
    data = bytearray(count)
    view = memoryview(data)
    place = 0
    while place < count:
        got = connection.recv_into(view[place:], count - place)
        if not got:
            raise ConnectionError("the other process has closed the connection")
        place += got
    return data


def _send_parts(connection: socket.socket, command: int, parts: list[bytes]) -> None:
    sizes = struct.pack(f"<BB{len(parts)}I", command, len(parts), *[len(p) for p in parts])
    connection.sendall(sizes + b"".join(parts))


def _read_parts(connection: socket.socket) -> tuple[int, list[bytes]]:
    command, count = struct.unpack("<BB", read_exactly(connection, 2))
    sizes = struct.unpack(f"<{count}I", read_exactly(connection, 4 * count))
    return command, [bytes(read_exactly(connection, size)) for size in sizes]


class TCPStore(Store):
    """A store in one process, the master; others reach it by TCP.

    Args:
        host_name, port: of the master; port 0 lets the master choose one.
        world_size: how many processes there are, the master waits for them.
        is_master: whether this process keeps the store.
        wait_for_workers: whether making the master waits until all others have come.
        multi_tenant, use_libuv: of no effect.
        master_listen_fd: None; a socket of one's own is refused.
    """

    def __init__(
        self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
        timeout: timedelta = _DEFAULT, wait_for_workers: bool = True, multi_tenant: bool = False,
        master_listen_fd: int | None = None, use_libuv: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(timeout)
        if master_listen_fd is not None:
            raise NotImplementedError("TCPStore(master_listen_fd=...) is not available")
        self.host = host_name
        self.port = port
        self.is_master = is_master
        self._server: _Server | None = None
        if is_master:
            self._server = _Server(host_name, port)
            self.port = self._server.port
        self._lock = threading.Lock()
        self._connection = _connect(host_name, self.port, timeout)
        if world_size is not None and wait_for_workers:
            self.add("init/", 1)
            if is_master:
                self._await_clients(world_size)

    def _await_clients(self, count: int) -> None:
        seconds = self.timeout.total_seconds()
        end = time.monotonic() + seconds
        while (come := self.add("init/", 0)) < count:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {int(seconds) + 1} seconds waiting for clients. "
                    f"{come}/{count} clients joined."
                )
            time.sleep(0.005)

    @property
    def own_address(self) -> str:
        """The address by which this process reached the master."""
        return str(self._connection.getsockname()[0])

    def _ask(self, command: int, key: str, *values: bytes) -> bytes:
        with self._lock:
            try:
                _send_parts(self._connection, command, [key.encode(), *values])
                failed, parts = _read_parts(self._connection)
            except OSError as error:
                raise DistNetworkError(
                    f"the store at ({self.host}, {self.port}), which the first process keeps, "
                    f"does not answer: {error}"
                ) from error
        if failed:
            raise RuntimeError(parts[0].decode())
        return parts[0]

    def close(self) -> None:
        """End the connection, and the server where this is the master."""
        self._connection.close()
        if self._server is not None:
            self._server.close()

    def __del__(self) -> None:
        if hasattr(self, "_connection"):
            self.close()


def _connect(host: str, port: int, timeout: timedelta) -> socket.socket:
    """A connection to the master, which may still be starting."""
    end = time.monotonic() + timeout.total_seconds()
    while True:
        try:
            connection = socket.create_connection((host, port), timeout=10)
        except OSError as error:
            if time.monotonic() > end:
                raise DistNetworkError(
                    f"The client socket has timed out after "
                    f"{int(timeout.total_seconds() * 1000)}ms while trying to connect to "
                    f"({host}, {port})."
                ) from error
            time.sleep(0.05)
            continue
        connection.settimeout(max(timeout.total_seconds(), 1.0))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


class _Server:
    """Keeps the keys of a TCPStore; a thread for each client."""

    def __init__(self, host: str, port: int) -> None:
        family = socket.getaddrinfo(host, port)[0][0]
        self.listener = socket.create_server((host, port), family=family, backlog=1024)
        self.port = self.listener.getsockname()[1]
        self.table: dict[str, bytes] = {}
        self.lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            while True:
                try:
                    command, (key, *values) = _read_parts(connection)
                    try:
                        with self.lock:
                            answer = _answer(self.table, command, key.decode(), values)
                        _send_parts(connection, 0, [answer])
                    except (KeyError, ValueError) as error:
                        _send_parts(connection, 1, [f"store: {error!r}".encode()])
                except (OSError, ValueError, struct.error):
                    return

    def close(self) -> None:
        """Take no more clients; those that are connected are served until they leave."""
        self.listener.close()
