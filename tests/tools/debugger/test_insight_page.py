"""The debugger's page: what it says of stops and tensors, and that it is served."""

from __future__ import annotations

import socket
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui")

from mindtorch.insight import app
from mindtorch.insight.pages.registry import PAGES
from mindtorch.insight.reading.folder import RunFolder
from mindtorch.tools.debugger import insight_page
from mindtorch.tools.debugger.hub import Hub


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


def test_the_page_is_served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In an application of its own: pages are registered before it is made."""
    pages = list(PAGES)
    monkeypatch.setattr(app, "_APPLICATION", [])
    hub = Hub()
    try:
        insight_page.register(hub)
        folder = RunFolder(tmp_path)
        held = socket.create_server(("127.0.0.1", 0))
        server = app.make_server(app.Guard(app.application(), folder))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [held]})
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        port = held.getsockname()[1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/debugger") as answer:
            text = answer.read().decode()
        assert "Programs report to" in text and "Terminate" in text
        server.should_exit = True
        thread.join()
        held.close()
    finally:
        hub.close()
        PAGES[:] = pages


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert insight_page.serve(taken.getsockname()[1], lambda: 0) == 2
    assert "mindtorch insight: port" in capsys.readouterr().err
