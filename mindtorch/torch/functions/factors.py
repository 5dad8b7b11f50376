"""The older names of what torch.linalg solves and factors, and factors of low rank."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.autograd import tape
from mindtorch.engine.dtypes import scalar_type_name
from mindtorch.engine.ops import comparison as comparisons
from mindtorch.engine.ops import elementwise as el
from mindtorch.engine.ops import factorizations as factors
from mindtorch.engine.ops import linear_algebra as ops
from mindtorch.engine.ops import movement
from mindtorch.engine.tensor import constant, full_flat
from mindtorch.engine.transforms.autocast import FULL
from mindtorch.torch._api.deprecations import warn_of_older

from .. import linalg, return_types
from .._api.meta_kernels import require_kernel
from .._api.out_rules import CASTABLE, EXACT, Out
from .._api.publish import FUNCTIONS, METHODS, function, store_out, under_other_name
from ..linalg import _factorizations
from .creation import eye
from .linear_algebra import matmul
from .reduction import mean


@function()
def logdet(input: Any) -> Any:  # noqa: A002
    """The logarithm of the determinant; nan where it is negative."""
    ops.check_square("logdet", input.aval)
    sign, size = ops.slogdet(input)
    if input.aval.dtype.is_complex:
        return el.add(el.log(sign), size)
    return comparisons.where(comparisons.less(sign, constant(0)), constant(float("nan")), size)


@function(out=True)
def slogdet(input: Any) -> Any:  # noqa: A002
    """The determinant's sign and the logarithm of its size."""
    return return_types.slogdet(*ops.slogdet(input))


@function(out=Out(cast=CASTABLE, c_order=True), autocast=FULL, checked=True)
def cholesky(input: Any, upper: bool = False) -> Any:  # noqa: A002
    """The Cholesky factor."""
    warn_of_older(
        "cholesky", "cholesky and",
        "L = torch.cholesky(A)\n"
        "should be replaced with\n"
        "L = torch.linalg.cholesky(A)\n"
        "and\n"
        "U = torch.cholesky(A, upper=True)\n"
        "should be replaced with\n"
        "U = torch.linalg.cholesky(A).mH\n"
        "This transform will produce equivalent results for all valid (symmetric positive "
        "definite) inputs.",
    )  # fmt: skip
    if not input.aval.size:
        return tape.named(movement.clone(input), "CholeskyBackward0")
    ops.check_square("cholesky", input.aval)
    if upper:
        low = ops.cholesky_info(input, check="cholesky", upper=True)[0]
        found = ops.by_columns(ops.adjoint(low))
    else:
        found = ops.cholesky(input, check="cholesky")
    return tape.named(found, "CholeskyBackward0")


@function(out=Out(EXACT, shown="linalg_qr"), autocast=FULL)
def qr(input: Any, some: bool = True) -> Any:  # noqa: A002
    """The QR factors."""
    warn_of_older(
        "qr", "qr and",
        "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\n"
        "Q, R = torch.qr(A, some)\n"
        "should be replaced with\n"
        "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')",
    )  # fmt: skip
    factors.check_matrix("linalg.qr", input.aval)
    return return_types.qr(*factors.qr(input, mode="reduced" if some else "complete"))


@function(out=Out(EXACT, recorded=True), autocast=FULL, checked=True)
def svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:  # noqa: A002
    """The singular values and vectors; V, not its adjoint.

    Args:
        compute_uv: otherwise U and V are zeros.
    """
    factors.check_matrix("linalg.svd", input.aval)
    if compute_uv:
        u, s, vh = factors.svd(input, full_matrices=not some, name="linalg.svd")
        return return_types.svd(u, s, tape.named(ops.adjoint(vh), "TransposeBackward0"))
    values: Any = factors.svd_values(input)
    m, n = input.aval.shape[-2:]
    batch, dtype = input.aval.shape[:-2], input.aval.dtype
    left: Any = full_flat((*batch, m, m), dtype, 0)
    right: Any = full_flat((*batch, n, n), dtype, 0)
    return return_types.svd(left, values, ops.swapped(right))


@function(out=Out(cast=CASTABLE, c_order=True), autocast=FULL, synonyms={"input2": "L"})
def cholesky_solve(input: Any, L: Any, upper: bool = False) -> Any:  # noqa: A002, N803
    """``X`` with ``A X = input`` where ``L`` is the Cholesky factor of ``A``."""
    if input.aval.ndim < 2:
        raise RuntimeError(
            f"b should have at least 2 dimensions, but has {input.aval.ndim} dimensions instead"
        )
    if L.aval.ndim < 2:
        raise RuntimeError(
            f"u should have at least 2 dimensions, but has {L.aval.ndim} dimensions instead"
        )
    ops.check_square("cholesky_solve", L.aval)
    if input.aval.shape[-2] != L.aval.shape[-2]:
        raise RuntimeError(
            "Incompatible matrix sizes for cholesky_solve: each A matrix is "
            f"{L.aval.shape[-1]} by {L.aval.shape[-1]} but each b matrix is "
            f"{input.aval.shape[-2]} by {input.aval.shape[-1]}"
        )
    if input.aval.dtype is not L.aval.dtype:
        kinds = [scalar_type_name(x.aval.dtype) for x in (input, L)]
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {kinds[0]} and A of "
            f"type {kinds[1]} instead."
        )
    return ops.cholesky_solve(input, L, upper=bool(upper))


@function(out=Out(cast=CASTABLE), autocast=FULL, synonyms={"input": "L"})
def cholesky_inverse(L: Any, upper: bool = False) -> Any:  # noqa: N803
    """The inverse of the matrix whose Cholesky factor is ``L``."""
    ops.check_square("cholesky_inverse", L.aval)
    found = cholesky_solve(eye(L.aval.shape[-1], dtype=L.aval.dtype), L, upper)
    return tape.named(found, "CholeskyInverseBackward0")


@function(out=Out(EXACT), autocast=FULL, checked=True)
def triangular_solve(
    input: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False  # noqa: A002, N803
) -> Any:
    """``(X, A)`` with ``A X = input``, ``A`` triangular."""
    warn_of_older(
        "triangular_solve", "solve_triangularand",
        "torch.linalg.solve_triangular has its arguments reversed and does not return a "
        "copy of one of the inputs.\n"
        "X = torch.triangular_solve(B, A).solution\n"
        "should be replaced with\n"
        "X = torch.linalg.solve_triangular(A, B).",
    )  # fmt: skip
    if input.aval.ndim < 2:
        raise RuntimeError(
            "torch.triangular_solve: Expected b to have at least 2 dimensions, but it has "
            f"{input.aval.ndim} dimensions instead"
        )
    if A.aval.ndim < 2:
        raise RuntimeError(
            "torch.triangular_solve: Expected A to have at least 2 dimensions, but it has "
            f"{A.aval.ndim} dimensions instead"
        )
    ops.check_square("triangular_solve", A.aval)
    matrix = ops.swapped(A) if transpose else A
    solution = ops.solve_triangular(matrix, input, upper=upper != transpose, unit=unitriangular)
    batch = solution.aval.shape[:-2]
    clone = ops.by_columns(movement.expand(A, shape=(*batch, *A.aval.shape[-2:])))
    clone = clone if clone is not A else movement.clone(A)
    return return_types.triangular_solve(
        *[tape.named(each, "TriangularSolveBackward0") for each in (solution, clone)]
    )


@function(name="lu", method=False, home="functional")
def packed_lu(A: Any, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:  # noqa: N803
    """``L`` and ``U`` in one matrix, the exchanged rows, and (``get_infos``) LAPACK's numbers.

    Args:
        pivot: exchange rows.
        out: as many tensors as results.
    """
    warn_of_older(
        "lu", "lu_factor / torch.linalg.lu_factor_ex and",
        "LU, pivots = torch.lu(A, compute_pivots)\n"
        "should be replaced with\n"
        "LU, pivots = torch.linalg.lu_factor(A, compute_pivots)\n"
        "and\n"
        "LU, pivots, info = torch.lu(A, compute_pivots, get_infos=True)\n"
        "should be replaced with\n"
        "LU, pivots, info = torch.linalg.lu_factor_ex(A, compute_pivots)",
    )  # fmt: skip
    found = tuple(linalg.lu_factor_ex(A, pivot=pivot))[: 2 + bool(get_infos)]
    if out is None:
        return return_types._lu_with_info(*found) if get_infos else found
    store_out(found, out, "lu")
    return tuple(out)


def _lu(self: Any, pivot: bool = True, get_infos: bool = False) -> Any:
    """:func:`torch.lu` of the tensor; always a plain tuple.

    Args:
        pivot, get_infos: as that has them.
    """
    return tuple(packed_lu(self, pivot, get_infos))


METHODS["lu"] = _lu


@function(out=Out(EXACT, shown="linalg_lu_solve"), autocast=FULL, synonyms={"input": "b"})
def lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Any:  # noqa: N803
    """``X`` with ``A X = b`` from the factors of ``A``."""
    warn_of_older(
        "lu_solve", "lu_solveand",
        "Note that torch.linalg.lu_solve has its arguments reversed.\n"
        "X = torch.lu_solve(B, LU, pivots)\n"
        "should be replaced with\n"
        "X = torch.linalg.lu_solve(LU, pivots, B)",
    )  # fmt: skip
    return linalg.lu_solve(LU_data, LU_pivots, b)


@function(out=Out(EXACT), method=False)
def lu_unpack(
    LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True  # noqa: N803
) -> Any:
    """``P``, ``L`` and ``U`` from the factors in one matrix; empty what is not asked for.

    Args:
        unpack_data: give L and U.
        unpack_pivots: give P.
    """
    if unpack_pivots and LU_pivots.aval.dtype.name != "int32":
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            "dtype.\nNote: this function is intended to be used with the output produced by "
            "torch.linalg.lu_factor"
        )
    empty: Any = full_flat((0,), LU_data.aval.dtype, 0)
    permutation = low = up = empty
    if unpack_pivots:
        permutation = factors.permutation_matrix(LU_pivots, LU_data.aval.shape[-2], LU_data)
    if unpack_data:
        low = factors.identity_plus(LU_data, True)
        up = factors.identity_plus(LU_data, False)
        low, up = (tape.named(each, "LuUnpackBackward0") for each in (low, up))
    return return_types.lu_unpack(permutation, low, up)


@function(
    out=Out(
        cast=(
            "torch.geqrf: Expected a to be safely castable from {result} dtype, but got a "
            "with dtype {out}"
        ),
    ),
    autocast=FULL,
)
def geqrf(input: Any) -> Any:  # noqa: A002
    """``R`` with the reflectors that make ``Q`` below its diagonal, and their factors."""
    require_kernel("geqrf", input)
    return _factorizations.geqrf(input)


@function(
    out=Out(
        "torch.ormqr: Expected input and result to have the same dtype, but input has "
        "dtype{result} and result has dtype {out}"
    ),
    autocast=FULL, synonyms={"input2": "tau", "input3": "other"},
)  # fmt: skip
def ormqr(input: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:  # noqa: A002
    """``Q other`` (``other Q``), or with the adjoint of the ``Q`` that :func:`geqrf` encodes.

    Args:
        tau: the reflectors' factors, as geqrf returns them.
        left: multiply ``other`` from the left.
    """
    product = _factorizations.ormqr(input, tau, other, left, transpose)
    return tape.named(product, "OrmqrBackward0")


def _range_of(A: Any, q: int, niter: int, M: Any) -> Any:  # noqa: N803
    """Columns that span about the range of ``A - M``, by ``niter`` subspace iterations."""
    def times(x: Any) -> Any:
        product = matmul(A, x)
        return product if M is None else el.subtract(product, matmul(M, x))

    def adjoint_times(x: Any) -> Any:
        product = matmul(ops.adjoint(A), x)
        return product if M is None else el.subtract(product, matmul(ops.adjoint(M), x))

    start = FUNCTIONS["randn"](A.aval.shape[-1], q, dtype=A.aval.dtype)
    columns = linalg.qr(times(start))[0]
    for _ in range(niter):
        columns = linalg.qr(adjoint_times(columns))[0]
        columns = linalg.qr(times(columns))[0]
    return columns


@function(method=False)
def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> Any:  # noqa: N803
    """About the ``q`` greatest singular values of ``A - M``, with U and V: by random projection
    (Halko, Martinsson and Tropp, algorithm 5.1)."""
    q = 6 if q is None else q
    m, n = A.aval.shape[-2:]
    if M is not None:
        M = movement.expand(M, shape=A.aval.shape)  # noqa: N806
    wide = m < n
    if wide:
        A = ops.adjoint(A)  # noqa: N806
        M = None if M is None else ops.adjoint(M)  # noqa: N806
    columns = _range_of(A, q, 2 if niter is None else niter, M)
    small = matmul(ops.adjoint(columns), A)
    if M is not None:
        small = el.subtract(small, matmul(ops.adjoint(columns), M))
    u, s, vh = linalg.svd(small, full_matrices=False)
    u, v = matmul(columns, u), ops.adjoint(vh)
    return (v, s, u) if wide else (u, s, v)


@function(method=False)
def lobpcg(
    A: Any, k: int | None = None, B: Any = None, X: Any = None, n: int | None = None,  # noqa: N803
    iK: Any = None, niter: int | None = None, tol: float | None = None,  # noqa: N803
    largest: bool | None = None, method: str | None = None, tracker: Any = None,
    ortho_iparams: Any = None, ortho_fparams: Any = None, ortho_bparams: Any = None,
) -> Any:  # fmt: skip
    """(eigenvalues, eigenvectors): the ``k`` greatest or least of ``A x = lambda B x``.

    LAPACK finds all of them, so what says how torch's iteration goes (``X`` beyond its number of
    columns, ``iK``, ``niter``, ``tol``, ``ortho_iparams``, ``ortho_fparams``, ``ortho_bparams``)
    changes nothing.

    Args:
        A: symmetric matrices.
        k: how many; the columns of ``X``, else 1.
        B: symmetric and positive matrices; None for the identity.
        X: where the iteration would begin.
        n: how many columns that has, without ``X``.
        largest: the greatest, as for None; else the least.
        method: "ortho" or "basic".
        tracker: what is called on the way; there are no steps to call it in.
    """
    if tracker is not None:
        raise NotImplementedError("lobpcg(tracker): there is no iteration to follow")
    if method not in (None, "ortho", "basic"):
        raise ValueError(f"unknown method: {method!r}")
    lines, rows = A.aval.shape[-2:]
    if lines != rows:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    k = (1 if X is None else X.aval.shape[-1]) if k is None else k
    columns = (k if n is None else n) if X is None else X.aval.shape[-1]
    if rows < 3 * columns:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller "
            f"than 3 x the number of requested eigenpairs (={columns})"
        )
    if X is None:  # the generator goes on as torch's does
        FUNCTIONS["randn"](*A.aval.shape[:-1], columns, dtype=A.aval.dtype)
    lower = None if B is None else linalg.cholesky(B)
    if lower is not None:
        half = linalg.solve_triangular(lower, A, upper=False)
        A = linalg.solve_triangular(lower, ops.adjoint(half), upper=False)  # noqa: N806
    values, vectors = linalg.eigh(A)
    if largest is None or largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    values, vectors = values[..., :k], vectors[..., :k]
    if lower is not None:
        vectors = linalg.solve_triangular(ops.adjoint(lower), vectors, upper=True)
    return values, vectors


@function(method=False)
def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> Any:  # noqa: N803
    """The singular values and vectors of ``A``, of which (``center``) the columns' means are
    subtracted.

    Args:
        q: how many; None for at most 6.
    """
    m, n = A.aval.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)="
                         f"{min(m, n)}")  # fmt: skip
    if not niter >= 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if A.aval.dtype.category < 2:
        raise ValueError(f"input must be a floating point tensor, not "
                         f"{scalar_type_name(A.aval.dtype)}")  # fmt: skip
    if not center:
        return svd_lowrank(A, q, niter=niter)
    return svd_lowrank(el.subtract(A, mean(A, dim=-2, keepdim=True)), q, niter=niter)


def _publish() -> None:
    """Names that are functions of torch.linalg as they are."""
    names = {
        "inverse": linalg.inv, "det": linalg.det, "matrix_power": linalg.matrix_power,
        "pinverse": linalg.pinv, "matrix_exp": linalg.matrix_exp,
        "orgqr": linalg.householder_product,
    }  # fmt: skip
    for name, body in names.items():
        FUNCTIONS[name] = under_other_name(name, body, {"input": "A"})
        METHODS[name] = FUNCTIONS[name].public.as_method(name)  # type: ignore[attr-defined]


_publish()
