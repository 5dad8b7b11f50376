"""A script of Ray's TorchTrainer under the switch, and the same under PyTorch."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import PROGRAMS
from tests.torch.distributed.jobs import assert_near, start

PROGRAM = PROGRAMS / "distributed" / "ray_program.py"
SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled",
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}  # fmt: skip


def _trained(file: Path, **variables: str) -> dict[str, Any]:
    code, told = start([sys.executable, str(PROGRAM), str(file)], 600, **SETTINGS, **variables)
    assert code == 0, told
    found: dict[str, Any] = json.loads(file.read_text())
    return found


@pytest.mark.exhaustive
def test_a_torch_trainer_runs_unchanged(tmp_path: Path) -> None:
    """prepare_model, prepare_data_loader, report, get_context, get_checkpoint: losses and weights
    are PyTorch's; a process fails once, and Ray begins again where the checkpoint was made."""
    pytest.importorskip("ray.train", reason="the extra ray is not installed")
    mine = _trained(tmp_path / "mine", MINDTORCH_ENABLE="1")
    assert "mindtorch" in mine["metrics"].pop("torch")
    assert (mine["metrics"]["size"], mine["metrics"]["begun"]) == (2, 1)
    pytest.importorskip("torch", reason="PyTorch, which is compared with, is not installed")
    theirs = _trained(tmp_path / "theirs", MINDTORCH_ENABLE="0")
    assert "mindtorch" not in theirs["metrics"].pop("torch")
    assert len(mine["losses"]) == 3
    assert_near(mine, theirs, 1e-5, 1e-6)
