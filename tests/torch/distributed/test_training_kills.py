"""One process of a training is killed at a random moment: the others end, and it can go on."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import PROGRAMS
from tests.torch.distributed.jobs import start

PROGRAM = PROGRAMS / "distributed/training_kills_program.py"


def _kills(folder: Path, count: int, seed: int) -> list[dict[str, Any]]:
    """Each kill under data parallel, fully_shard and a pipeline in turns; none may be wrong."""
    command = [sys.executable, str(PROGRAM), str(folder), str(count), str(seed)]
    code, told = start(command, limit=300 + 60 * count)
    assert code == 0, told
    *lines, end = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
    assert end["kills"] == len(lines) == count and end["wrong"] == 0, told
    for line in lines:  # -99: still running after two minutes
        assert line["codes"][line["victim"]] == -9 and -99 not in line["codes"], told
    return lines


def test_a_killed_training_goes_on_bit_for_bit(tmp_path: Path) -> None:
    """Losses, parameters and the optimizer's states are those of a training that nobody killed."""
    assert {line["kind"] for line in _kills(tmp_path, 3, 2)} == {"ddp", "fsdp2", "pp"}


@pytest.mark.exhaustive
def test_a_hundred_killed_trainings(tmp_path: Path) -> None:
    """As above; all processes have ended ten seconds after the kill."""
    assert max(line["seconds"] for line in _kills(tmp_path, 100, 3)) < 10
