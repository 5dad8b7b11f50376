"""Compiled calls and Python's own objects: two programs, each in a small process.

Each capture looks through all objects that its process holds; those of a test run are many.
"""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import time

import pytest

import mindtorch.torch as torch
from mindtorch.engine.compile.jit import jit
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


class _Foreign:
    """Reads the time when it goes; only the garbage collector finds it."""

    gone = 0

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        type(self).gone += int(time.time() > 0)


def test_finalizers_of_garbage_do_not_make_a_call_impure() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        gc.collect()
        return x * 2

    jitted = jit(double)
    gc.collect()
    _Foreign.gone = 0
    gc.disable()  # until the call itself collects
    try:
        _Foreign()
        assert jitted(torch.ones(3)).tolist() == [2.0] * 3
    finally:
        gc.enable()
    assert _Foreign.gone == 1
    assert jitted.eager == "" and jitted.compiled
    before = len(gc.callbacks)
    jitted(torch.ones(4))
    assert len(gc.callbacks) == before


def test_what_the_call_itself_asks_after_a_collection_is_seen() -> None:
    def timed(x: torch.Tensor) -> torch.Tensor:
        gc.collect()
        return x * min(time.time(), 2.0)

    jitted = jit(timed)
    assert jitted(torch.ones(3)).tolist() == [2.0] * 3
    assert "time" in jitted.eager
