"""Processes that call different operations are told so, each by name, and never get numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import PROGRAMS, ROOT

# by case: what rank 1 waits in where rank 0 is in all_reduce of so many float32
OTHERS = {
    "another_operation": ["all_gather of 10 float32", "all_gather of 100000 float32"],
    "another_shape": ["all_reduce of 18 float32", "all_reduce of 100008 float32"],
    "another_type": ["all_reduce of 10 float64", "all_reduce of 100000 float64"],
    "another_combination": [
        "all_reduce by MAX of 10 float32", "all_reduce by MAX of 100000 float32"
    ],
    "one_is_missing": ["broadcast of 10 float32", "broadcast of 100000 float32"],
}  # fmt: skip


@pytest.mark.parametrize("way", ["mpi", "sockets"])
def test_both_operations_are_named(way: str, tmp_path: Path) -> None:
    """By both processes, over either transport, with small and with large arrays."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    if way == "sockets":
        environment["MINDTORCH_DISTRIBUTED"] = "sockets"
    command = [sys.executable, "-m", "mindtorch.torch.distributed.run", "--nproc_per_node=2",
               str(PROGRAMS / "mismatched_calls_program.py"), str(tmp_path)]  # fmt: skip
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for rank in range(2):
        kind, found = json.loads((tmp_path / f"{rank}.json").read_text())
        assert kind == ("MpiGroup" if way == "mpi" else "ProcessGroup")
        check(found)


def check(found: dict[str, Any]) -> None:
    assert found.keys() == OTHERS.keys()
    for name, texts in found.items():
        for text, size, other in zip(texts, (10, 100000), OTHERS[name], strict=True):
            first = text.partition("\n")[0]
            assert f"rank 0 waits in all_reduce of {size} float32, rank 1 waits in {other}" in first
