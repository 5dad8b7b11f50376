"""Programs migrated to MindSpore's spelling print what the PyTorch programs printed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_examples import assert_same_lines

pytestmark = pytest.mark.exhaustive


@pytest.mark.parametrize("name", ["mindspore_style", "mindtorch_style"])
def test_a_migrated_program_prints_the_same_numbers(name: str, repository: Path) -> None:
    """before.py under real PyTorch, after.py here: losses, accuracies, rates to 1e-4."""
    environment = {**os.environ, "PYTHONPATH": str(repository), "OMP_NUM_THREADS": "1"}
    outputs = []
    for script in ("before.py", "after.py"):
        result = subprocess.run(
            [sys.executable, str(repository / "migration_examples" / name / script)],
            env=environment, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert result.returncode == 0, result.stderr
        outputs.append(result.stdout)
    assert len(outputs[0].splitlines()) >= 4
    assert_same_lines(outputs[1], outputs[0])
