"""Workers die, hang and are exchanged while requests come; none of these is lost."""

from __future__ import annotations

import concurrent.futures
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from mindtorch.serving.client import Client
from mindtorch.serving.front.hosting import Host, Limits
from mindtorch.serving.front.version import VersionConfig
from mindtorch.serving.front.worker import WorkerStartError

from .conftest import alive, make_servables, save_weights


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_servables(tmp_path_factory.mktemp("servables"))


@pytest.fixture(scope="module")
def host(folder: Path) -> Iterator[Host]:
    """Two workers; a batch may take three seconds, 40 requests may wait."""
    host = Host(Limits(40, request_seconds=30.0, batch_seconds=3.0, grace_seconds=3.0))
    try:
        host.start([VersionConfig(folder, "things", 1, workers=2)])
        yield host
    finally:
        host.stop()


@pytest.fixture(scope="module")
def address(host: Host) -> str:
    return f"127.0.0.1:{host.start_grpc('127.0.0.1:0')}"


def wait_until(what: Callable[[], Any], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


class Load:
    """Clients that ask without a pause, until the block ends; what they get is right or kept."""

    def __init__(self, address: str, method: str = "only_model", clients: int = 8) -> None:
        self.wrong: list[Any] = []
        self.right = 0
        self._end = threading.Event()
        asking = [Client(address, "things", method) for _ in range(clients)]
        self._threads = [threading.Thread(target=self._ask, args=(each,)) for each in asking]

    def _ask(self, client: Client) -> None:
        x = np.random.default_rng().integers(0, 99, 3).astype("float32")
        while not self._end.is_set():
            given = client.infer([{"x": x}, {"x": x + 1}])
            fits = isinstance(given, list) and all(
                "y" in row and row["y"].tolist() in ((3 * (x + i) + 1).tolist(),
                                                     (3 * (x + i) + 2).tolist())
                for i, row in enumerate(given)
            )  # fmt: skip
            if fits:
                self.right += 1
            else:
                self.wrong.append(given)
        client.close()

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()


def test_killed_workers_lose_no_request(host: Host, address: str) -> None:
    version = host.servables.resolve("things")
    with Load(address) as load:
        for _ in range(2):
            wait_until(lambda: len(version.workers) == 2)
            before = load.right
            wait_until(lambda: load.right > before + 20)  # noqa: B023
            busiest = max(version.workers, key=lambda worker: len(worker.batches))
            os.kill(busiest.pid, signal.SIGKILL)
            wait_until(lambda: busiest not in version.workers)  # noqa: B023
    assert load.wrong == []
    wait_until(lambda: len(version.workers) == 2)
    assert version.restarts >= 2


def test_a_request_that_kills_workers_is_given_up_alone(host: Host, address: str) -> None:
    client = Client(address, "things", "deadly")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = [pool.submit(client.infer, {"x": np.int32(x)}) for x in (1, 13, *range(2, 9))]
        given = [each.result() for each in asked]
    assert "died 3 times" in given[1]["error"]
    del given[1]
    assert [rows[0]["y"].item() for rows in given] == list(range(1, 9))
    wait_until(lambda: len(host.servables.resolve("things").workers) == 2)


def test_a_worker_that_hangs_is_killed(host: Host, address: str) -> None:
    began = time.monotonic()
    client = Client(address, "things", "sleep")
    with pytest.raises(grpc.RpcError) as caught:
        client.stub.Predict(client._request({"x": np.float32(25)}))
    assert time.monotonic() - began < 20
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert "longer than 3 seconds" in caught.value.details()
    wait_until(lambda: len(host.servables.resolve("things").workers) == 2)


def test_more_requests_than_may_wait(host: Host, address: str) -> None:
    client = Client(address, "things", "sleep")
    request = client._request({"x": np.float32(0.2)})
    futures = [client.stub.Predict.future(request, timeout=20) for _ in range(60)]
    codes = [future.code() for future in futures]
    refused = codes.count(grpc.StatusCode.RESOURCE_EXHAUSTED)
    assert 1 <= refused <= 20  # 20 where all arrive before the first is answered
    assert codes.count(grpc.StatusCode.OK) == 60 - refused


def test_who_leaves_is_taken_out_of_the_queue(host: Host, address: str) -> None:
    version = host.servables.resolve("things")
    wait_until(lambda: version.pending == 0)
    client = Client(address, "things", "sleep")
    futures = [client.stub.Predict.future(client._request({"x": np.float32(0.3)}))
               for _ in range(30)]  # fmt: skip
    wait_until(lambda: version.pending > 10)
    for future in futures:
        future.cancel()
    wait_until(lambda: version.pending == 0, 3.0)


def test_requests_are_joined_to_batches(host: Host, address: str) -> None:
    client = Client(address, "things", "count")
    futures = [client.infer_async({"x": 1}) for _ in range(30)]
    counts = [future.result()[0]["y"].item() for future in futures]
    assert max(counts) == 4  # the model's batch
    given = client.infer([{"x": 1}] * 10)  # a large request is split
    assert sorted(row["y"].item() for row in given) == [2, 2, *[4] * 8]


def test_requests_may_wait_for_others(host: Host, address: str) -> None:
    client = Client(address, "things", "count")
    host.servables.limits.max_wait_ms = 600
    try:
        began = time.monotonic()
        futures = [client.infer_async({"x": 1}) for _ in range(2)]
        assert [future.result()[0]["y"].item() for future in futures] == [2, 2]
        assert time.monotonic() - began >= 0.6
        assert {row["y"].item() for row in client.infer([{"x": 1}] * 4)} == {4}  # a full batch
    finally:
        host.servables.limits.max_wait_ms = 0


def test_a_version_runs_once(host: Host, folder: Path) -> None:
    (version,) = host.servables.running["things"]  # another one after an exchange
    with pytest.raises(WorkerStartError, match=f"things version {version} runs already"):
        host.start([VersionConfig(folder, "things", version)])


def test_an_exchange_drops_nothing(host: Host, folder: Path, address: str) -> None:
    old = host.servables.resolve("things")
    pids = [worker.pid for worker in old.workers]
    with Load(address) as load:
        wait_until(lambda: load.right > 20)
        host.exchange(VersionConfig(folder, "things", 2, workers=2))
        before = load.right
        wait_until(lambda: load.right > before + 20)
        wait_until(lambda: list(host.servables.running["things"]) == [2])
    assert load.wrong == []
    assert Client(address, "things", "only_model").infer({"x": np.zeros(3, "float32")})[0][
        "y"].tolist() == [2, 2, 2]  # fmt: skip
    wait_until(lambda: not any(alive(pid) for pid in pids))


def test_a_version_that_cannot_be_loaded(host: Host, folder: Path, address: str) -> None:
    running = list(host.servables.running["things"])
    broken = folder / "things" / "3"
    broken.mkdir()
    (broken / "affine.pth").write_bytes(b"no weights")
    with pytest.raises(WorkerStartError, match="things/3#0"):
        host.exchange(VersionConfig(folder, "things", 3))
    shutil.rmtree(broken)
    assert list(host.servables.running["things"]) == running
    with pytest.raises(WorkerStartError, match=r"there is no file .*affine\.pth"):
        host.exchange(VersionConfig(folder, "things", 4))


def test_a_version_that_does_not_end_loading(folder: Path) -> None:
    slow = folder / "slow" / "1"
    slow.mkdir(parents=True)
    (slow.parent / "servable_config.py").write_text("import time\ntime.sleep(60)\n")
    host = Host(Limits(load_seconds=1.0))
    began = time.monotonic()
    try:
        with pytest.raises(WorkerStartError, match="it is not loaded after 1 seconds"):
            host.start([VersionConfig(folder, "slow", 1)])
    finally:
        host.stop()
        shutil.rmtree(slow.parent)
    assert time.monotonic() - began < 20


def test_functions_alone_need_no_folder_of_a_version(tmp_path: Path) -> None:
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "servable_config.py").write_text(
        "from mindspore_serving.server import register\n"
        "def twice(word):\n    return word + word\n"
        "@register.register_method(output_names=['y'])\n"
        "def say(word):\n    return register.add_stage(twice, word, outputs_count=1)\n"
    )
    host = Host()
    try:
        host.follow(tmp_path, 1, False, 0)
        client = Client(f"127.0.0.1:{host.start_grpc('127.0.0.1:0')}", "words", "say")
        assert client.infer({"word": "so"}) == [{"y": "soso"}]
        client.close()
    finally:
        host.stop()


def test_a_folder_is_followed_and_the_end_is_in_order(folder: Path) -> None:
    host = Host(Limits(grace_seconds=10.0))
    address = f"127.0.0.1:{host.start_grpc('127.0.0.1:0')}"
    host.follow(folder, 1, all_versions=False, seconds=0.1)
    assert {name: list(found) for name, found in host.servables.running.items()} == {
        "plain": [1], "things": [2]}  # fmt: skip
    new = folder / "plain" / "unfinished"
    new.mkdir()
    save_weights(new / "weights.pth", 5.0)
    new.rename(folder / "plain" / "2")
    wait_until(lambda: list(host.servables.running["plain"]) == [2])
    version = host.servables.resolve("things")
    pids = [worker.pid for worker in version.workers]
    pending = Client(address, "things", "sleep").infer_async({"x": np.float32(0.7)})
    wait_until(lambda: version.pending == 1)
    host.stop()
    assert pending.result()[0]["y"].item() == pytest.approx(0.7)
    assert not any(alive(pid) for pid in pids)
    assert "UNAVAILABLE" in str(Client(address, "things", "echo").infer({"x": 1})).upper()


@pytest.fixture
def own(folder: Path) -> Iterator[tuple[Host, Client]]:
    """A server with one worker for one test, and a client of its method `sleep`.

    Its limits are those of a busy machine, where a worker may take half a minute to start.
    """
    host = Host(Limits(request_seconds=120.0, grace_seconds=100.0))
    try:
        host.start([VersionConfig(folder, "things", 1)])
        yield host, Client(f"127.0.0.1:{host.start_grpc('127.0.0.1:0')}", "things", "sleep")
    finally:
        host.stop()


def test_the_death_of_a_worker_whose_child_holds_its_socket(own: tuple[Host, Client]) -> None:
    host, client = own
    version = host.servables.resolve("things")
    (worker,) = version.workers
    child = int(client.infer({"x": np.float32(-1)})[0]["y"].item())
    try:
        os.kill(worker.pid, signal.SIGKILL)
        wait_until(lambda: version.workers and version.workers[0] is not worker)
        assert client.infer({"x": np.float32(0)})[0]["y"].item() == 0
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_worker_killed_at_the_end_loses_no_request(own: tuple[Host, Client]) -> None:
    host, client = own
    version = host.servables.resolve("things")
    futures = [client.infer_async({"x": np.float32(0.3)}) for _ in range(4)]
    wait_until(lambda: version.pending == 4 and version.workers[0].batches)
    os.kill(version.workers[0].pid, signal.SIGKILL)
    host.stop()
    given = [future.result() for future in futures]
    assert given == [[{"y": pytest.approx(0.3)}]] * 4


def test_an_end_while_a_worker_is_started_again(own: tuple[Host, Client]) -> None:
    host, _ = own
    version = host.servables.resolve("things")
    os.kill(version.workers[0].pid, signal.SIGKILL)
    wait_until(lambda: version.restarts == 1)
    began = time.monotonic()
    host.stop()
    assert time.monotonic() - began < 10  # nobody waits for it


def test_the_end_of_a_version_that_is_being_exchanged(folder: Path) -> None:
    """Its requests have the server's time, not that of an exchange; nobody's worker is left."""
    host = Host(Limits(request_seconds=60.0, grace_seconds=1.0))
    host.start([VersionConfig(folder, "things", 1)])
    client = Client(f"127.0.0.1:{host.start_grpc('127.0.0.1:0')}", "things", "sleep")
    old = host.servables.resolve("things")
    pid = old.workers[0].pid
    future = client.infer_async({"x": np.float32(50)})
    wait_until(lambda: old.pending == 1)
    host.exchange(VersionConfig(folder, "things", 2))
    pids = [pid, host.servables.resolve("things").workers[0].pid]
    os.kill(pids[1], signal.SIGSTOP)
    began = time.monotonic()
    host.stop()
    assert time.monotonic() - began < 15
    assert "UNAVAILABLE" in str(future.result()).upper() or "ended" in str(future.result())
    assert not any(alive(each) for each in pids)
