"""A server of the pages, with made-up trainings."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mindtorch.insight.reading.folder import RunFolder
from tests.support.insight_runs import EVIL, make_run


@pytest.fixture(scope="session")
def trainings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of trainings, one with a name and tags that try to run in a browser."""
    base = tmp_path_factory.mktemp("trainings")
    for number in range(3):
        make_run(base / f"run{number}", number, steps=20)
    make_run(base / "a<b>&'\"", 4, steps=20, extra_tag=EVIL)
    return base


@pytest.fixture(scope="session")
def address(trainings: Path) -> Iterator[tuple[str, int]]:
    """Where the server answers."""
    app = pytest.importorskip("mindtorch.insight.app")
    folder = RunFolder(trainings)
    folder.look()
    held = socket.create_server(("127.0.0.1", 0))
    server = app.make_server(app.Guard(app.application(), folder))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [held]})
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    yield held.getsockname()
    server.should_exit = True
    thread.join()
    held.close()
