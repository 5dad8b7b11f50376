"""A front end in another process: what both say, and that neither hangs when the other goes."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.tools.debugger.attach import attach
from mindtorch.tools.debugger.hub import Hub
from mindtorch.tools.debugger.hub_terminal import HubTerminal
from mindtorch.tools.debugger.protocol import Lines
from mindtorch.tools.debugger.remote import RemoteFront
from mindtorch.tools.debugger.session import TerminatedError
from tests.support.paths import ROOT

from .nets import Net, train

SECONDS = 120.0


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    made = Hub(token="secret")
    monkeypatch.setenv("MS_DEBUGGER_PORT", str(made.port))
    monkeypatch.setenv("MS_DEBUGGER_HOST", made.host)
    monkeypatch.setenv("MINDTORCH_DEBUGGER_TOKEN", "secret")
    yield made
    made.close()


class Program(threading.Thread):
    """A training under the debugger, in a thread of its own."""

    def __init__(self, steps: int = 3) -> None:
        super().__init__(daemon=True)
        self.steps = steps
        self.losses: list[float] = []
        self.ended: BaseException | None = None
        self.start()

    def run(self) -> None:
        torch.manual_seed(0)
        front = RemoteFront("train.py")
        try:
            with attach(front):
                self.losses = train(Net(), self.steps)
        except BaseException as error:
            self.ended = error
        finally:
            front.close()

    def finish(self) -> None:
        self.join(SECONDS)
        assert not self.is_alive()


def next_stop(hub: Hub) -> Any:
    while True:
        event = hub.next_event(SECONDS)
        assert event is not None, "nothing has happened"
        if event[0] == "stopped":
            return event[1]


def test_requests_and_replies(hub: Hub) -> None:
    program = Program()
    training = next_stop(hub)
    assert training.facts["script"] == "train.py"
    assert training.ask({"do": "status"})["step"] == 1
    assert "no condition" in training.ask({"do": "watch", "condition": "x"})["error"]
    assert hub.resume({"do": "step", "count": 2}) == {}
    assert next_stop(hub).stop["step"] == 2
    found = training.ask({"do": "tensor", "name": "gradients:last.bias"})
    assert found["shape"] == [2]
    assert hub.resume({"do": "continue"}) == {}
    program.finish()
    assert len(program.losses) == 3


def test_what_is_refused_leaves_it_standing(hub: Hub) -> None:
    program = Program()
    training = next_stop(hub)
    assert "error" in hub.resume({"do": "step", "count": 0})
    assert training.state == "stopped"
    hub.resume({"do": "continue"})
    program.finish()


def test_the_front_end_goes_away(hub: Hub, capfd: pytest.CaptureFixture[str]) -> None:
    program = Program()
    next_stop(hub)
    hub.close()
    program.finish()
    assert len(program.losses) == 3
    assert "the debugger has gone; the program runs on" in capfd.readouterr().err


def test_terminate(hub: Hub) -> None:
    program = Program()
    next_stop(hub)
    assert hub.resume({"do": "terminate"}) == {}
    program.finish()
    assert isinstance(program.ended, TerminatedError) and program.losses == []


def test_the_program_goes_away(hub: Hub) -> None:
    connection = socket.create_connection((hub.host, hub.port))
    lines = Lines(connection)
    lines.send({"event": "hello", "token": "secret", "rank": 3})
    lines.send({"event": "stopped", "stop": {"reason": "start"}})
    training = next_stop(hub)
    assert training.rank == 3
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(training.ask({"do": "status"})))
    asking.start()
    assert lines.receive() is not None
    connection.close()
    lines.close()
    asking.join(SECONDS)
    assert answers == [{"error": "the program has ended"}]
    assert training.ask({"do": "status"}) == {"error": "the program has ended"}


@pytest.mark.parametrize(
    "first",
    [b'{"event": "hello", "token": "wrong"}\n', b"not json\n", b"[1]\n", b"", b'{"event": 1}\n'],
)
def test_strangers_are_shown_the_door(hub: Hub, first: bytes) -> None:
    with socket.create_connection((hub.host, hub.port)) as connection:
        connection.sendall(first)
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(SECONDS)
        assert connection.recv(1) == b""
    assert hub.trainings == []


def test_a_host_for_others_needs_a_token() -> None:
    with pytest.raises(ValueError, match="needs a token"):
        Hub("0.0.0.0")


def test_the_terminal_over_programs(hub: Hub) -> None:
    program = Program()
    training = next_stop(hub)
    output = io.StringIO()
    commands = "rank\nrank 0\nrank 9\nwatch weight_overflow\nwatchpoints\ncontinue\n"
    terminal = HubTerminal(hub, output, io.StringIO(commands))
    terminal.current = training
    terminal.run(training.stop)
    program.finish()
    text = output.getvalue()
    assert "rank 0, step 1: before the first call" in text
    assert "no program has rank 9" in text and "[1] weight_overflow" in text


RANKS = """
import torch, torch.distributed as dist
from torch import nn
dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    data = torch.randn(8, 4)
    if step == 1 and dist.get_rank() == 1:
        data[0, 0] = float("inf")
    optimizer.zero_grad()
    model(data).square().mean().backward()
    optimizer.step()
print("rank", dist.get_rank(), "trained")
dist.destroy_process_group()
"""


@pytest.mark.exhaustive
def test_ranks_of_torchrun(tmp_path: Path) -> None:
    (tmp_path / "ranks.py").write_text(RANKS)
    command = [sys.executable, "-m", "mindtorch", "debugger"]
    job = ["mindtorch", "torchrun", "--nproc-per-node", "2", "ranks.py"]
    given = "watch tensor_overflow at module\nrank\ncontinue\nrank 1\n" + "continue\n" * 8
    done = subprocess.run(
        [*command, *job], input=given, cwd=tmp_path, capture_output=True, text=True, timeout=500,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["rank 0 trained", "rank 1 trained"]
    assert "rank 1, step 2: watchpoints were met" in done.stderr
    assert "rank 0, step 2: watchpoints were met" not in done.stderr
