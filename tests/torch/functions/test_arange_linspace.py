"""arange, linspace and logspace: torch's bits, which images' grids and schedules are made of."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as mt

TYPES = ["float32", "float64", "float16", "bfloat16", "int32", "uint8"]


def _calls(generator: random.Random, whole: bool) -> tuple[tuple[str, tuple[Any, ...]], ...]:
    start = generator.choice([0, generator.uniform(0, 3)])
    step = generator.randint(1, 3) if whole else generator.choice([0.1, generator.uniform(0.01, 1)])
    end, few = start + generator.uniform(0.1, 50), start + generator.uniform(0.1, 2)
    count = generator.randint(0, 80)
    return (
        ("arange", (start, end, step)),
        ("linspace", (start, end, count)),
        ("logspace", (start, few, count, generator.choice([10.0, 3.7]))),
    )


@pytest.mark.parametrize("kind", TYPES)
def test_elements_have_torchs_bits(kind: str) -> None:
    """torch adds the products of steps in one rounding, linspace from both of its ends, arange in
    groups of a vector's length."""
    generator = random.Random(0)
    for _ in range(60):
        for name, arguments in _calls(generator, "int" in kind):
            found, expected = (
                getattr(t, name)(*arguments, dtype=getattr(t, kind)).tolist() for t in (mt, torch)
            )
            np.testing.assert_array_equal(found, expected, f"{name}{arguments}")


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_linspace_of_complex_numbers_goes_by_parts(kind: str) -> None:
    """Real and imaginary parts are spaced each for itself."""
    found, expected = (
        t.linspace(1.3 - 0.2j, -2.1 + 5.7j, 31, dtype=getattr(t, kind)).tolist()
        for t in (mt, torch)
    )
    assert found == expected
