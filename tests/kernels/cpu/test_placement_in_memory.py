"""A result has the same bits wherever it lies in memory: behind its input, far from it, on it."""

from __future__ import annotations

import numpy as np
import pytest

from mindtorch.kernels.cpu import softmax


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [5, 33])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_the_sum_of_a_row_is_added_in_one_order(name: str, n: int, dtype: str) -> None:
    """A loop that fears for its input adds one term after another, others by vectors."""
    memory = np.zeros(1000, dtype)
    given = memory[200 : 200 + n]
    places = [700, 200 + n, 200 - n] + [200] * (name == "softmax")
    for seed in range(30):
        values = np.random.default_rng(seed).standard_normal(n).astype(dtype) * 5
        found = set()
        for place in places:
            given[:] = values
            out = memory[place : place + n]
            getattr(softmax, name)(out, given, axis=0)
            found.add(out.tobytes())
        assert len(found) == 1
