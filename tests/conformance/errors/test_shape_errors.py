"""What torch refuses of splits, stacks, rolls, turns and factories, in type and text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as mt
from tests.tables.ops_table import numbers

torch = pytest.importorskip("torch")

RAISING: dict[str, Callable[..., Any]] = {
    "hsplit_number": lambda t, x: t.hsplit(x[0, 0], 2),
    "hsplit_uneven": lambda t, x: t.hsplit(x, 2),
    "hsplit_vector": lambda t, x: x[0].hsplit(2),
    "hsplit_text": lambda t, x: t.hsplit(x, "a"),
    "vsplit_vector": lambda t, x: t.vsplit(x[0], 2),
    "vsplit_zero": lambda t, x: t.vsplit(x, 0),
    "dsplit_matrix": lambda t, x: t.dsplit(x, 2),
    "hstack": lambda t, x: t.hstack([]),
    "vstack": lambda t, x: t.vstack(()),
    "dstack": lambda t, x: t.dstack([]),
    "column_stack": lambda t, x: t.column_stack([]),
    "rot90_one": lambda t, x: t.rot90(x, 1, [0]),
    "rot90_vector": lambda t, x: t.rot90(x[0], 1, [0, 1]),
    "rot90_same": lambda t, x: t.rot90(x, 1, [1, 1]),
    "rot90_same_backwards": lambda t, x: t.rot90(x, 1, [1, -1]),
    "rot90_range": lambda t, x: t.rot90(x, 1, [0, 3]),
    "roll_nothing": lambda t, x: t.roll(x, ()),
    "roll_number": lambda t, x: t.roll(x[0, 0], 1, 0),
    "movedim_source": lambda t, x: t.movedim(x, (0, -2), (0, 1)),
    "movedim_destination": lambda t, x: t.movedim(x, (0, 1), (1, -1)),
    "triu_vector": lambda t, x: x[0].triu(),
    "tril_vector": lambda t, x: x[0].tril(),
    "bucketize": lambda t, x: t.bucketize(x, x),
    "renorm_number": lambda t, x: t.renorm(x[0, 0], 2, 0, 1.0),
    "renorm_order": lambda t, x: t.renorm(x, -1, 0, 1.0),
    "renorm_bound": lambda t, x: t.renorm(x, 2, 0, -1.0),
    "eye_rows": lambda t, x: t.eye(-3),
    "eye_columns": lambda t, x: t.eye(3, -3),
    "linspace_start": lambda t, x: t.linspace(x[0], 1, 2),
    "linspace_both": lambda t, x: t.linspace(x[0], x, 2),
    "logspace_end": lambda t, x: t.logspace(0, x[0], 2),
}  # fmt: skip


@pytest.mark.parametrize("name", RAISING)
def test_errors_are_torchs(name: str) -> None:
    """Type and text of what torch raises for the same call."""
    found = []
    for t in (mt, torch):
        with pytest.raises((RuntimeError, TypeError, IndexError, ValueError)) as caught:
            RAISING[name](t, t.from_numpy(numbers(5, 5)))
        found.append((caught.type.__name__, str(caught.value)))
    assert found[0] == found[1]


def test_splits_and_stacks_invert_each_other() -> None:
    """Along the first, second and third axis."""
    x = mt.from_numpy(numbers(4, 6, 2))
    for split, stack in ((mt.vsplit, mt.vstack), (mt.hsplit, mt.hstack), (mt.dsplit, mt.dstack)):
        np.testing.assert_array_equal(stack(split(x, 2)).numpy(), x.numpy())


def test_renorm_writes_in_place() -> None:
    """``renorm_`` is what embeddings call."""
    x = mt.from_numpy(numbers(3, 4))
    expected = x.renorm(2, 0, 1.0)
    assert x.renorm_(2, 0, 1.0) is x
    np.testing.assert_array_equal(x.numpy(), expected.numpy())
