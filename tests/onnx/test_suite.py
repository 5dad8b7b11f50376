"""The node tests of the package onnx: all pass but those that are listed with their reasons."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest

from tests.support import onnx_suite

PARTS = 8


@pytest.fixture(scope="module")
def cases() -> list[Any]:
    return onnx_suite.cases()


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_not_listed_passes(cases: list[Any], part: int) -> None:
    """A test that passes and is listed fails here, too: the list is taken anew by
    ``python -m tests.support.onnx_suite``."""
    listed = json.loads(onnx_suite.LISTED.read_text())
    wrong = []
    for case in cases[part::PARTS]:
        error = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                onnx_suite.run(case)
        except Exception as caught:
            error = caught
        if error is not None and case.name not in listed:
            wrong.append(f"{case.name}: {onnx_suite.reason(error)}")
        drawn = "random" in listed.get(case.name, "")
        if error is None and case.name in listed and not drawn:
            wrong.append(f"{case.name} passes")
    assert not wrong, "\n".join(wrong)


def test_the_share_of_floats_is_above_the_bar(cases: list[Any]) -> None:
    listed = json.loads(onnx_suite.LISTED.read_text())
    of_floats = [case for case in cases if onnx_suite.is_float(case)]
    missing = [case for case in of_floats if case.name in listed]
    assert len(of_floats) > 1400 and len(missing) < 0.04 * len(of_floats)
