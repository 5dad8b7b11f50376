"""Inputs that would lead kernels out of their arrays, or that mean nothing: torch's errors."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import mindtorch.torch as ours

CALLS = [
    "T.linalg.ldl_solve(T.eye(2), T.tensor([9, -9], dtype=T.int32), T.ones(2, 1))",
    "T.linalg.ldl_solve(T.eye(2), T.tensor([0, 1], dtype=T.int32), T.ones(2, 1))",
    "T.ones(3).as_strided((-1,), (1,))",
    "T.linalg.cholesky(T.full((2, 2), float('nan')))",
    "T.linalg.cholesky(T.stack([T.eye(2), T.diag(T.tensor([1., float('nan')]))]))",
    "T.nn.functional.unfold(T.ones(1, 1, 4, 4), 2, stride=0)",
    "T.nn.functional.unfold(T.ones(1, 1, 4, 4), 0)",
    "T.nn.functional.fold(T.ones(1, 4, 9), (4, 4), 2, stride=0)",
    "T.nn.functional.fold(T.ones(1, 4, 9), (4, 4), 2, dilation=0)",
    "T.nn.functional.pdist(T.ones(3, 2), -1.0)",
    "T.empty_strided((3,), (0,)).fill_(1)",
    "T.empty_strided((3,), (0,)).zero_()",
]


def _told(namespace: Any, call: str) -> Any:
    try:
        return eval(call, {"T": namespace}).tolist()
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("call", CALLS)
def test_calls_are_refused_as_by_torch(call: str) -> None:
    assert _told(ours, call) == _told(torch, call)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("sizes", [[3, 2], [2, 3], [3, -2], [1, 3], [2, 1], [4, 0], [1, 0, 1], []])
def test_sizes_of_packed_sequences(kind: str, sizes: list[int]) -> None:
    """Of four rows; times after one without rows are left out, and so are rows beyond the times."""
    packed = f"T.nn.utils.rnn.PackedSequence(T.ones(4, 2), T.tensor({sizes}, dtype=T.int64))"
    call = f"T.zeros_like(T.nn.{kind}(2, 2)({packed})[0].data)"
    assert _told(ours, call) == _told(torch, call)
