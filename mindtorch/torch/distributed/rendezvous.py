"""How processes find the store: by environment variables, an address or a file."""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlparse

from . import _mpi
from ._store import FileStore, Store, TCPStore

__all__ = ["rendezvous"]


def rendezvous(
    url: str, rank: int = -1, world_size: int = -1, timeout: timedelta = timedelta(minutes=5)
) -> tuple[Store, int, int]:
    """The store that ``url`` names, this process's rank, and the number of processes.

    Args:
        url: "env://" (MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE), "tcp://host:port" or
            "file:///path".
        world_size: how many processes there are, where ``url`` does not say so.
    """
    parsed = urlparse(url)
    query = {key: values[0] for key, values in parse_qs(parsed.query).items()}
    handlers = {"env": _by_environment, "tcp": _by_address, "file": _by_file}
    if parsed.scheme not in handlers:
        raise RuntimeError(f"No rendezvous handler for {parsed.scheme}://")
    rank = int(query.get("rank", rank))
    world_size = int(query.get("world_size", world_size))
    return handlers[parsed.scheme](parsed, rank, world_size, timeout)


def _error(scheme: str, text: str) -> ValueError:
    return ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {text}")


def _by_environment(parsed: Any, rank: int, size: int, timeout: timedelta) -> Any:
    def variable(name: str) -> str:
        found = os.environ.get(name)
        if found is None:
            raise _error("env", f"environment variable {name} expected, but not set")
        return found

    told = _mpi.launched()
    if told is not None and "RANK" not in os.environ:
        rank, size = (rank if rank >= 0 else told[0]), (size if size >= 0 else told[1])
        if "MASTER_ADDR" not in os.environ and (rank, size) == told and _mpi.available():
            return _by_mpi(rank, size, timeout), rank, size
    rank = rank if rank >= 0 else int(variable("RANK"))
    size = size if size >= 0 else int(variable("WORLD_SIZE"))
    address, port = variable("MASTER_ADDR"), int(variable("MASTER_PORT"))
    return TCPStore(address, port, size, rank == 0, timeout), rank, size


def _by_mpi(rank: int, size: int, timeout: timedelta) -> Store:
    """Under mpiexec: the first process makes the store, and MPI tells the others where it is."""
    host = socket.gethostname()
    hosts = _mpi.share(host, timeout)
    store = None
    if rank == 0:
        host = "127.0.0.1" if len(set(hosts)) == 1 else socket.gethostbyname(host)
        store = TCPStore(host, 0, size, True, timeout, wait_for_workers=False)
    place = (store.host, store.port) if store is not None else None
    host, port = _mpi.share(place, timeout)[0]
    return store or TCPStore(host, port, size, False, timeout, wait_for_workers=False)


def _by_address(parsed: Any, rank: int, size: int, timeout: timedelta) -> Any:
    if parsed.port is None:
        raise _error("tcp", "port number missing")
    if rank < 0:
        raise _error("tcp", "rank parameter missing")
    if size < 0:
        raise _error("tcp", "world size parameter missing")
    return TCPStore(parsed.hostname, parsed.port, size, rank == 0, timeout), rank, size


def _by_file(parsed: Any, rank: int, size: int, timeout: timedelta) -> Any:
    path = (parsed.netloc + parsed.path) or ""
    if not path:
        raise _error("file", "path missing")
    if rank < 0:
        raise _error("file", "rank parameter missing")
    if size < 0:
        raise _error("file", "world size parameter missing")
    store = FileStore(path, size)
    store.set_timeout(timeout)
    return store, rank, size
