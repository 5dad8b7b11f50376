"""A server of the pages, with made-up trainings."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.insight_runs import EVIL, make_run, served


@pytest.fixture(scope="session")
def trainings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of trainings, one with a name and tags that try to run in a browser."""
    base = tmp_path_factory.mktemp("trainings")
    for number in range(3):
        make_run(base / f"run{number}", number, steps=20)
    make_run(base / "a<b>&'\"", 4, steps=20, extra_tag=EVIL)
    odd = base / os.fsdecode(b"odd\xff")
    odd.mkdir()
    lines = [
        {"kind": "lineage", "parameters": {"huge": 10**400, "half": "\ud800", ":key": [1, {}]},
         "metrics": {"nan": float("nan"), "text": "x", "huge": 10**40}, "data": [{"size": 10**30}]},
        {"kind": "step", "step": 10**30, "parts": {"data": 1}},
        {"kind": "step", "step": 3, "parts": {"data": float("inf"), "\udfff": float("nan")}},
        {"kind": "ops", "step": 1, "ops": [{"name": 5, "calls": 10**30}]},
        {"kind": "ops", "step": 1, "ops": [
            {"name": "\ud800", "calls": 1, "seconds": float("nan"), "self_seconds": -1}]},
        {"kind": "graph", "nodes": [{"path": "", "inputs": [""]}, {"path": "/"}, {"path": "a//b"},
                                    {"path": "\ud800/" + "x" * 5000, "seconds": float("inf")}]},
        {"kind": "finding", "origin": {}, "verdict": None, "good": 1, "lines": ["\ud800"]},
    ]  # fmt: skip
    (odd / "insight.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    (odd / "report.json").write_text(json.dumps(
        {"verdict": 10**400, "words": {"\ud800": 1}, "agree": [], "script": None, "phases": []}
    ))  # fmt: skip
    return base


@pytest.fixture(scope="session")
def address(trainings: Path) -> Iterator[tuple[str, int]]:
    """Where the server answers."""
    with served(trainings) as shown:
        found = urlsplit(shown)
        assert found.hostname is not None and found.port is not None
        yield found.hostname, found.port
