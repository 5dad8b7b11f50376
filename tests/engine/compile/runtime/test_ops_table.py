"""Every row of the op table compiled: values and gradients are those of eager runs, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mindtorch.torch as mt
from mindtorch.engine.compile.jit import jit
from tests.support.ops_running import array_of, differentiable, outputs_of, tensor_of, weights_of
from tests.tables.ops_table import Row
from tests.tables.test_ops import ROWS

pytestmark = pytest.mark.exhaustive


def _results(call: Any, row: Row, dtype: str, gradient: bool) -> list[Any]:
    """Values, then gradients of a fixed weighted sum."""
    mt.manual_seed(3)
    inputs = [tensor_of(mt, array, dtype) for array in row.cases[0]]
    leaves = []
    for position, x in enumerate(inputs):
        if gradient and x.is_floating_point():
            inputs[position] = x.detach().requires_grad_()
            leaves.append(inputs[position])
    outputs = outputs_of(call(*inputs))
    found = [array_of(x).copy() for x in outputs]
    tracked = differentiable(outputs)
    if leaves and tracked:
        made = mt.autograd.grad(tracked, leaves, weights_of(mt, tracked), allow_unused=True)
        found += [None if g is None else array_of(g).copy() for g in made]
    return found


@pytest.mark.parametrize("replayed", [False, True], ids=["captured", "replayed"])
@pytest.mark.parametrize("row", [pytest.param(r, id=r.name) for r in ROWS])
def test_compiled_is_eager(row: Row, replayed: bool) -> None:
    """Captured, and run again; or with the function's Python code run at each call."""
    dtype = row.dtypes[0]
    gradient = row.gradient and dtype in row.gradient_dtypes
    expected = _results(lambda *xs: row.call(mt, *xs), row, dtype, gradient)
    compiled = jit(lambda *xs: row.call(mt, *xs))
    if replayed:
        compiled.eager = "asked for"
    for _ in range(3 if replayed else 2):
        for mine, eager in zip(_results(compiled, row, dtype, gradient), expected, strict=True):
            assert (mine is None) == (eager is None)
            if eager is not None:
                assert mine.dtype == eager.dtype and mine.shape == eager.shape
                np.testing.assert_array_equal(mine, eager)
