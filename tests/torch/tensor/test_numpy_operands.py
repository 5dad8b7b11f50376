"""Numbers and arrays of numpy, and tensors of another type, as operands: types and errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours

TENSORS = ["T.tensor([3])", "T.tensor(1.5)", "T.tensor([True])", "T.tensor([2j])"]
NUMBERS = ["N.bool_(1)", "N.complex64(1 + 2j)", "N.float32(2.5)", "N.int8(2)", "N.uint64(2**63)"]
ARRAYS = ["N.array([1])", "N.array(2.5)", "N.array([True])"]
OF_NUMBERS = ["t + v", "v * t", "t == v", "T.where(t > 0, t, v)", "T.addcmul(t, t, t, value=v)",
              "t.clone().__setitem__(0, v)", "T.add(t, t, alpha=v)"]  # fmt: skip
OF_ARRAYS = ["t + v", "v + t", "v / t", "t / v", "t == v", "t < v", "t.clone().__imul__(v)",
             "t // v", "t.clone().__iand__(v)"]  # fmt: skip
CALLS = [
    *itertools.product(TENSORS, NUMBERS, OF_NUMBERS),
    *itertools.product(TENSORS, ARRAYS, OF_ARRAYS),
    *itertools.product(TENSORS[2:3], ["1", "2.5", "True", "T.tensor([2])", "T.tensor(1.5)"],
                       ["t - v", "v - t", "T.rsub(t, v)", "T.sub(t, v, alpha=2)"]),
    ("T.ones(2)", "T.tensor([True])", "T.sub(t, v)"),
    *itertools.product(
        ["T.zeros(3).double()"], ["T.tensor(2)", "T.ones(2)", "T.tensor([1j])"],
        ["t.__setitem__(T.tensor([0, 2]), v)", "t.__setitem__([True, False, True], v)",
         "t.__setitem__(slice(2), v.real)", "t.index_put_((T.arange(3) != 1,), v)"],
    ),
    *itertools.product(
        ["T.ones(3)"], ["T.float64"],
        [f"T.{name}(t, 0, dtype=v, out=T.ones(()).half())" for name in ("sum", "mean", "nansum")],
    ),
    ("T.ones(3).int()", "2", "t.addcdiv_(t, t, value=v)"),
    ("T.ones(3)", "T.tensor([0.5, 1.5])", "T.quantile(t, v)"),
    ("T.ones(3).int()", "2", "T.histc(t, min=v, max=1)"),
    ("T.tensor([2])", "1.0", "T.add(t, t, alpha=v)"),
    ("T.ones(1, requires_grad=True)", "N.ones(1)", "t + v"),
    ("T.tensor([3.0, 1.0])", "N.float32(0.5)", "T.lerp(t, t + 1, v)"),
]  # fmt: skip
# numpy's own number of 64 bits without a sign, which torch does not take, goes on with an array
LEFT = {"N.uint64(2**63)": {*OF_NUMBERS} - {"T.add(t, t, alpha=v)"}}


def _told(namespace: Any, tensor: str, value: str, call: str) -> Any:
    names = {"T": namespace, "N": np}
    names |= {"t": eval(tensor, names), "v": eval(value, names)}
    try:
        result = eval(call, names)
        kind = type(result).__name__
        return result if result is None else (kind, str(result.dtype), result.tolist())
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.filterwarnings("ignore")
def test_types_and_errors_are_torchs() -> None:
    for call in CALLS:
        if call[2] not in LEFT.get(call[1], ()):
            assert _told(ours, *call) == _told(torch, *call), call
