"""The op table in float16 and bfloat16: results beside PyTorch's, in units in the last place."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as mt
from tests.support.ops_running import outputs_of
from tests.tables.test_ops import ROWS

pytestmark = pytest.mark.exhaustive

# bits of the fraction, and the exponent of the smallest normal number
_FORM = {"float16": (10, -14), "bfloat16": (7, -126)}
# whole layers: many steps, each of them rounded in both
_STEPS = {"lstm", "gru", "rnn"}
# the difference of two products: PyTorch rounds the first, this rounds neither
_LOOSE = {"subtract_scaled": 2}


def _tensor(namespace: Any, array: Any, dtype: str) -> Any:
    if array.dtype.kind in "iub":
        kept = np.array(array.reshape(-1), order="C")
        return namespace.from_numpy(kept).reshape(array.shape)
    rounded = torch.from_numpy(np.array(array.reshape(-1), np.float64)).to(getattr(torch, dtype))
    numbers = namespace.from_numpy(rounded.float().numpy())
    return numbers.to(getattr(namespace, dtype)).reshape(array.shape)


def _results(namespace: Any, row: Any, case: Any, dtype: str) -> list[Any]:
    namespace.manual_seed(0)
    outputs = outputs_of(row.call(namespace, *[_tensor(namespace, a, dtype) for a in case]))
    return [o for o in outputs if hasattr(o, "dtype")]


def _exact(row: Any, case: Any, dtype: str) -> list[Any]:
    """PyTorch's results in float64, of the same 16-bit numbers."""
    torch.manual_seed(0)
    given = [_tensor(torch, a, dtype) for a in case]
    wide = [g.double() if g.is_floating_point() else g for g in given]
    return [o for o in outputs_of(row.call(torch, *wide)) if hasattr(o, "dtype")]


def _units(x: Any, dtype: str) -> Any:
    bits, smallest = _FORM[dtype]
    exponent = np.floor(np.log2(np.maximum(np.abs(x), 2.0**smallest)))
    return 2.0 ** (exponent - bits)


def _difference(mine: Any, theirs: Any, truth: Any, dtype: str, allowed: float) -> str:
    """Empty where each number is near PyTorch's, or as near to the truth as the type allows."""
    if str(mine.dtype).rpartition(".")[2] != str(theirs.dtype).rpartition(".")[2]:
        return f"type {mine.dtype}, not {theirs.dtype}"
    if not theirs.is_floating_point():
        return "" if np.array_equal(mine.numpy(), theirs.numpy()) else "other whole numbers"
    if str(theirs.dtype).rpartition(".")[2] != dtype:
        return ""
    a, b = mine.detach().double().numpy(), theirs.detach().double().numpy()
    with np.errstate(all="ignore"):
        off = np.abs(a - b) / _units(b, dtype)
        good = (a == b) | (np.isnan(a) & np.isnan(b)) | (off <= allowed)
        if truth is not None:
            d = truth.detach().double().numpy()
            good |= np.abs(a - d) <= _units(d, dtype)
            good |= np.abs(a - d) <= np.abs(b - d)
    return "" if good.all() else f"{(~good).sum()} of {good.size}, by {off[~good].max():.1f} units"


def _wrong(row: Any, dtype: str) -> list[str]:
    found = []
    for case in row.cases:
        if any(np.size(a) > 3000 for a in case):
            continue
        try:
            theirs = _results(torch, row, case, dtype)
        except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError):
            continue  # what PyTorch has no kernel for
        if any(t.is_complex() or str(t.dtype) == "torch.complex32" for t in theirs):
            continue
        mine = _results(mt, row, case, dtype)
        try:
            exact: list[Any] = _exact(row, case, dtype)
        except (RuntimeError, TypeError):
            exact = [None] * len(theirs)
        allowed = _LOOSE.get(row.name, 1)
        rows = zip(mine, theirs, exact, strict=True)
        found += [told for m, t, e in rows if (told := _difference(m, t, e, dtype, allowed))]
    return found


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_results_are_pytorchs_within_one_unit(dtype: str) -> None:
    """Or nearer to the float64 result than PyTorch's: its kernels round sums in between."""
    wrong = {}
    for row in ROWS:
        if row.name in _STEPS or row.name in ("complex", "view_as_real"):
            continue  # complex32 has no kernels
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if told := _wrong(row, dtype):
                wrong[row.name] = told
    assert not wrong
