"""The example trains, writes, compiles and runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path("migration_examples/micro_digits/run.py")


@pytest.mark.exhaustive
def test_digits_in_c(tmp_path):
    made = subprocess.run(
        [sys.executable, str(EXAMPLE), "--epochs", "3", "--output", str(tmp_path)],
        capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": os.getcwd()},
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    rows = {row.split()[0]: row.split() for row in made.stdout.splitlines() if row}
    here = float(rows["here:"][1][:-1])
    assert here > 80
    assert rows["float32"][3] == f"{here}%"  # scores differ by rounding, so no digit changes
    assert abs(float(rows["int8"][3][:-1]) - here) <= 2
    assert float(made.stdout.split("largest difference ")[1]) < 1e-5  # 20 steps of training
