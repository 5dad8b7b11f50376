"""Long runs meet many shapes, indices and numbers once each; nothing of them stays."""

from __future__ import annotations

import gc
import weakref

import mindtorch.torch as mt
from mindtorch.engine import aval as avals
from mindtorch.engine.bounded_cache import Bounded
from mindtorch.engine.ops import movement


def test_a_bounded_table_drops_the_older_half() -> None:
    """The newest entries are those that the program is at work with."""
    table = Bounded(10)
    for i in range(11):
        table.keep(i, i)
    assert list(table) == [5, 6, 7, 8, 9, 10]


def test_plans_of_indices_met_once_are_dropped() -> None:
    """``data[i]`` over a data set makes a plan for each i."""
    data = mt.arange(5000)
    assert [data[i].item() for i in range(5000)] == list(range(5000))
    assert len(movement.select._plans) <= movement.select._plans.limit < 5000


def test_descriptions_of_shapes_out_of_use_are_dropped() -> None:
    """Interning must not keep what no tensor and no plan has."""
    described = avals.aval((3, 12347), mt.float32)
    assert avals.aval((3, 12347), mt.float32, (12347, 1)) is described
    kept = weakref.ref(described)
    del described
    for size in range(avals._latest.maxlen or 0):  # the last ones are held
        avals.aval((5, 12347 + size), mt.float32)
    gc.collect()
    assert kept() is None
    assert not any(key[0] == (3, 12347) for key in avals._interned)
