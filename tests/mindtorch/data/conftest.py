"""A cache server in this process, and one in a process of its own."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mindtorch.data import DatasetCache, client
from mindtorch.data.admin import Remote, ServerOptions, start
from mindtorch.data.places import server_file
from mindtorch.data.server.connections import Connections
from mindtorch.data.server.store import Store

KEY = "0123456789abcdef" * 2


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of sockets; pytest's own have names that are too long for one."""
    made = Path(tempfile.mkdtemp(prefix="mc-"))
    monkeypatch.setenv("MINDTORCH_DATA_CACHE_DIR", str(made))
    monkeypatch.setattr(client, "_said", set())
    yield made
    shutil.rmtree(made)


class Here:
    """A server in this process, whose memory and files a test can damage."""

    def __init__(self, **settings: Any) -> None:
        self.port, self.settings, self.store = free_port(), settings, Store(**settings)
        self.instance = 0
        self.connections: Any = None
        self.session = self.store.new_session()
        self._opened: list[DatasetCache] = []
        self.listen()

    def listen(self) -> None:
        self.instance += 1
        path = server_file(self.port, "socket")
        self.connections = Connections(self.store, path, str(self.instance), 2)

    def restart(self) -> None:
        """What a client sees when the server is killed and another one is started."""
        self.connections.close()
        self.store.close()
        self.store = Store(**self.settings)
        self.listen()

    def cache(self, **settings: Any) -> DatasetCache:
        self._opened.append(DatasetCache(self.session, port=self.port, **settings))
        return self._opened[-1]

    def rows(self, key: str = KEY, **settings: Any) -> Any:
        """A pipeline's rows, for another client."""
        return self.cache(**settings).open(key)

    def kept(self) -> Any:
        """The one cache of the session."""
        (found,) = self.store.sessions[self.session].values()
        return found

    def close(self) -> None:
        for each in self._opened:
            each.close()
        self.connections.close()
        self.store.close()


@pytest.fixture
def here(folder: Path) -> Iterator[Callable[..., Here]]:
    """Makes servers in this process."""
    made: list[Here] = []

    def make(**settings: Any) -> Here:
        made.append(Here(**settings))
        return made[-1]

    yield make
    for each in made:
        each.close()


class Process:
    """A server in a process of its own."""

    def __init__(self, port: int, spill_folder: Path) -> None:
        self.port, self.spill_folder, self.process = port, spill_folder, 0
        self.start()

    def start(self) -> None:
        self.process = start(
            ServerOptions("127.0.0.1", self.port, 2, str(self.spill_folder), 1, 0.5)
        )

    def remote(self) -> Remote:
        return Remote("127.0.0.1", self.port)


@pytest.fixture
def process(folder: Path, tmp_path: Path) -> Iterator[Process]:
    """A server in a process of its own, which is ended."""
    server = Process(free_port(), tmp_path)
    yield server
    with server.remote() as remote:
        remote.stop()
