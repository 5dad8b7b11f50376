"""Arguments of functions on matrices: distances' modes, whole-number factors, triangles, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as mt
from tests.tables.ops_table import numbers

torch = pytest.importorskip("torch")
POINTS = numbers(20, 2)
WEIGHTS = numbers(20, domain="probability")


def _both(call: Callable[..., Any]) -> tuple[Any, Any]:
    found: list[Any] = []
    for t in (mt, torch):
        try:
            found.append(call(t, t.from_numpy(POINTS.copy()), t.from_numpy(WEIGHTS.copy())))
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    return found[0], found[1]


RAISING: dict[str, Callable[..., Any]] = {
    "distance_mode": lambda t, x, w: t.cdist(x, x, compute_mode="a"),
    "distance_order": lambda t, x, w: t.cdist(x, x, p=-1),
    "distance_integers": lambda t, x, w: t.cdist(x, x.long()),
    "distance_half": lambda t, x, w: t.cdist(x.half(), x.half()),
    "distance_rows": lambda t, x, w: t.cdist(w, x),
    "distance_columns": lambda t, x, w: t.cdist(x, x[:, :1]),
    "triangle_rows": lambda t, x, w: t.tril_indices(-1, 2),
    "triangle_type": lambda t, x, w: t.triu_indices(2, 2, dtype=t.float32),
    "outer_alpha": lambda t, x, w: t.addr(x.long(), w.long(), w.long()[:2], alpha=0.5),
    "outer_bool": lambda t, x, w: t.addr(x.long(), w.long(), w.long()[:2], beta=True),
    "outer_complex": lambda t, x, w: t.addr(x.long(), w.long(), w.long()[:2], alpha=1j),
    "pivot_low": lambda t, x, w: t.linalg.lu_solve(x[:2], t.tensor([0, 2]).int(), x[:2]),
    "pivot_high": lambda t, x, w: t.linalg.lu_solve(x[:2], t.tensor([1, 3]).int(), x[:2]),
    "pivot_unpacked": lambda t, x, w: t.lu_unpack(x[:2], t.tensor([1, -1]).int()),
    "int_mm_columns": lambda t, x, w: t._int_mm(x.char(), x.char()),
    "int_mm_type": lambda t, x, w: t._int_mm(x.char(), x.T.byte()),
}  # fmt: skip


@pytest.mark.parametrize("name", RAISING)
def test_errors_are_torchs(name: str) -> None:
    """Type and text of what torch raises for the same call."""
    mine, theirs = _both(RAISING[name])
    assert isinstance(theirs, tuple), "torch must raise"
    assert mine == theirs


def test_triangles_take_what_factories_take() -> None:
    """A device that is not there is refused instead of ignored."""
    assert mt.tril_indices(3, 3, dtype=mt.int32, device="cpu").dtype is mt.int32
    with pytest.raises(RuntimeError):
        mt.tril_indices(3, 3, requires_grad=True)
    if not mt.cuda.is_available():
        with pytest.raises((AssertionError, RuntimeError)):
            mt.triu_indices(3, 3, device="cuda")


def test_matrix_rank_takes_its_tolerance_and_hermitian_by_place() -> None:
    assert mt.linalg.matrix_rank(mt.tensor([[1.0, 9.0], [0.0, 1.0]]), 1.5, True).tolist() == 0


def test_int_mm_adds_up_in_32_bits() -> None:
    """A sum of products of int8 that int8 does not hold."""
    row = mt.full((1, 9), -128, dtype=mt.int8)
    product = mt._int_mm(row, row.T)
    assert (product.dtype, product.tolist()) == (mt.int32, [[9 * 128 * 128]])


@pytest.mark.parametrize("name", ["addmm", "addbmm", "baddbmm", "addmv"])
def test_factors_beside_whole_numbers_are_cut(name: str) -> None:
    """torch casts beta and alpha to the type of the matrices."""
    results = []
    for t in (mt, torch):
        x = t.arange(9).reshape(3, 3)
        inputs = {
            "addmm": (x, x, x), "addbmm": (x, x[None], x[None]), "addmv": (x[0], x, x[1]),
            "baddbmm": (x[None], x[None], x[None]),
        }[name]  # fmt: skip
        results.append(getattr(t, name)(*inputs, beta=0.6, alpha=2.7))
    assert results[0].dtype is mt.int64
    np.testing.assert_array_equal(results[0].numpy(), results[1].numpy())
