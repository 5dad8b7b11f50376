"""Writing and reading at indices costs what is written or read, not the whole tensor."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as mt

ROWS, COLUMNS = 4096, 64
WRITES: dict[str, Callable[..., Any]] = {
    "rows": lambda x, i, v: x.__setitem__(i, v),
    "a number": lambda x, i, v: x.__setitem__(i, 7.0),
    "columns": lambda x, i, v: x.__setitem__((slice(None, 5), i), v[:, :5].t()),
    "pairs": lambda x, i, v: x.__setitem__((i, i), v[:, 0]),
    "index_put_": lambda x, i, v: x.index_put_((i,), v, accumulate=True),
    "index_add_": lambda x, i, v: x.index_add_(0, i, v, alpha=2),
    "index_copy_": lambda x, i, v: x.index_copy_(0, i, v),
    "index_fill_": lambda x, i, v: x.index_fill_(0, i, 2.0),
    "index_reduce_": lambda x, i, v: x.index_reduce_(0, i, v, "amax"),
    "scatter_": lambda x, i, v: x.scatter_(0, i[:, None] + 0 * v.long(), v),
    "scatter_ a number": lambda x, i, v: x.scatter_(0, i[:, None] + 0 * v.long(), 2.0),
    "scatter_add_": lambda x, i, v: x.scatter_add_(0, i[:, None] + 0 * v.long(), v),
    "scatter_reduce_": lambda x, i, v: x.scatter_reduce_(0, i[:, None] + 0 * v.long(), v, "prod"),
    "put_": lambda x, i, v: x.put_(-i, v[:, 0]),
    "put_ adding": lambda x, i, v: x.put_(i, v[:, 0], accumulate=True),
}
READS: dict[str, Callable[..., Any]] = {
    "rows": lambda x, i: x[i],
    "columns": lambda x, i: x[:5, i],
    "index_select": lambda x, i: x.index_select(0, i),
    "gather": lambda x, i: x.gather(0, i[:, None].expand(len(i), COLUMNS)),
    "take": lambda x, i: x.take(-i),
    "expanded": lambda x, i: x[:1].expand(1 << 30, COLUMNS).index_select(0, i),
}
LAYOUTS: dict[str, Callable[..., Any]] = {
    "in order": lambda t: t.ones(ROWS, COLUMNS),
    "transposed": lambda t: t.ones(COLUMNS, ROWS).t(),
    "every second": lambda t: t.ones(2 * ROWS, COLUMNS)[::2],
    "a view": lambda t: t.ones(ROWS + 2, COLUMNS)[1:-1],
}


def _operands(t: Any) -> Any:
    values = np.random.default_rng(0).integers(1, 5, (6, COLUMNS)).astype(np.float32)
    return t.tensor([3, 60, 0, 7, 9, 3]), t.from_numpy(values)


def _peak(call: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", WRITES)
def test_a_write_in_place_has_torchs_values_and_copies_nothing(name: str, layout: str) -> None:
    targets = [LAYOUTS[layout](t) for t in (mt, torch)]
    operands = [_operands(t) for t in (mt, torch)]
    if name in ("rows", "index_copy_", "scatter_", "pairs", "columns", "put_"):
        operands = [(i[:5], v[:5]) for i, v in operands]  # which of two values stays is not said
    version = targets[0]._version
    for x, given in zip(targets, operands, strict=True):
        WRITES[name](x, *given)
    np.testing.assert_array_equal(targets[0].numpy(), targets[1].numpy())
    assert targets[0]._version > version
    assert _peak(lambda: WRITES[name](targets[0], *operands[0])) < ROWS * COLUMNS


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", READS)
def test_reading_a_few_places_copies_no_more(name: str, layout: str) -> None:
    (x, i), (y, j) = ((LAYOUTS[layout](t), _operands(t)[0]) for t in (mt, torch))
    for each, t in ((x, mt), (y, torch)):
        each.mul_(t.arange(COLUMNS))
    np.testing.assert_array_equal(READS[name](x, i).numpy(), READS[name](y, j).numpy())
    assert _peak(lambda: READS[name](x, i)) < ROWS * COLUMNS


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("name", WRITES)
def test_gradients_pass_through_a_write_in_place(name: str) -> None:
    found = []
    for t in (mt, torch):
        x = LAYOUTS["in order"](t).requires_grad_()
        i, v = _operands(t)
        i, v = i[:5], v[:5].requires_grad_()
        y = x * 3
        WRITES[name](y, i, v)
        (y * y).sum().backward()
        found.append([x.grad.numpy(), None if v.grad is None else v.grad.numpy()])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["tril_", "triu_"])
@pytest.mark.parametrize("diagonal", [-9, -1, 0, 2, 9])
def test_triangles_in_place(name: str, diagonal: int) -> None:
    for shape in ((2, 3, 5), (5, 3), (4, 4)):
        a, b = (getattr(t.ones(shape), name)(diagonal).numpy() for t in (mt, torch))
        np.testing.assert_array_equal(a, b)


def test_what_is_read_while_it_is_written() -> None:
    """A source or an index in the same memory is refused before anything is written."""
    x = mt.arange(6)
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x[x[:3]] = x[3:]
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        x.index_fill_(0, x[:1], x[1])
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
