"""Compiled calls and Python's own objects: compiled_python_program.py, in a small process.

Each capture looks through all objects that its process holds; those of a test run are many.
"""

from __future__ import annotations

import re
import subprocess
import sys

from tests.support.paths import PROGRAMS

PROGRAM = PROGRAMS / "compiled_python_program.py"


def test_compiled_python_is_eager_python() -> None:
    """The same results, and the same objects afterwards, over several calls of every case."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM)], capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert len(lines) == len(re.findall("^@case$", PROGRAM.read_text(), re.MULTILINE)) > 20
    assert [line for line in lines if not line.endswith(" same")] == []
