"""Lines of code as documentation and users write them, for public names that few programs use."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours
from tests.support.surface import plain

SNIPPETS = (Path(__file__).parents[2] / "tables" / "snippets.txt").read_text().splitlines()
STEP = 60


def outcome(namespace: Any, code: str) -> Any:
    """What an expression gives, in words that both libraries share; or its error's first line."""
    namespace.manual_seed(0)
    names = {
        "torch": namespace, "nn": namespace.nn, "F": namespace.nn.functional, "np": np
    }  # fmt: skip
    try:
        found = eval(code, names)
    except Exception as error:
        return ("error", type(error).__name__, str(error).partition("\n")[0])
    kind = type(found).__name__ if isinstance(found, tuple) else ""
    return kind, words(found)


def words(found: Any) -> Any:
    """As :func:`plain`, of more kinds of objects."""
    if isinstance(found, (torch.Tensor, ours.Tensor)):
        tensor: Any = found
        if str(tensor.layout) != "torch.strided" or getattr(tensor, "is_nested", False):
            return repr(tensor)
        return plain(tensor.resolve_conj().resolve_neg())
    if isinstance(found, dict):
        return {str(k): words(v) for k, v in found.items()}
    if isinstance(found, (tuple, list)) and type(found).__name__ != "Size":
        return [words(v) for v in found]
    shown = plain(found)
    if isinstance(shown, str):
        shown = re.sub("0x[0-9a-f]+", "0x", shown.replace("mindtorch.", ""))
    return shown


def same(mine: Any, theirs: Any) -> bool:
    """Equal but for roundings of sums."""
    if isinstance(theirs, np.ndarray):
        if not isinstance(mine, np.ndarray) or mine.dtype != theirs.dtype:
            return False
        if mine.shape != theirs.shape or theirs.dtype.kind not in "fc":
            return np.array_equal(mine, theirs)
        largest = np.abs(theirs[np.isfinite(theirs)]).max(initial=1)
        return bool(np.allclose(mine, theirs, 2e-5, 2e-6 * largest, equal_nan=True))
    if isinstance(theirs, (list, tuple)):
        alike = type(mine) is type(theirs) and len(mine) == len(theirs)
        return alike and all(map(same, mine, theirs))
    if isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(same(mine[k], theirs[k]) for k in theirs)
    if isinstance(theirs, float):
        return isinstance(mine, float) and bool(np.isclose(mine, theirs, 1e-5, equal_nan=True))
    return type(mine) is type(theirs) and bool(mine == theirs)


@pytest.mark.parametrize("first", range(0, len(SNIPPETS), STEP))
def test_snippets(first: int) -> None:
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for code in SNIPPETS[first : first + STEP]:
            theirs, mine = outcome(torch, code), outcome(ours, code)
            if not same(mine, theirs):
                wrong.append(f"{code}\n    torch: {theirs}\n    ours: {mine}")
    assert not wrong, "\n".join(wrong)
