"""python -m torch.distributed.launch: scripts of older times are told --local-rank."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mindtorch.torch.distributed import launch, run
from tests.torch.distributed.jobs import start

# one write a line: print's pieces, unbuffered, come between those of the other process
SCRIPT = """import os, sys
sys.stdout.write(f"{sys.argv[1:]} {os.environ['LOCAL_RANK']}\\n")
"""


def test_every_process_is_told_its_rank(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "mindtorch.torch.distributed.launch", "--nproc_per_node=2"]
    status, told = start([*command, str(tmp_path / "script.py"), "--lr", "0.1"])
    assert status == 0, told
    for rank in (0, 1):
        assert f"['--local-rank={rank}', '--lr', '0.1'] {rank}" in told
    assert "torch.distributed.launch is deprecated" in told


def test_use_env_leaves_the_argument_out() -> None:
    options = launch.parse_args(["--use_env", "script.py", "--lr", "0.1"])
    assert run._command(options)[-3:] == ["script.py", "--lr", "0.1"]
    with pytest.raises(ValueError, match="must also set the '--use-env' flag"):
        launch.launch(launch.parse_args(["--no-python", "script"]))
