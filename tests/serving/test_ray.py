"""Replicas on a Ray cluster, which the test starts on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from .conftest import make_servables

COMMAND = [sys.executable, "-m", "mindtorch", "serve"]
SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled",
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}  # fmt: skip
PORT = 18234


def _asked(path: str, body: Any = None) -> Any:
    """The answer, or the status of an error."""
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", data, timeout=60) as given:
            return json.load(given)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.exhaustive
def test_replicas_answer_share_requests_and_come_again(tmp_path: Path) -> None:
    """Both REST protocols and their errors; both replicas answer; one that is killed is started
    again, its worker ends with it."""
    pytest.importorskip("ray.serve", reason="the extra ray is not installed")
    folder = make_servables(tmp_path / "models")
    process = subprocess.Popen(
        [*COMMAND, str(folder), "--ray", "--replicas", "2", "--rest", f"127.0.0.1:{PORT}"],
        stdout=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, **SETTINGS},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        assert any(line.startswith("2 replicas on Ray") for line in process.stdout)
        x = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]}],
             "parameters": {"method_name": "only_model"}}  # fmt: skip
        given = _asked("/v2/models/things/infer", x)
        assert (given["model_version"], given["outputs"][0]["data"]) == ("2", [5, 8, 11])
        rows = _asked("/model/things:only_model", {"instances": [{"x": [0, 0, 0]}] * 3})
        assert rows == {"instances": [{"y": [2, 2, 2]}] * 3}
        for path, status in (("/model/things:none", 404), ("/v2/models/none/infer", 404)):
            assert _asked(path, x) == status
        first = _workers(2, set())
        os.kill(_replica_of(min(first)), signal.SIGKILL)
        _workers(1, first)  # of the replica that takes its place
        assert _asked("/v2/models/things/infer", x) == given
    finally:
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "ending" in rest


def _workers(count: int, known: set[int]) -> set[int]:
    """So many worker processes that are not known, as replicas tell of them."""
    found: set[int] = set()
    end = time.monotonic() + 120
    while len(found) < count:
        assert time.monotonic() < end, (found, known)
        told = _asked("/status")
        for version in told["versions"] if isinstance(told, dict) else ():  # else one that died
            if version["servable"] == "things":
                found |= {worker["pid"] for worker in version["workers"]} - known
        time.sleep(0.05)
    return found


def _replica_of(worker: int) -> int:
    """The process that started a worker."""
    return int(Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.parametrize(
    "options",
    [["--ray", "--grpc", "127.0.0.1:1"], ["--ray", "--request-log", "log"], ["--replicas", "2"]],
)
def test_what_does_not_go_with_ray_is_refused(options: list[str], tmp_path: Path) -> None:
    done = subprocess.run([*COMMAND, str(tmp_path), *options], capture_output=True, text=True)
    assert done.returncode == 2
    assert f"mindtorch serve: {options[-2]}" in done.stderr
