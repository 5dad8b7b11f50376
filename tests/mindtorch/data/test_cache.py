"""The cache of one pipeline: what is kept, where, and what happens when something is damaged."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mindtorch.data import CacheWarning, client
from mindtorch.data.client import MISSING
from mindtorch.data.connection import Connection, RefusedError
from mindtorch.data.layout import ENTRY_BYTES, HEADER_BYTES, checksum
from mindtorch.data.messages import receive, send
from mindtorch.data.rows import encode
from mindtorch.data.sequence import cached_sequence

from .conftest import KEY, Here

Make = Callable[..., Here]

def row(number: int, size: int = 3000) -> Any:
    return np.full(size, number % 251, np.int32), number


def is_row(value: Any, number: int, size: int = 3000) -> bool:
    return value is not MISSING and value[1] == number and (value[0] == number % 251).all()


def filled(here: Here, count: int, **settings: Any) -> Any:
    """A pipeline's rows, of which `count` were put."""
    cache = here.rows(**settings)
    for number in range(count):
        cache.put(number, row(number))
    cache.flush()
    return cache


def test_rows_are_shared(here: Make) -> None:
    """Another client has them at once, those too that lie in segments of which it knows nothing."""
    server = here()
    cache, other = filled(server, 10), server.rows()
    for number in range(10, 3000):  # several segments
        cache.put(number, row(number))
    cache.flush()
    assert len(server.kept().segments.pieces) > 1
    assert all(is_row(other.get(number), number) for number in range(3000))
    assert other.get(3000) is MISSING and other.get(10**9) is MISSING
    assert server.rows("f" * 32).get(0) is MISSING


def test_rows_are_found_while_they_are_sent(
    here: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a thread that reads while another one sends what waited."""
    cache = here().rows()
    cache.put(0, row(0))
    found: list[Any] = []
    ask = cache._ask

    def watched(*arguments: Any) -> Any:
        reader = threading.Thread(target=lambda: found.append(cache.get(0)))
        reader.start()
        reader.join()
        return ask(*arguments)

    monkeypatch.setattr(cache, "_ask", watched)
    cache.flush()
    assert len(found) == 1 and is_row(found[0], 0) and is_row(cache.get(0), 0)


def test_statistics(here: Make) -> None:
    server = here()
    cache = server.cache()
    with pytest.raises(RuntimeError, match="before a pipeline"):
        cache.get_stat()
    rows: Any = cache.open(KEY)
    for number in range(5):
        rows.put(number, row(number))
    found = cache.get_stat()
    assert (found.num_mem_cached, found.num_disk_cached) == (5, 0)
    assert found.avg_cache_sz == len(encode(row(0)))


def test_the_first_of_two_counts(here: Make) -> None:
    """Two processes that made the same row: it is stored once."""
    server = here()
    first, second = server.rows(), server.rows()
    first.put(0, row(0))
    second.put(0, row(0))
    first.flush()
    second.flush()
    assert server.kept().counts.in_memory == 1


def test_rows_that_wait(here: Make) -> None:
    """They are there for who put them, and are sent although nothing follows."""
    server = here()
    cache, other = server.rows(), server.rows()
    cache.put(3, row(3))
    assert is_row(cache.get(3), 3) and not cache.get(3)[0].flags.writeable
    until = time.monotonic() + 60
    while other.get(3) is MISSING and time.monotonic() < until:
        time.sleep(0.02)
    assert is_row(other.get(3), 3)


def test_memory_has_a_limit(here: Make) -> None:
    """`size` bounds the rows in memory; without a folder for others they are not kept."""
    server = here()
    with pytest.warns(CacheWarning, match="upper bound limit of: 1048576"):
        cache = filled(server, 200, size=1)
    kept = server.kept()
    assert 0 < kept.counts.in_memory < 1048576 / 12000
    assert kept.segments.allocated <= 1 << 20
    assert all(is_row(cache.get(n), n) for n in range(kept.counts.in_memory))
    assert cache.get(199) is MISSING
    assert server.store.budget.used < 4 << 20


def test_a_server_has_a_limit(here: Make) -> None:
    """All caches together take no more than the server may; what a session had can be had again."""
    server = here()
    server.store.budget.limit = 6 << 20
    with pytest.warns(CacheWarning, match=r"upper bound limit of: 6291456"):
        filled(server, 600)
    assert server.store.budget.used <= 6 << 20
    server.store.destroy_session(server.session)
    assert server.store.budget.used == 0


def test_rows_on_disk(here: Make, tmp_path: Path) -> None:
    server = here(spill_folder=str(tmp_path))
    cache, other = filled(server, 300, size=1, spilling=True), server.cache(size=1, spilling=True)
    again: Any = other.open(KEY)
    kept = server.kept()
    assert kept.counts.on_disk > 200 and kept.counts.in_memory > 50
    assert kept.counts.on_disk + kept.counts.in_memory == 300
    for each in (cache, again):
        assert all(is_row(each.get(number), number) for number in range(300))
    assert not again.get(299)[0].flags.writeable
    assert other.get_stat().num_disk_cached == kept.counts.on_disk
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    server.store.destroy_session(server.session)
    assert list(folder.iterdir()) == []


def test_a_disk_that_is_full(here: Make, tmp_path: Path) -> None:
    server = here(spill_folder=str(tmp_path), disk_limit=1 << 20)
    with pytest.warns(CacheWarning, match="No enough storage for cache server.*MDB_MAP_FULL"):
        cache = filled(server, 400, size=1, spilling=True)
    there = [n for n in range(400) if cache.get(n) is not MISSING]
    assert 100 < len(there) < 400
    assert all(is_row(cache.get(n), n) for n in there)


def test_damaged_memory(here: Make) -> None:
    """A bit that has changed in memory: the row is missing, is told of once, and is stored anew."""
    server = here()
    cache = filled(server, 40)
    memory = server.kept().segments.pieces[0].memory
    for place in range(64, len(memory) // 64, 100):
        memory[place * 64] ^= 1
    with pytest.warns(CacheWarning, match="damaged and is made again") as said:
        damaged = [n for n in range(40) if cache.get(n) is MISSING]
        assert damaged and len(said) == 1
    assert all(is_row(cache.get(n), n) for n in range(40) if n not in damaged)
    assert server.kept().counts.in_memory == 40 - len(damaged)
    for number in damaged:
        cache.put(number, row(number))
    cache.flush()
    assert all(is_row(cache.get(n), n) for n in range(40))


def test_damaged_entries(here: Make) -> None:
    """An entry of another row, of no segment, beyond a segment, or half written gives nothing."""
    server = here()
    cache = filled(server, 8)
    memory = server.kept().index.blocks[0].memory

    def entry(number: int) -> slice:
        return slice(HEADER_BYTES + number * ENTRY_BYTES, HEADER_BYTES + (number + 1) * ENTRY_BYTES)

    memory[entry(1)] = memory[entry(0)]
    memory[entry(2).start : entry(2).start + 4] = struct.pack("<I", 77)
    memory[entry(3).start + 4 : entry(3).start + 8] = struct.pack("<I", 2**31)
    memory[entry(4).start + 8 : entry(4).start + 12] = struct.pack("<I", 5)
    memory[entry(5).start + 16 : entry(5).stop] = bytes(8)
    with pytest.warns(CacheWarning, match="damaged"):
        assert all(cache.get(n) is MISSING for n in range(1, 6))
    assert all(is_row(cache.get(n), n) for n in (0, 6, 7))
    assert cache._connection is not None


def test_damaged_files(here: Make, tmp_path: Path) -> None:
    """Bytes that have changed on disk, and a file that was cut: nothing wrong, nothing crashes."""
    server = here(spill_folder=str(tmp_path))
    cache = filled(server, 200, size=1, spilling=True)
    (data,) = tmp_path.glob("*/*/data.mdb")
    content = bytearray(data.read_bytes())
    needle = np.full(3000, 150, np.int32).tobytes()[:400]
    place = content.index(needle)
    with data.open("r+b") as file:
        file.seek(place)
        file.write(b"\xff")
    with pytest.warns(CacheWarning, match="damaged"):
        assert cache.get(150) is MISSING
    assert is_row(cache.get(151), 151)
    os.truncate(data, 1 << 16)
    with pytest.warns(CacheWarning, match="cannot be read .*has shrunk"):
        assert cache.get(152) is MISSING and cache.get(199) is MISSING
    assert is_row(cache.get(3), 3)


def test_rows_that_were_damaged_on_their_way(here: Make) -> None:
    """A row is stored only if its checksum is that of its number in this cache."""
    server = here()
    cache = filled(server, 1)
    data, salt = bytes(encode(row(5))), server.kept().salt
    for number, length, sum_ in (
        (5, len(data), 1), (5, len(data), checksum(data, salt + 6)),
        (5, 0, checksum(b"", salt + 5)), (-1, len(data), checksum(data, salt - 1)),
        (2**41, len(data), 1),
    ):  # fmt: skip
        cache._ask({"kind": "put", "rows": [[number, length, sum_]]}, [data[:length]])
    assert server.kept().counts.in_memory == 1 and cache.get(5) is MISSING


def test_views_outlive_their_session(here: Make) -> None:
    """What a program holds stays as it is, whatever becomes of the session and of the client."""
    server = here()
    cache = filled(server, 30)
    held = [cache.get(n)[0] for n in range(30)]
    server.store.destroy_session(server.session)
    assert cache.get(3) is MISSING
    with pytest.warns(CacheWarning, match="come from their source"):
        cache.put(3, row(3))
        cache.flush()
    cache.close()
    del cache
    gc.collect()
    assert all((array == n).all() for n, array in enumerate(held))


def test_sessions_and_settings(here: Make, folder: Path) -> None:
    server = here()
    filled(server, 1)
    with pytest.raises(RuntimeError, match="not set up with spill support"):
        server.rows(spilling=True)
    with pytest.raises(RuntimeError, match=r"in session .* with size=0 and spilling=False"):
        server.rows(size=5)
    server.session += 1 if server.session < 2**32 - 1 else -1
    with pytest.raises(RuntimeError, match="the session was not found"):
        server.rows()
    with pytest.raises(RuntimeError, match="the session was not found"):
        server.cache().reach()
    server.connections.close()
    with pytest.raises(RuntimeError, match=f"Cache server with port {server.port} is unreachable"):
        server.rows()


def test_another_version(here: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    server = here()
    monkeypatch.setattr("mindtorch.data.connection.PROTOCOL", 99)
    with pytest.raises(RuntimeError, match=r"this program of mindtorch .* \(protocol 99\)"):
        server.rows()


def test_what_is_no_request(here: Make) -> None:
    """A client that talks nonsense is told so or cut off; the server goes on with the others."""
    server = here()
    cache = filled(server, 3)
    with socket.socket(socket.AF_UNIX) as client_socket:
        client_socket.connect(str(server.connections.path))
        send(client_socket, {"kind": "open"})
        answer: Any = receive(client_socket)
        assert answer[0]["refused"] == "protocol"
        client_socket.sendall(b"\xff" * 64)
        with contextlib.suppress(ConnectionResetError):
            assert client_socket.recv(1) == b""
    connection = Connection(server.port)
    for request in ({"kind": "put", "cache": 0, "rows": []}, {"kind": 3}, {"kind": "open"},
                    {"kind": "open", "session": "x", "key": 1, "instance": ""}):  # fmt: skip
        with pytest.raises(RefusedError) as error:
            connection.ask(request)
        assert error.value.kind == "protocol"
    connection.close()
    cache.put(3, row(3))
    cache.flush()
    assert is_row(cache.get(3), 3)


def test_a_client_that_dies_within_a_row(here: Make) -> None:
    server = here()
    cache = filled(server, 1)
    with socket.socket(socket.AF_UNIX) as client_socket:
        client_socket.connect(str(server.connections.path))
        client_socket.sendall(struct.pack("<II", 10, 1 << 20) + b'{"kind":"p')
    assert is_row(cache.get(0), 0)
    cache.put(1, row(1))
    cache.flush()
    assert is_row(cache.get(1), 1) and server.kept().counts.in_memory == 2


def test_a_server_that_is_started_again(here: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows in memory stay readable, others are missing, and it is said once; then both go on."""
    monkeypatch.setattr(client, "_RETRY_SECONDS", 0.0)
    server = here()
    cache = filled(server, 20)
    server.connections.close()
    with pytest.warns(CacheWarning, match="has ended") as said:
        for number in range(20, 60):
            cache.put(number, row(number))
        cache.refresh()
        assert len(said) == 1
    assert cache.get(30) is MISSING
    server.restart()
    cache.put(30, row(30))
    cache.flush()
    assert is_row(cache.get(30), 30)
    assert server.kept().counts.in_memory == 1
    assert cache.get(3) is MISSING  # the new server has not got it


def test_who_writes_in_spite_of_the_flag(here: Make) -> None:
    """Changes a page of this process alone: the row is read as it was, and is not withdrawn."""
    server = here()
    cache = filled(server, 3)
    torch.from_numpy(np.asarray(memory_of(cache.get(1)[0])))[:] = 7
    assert all(is_row(cache.get(n), n) for n in range(3))
    assert server.kept().counts.in_memory == 3


def memory_of(array: Any) -> Any:
    """The memory of a read-only array, as one that can be written."""
    kind = ctypes.c_int32 * array.size
    return np.ctypeslib.as_array(kind.from_address(array.ctypes.data))


def numbers(count: int, made: list[int], stop: int | None = None) -> Any:
    def make() -> Any:
        for number in range(count):
            if number == stop:
                raise ZeroDivisionError
            made.append(number)
            yield row(number)

    return make


def test_sequences(here: Make) -> None:
    """Rows of an iterator: a second pass needs none, one after an early end the rest."""
    server = here()
    cache, made = server.rows(), list[int]()
    with pytest.raises(ZeroDivisionError):
        list(cached_sequence(cache, numbers(50, made, stop=30)))
    made.clear()
    first = list(cached_sequence(cache, numbers(50, made)))
    assert made[0] == 0 and all(is_row(value, n) for n, value in enumerate(first))
    assert cache.total() == len(first) == 50
    made.clear()
    for each in (cache, server.rows()):
        assert [value[1] for value in cached_sequence(each, numbers(50, made))] == list(range(50))
    assert made == []
    server.kept().withdraw(17)
    assert [value[1] for value in cached_sequence(cache, numbers(50, made))] == list(range(50))
    assert made == list(range(18))
    assert list(cached_sequence(server.rows("e" * 32), numbers(0, made))) == []
