"""Several launchers, each as a machine would have one, that meet at one endpoint."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mindtorch import torch
from mindtorch.torch import distributed as dist
from mindtorch.torch.distributed import launcher, run
from mindtorch.torch.distributed._elastic import Closed, Meeting, Timing
from mindtorch.torch.distributed.elastic.multiprocessing import errors
from tests.support.paths import PROGRAMS, ROOT
from tests.torch.distributed.jobs import environment, start, torchrun

LIMIT = 120.0
# Tells its place; goes on until there is a file "go", and fails where there is "fail.<its rank>".
WORKER = """#!/bin/sh
echo "$TORCHELASTIC_RESTART_COUNT $RANK/$WORLD_SIZE $GROUP_RANK/$GROUP_WORLD_SIZE" >> $1/told
while [ ! -f $1/go ]; do
    if rm $1/fail.$RANK 2> /dev/null; then exit 3; fi
    sleep 0.1
done
"""


class Launchers:
    """Launchers of a job on one port, and what its processes told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "worker").write_text(WORKER)
        (folder / "worker").chmod(0o755)
        (folder / "told").touch()
        with socket.socket() as free:
            free.bind(("", 0))
            self.port = free.getsockname()[1]
        self.started: list[subprocess.Popen[str]] = []

    def start(
        self, nodes: str, restarts: int, program: Path | None = None
    ) -> subprocess.Popen[str]:
        worker = ["--no-python", str(self.folder / "worker")] if program is None else [str(program)]
        command = [
            *torchrun(1), f"--nnodes={nodes}", f"--max-restarts={restarts}",
            "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{self.port}",
            "--rdzv-conf=last_call_timeout=0.2,keep_alive_interval=0.2,keep_alive_max_attempt=30",
            *worker, str(self.folder),
        ]  # fmt: skip
        process = subprocess.Popen(
            command, env=environment(TORCHELASTIC_ERROR_FILE=str(self.folder / "error")), cwd=ROOT,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.started.append(process)
        return process

    def wait_for(self, *lines: str) -> None:
        """Until the last that was told is these lines, in any order."""
        _wait(lambda: sorted(self.told()[-len(lines) :]) == sorted(lines), self.told)

    def told(self) -> list[str]:
        return (self.folder / "told").read_text().splitlines()

    def end(self) -> list[tuple[int, str]]:
        """Statuses of those that were not killed, and what they printed."""
        found = []
        for process in self.started:
            _, text = process.communicate(timeout=LIMIT)
            found.append((process.returncode, text))
        return [each for each in found if each[0] != -signal.SIGKILL]


def _wait(condition: Callable[[], bool], told: Callable[[], Any]) -> None:
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, told()
        time.sleep(0.02)


@pytest.fixture
def launchers(tmp_path: Path) -> Iterator[Launchers]:
    made = Launchers(tmp_path)
    yield made
    (tmp_path / "go").touch()  # processes of killed launchers end, too
    for process in made.started:
        with contextlib.suppress(OSError):
            process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def test_machines_come_and_go(launchers: Launchers) -> None:
    """One trains alone, a second comes and is killed: each time all start again, with the number of
    those that are there; a machine that is gone counts as a failure, one that comes does not."""
    launchers.start("1:3", 1)
    launchers.wait_for("0 0/1 0/1")
    second = launchers.start("1:3", 1)
    launchers.wait_for("0 0/2 0/2", "0 1/2 1/2")
    second.kill()
    launchers.wait_for("1 0/1 0/1")
    (launchers.folder / "go").touch()
    ((code, text),) = launchers.end()
    assert code == 0 and "another machine waits" in text and "machine 1 is gone" in text, text


def test_a_failure_starts_all_machines_again(launchers: Launchers) -> None:
    """As often as --max-restarts says; then all launchers fail, and one leaves the report."""
    for _ in range(2):
        launchers.start("2", 1)
    launchers.wait_for("0 0/2 0/2", "0 1/2 1/2")
    (launchers.folder / "fail.1").touch()
    launchers.wait_for("1 0/2 0/2", "1 1/2 1/2")
    (launchers.folder / "fail.0").touch()
    ended = launchers.end()
    assert [code for code, _ in ended] == [1, 1], ended
    printed = "".join(text for _, text in ended)
    assert "first failure: rank 1" in printed and "all processes are started again" in printed
    assert "more often than --max-restarts allows" in printed
    report = json.loads((launchers.folder / "error").read_text())["message"]
    assert report["errorCode"] == 3 and report["message"] == "exit code 3, rank 0"
    assert len(launchers.told()) == 4


def _steps(launchers: Launchers, numbers: range, size: int) -> None:
    """Wait for so many processes, let them make these steps, and wait until they have."""
    started = launchers.folder / "started"
    _wait(lambda: started.exists() and started.read_text().endswith(f"{size}\n"), launchers.told)
    for number in numbers:
        (launchers.folder / f"step.{number}").touch()
        begun = f"{number + 1} {size} "
        _wait(lambda text=begun: any(x.startswith(text) for x in launchers.told()),  # type: ignore[misc]
              launchers.told)  # fmt: skip


@pytest.mark.exhaustive
def test_a_training_goes_on_with_whoever_is_there(launchers: Launchers, tmp_path: Path) -> None:
    """Two steps by one process, two by two, two by one again, whose parameters are shards: the
    losses of one process within rounding."""
    program = PROGRAMS / "distributed" / "elastic_training_program.py"
    launchers.start("1:2", 1, program)
    _steps(launchers, range(2), 1)
    second = launchers.start("1:2", 1, program)
    _steps(launchers, range(2, 4), 2)
    second.kill()
    _steps(launchers, range(4, 6), 1)
    ((code, text),) = launchers.end()
    assert code == 0, text
    found = {int(line.split()[0]): float(line.split()[2]) for line in launchers.told()}
    alone = tmp_path / "alone"
    alone.mkdir()
    for number in range(6):
        (alone / f"step.{number}").touch()
    code, text = start([*torchrun(1), str(program), str(alone)])
    assert code == 0, text
    told = [float(line.split()[2]) for line in (alone / "told").read_text().splitlines()]
    assert list(found.values()) == pytest.approx(told, rel=1e-5)


# --- rounds, without processes -------------------------------------------------------------------


def _meeting(store: Any, smallest: int, largest: int, restarts: int = 0) -> Meeting:
    timing = Timing(join=0.3, last_call=0.05, beat=0.05, beats=600)
    return Meeting(store, smallest, largest, 2, timing, restarts)


def test_too_few_machines() -> None:
    """The job is over for the one that came, and for whoever comes later."""
    store = dist.HashStore()
    with pytest.raises(Closed, match=r"1 of at least 2 machines came within 0\.3 s"):
        _meeting(store, 2, 3).join()
    with pytest.raises(Closed, match="1 of at least 2"):
        _meeting(store, 2, 3).join()


def test_settings_of_the_meeting() -> None:
    """Names of torchrun's, and who keeps the store."""
    given = Timing.parse("timeout=5,last_call_timeout=2,keep_alive_max_attempt=3,is_host=false")
    assert given == Timing(5.0, 2.0, 1.0, 3, False) and given.patience == 3
    assert Timing.parse("").host is None and Timing.parse("is_host=1").host


def test_a_round_is_full() -> None:
    """One more waits, and takes the place of the one that leaves."""
    store = dist.HashStore()
    first = _meeting(store, 1, 1, restarts=1)
    assert first.join().nodes == ["0"]
    spare = _meeting(store, 1, 1, restarts=1)
    spare._change(spare._enter)
    assert first.changed() == "" and first._read().waiting == ["1"]
    first.leave(keeps_store=False)
    spare.current = spare._read()
    assert spare.changed() == "machine 0 is gone"
    spare.open_next(failed=False)
    found = spare.join()
    assert (found.nodes, found.restarts, found.number) == (["1"], 1, 1)
    with pytest.raises(Closed, match="succeeded") as end:
        spare.finish()
    assert end.value.succeeded


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--nnodes=3:2"], "1 <= smallest <= largest"),
        (["--nnodes=a"], "is not a number"),
        (["--nnodes=2", "--max-restarts=1"], "--max-restarts of several machines needs"),
        (["--nnodes=1:2", "--rdzv-backend=c10d"], "needs --rdzv-endpoint"),
        (["--nnodes=1:2", "--rdzv-backend=c10d", "--rdzv-conf=x=1"], "'x' is not one of"),
    ],
)
def test_options_that_do_not_fit(options: list[str], text: str, capfd: Any) -> None:
    """Status 2 and a line."""
    assert run.main([*options, "script.py"]) == 2
    assert text in capfd.readouterr().err


# --- torch.distributed.launcher ------------------------------------------------------------------


def summed(number: int) -> list[int]:
    """What each of two processes finds: their sum, and its own rank."""
    dist.init_process_group("gloo")
    value = torch.tensor([number + dist.get_rank()])
    dist.all_reduce(value)
    found = [int(value.item()), dist.get_rank()]
    dist.destroy_process_group()
    return found


def failing(rank: int) -> None:
    if int(os.environ["RANK"]) == rank:
        raise ValueError("no data")


def test_functions_in_several_processes(tmp_path: Path, capfd: Any) -> None:
    """Results by rank; failures as ChildFailedError, with the traceback; programs."""
    config = launcher.LaunchConfig(1, 1, 2, max_restarts=0)
    assert launcher.elastic_launch(config, summed)(5) == {0: [11, 0], 1: [11, 1]}
    with pytest.raises(errors.ChildFailedError, match="ValueError: no data") as raised:
        launcher.elastic_launch(config, failing)(1)
    rank, failure = raised.value.get_first_failure()
    assert (rank, failure.exitcode, failure.local_rank) == (1, 1, 1)
    assert launcher.elastic_launch(config, "/bin/sh")("-c", f"echo $RANK > {tmp_path}/$RANK") == {}
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["0\n", "1\n"]
    assert "first failure: rank 1" in capfd.readouterr().err
    for wrong in ({"start_method": "fork"}, {"logs_specs": 1}):
        with pytest.raises(NotImplementedError, match=next(iter(wrong))):
            launcher.LaunchConfig(1, 1, 1, **wrong)


# --- torch.distributed.elastic.multiprocessing.errors --------------------------------------------


def test_record_leaves_the_traceback(tmp_path: Path, monkeypatch: Any) -> None:
    """Where the environment says; an own handler is told in its place."""
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error"))

    def main() -> None:
        raise ValueError("no data")

    with pytest.raises(ValueError, match="no data"):
        errors.record(main)()
    told = json.loads((tmp_path / "error").read_text())["message"]
    assert "ValueError: no data" in told["message"] and told["extraInfo"]["py_callstack"]

    seen: list[BaseException] = []

    class Handler(errors.ErrorHandler):
        def record_exception(self, e: BaseException) -> None:
            seen.append(e)

    with pytest.raises(ValueError, match="no data"):
        errors.record(main, error_handler=Handler())()
    assert [str(e) for e in seen] == ["no data"]


def test_child_failed_error_names_the_first(tmp_path: Path) -> None:
    """The earliest failure is the root cause; codes and files of each are kept."""
    (tmp_path / "1").write_text(json.dumps(
        {"message": {"message": "bad", "extraInfo": {"timestamp": "5"}}}
    ))  # fmt: skip
    failures = {
        0: errors.ProcessFailure(0, 11, -9, str(tmp_path / "0")),
        1: errors.ProcessFailure(1, 12, 1, str(tmp_path / "1")),
    }
    error = errors.ChildFailedError("train", failures)
    assert error.get_first_failure() == (1, failures[1])
    assert failures[1].message == "bad" and failures[1].timestamp == 5
    assert failures[0].signal_name() == "SIGKILL" and "SIGKILL" in failures[0].message
    assert "train FAILED" in str(error) and "rank      : 1" in str(error)
