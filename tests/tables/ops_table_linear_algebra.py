"""Rows of systems, inverses and factors of matrices, real and complex."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tables.ops_table import Case, Row, call, numbers

NO_GRADIENT: dict[str, Any] = {"gradient": False, "second": False}
SQUARE: tuple[Case, ...] = ((numbers(3, 3) + 4 * np.eye(3),), (numbers(2, 3, 3) + 4 * np.eye(3),))
PAIR: tuple[Case, ...] = ((*SQUARE[0], numbers(3, 3, seed=2)),)
TALL_PAIR: tuple[Case, ...] = ((numbers(5, 3), numbers(5, 3, seed=2)),)
WIDE_PAIR: tuple[Case, ...] = ((numbers(3, 5), numbers(3, 5, seed=2)),)


def _hermitian(t: Any, x: Any, y: Any) -> Any:
    return t.complex(x + x.mT, y - y.mT)


ROWS: list[Row] = [
    call("linalg_inv_ex", lambda t, x: t.linalg.inv(x), *SQUARE, tolerance=512, strides=False),
    call("linalg_det cofactors", lambda t, x: t.linalg.det(x), *SQUARE, tolerance=512),
    call("linalg_slogdet", lambda t, x: t.linalg.slogdet(x), *SQUARE, tolerance=512),
    call("linalg_solve_ex", lambda t, x, y: t.linalg.solve(x, y), (*SQUARE[0], numbers(3, 2)),
         (*SQUARE[0], numbers(3)), tolerance=512, strides=False),
    call("linalg_solve_triangular",
         lambda t, x, y: t.linalg.solve_triangular(t.triu(x), y, upper=True),
         (*SQUARE[0], numbers(3, 2)), tolerance=512, strides=False),
    call("linalg_cholesky_ex",
         lambda t, x: t.linalg.cholesky(x @ x.mT + 2 * t.eye(3, dtype=x.dtype)), *SQUARE,
         tolerance=1024, strides=False),
    call("linalg_qr", lambda t, x: t.linalg.qr(x), (numbers(4, 3),), (numbers(3, 3),),
         (numbers(3, 5),),
         tolerance=2048, strides=False),
    call("linalg_eigh", lambda t, x: t.linalg.eigh(x + x.mT)[0], *SQUARE, tolerance=1024,
         strides=False),
    call("linalg_svd", lambda t, x: t.linalg.svd(x, full_matrices=False)[1], (numbers(4, 3),),
         (numbers(3, 4),), tolerance=1024, strides=False),
    call("linalg_svd",
         lambda t, x: (lambda u, s, v: (u[:, :1] * v[:1], s))(*t.linalg.svd(x, False)),
         (numbers(4, 3),), (numbers(3, 4),), tolerance=8192, strides=False, label="svd_vectors"),
    call("linalg_eig", lambda t, x: t.linalg.eigvals(x).abs().sort()[0], *SQUARE, tolerance=2048,
         strides=False),
    call("linalg_pinv", lambda t, x: t.linalg.pinv(x), (numbers(4, 3),), (numbers(3, 4),),
         tolerance=4096, strides=False),
    call("linalg_lstsq", lambda t, x, y: t.linalg.lstsq(x, y)[0], (numbers(4, 3), numbers(4, 2)),
         tolerance=4096, strides=False),
    call("lu_permutation linalg_lu_factor_ex", lambda t, x: t.linalg.lu(x), *SQUARE,
         (numbers(5, 3),), (numbers(3, 5),), (numbers(2, 4, 4),), tolerance=2048, strides=False),
    call("linalg_lu_factor_ex", lambda t, x, y: t.linalg.lu_solve(*t.linalg.lu_factor(x), y),
         *PAIR, tolerance=2048, strides=False, label="lu_solve"),
    call("linalg_lu_factor_ex",
         lambda t, x, y: t.linalg.lu_solve(*t.linalg.lu_factor(x), y, left=False, adjoint=True),
         *PAIR, tolerance=2048, strides=False, label="lu_solve_right_adjoint"),
    call("linalg_ldl_factor_ex linalg_ldl_solve",
         lambda t, x, y: t.linalg.ldl_solve(*t.linalg.ldl_factor((x + x.mT).detach()), y),
         *PAIR, tolerance=512, strides=False, **NO_GRADIENT),
    call("linalg_ldl_factor_ex linalg_ldl_solve",
         lambda t, x, y: t.linalg.ldl_solve(
             *t.linalg.ldl_factor(_hermitian(t, x, y).detach(), hermitian=True),
             t.complex(y, x), hermitian=True).abs(),
         *PAIR, tolerance=512, strides=False, label="ldl_hermitian", **NO_GRADIENT),
    call("cholesky_solve", lambda t, x, y: t.cholesky_solve(y, x.tril()), *PAIR, tolerance=512,
         strides=False),
    call("cholesky_solve", lambda t, x: t.cholesky_inverse(x, upper=True), *SQUARE, tolerance=512,
         strides=False, label="cholesky_inverse"),
    call("linalg_householder_product",
         lambda t, x, y: t.linalg.householder_product(x, y[0]), (numbers(5, 3), numbers(1, 3)),
         (numbers(2, 4, 4), numbers(1, 2, 2)), tolerance=512, strides=False),
    call("geqrf", lambda t, x: t.geqrf(x.detach()), (numbers(5, 3),), (numbers(3, 5),),
         tolerance=256, strides=False, **NO_GRADIENT),
    call("linalg_householder_product",
         lambda t, x, y: t.ormqr(*t.geqrf(x.detach()), y, transpose=True), *TALL_PAIR,
         tolerance=512, strides=False, label="ormqr"),
    call("_euclidean_dist",
         lambda t, x, y: t.cdist(x, y, compute_mode="use_mm_for_euclid_dist"),
         (numbers(4, 3), numbers(5, 3, seed=1)), (numbers(2, 1, 4, 3), numbers(3, 5, 3, seed=1)),
         tolerance=512, strides=False),
    call("_euclidean_dist", lambda t, x, y: t.cdist(x, y), (numbers(30, 3), numbers(2, 3, seed=1)),
         tolerance=512, strides=False, label="cdist_many"),
    call("linalg_vector_norm",
         lambda t, x, y: t.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist"),
         (numbers(30, 3), numbers(2, 3, seed=1)), tolerance=64, label="cdist_differences",
         second=False),
    # complex numbers
    call("linalg_svd", lambda t, x, y: t.linalg.svd(t.complex(x, y), False)[1], *TALL_PAIR,
         tolerance=2048, strides=False, label="svdvals_complex"),
    *[call("linalg_svd",
           lambda t, x, y: (lambda u, s, v: (u[:, :1] * v[:1], s))(
               *t.linalg.svd(t.complex(x, y), False)),
           *cases, tolerance=8192, strides=False, label=f"svd_complex_{name}")
      for name, cases in (("tall", TALL_PAIR), ("wide", WIDE_PAIR), ("square", PAIR))],
    call("linalg_eigh", lambda t, x, y: t.linalg.eigh(_hermitian(t, x, y))[1].abs(), *PAIR,
         tolerance=4096, strides=False, label="eigh_complex"),
    call("linalg_eig",
         lambda t, x, y: t.linalg.eigvals(t.complex(x, y)).abs().sort()[0], *PAIR, tolerance=2048,
         strides=False, label="eigvals_complex"),
    call("linalg_eig", lambda t, x: t.linalg.eig(x)[1].abs().sum(1).sort()[0], *SQUARE[:1],
         tolerance=4096, strides=False, label="eig_vectors"),
    call("linalg_qr",
         lambda t, x, y: [r.abs() for r in t.linalg.qr(t.complex(x, y))], *TALL_PAIR, *WIDE_PAIR,
         tolerance=4096, strides=False, label="qr_complex"),
    call("linalg_slogdet", lambda t, x, y: t.linalg.slogdet(t.complex(x, y)), *PAIR,
         tolerance=512, label="slogdet_complex"),
    call("linalg_cholesky_ex",
         lambda t, x, y: t.view_as_real(
             t.linalg.cholesky(_hermitian(t, x, y) + 20 * t.eye(3, dtype=x.dtype))),
         *PAIR, tolerance=512, strides=False, label="cholesky_complex"),
]  # fmt: skip
