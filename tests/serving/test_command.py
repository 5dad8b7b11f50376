"""`mindtorch serve` from its start to its end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from mindtorch.serving.client import Client

from .conftest import alive, make_servables

COMMAND = [sys.executable, "-m", "mindtorch", "serve"]


def test_serve(tmp_path: Path) -> None:
    folder = make_servables(tmp_path / "models")
    (folder / "broken" / "1").mkdir(parents=True)
    (folder / "broken" / "1" / "a.onnx").write_bytes(b"nothing")
    (folder / "broken" / "1" / "b.pth").write_bytes(b"nothing")
    log = tmp_path / "requests.log"
    process = subprocess.Popen(
        [*COMMAND, str(folder), "--grpc", f"unix:{tmp_path}/socket", "--rest", "127.0.0.1:0",
         "--request-log", str(log)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    told = []
    for line in process.stdout:
        told.append(line.strip())
        if line.startswith("things"):
            break
    names = "add_two, add_and_subtract, echo, greet, affine"
    assert told[-1].startswith(f"things version 2: {names}")
    assert "plain version 1: predict" in told
    page = re.search(r"http://[\d.]+:\d+/", "\n".join(told))
    assert page is not None
    with urllib.request.urlopen(f"{page[0]}status") as given:
        (failed,) = json.load(given)["failed"]
    assert failed["servable"] == "broken"
    assert "a.onnx, b.pth" in failed["error"]
    client = Client(f"unix:{tmp_path}/socket", "things", "only_model")
    assert client.infer({"x": np.zeros(3, "float32")})[0]["y"].tolist() == [2, 2, 2]
    slow = Client(f"unix:{tmp_path}/socket", "things", "sleep")
    pending = slow.infer_async({"x": np.float32(1.5)})
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGTERM)  # as systemd does: the workers get it, too
    assert pending.result()[0]["y"].item() == 1.5
    rest, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "ending" in rest
    assert "broken version 1" in errors
    lines = map(json.loads, log.read_text().splitlines())
    assert [line["method"] for line in lines] == ["only_model", "sleep"]
    assert "has ended with" not in errors


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["{0}/nothing"], "there is no folder"),
        (["{0}", "--poll", "0"], "nothing in"),
        (["{0}", "--certificate", "a.pem"], "go together"),
        (["{0}", "--certificate", "a.pem", "--key", "b.pem"], "there is no file a.pem"),
        (["{0}", "--grpc", "127.0.0.1:99999"], "is not HOST:PORT"),
        (["{0}", "--grpc", "none", "--rest", "none"], "neither --grpc nor --rest"),
    ],
)
def test_wrong_arguments(tmp_path: Path, arguments: list[str], text: str) -> None:
    given = subprocess.run(
        [*COMMAND, *(each.format(tmp_path) for each in arguments)],
        capture_output=True, text=True, timeout=120, env=dict(os.environ),
    )  # fmt: skip
    assert given.returncode == 2
    assert text in given.stderr


STUCK = """
import atexit, os, signal, sys, threading, time
from mindtorch.serving.front.hosting import Host
from mindtorch.tools import cli, serve
stuck = lambda *_: time.sleep(60)
if sys.argv[2] == "the host":
    Host.stop = stuck
else:
    atexit.register(stuck)
threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGTERM)).start()
serve._LATE = 0.5
where = ["--grpc", "none", "--rest", "127.0.0.1:0"]
sys.exit(cli.main(["serve", sys.argv[1], "--grace", "0.1", *where]))
"""


@pytest.mark.parametrize("what", ["the host", "the interpreter"])
def test_an_end_that_is_stuck_says_where_and_ends(tmp_path: Path, what: str) -> None:
    command = [sys.executable, "-c", STUCK, str(tmp_path), what]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 1
    assert "Timeout" in done.stderr and "in <lambda>" in done.stderr


OTHER_THREAD = """
import os, signal, sys, threading, time
from mindtorch.tools import cli

def give() -> None:
    time.sleep(2)
    os.write(1, b"given\\n")
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    time.sleep(60)

threading.Thread(target=give, daemon=True).start()
sys.exit(cli.main(["serve", sys.argv[1], "--grpc", "none", "--rest", "127.0.0.1:0"]))
"""


def test_a_signal_may_come_to_any_thread(tmp_path: Path) -> None:
    command = [sys.executable, "-c", OTHER_THREAD, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-2:] == ["given", "mindtorch serve: ending"]


def test_a_signal_ends_a_server_that_is_loading(tmp_path: Path) -> None:
    (tmp_path / "slow" / "1").mkdir(parents=True)
    (tmp_path / "slow" / "servable_config.py").write_text(
        f"import os, time\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen([*COMMAND, str(tmp_path), "--grpc", "none", "--rest", "127.0.0.1:0"])
    try:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
    assert not alive(int((tmp_path / "pid").read_text()))
