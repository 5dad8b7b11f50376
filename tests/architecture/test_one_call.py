"""docs/guide/one-call.md shows the frames that the calls have."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.architecture.one_call import calls, frames
from tests.support.paths import ROOT


def test_the_page_shows_the_frames_of_the_calls() -> None:
    """In a process of their own: once a class has ``__torch_function__``, functions ask it."""
    command = [sys.executable, "-m", "tests.architecture.one_call", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stderr


@pytest.mark.parametrize("name", calls())
def test_a_warm_call_goes_down_once(name: str) -> None:
    """mindtorch, engine, kernels: no frame of an upper folder after one of a lower one, but for
    the tape, which comes after the kernel."""
    order = {"mindtorch": 0, "engine": 1, "kernels": 2, "compiled kernel": 2}
    found = [place for place, _ in frames(calls()[name])]
    floors = [order.get(place.split("/")[0].split(":")[0], 1) for place in found]
    tape = next((i for i, place in enumerate(found) if "autograd/" in place), len(found))
    down = [floor for floor, place in zip(floors[:tape], found, strict=False)
            if "allocator" not in place]  # fmt: skip
    assert down == sorted(down)
    assert any(floor == 2 for floor in down)
