"""Compiled calls and Python's own objects: two programs, each in a small process.

Each capture looks through all objects that its process holds; those of a test run are many.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.support.paths import PROGRAMS, ROOT


@pytest.mark.parametrize("program", ["compiled_python_program.py", "compiled_classes_program.py"])
def test_compiled_python_is_eager_python(program: str) -> None:
    """The same results, and the same objects afterwards, over several calls of every case."""
    path = PROGRAMS / program
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        env=dict(os.environ, PYTHONPATH=str(ROOT)), capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert len(lines) == len(re.findall("^@case$", path.read_text(), re.MULTILINE)) > 3
    assert [line for line in lines if not line.endswith(" same")] == []
