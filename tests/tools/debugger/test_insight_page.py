"""The debugger's page: what it says of stops and tensors, and that it is served."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mindtorch.tools.debugger import insight_page


def test_words() -> None:
    stop: dict[str, Any] = {"step": 2, "reason": "node", "layer": "first", "file": "a.py",
                            "line": 3}  # fmt: skip
    assert insight_page.stop_words(stop) == "step 2: node in first, a.py:3"
    found = {
        "note": "written to", "statistics": {"min": 0.5}, "values": [1.0], "values_left_out": 7,
        "before": {"max": 0.25, "statistics": {}},
    }  # fmt: skip
    assert insight_page.tensor_lines(found) == [
        "written to", "min 0.5", "against the step before: max 0.25",
        "[1.]\n... 7 more elements; a slice shows others",
    ]  # fmt: skip
    chart = insight_page.histogram_options({"edges": [0.0, 1.0, 2.0], "counts": [3, 4]}, True)
    assert chart["xAxis"]["data"] == ["0", "1"] and chart["series"][0]["data"] == [3, 4]


SERVED = """
import sys, threading, time, urllib.request, socket
from pathlib import Path
from mindtorch.insight import app
from mindtorch.insight.reading.folder import RunFolder
from mindtorch.tools.debugger import insight_page
from mindtorch.tools.debugger.hub import Hub

hub = Hub()
insight_page.register(hub)
held = socket.create_server(("127.0.0.1", 0))
server = app.make_server(app.Guard(app.application(), RunFolder(Path(sys.argv[1]))))
thread = threading.Thread(target=server.run, kwargs={"sockets": [held]})
thread.start()
while not server.started and thread.is_alive():
    time.sleep(0.01)
assert server.started, "the server has ended"
address = f"http://127.0.0.1:{held.getsockname()[1]}/debugger"
with urllib.request.urlopen(address, timeout=60) as answer:
    print(answer.read().decode())
server.should_exit = True
thread.join()
hub.close()
"""


def test_the_page_is_served(tmp_path: Path) -> None:
    """In a process of its own: NiceGUI has one application in a process, and it starts once."""
    done = subprocess.run(
        [sys.executable, "-c", SERVED, str(tmp_path)],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Programs report to" in done.stdout and "Terminate" in done.stdout


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert insight_page.serve(taken.getsockname()[1], lambda: 0) == 2
    assert "mindtorch insight: port" in capsys.readouterr().err
