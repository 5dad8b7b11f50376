"""torch.linalg beyond values: errors, LAPACK's numbers, drivers, limits, named results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as mt
from tests.tables.ops_table import numbers

torch = pytest.importorskip("torch")
SINGULAR = np.ones((3, 3))
BATCH = np.stack([np.eye(3), SINGULAR, np.eye(3)])
NOT_FINITE = np.full((3, 3), np.nan)


def _both(call: Callable[..., Any], *arrays: Any) -> tuple[Any, Any]:
    """What ``call(namespace, *tensors)`` returns or raises, with mine and with torch."""
    found = []
    for namespace in (mt, torch):
        tensors = [namespace.from_numpy(np.array(a)) for a in arrays]
        try:
            found.append(call(namespace, *tensors))
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    return found[0], found[1]


RAISING: dict[str, Callable[..., Any]] = {
    "inv": lambda t, x: t.linalg.inv(x),
    "inv_ex": lambda t, x: t.linalg.inv_ex(x, check_errors=True),
    "inverse": lambda t, x: x.inverse(),
    "cholesky": lambda t, x: t.linalg.cholesky(-x),
    "cholesky_upper": lambda t, x: t.linalg.cholesky(-x, upper=True),
    "cholesky_ex": lambda t, x: t.linalg.cholesky_ex(-x, check_errors=True),
    "torch_cholesky": lambda t, x: t.cholesky(-x),
    "solve": lambda t, x: t.linalg.solve(x, x),
    "solve_ex": lambda t, x: t.linalg.solve_ex(x, x, check_errors=True),
    "lu_factor": lambda t, x: t.linalg.lu_factor(x),
    "lu_factor_ex": lambda t, x: t.linalg.lu_factor_ex(x, check_errors=True),
    "lu_pivot": lambda t, x: t.linalg.lu(x, pivot=False),
    "svd_driver": lambda t, x: t.linalg.svd(x, driver="gesvd"),
    "svdvals_driver": lambda t, x: t.linalg.svdvals(x, driver="gesvd"),
    "lstsq_driver": lambda t, x: t.linalg.lstsq(x, x, driver="qr"),
    "qr_mode": lambda t, x: t.linalg.qr(x, mode="full"),
    "qr_r": lambda t, x: t.linalg.qr(x.requires_grad_(), mode="r")[1].sum().backward(),
    "eigh_uplo": lambda t, x: t.linalg.eigh(x, UPLO="M"),
    "low_precision": lambda t, x: t.linalg.inv(x.half()),
    "integers": lambda t, x: t.linalg.eigh(x.long()),
    "not_square": lambda t, x: t.linalg.det(x[..., :2]),
}


@pytest.mark.filterwarnings("ignore:torch.cholesky is deprecated")
@pytest.mark.parametrize("name", RAISING)
@pytest.mark.parametrize("array", [SINGULAR, BATCH], ids=["one", "batch"])
def test_errors_are_torchs(name: str, array: Any) -> None:
    """Programs catch LinAlgError by type and read the number of the batch from its text."""
    mine, theirs = _both(RAISING[name], array)
    assert isinstance(theirs, tuple) and len(theirs) == 2, "torch must raise"
    assert mine == theirs


@pytest.mark.parametrize("name", ["eigh", "svd", "eig"])
def test_what_is_not_finite_raises_as_in_torch(name: str) -> None:
    """LAPACK would not return, or return garbage."""
    mine, theirs = _both(lambda t, x: getattr(t.linalg, name)(x), NOT_FINITE)
    assert mine[0] == theirs[0]
    if name != "eigh":  # the number of the step at which LAPACK gave up is its own
        assert mine[1] == theirs[1]


def test_a_zero_block_is_an_error_of_ldl_factor() -> None:
    """torch reports a bug in itself here; the factors cannot be used by ldl_solve."""
    with pytest.raises(mt.linalg.LinAlgError, match="diagonal element 1 is zero"):
        mt.linalg.ldl_factor(mt.zeros(2, 2))


def test_linalg_error_is_an_error_of_the_namespace() -> None:
    """``except torch.linalg.LinAlgError`` and ``except RuntimeError`` both catch it."""
    with pytest.raises(mt.linalg.LinAlgError) as caught:
        mt.linalg.inv(mt.ones(2, 2))
    assert isinstance(caught.value, RuntimeError)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: t.linalg.inv_ex(x).info,
        lambda t, x: t.linalg.cholesky_ex(x).info,
        lambda t, x: t.linalg.solve_ex(x, x).info,
        lambda t, x: t.linalg.lu_factor_ex(x).info,
        lambda t, x: t.linalg.ldl_factor_ex(x * 0).info,
    ],
)
def test_numbers_tell_which_matrix_failed(call: Any) -> None:
    """Without check_errors nothing is raised; ``info`` holds LAPACK's number of each matrix."""
    mine, theirs = _both(call, BATCH)
    assert mine.dtype is mt.int32
    assert mine.tolist() == theirs.tolist() != [0, 0, 0]


def test_matrices_beside_a_singular_one_are_inverted() -> None:
    """One bad matrix does not spoil its batch."""
    inverse = mt.linalg.inv_ex(mt.from_numpy(BATCH)).inverse
    assert inverse[0].equal(mt.eye(3, dtype=mt.float64))
    assert inverse[2].equal(mt.eye(3, dtype=mt.float64))


RANK_TWO = numbers(5, 2) @ numbers(2, 3, seed=1)


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("rcond", [None, 1e-6, 0.5])
@pytest.mark.parametrize("array", [numbers(5, 3), numbers(3, 5), RANK_TWO, numbers(2, 4, 3)])
def test_least_squares_by_each_driver(driver: Any, rcond: Any, array: Any) -> None:
    """Rank, residuals and singular values depend on the driver, the rank on rcond."""
    if driver == "gels" and array is RANK_TWO:
        driver = None  # gels is for matrices of full rank
    if driver in (None, "gelsy") and rcond == 0.5:
        driver = "gelsd"  # torch lets gelsy read its pivots from memory that nobody wrote
    right = numbers(*array.shape[:-1], 2, seed=9)
    mine, theirs = _both(lambda t, x, y: t.linalg.lstsq(x, y, rcond, driver=driver), array, right)
    for name, a, b in zip(mine._fields, mine, theirs, strict=True):
        assert tuple(a.shape) == tuple(b.shape), name
        assert str(a.dtype) == str(b.dtype), name
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-12, err_msg=name)


LIMITS: list[dict[str, Any]] = [
    {}, {"atol": 0.5}, {"rtol": 0.3}, {"atol": 2.0, "rtol": 0.01}, {"atol": 0.0}, {"rtol": 0.9},
]  # fmt: skip


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("hermitian", [False, True])
def test_ranks_and_inverses_take_limits(limits: dict[str, Any], hermitian: bool) -> None:
    """A positive atol alone switches the usual rtol off."""
    x = numbers(2, 3, 3)
    x = x + np.swapaxes(x, -1, -2) if hermitian else x
    for name in ("matrix_rank", "pinv"):
        mine, theirs = _both(
            lambda t, a, n=name: getattr(t.linalg, n)(a, hermitian=hermitian, **limits), x
        )
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-10, atol=1e-12)


def test_limits_may_be_tensors() -> None:
    """One limit for each matrix of a batch."""
    def call(t: Any, x: Any, limit: Any) -> Any:
        return t.linalg.matrix_rank(x, atol=limit), t.linalg.pinv(x, rtol=limit)

    mine, theirs = _both(call, numbers(3, 4, 4), np.array([0.1, 0.5, 0.9]))
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-12)


def test_ldl_solve_has_the_derivative_of_solve() -> None:
    """torch has none for it; this one is that of the linear system."""
    array, right = numbers(4, 4), mt.from_numpy(numbers(4, 2, seed=3))
    matrix = mt.from_numpy(array + array.T)
    gradients = []
    for solver in (lambda y: mt.linalg.ldl_solve(*mt.linalg.ldl_factor(matrix), y),
                   lambda y: mt.linalg.solve(matrix, y)):  # fmt: skip
        y = right.detach().requires_grad_()
        gradients.append(mt.autograd.grad(solver(y).square().sum(), y)[0])
    np.testing.assert_allclose(gradients[0].numpy(), gradients[1].numpy(), rtol=1e-10)


def test_low_rank_factors_rebuild_a_matrix_of_low_rank() -> None:
    """Random projections span its range, whatever they are."""
    matrix = mt.from_numpy(numbers(7, 2) @ numbers(2, 9, seed=1))
    u, s, v = mt.svd_lowrank(matrix, q=3)
    np.testing.assert_allclose((u * s @ v.mT).numpy(), matrix.numpy(), atol=1e-10)
    u, s, v = mt.pca_lowrank(matrix, q=3)
    centered = matrix - matrix.mean(0, keepdim=True)
    np.testing.assert_allclose((u * s @ v.mT).numpy(), centered.numpy(), atol=1e-10)


_NEAR = {"float32": 2e-5, "float64": 1e-12}


@pytest.mark.parametrize("dtype", _NEAR)
@pytest.mark.parametrize("batch", [(), (2, 3)])
@pytest.mark.parametrize("in_columns", [False, True])
def test_matrices_in_rows_and_in_columns(
    dtype: str, batch: tuple[int, ...], in_columns: bool
) -> None:
    """What LAPACK writes solves the systems that were given, in float64, and lies as torch's."""
    random = np.random.default_rng(5)
    square = random.standard_normal((*batch, 5, 5)) + 4 * np.eye(5)
    tall, right = random.standard_normal((*batch, 7, 5)), random.standard_normal((*batch, 5, 2))
    positive = square @ square.swapaxes(-1, -2)

    def given(t: Any, array: Any) -> Any:
        made = t.from_numpy(array.astype(dtype))
        return made.mT.contiguous().mT if in_columns else made

    def found(t: Any) -> dict[str, Any]:
        x, y, p, m = (given(t, each) for each in (square, right, positive, tall))
        q, r = t.linalg.qr(m)
        u, s, v = t.linalg.svd(m, full_matrices=False)
        values, vectors = t.linalg.eigh(p)
        low = t.linalg.cholesky(p)
        return {
            "inv": t.linalg.inv(x), "solve": t.linalg.solve(x, y), "low": low, "q": q, "r": r,
            "u": u, "v": v, "vectors": vectors, "det": t.linalg.det(x),
            "triangular": t.linalg.solve_triangular(x, y, upper=True),
            "whole": (low @ low.mT, q @ r, (u * s[..., None, :]) @ v,
                      (vectors * values[..., None, :]) @ vectors.mT),
        }  # fmt: skip

    mine, theirs = found(mt), found(torch)
    for name in ("inv", "solve", "low", "q", "r", "u", "v", "vectors", "triangular"):
        assert mine[name].stride() == theirs[name].stride(), name
    exact = {
        "inv": np.linalg.inv(square), "solve": np.linalg.solve(square, right),
        "det": np.linalg.det(square), "triangular": np.linalg.solve(np.triu(square), right),
    }  # fmt: skip
    for name, value in exact.items():
        np.testing.assert_allclose(mine[name].numpy(), value, _NEAR[dtype], _NEAR[dtype])
    for value, whole in zip(mine["whole"], (positive, tall, tall, positive), strict=True):
        np.testing.assert_allclose(value.numpy(), whole, 5 * _NEAR[dtype], 20 * _NEAR[dtype])
