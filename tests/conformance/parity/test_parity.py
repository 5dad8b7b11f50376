"""Entries of PyTorch's table of ops that pass (``parity_passing.txt``) keep passing.

A run takes one in ``STRIDE`` of them; MINDTORCH_PARITY=all takes every one, which lasts many
minutes. The file is written by ``python -m tests.support.parity_report``.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

import mindtorch.torch as ours
from tests.conformance.parity import derivatives
from tests.support import parity
from tests.support.paths import TABLES

STRIDE = 151
SAMPLES = 6
DIFFERENTIABLE = [x for x in op_db if next(derivatives.checks_of(x, 0), None)]


def listed() -> list[tuple[str, str]]:
    """(entry, dtype or "errors") of the file."""
    lines = (TABLES / "parity_passing.txt").read_text().splitlines()
    return [(line.rpartition(" ")[0], line.rpartition(" ")[2]) for line in lines]


def chosen() -> list[tuple[str, str]]:
    """Those of this run."""
    every = listed()
    return every if os.environ.get("MINDTORCH_PARITY") == "all" else every[::STRIDE]


@pytest.fixture(scope="module")
def table() -> Any:
    """torch's entries, by title."""
    return {parity.title(info): info for info in op_db}


@pytest.mark.parametrize(("entry", "what"), chosen(), ids=["-".join(pair) for pair in chosen()])
def test_an_entry_that_passed_still_passes(table: Any, entry: str, what: str) -> None:
    """Values, types, shapes, gradients, variants (or errors) agree with torch's."""
    info = table[entry]
    if what == "errors":
        checks = [("errors", lambda: parity.run_errors(info))]
    else:
        checks = list(parity.stages_of(info, getattr(torch, what), SAMPLES))
    assert checks
    for stage, check in checks:
        status, why = parity.outcome(check)
        assert status == "pass", f"{stage}: {status}: {why}"


@pytest.mark.parametrize(
    "info",
    [
        pytest.param(x, id=parity.title(x), marks=() if i % 200 == 1 else pytest.mark.exhaustive)
        for i, x in enumerate(DIFFERENTIABLE)
    ],
)
def test_second_gradients_and_tangents_are_torchs(info: Any) -> None:
    """In double precision, by the inputs and by the cotangents."""
    for what, check in derivatives.checks_of(info, SAMPLES):
        status, why = parity.outcome(check)
        assert status == "pass", f"{what}: {status}: {why}"


def test_the_runner_sees_a_wrong_tangent(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor may a comparison of nothing let second gradients and tangents pass."""
    right = ours.sin
    monkeypatch.setattr(ours, "sin", lambda x: right(x) + x.detach() * (x - x.detach()))
    for _, check in derivatives.checks_of(table["sin"], 3):
        status, why = parity.outcome(check)
        assert status == "fail", why


def test_the_runner_sees_a_wrong_value(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A runner that compared nothing would let every entry pass."""
    monkeypatch.setattr(ours, "sin", ours.cos)
    status, why = parity.outcome(lambda: parity.run_forward(table["sin"], torch.float32, 3))
    assert status == "fail"
    assert "elements differ" in why


def test_the_runner_sees_a_wrong_gradient(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values alone do not make an entry pass."""
    right = ours.sin
    monkeypatch.setattr(ours, "sin", lambda x: right(x) + 0 * x + x - x.detach())
    status, why = parity.outcome(lambda: parity.run_gradient(table["sin"], torch.float32, 3))
    assert status == "fail"
    assert why.startswith("gradient")
