"""Where the elements of factored, solved and contracted matrices lie: LAPACK's columns, as torch's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours


def both(expression: str, batch: tuple[int, ...], columns: bool) -> list[list[tuple[int, ...]]]:
    """The strides of what an expression of a positive matrix and a tall one gives."""
    draws = np.random.default_rng(0)
    square = draws.standard_normal((*batch, 4, 4)).astype(np.float32)
    square = square @ square.swapaxes(-1, -2) + 4 * np.eye(4, dtype=np.float32)
    tall = draws.standard_normal((*batch, 4, 2)).astype(np.float32)
    found = []
    for library in (torch, ours):
        lib: Any = library
        a, b = (
            lib.tensor(x.swapaxes(-1, -2).copy()).mT if columns else lib.tensor(x)
            for x in (square, tall)
        )
        result = eval(expression, {"torch": library, "a": a, "b": b})
        parts = result if isinstance(result, (tuple, list)) else (result,)
        found.append([tuple(x.stride()) for x in parts])
    return found


@pytest.mark.parametrize("expression", [
    "torch.linalg.inv(a)", "torch.linalg.solve(a, b)", "torch.linalg.solve(a, b.mT, left=False)",
    "torch.linalg.solve(a, b[..., 0])", "torch.linalg.cholesky(a)", "torch.cholesky(a, upper=True)",
    "torch.linalg.cholesky(a, upper=True)", "torch.cholesky_inverse(a)",
    "torch.cholesky_solve(b, a)", "torch.linalg.qr(b)", "torch.linalg.qr(b.mT, mode='complete')",
    "torch.linalg.eigh(a)", "torch.linalg.eig(a)", "torch.linalg.svd(b)", "torch.svd(b)",
    "torch.svd(b, compute_uv=False)", "torch.linalg.lu(a)", "torch.lu(b)",
    "torch.linalg.lu_factor_ex(b)", "torch.lu_solve(b, *torch.lu(a))",
    "torch.linalg.lu_solve(*torch.lu(a), b.mT, left=False)", "torch.linalg.ldl_factor(a)",
    "torch.linalg.lu_solve(*torch.lu(a), b, adjoint=True)", "torch.linalg.lstsq(a, b)[0]",
    "torch.geqrf(b)", "torch.ormqr(*torch.geqrf(a), b)", "torch.triangular_solve(b, a)",
    "torch.linalg.solve_triangular(a, b, upper=True)",
    "torch.linalg.householder_product(a, a[..., 0])",
    "torch.linalg.solve_triangular(a, b.mT, upper=False, left=False)",
    "torch.linalg.matrix_power(a, 1)", "torch.linalg.matrix_power(a, -1)",
    "torch.linalg.vander(a)", "torch.svd_lowrank(b, q=2)", "torch.linalg.pinv(b)",
    "torch.einsum('...ij,...jk->...ki', a, b)", "torch.einsum('...ij,...kj->i...k', a, a)",
    "torch.einsum('kj,...ij->...ik', torch.ones(5, 4), a)", "torch.einsum('...ij->j...', a)",
    "torch.einsum('...ij,...k->...kij', a, b[..., 0])",
])  # fmt: skip
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_strides_of_matrices(expression: str) -> None:
    for batch in ((), (3,)):
        for columns in (False, True):
            theirs, mine = both(expression, batch, columns)
            assert mine == theirs, (batch, columns)


@pytest.mark.parametrize("expression", [
    "torch.addmm(b, a, b)", "torch.addmm(a[:1], a, a)", "torch.baddbmm(a[None], a[None], a[None])",
    "torch.linalg.tensorinv(a.view(2, 2, 4))", "torch.linalg.tensorsolve(a, b[:, 0])",
])  # fmt: skip
def test_strides_of_one_matrix(expression: str) -> None:
    for columns in (False, True):
        if "view" in expression and columns:
            continue
        theirs, mine = both(expression, (), columns)
        assert mine == theirs


def test_powers_are_running_products() -> None:
    values = [1.1, 2.3, -0.7]
    mine = ours.linalg.vander(ours.tensor(values), N=9)
    theirs = torch.linalg.vander(torch.tensor(values), N=9)
    assert mine.numpy().tobytes() == theirs.numpy().tobytes()
    assert ours.vander(ours.tensor([3, 4]), 1).tolist() == [[1], [1]]
    assert ours.vander(ours.tensor([3], dtype=ours.int32), 0).dtype is ours.int64
    with pytest.raises(RuntimeError, match=r"N must be greater than 1\."):
        ours.linalg.vander(ours.tensor(values), N=1)
