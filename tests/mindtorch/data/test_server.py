"""The server as a process of its own: commands, faults, what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindtorch.data import CacheWarning, DatasetCache, client
from mindtorch.data.admin import CacheServerError, Remote, ServerOptions, start
from mindtorch.data.client import MISSING
from mindtorch.data.places import private_folder, server_file
from mindtorch.data.server.lifetime import wait_until_gone
from mindtorch.tools.cache import dataset_cache
from mindtorch.tools.cli import main
from tests.support.paths import ROOT

from .conftest import Process, free_port

KEY = "ab" * 16


def row(number: int) -> Any:
    return np.full(1000, number), number


def put(cache: Any, numbers: Any) -> None:
    for number in numbers:
        cache.put(number, row(number))
    cache.flush()


def shared_memory() -> set[str]:
    """Names of memory that processes share, but for that of MPI, whose programs come and go."""
    return {name for name in os.listdir("/dev/shm") if not name.startswith(("mpich_", "ucx_"))}


def is_row(value: Any, number: int) -> bool:
    return value is not MISSING and value[1] == number and (value[0] == number).all()


@pytest.fixture
def opened() -> Iterator[list[DatasetCache]]:
    """Caches to be closed."""
    made: list[DatasetCache] = []
    yield made
    for each in made:
        each.close()


def test_the_words_of_the_commands(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], opened: list[DatasetCache],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """As MindSpore 2.10's `dataset-cache` prints them."""
    port = free_port()

    def said(*words: str, status: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["dataset-cache", *words, "-p", str(port)])
        assert dataset_cache() == status
        captured = capsys.readouterr()
        return captured.err if status else captured.out

    unreachable = f"Server on port {port} is not reachable or has been shutdown already.\n"
    assert said("--stop", status=1) == unreachable
    text = said("--start", "-w", "2", "-s", str(tmp_path))
    assert text.startswith("Cache server startup completed successfully!\nThe cache server daemon ")
    assert f" and listening on port {port}.\n\nRecommendation:\nSince the server is" in text
    assert said("--start", status=1) == "Cache server is already up and running\n"
    session = int(said("-g").removeprefix(f"Session created for server on port {port}: "))
    line = "     Session    Cache Id  Mem cached Disk cached  Avg cache size  Numa hit\n"
    head = f"Listing sessions for server on port {port}\n\n{line}"
    assert said("--list_sessions") == f"{head}{session:12}{'n/a':>12}{'n/a':>12}{'n/a':>12}" \
        f"{'n/a':>16}{'n/a':>10}\n"  # fmt: skip
    opened.append(DatasetCache(session, port=port))
    put(opened[0].open(KEY), range(5))
    size = opened[0].get_stat().avg_cache_sz
    assert said("--list_sessions") == f"{head}{session:12}{int(KEY[-8:], 16):12}{5:12}{'n/a':>12}" \
        f"{size:16}{'n/a':>10}\n"  # fmt: skip
    info = said("--server_info")
    for name, value in (("hostname", "127.0.0.1"), ("port", port), ("number of workers", 2),
                        ("log level", 1), ("spill dir", tmp_path)):  # fmt: skip
        assert f"{name:20}{value!s:50}\n" in info
    assert f"Active sessions: \n{session}  \n(Please use 'dataset-cache --list_sessions'" in info
    missing = f"Unexpected error. Session id 7 not found in server on port {port}.\n"
    assert said("-d", "7", status=1) == missing
    assert said("-d", str(session)) == f"Drop session {session} successfully for server on port " \
        f"{port}\n"  # fmt: skip
    assert said("--list_sessions").endswith("No active sessions.\n")
    assert said("--stop") == f"Cache server on port {port} has been stopped successfully.\n"
    assert sorted(p.suffix for p in folder.iterdir()) == [".lock", ".log"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--start", "-p", "80"], "Port must be in range (1025..65535)."),
        (["--start", "-p", "x"], "Invalid numeric value: x"),
        (["--start", "-w", "0"], "Number of workers must be in range of 1 and "),
        (["--start", "-l", "7"], "Log level must be in range (0..4)."),
        (["--start", "-r", "2"], "Memory cap ratio should be positive and no greater than 1"),
        (["--start", "--stop"], "Only one command at a time is allowed.  Invalid command: --stop"),
        (["--start", "-p", "5000", "-p", "5000"], "The -p argument was given more than once."),
        (["--start", "-h", "10.0.0.1"], "Invalid host interface: 10.0.0.1. Current limitation"),
        (["-d", "x"], "Invalid numeric value: x"),
        (["-p", "5000"], "No command provided"),
        (["--foo"], "unrecognized arguments: --foo"),
    ],
)
def test_wrong_words(
    folder: Path, words: list[str], text: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Nothing is started; status 2, and 1 by MindSpore's names of the command."""
    monkeypatch.setattr(sys, "argv", ["cache_admin", *words])
    for call, status in ((dataset_cache, 1), (lambda: main(["cache", *words]), 2)):
        try:
            found = call()
        except SystemExit as end:
            found = end.code  # type: ignore[assignment]
        assert found == status
        assert text in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_who_may_ask(folder: Path, process: Process) -> None:
    """Only who has the token; the files are this user's alone."""
    with Remote("127.0.0.1", process.port, "another token") as stranger:
        for call in (stranger.info, stranger.generate_session, stranger.stop):
            with pytest.raises(CacheServerError, match="another user, or the token is wrong"):
                call()
    for kind in ("socket", "token", "state", "lock", "log"):
        assert server_file(process.port, kind).stat().st_mode & 0o077 == 0
    folder.chmod(0o755)
    with pytest.raises(PermissionError, match="should be a folder of this user alone"):
        private_folder()
    folder.chmod(0o700)


def test_a_port_that_is_taken(folder: Path, process: Process) -> None:
    """By a server of another folder, as another user's would be."""
    other = folder / "other"
    other.mkdir(mode=0o700)
    before = os.environ["MINDTORCH_DATA_CACHE_DIR"]
    os.environ["MINDTORCH_DATA_CACHE_DIR"] = str(other)
    try:
        with pytest.raises(CacheServerError, match=f"127.0.0.1:{process.port} is taken"):
            start(ServerOptions("127.0.0.1", process.port))
        assert sorted(p.suffix for p in other.iterdir()) == [".lock", ".log"]
    finally:
        os.environ["MINDTORCH_DATA_CACHE_DIR"] = before


def test_a_server_that_is_killed(
    process: Process, opened: list[DatasetCache], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Programs go on, and say it once; the next server removes what is left and fills up again."""
    monkeypatch.setattr(client, "_RETRY_SECONDS", 0.0)
    with process.remote() as remote:
        session = remote.generate_session()
    opened.append(DatasetCache(session, size=1, spilling=True, port=process.port))
    cache: Any = opened[0].open(KEY)
    put(cache, range(300))
    assert opened[0].get_stat().num_disk_cached > 100
    names = shared_memory()
    os.kill(process.process, signal.SIGKILL)
    assert wait_until_gone(process.port, 60)
    with pytest.warns(CacheWarning, match="has ended") as said:
        put(cache, range(300, 400))
        put(cache, range(400, 500))
        assert len(said) == 1
    assert all(is_row(cache.get(n), n) for n in range(300))  # it is mapped, and the files are there
    assert cache.get(300) is MISSING
    (left,) = tmp_path.iterdir()
    process.start()
    assert not left.exists() and len(list(tmp_path.iterdir())) == 1
    put(cache, range(300, 340))
    assert all(is_row(cache.get(n), n) for n in range(300, 340))
    with process.remote() as remote:
        (line,) = remote.caches()
        assert (line.session, line.in_memory) == (session, 40)
    assert shared_memory() <= names


_CLIENT = """
import os, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from mindtorch.data import DatasetCache
from mindtorch.data.client import MISSING
cache = DatasetCache(int(sys.argv[3]), port=int(sys.argv[2])).open("ab" * 16)
first, made, wrong = int(sys.argv[4]), 0, 0
for step in range(2):
    for place in range(400):
        n = (first + place) % 400
        value = cache.get(n)
        if value is MISSING:
            made += 1
            cache.put(n, (np.full(1000, n), n))
        else:
            wrong += not (value[1] == n and (value[0] == n).all())
    cache.flush()
    if first < 0:
        cache.put(n, (np.full(1000, n), n))
        os.kill(os.getpid(), 9)
print(made, wrong)
"""


def run_clients(process: Process, session: int, firsts: list[int]) -> list[list[int]]:
    """What clients print, that run at the same time: [rows made, rows that were wrong]."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(_CLIENT), str(ROOT), str(process.port),
             str(session), str(first)],
            stdout=subprocess.PIPE, text=True,
        )
        for first in firsts
    ]  # fmt: skip
    return [[int(word) for word in each.communicate()[0].split()] for each in started]


def test_eight_clients_at_once(process: Process, opened: list[DatasetCache]) -> None:
    """Each sees right rows only, and each row is stored once; one of them is killed on its way."""
    with process.remote() as remote:
        session = remote.generate_session()
    found = run_clients(process, session, [50 * n for n in range(8)] + [-1])
    assert found[8] == [] and all(wrong == 0 for _, wrong in found[:8])
    opened.append(DatasetCache(session, port=process.port))
    cache: Any = opened[0].open(KEY)
    assert all(is_row(cache.get(n), n) for n in range(400))
    assert opened[0].get_stat().num_mem_cached == 400


def test_a_disk_without_room(folder: Path, tmp_path: Path, opened: list[DatasetCache]) -> None:
    """A server whose files may not grow tells so, goes on, and its rows are right."""
    port = free_port()
    code = (
        "import resource, sys; sys.path.insert(0, sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 8 << 20))\n"
        "from mindtorch.data.admin import ServerOptions, start\n"
        "print(start(ServerOptions('127.0.0.1', int(sys.argv[2]), spill_folder=sys.argv[3])))\n"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(ROOT), str(port), str(tmp_path)], check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    with Remote("127.0.0.1", port) as remote:
        opened.append(DatasetCache(remote.generate_session(), size=1, spilling=True, port=port))
        cache: Any = opened[0].open(KEY)
        with pytest.warns(CacheWarning, match="No enough storage"):
            put(cache, range(1500))
        there = [n for n in range(1500) if cache.get(n) is not MISSING]
        assert 200 < len(there) < 1500
        assert all(is_row(cache.get(n), n) for n in there)
        remote.stop()
    assert list(tmp_path.iterdir()) == []


def test_what_a_server_says_when_it_cannot_start(folder: Path) -> None:
    for folder_of_rows, text in (("/nowhere", "is not writable"), ("a/b", "absolute path")):
        with pytest.raises(CacheServerError, match=text):
            start(ServerOptions("127.0.0.1", free_port(), spill_folder=folder_of_rows))
    assert not list(folder.glob("*.state"))


def test_state_of_a_folder_that_is_not_ours(folder: Path, tmp_path: Path) -> None:
    """What a state file names is removed only if a server made it."""
    precious = tmp_path / "precious"
    precious.mkdir()
    port = free_port()
    server_file(port, "state").write_text(json.dumps({"spill_folder": str(precious)}))
    start(ServerOptions("127.0.0.1", port))
    with Remote("127.0.0.1", port) as remote:
        remote.stop()
    assert precious.is_dir()
    assert f"a server on port {port}" in server_file(port, "log").read_text()
