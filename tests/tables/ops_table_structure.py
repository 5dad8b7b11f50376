"""Rows of reductions, scans, sorting, indexing and linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tables.ops_table import ALL, NUMBERS, Case, Row, call, integers, layouts, numbers

AXES: tuple[Any, ...] = (None, 0, -1, (0, 1))
NO_GRADIENT: dict[str, Any] = {"gradient": False, "second": False}
GRID: tuple[Case, ...] = (
    (numbers(3, 4),), (numbers(4, 3).T,), (numbers(2, 5, 3).transpose(2, 0, 1),),
)  # fmt: skip


def _fold(op: str, name: str, axes: Any = AXES, cases: Any = GRID, **options: Any) -> list[Row]:
    rows = []
    for dim in axes:
        for keepdim in (False, True) if dim is not None else (False,):
            keywords = {} if dim is None else {"dim": dim, "keepdim": keepdim}
            rows.append(
                call(op, lambda t, x, k=keywords: getattr(t, name)(x, **k), *cases,
                     label=f"{name}_{dim}_{keepdim}", **options)
            )
    return rows


INDEX = integers(3, 4, high=3, seed=5)
ROWS: list[Row] = [
    *_fold("sum", "sum", dtypes=ALL),
    call("sum", lambda t, x: t.sum(x), *layouts(), dtypes=ALL, label="sum_layouts"),
    *_fold("mean", "mean"),
    *_fold("prod", "prod", (None, 0, -1), tolerance=64),
    call("prod", lambda t, x: t.prod(x * (x > 0)[:1]), (numbers(3, 2),), label="prod_zeros"),
    call("prod", lambda t, x: t.prod(x * t.tensor([[0.0], [0.0], [1.0]], dtype=x.dtype), 0),
         (numbers(3, 2),), label="prod_two_zeros"),
    *_fold("amax", "amax", dtypes=ALL),
    *_fold("amin", "amin", dtypes=ALL),
    *_fold("any", "any", dtypes=ALL, **NO_GRADIENT),
    *_fold("all", "all", dtypes=ALL, **NO_GRADIENT),
    *_fold("argmax", "argmax", (None, 0, -1), dtypes=NUMBERS, **NO_GRADIENT),
    *_fold("argmin", "argmin", (None, 0, -1), dtypes=NUMBERS, **NO_GRADIENT),
    *_fold("max_dim", "max", (0, -1)),
    *_fold("min_dim", "min", (0, -1)),
    *_fold("amax", "max", (None,), dtypes=NUMBERS),
    call("amax", lambda t, x: t.amax(t.cat([x, x]), 0), (numbers(3, 4),), label="amax_ties"),
    *_fold("median_dim", "median", (None, 0, -1)),
    *_fold("nanmedian_dim", "nanmedian", (None, 0, -1)),
    *_fold("mode", "mode", (0, -1), cases=((np.round(numbers(3, 4)),),)),
    *_fold("var", "var", tolerance=64),
    *_fold("std", "std", tolerance=64),
    call("var", lambda t, x: t.var(x, 1, correction=0), (numbers(3, 4),), label="var_correction"),
    call("var mean", lambda t, x: t.var_mean(x, 1), (numbers(3, 4),), label="var_mean"),
    call("std mean", lambda t, x: t.std_mean(x, 1, unbiased=False), (numbers(3, 4),),
         label="std_mean"),
    *[call("linalg_vector_norm", lambda t, x, p=p: t.norm(x, p, dim=1), *GRID, label=f"norm_{p}",
           tolerance=64)
      for p in (0, 1, 2, 3, float("inf"), float("-inf"), 0.5)],
    call("linalg_vector_norm", lambda t, x: x.norm(), *GRID, label="norm_all", tolerance=64),
    *_fold("logsumexp", "logsumexp", (0, -1, (0, 1)), tolerance=64),
    call("sum", lambda t, x: t.nansum(x), *GRID, label="nansum"),
    call("sum", lambda t, x: t.nanmean(x, 0), *GRID, label="nanmean"),
    call("sum", lambda t, x: t.count_nonzero(x, 0), *GRID, label="count_nonzero", **NO_GRADIENT),
    *[call("sort lerp", lambda t, x, q=q: t.quantile(x, q, dim=1), *GRID[:2],
           label=f"quantile_{q}") for q in (0.0, 0.4, 1.0)],
    # scans
    *[call(op, lambda t, x, op=op, d=d: getattr(t, op)(x, d), *GRID, label=f"{op}_{d}",
           tolerance=64)
      for op in ("cumsum", "cumprod", "cummax", "cummin") for d in (0, -1)],
    call("cumprod_gradient", lambda t, x: t.cumprod(x * (x > 0), 1), (numbers(3, 4),),
         label="cumprod_zeros"),
    call("logcumsumexp", lambda t, x: t.logcumsumexp(x, 1), *GRID[:2], tolerance=64),
    call("subtract", lambda t, x: t.diff(x, dim=0), *GRID, label="diff", strides=False),
    # sorting
    *[call("sort", lambda t, x, d=d: t.sort(x, -1, d), *GRID[:2], label=f"sort_{d}", strides=False)
      for d in (False, True)],
    call("sort", lambda t, x: t.argsort(x, dim=0, stable=True), (np.round(numbers(9, 4)),),
         label="argsort_stable", strides=False, **NO_GRADIENT),
    *[call("topk", lambda t, x, k=k, m=m: t.topk(x, k, largest=m), *GRID[:1], label=f"topk_{k}_{m}")
      for k in (1, 2) for m in (False, True)],
    call("kthvalue", lambda t, x: t.kthvalue(x, 2), *GRID[:1]),
    *[call("searchsorted",
           lambda t, x, r=r: t.searchsorted(t.sort(x[0])[0], x, right=r), *GRID[:1],
           label=f"searchsorted_{r}", **NO_GRADIENT) for r in (False, True)],
    call("histogram", lambda t, x: t.histogram(x, 4, range=(-1.0, 1.5)).hist, *GRID,
         **NO_GRADIENT),
    call("histogram", lambda t, x: t.histogramdd(
             x, [3, 2, 4], range=[-1.0, 2.0] * 3, weight=x[:, 0]
         ).hist,
         (numbers(20, 3),), label="histogram_of_points", **NO_GRADIENT),
    # indexing
    call("index", lambda t, x, i: x[i], (numbers(5, 4), integers(3, high=5)),
         (numbers(5), integers(2, 3, high=5))),
    call("index index_put", lambda t, x, i, j: x[i, :, j],
         (numbers(5, 4, 3), integers(6, high=5), integers(6, high=3, seed=1)), label="index_apart"),
    call("index index_put", lambda t, x, i, j: x[:, i, j],
         (numbers(5, 4, 3), integers(6, high=4), integers(6, high=3, seed=1)), label="index_next"),
    call("index", lambda t, x: x[x > 0], (numbers(5, 4),), label="index_mask"),
    call("index_put", lambda t, x, v, i: t.index_put(x, (i,), v, accumulate=True),
         (numbers(5, 4), numbers(6, 4), integers(6, high=5)), label="index_put_add"),
    call("index_put", lambda t, x, v: t.index_put(x, (t.tensor([3, 0, 1]),), v),
         (numbers(5, 4), numbers(3, 4)), (numbers(5, 4), numbers(4))),
    call("gather scatter_add", lambda t, x, i: t.gather(x, 0, i), (numbers(3, 4), INDEX)),
    call("gather", lambda t, x, i: t.gather(x, 1, i), (numbers(3, 4), INDEX[:2]), label="gather_1"),
    call("scatter", lambda t, x, v: t.scatter(x, 1, t.tensor([[3, 0], [1, 2]]), v),
         (numbers(3, 4), numbers(2, 2))),
    call("scatter", lambda t, x, i: t.scatter(x, 0, i, 2.0), (numbers(3, 4), INDEX),
         label="scatter_number"),
    call("scatter_add", lambda t, x, v, i: t.scatter_add(x, 0, i, v),
         (numbers(3, 4), numbers(3, 4, seed=1), INDEX)),
    *[call("scatter_reduce",
           lambda t, x, v, i, r=r, s=s: t.scatter_reduce(x, 0, i, v, r, include_self=s),
           (numbers(3, 4), numbers(3, 4, seed=1), INDEX), label=f"scatter_reduce_{r}_{s}")
      for r in ("sum", "mean", "prod", "amax", "amin") for s in (True, False)],
    call("index_select index_add", lambda t, x, i: t.index_select(x, 1, i),
         (numbers(3, 4), integers(5, high=4))),
    call("index_add", lambda t, x, v, i: t.index_add(x, 0, i, v, alpha=2),
         (numbers(3, 4), numbers(5, 4), integers(5, high=3))),
    call("index_copy", lambda t, x, v: t.index_copy(x, 0, t.tensor([2, 0]), v),
         (numbers(3, 4), numbers(2, 4))),
    call("index_fill", lambda t, x: t.index_fill(x, 1, t.tensor([2, 0]), 0.5), (numbers(3, 4),)),
    call("masked_fill", lambda t, x: t.masked_fill(x, x > 0, 0.5), *GRID),
    call("masked_fill", lambda t, x, v: t.masked_fill(x, x > 0, v), (numbers(3, 4), numbers()),
         label="masked_fill_tensor"),
    call("take", lambda t, x: t.masked_select(x, x > 0), *GRID, label="masked_select"),
    call("masked_scatter masked_scatter_backward",
         lambda t, x, v: t.masked_scatter(x, x.detach() > 0, v), (numbers(3, 4), numbers(4, 4))),
    call("take put", lambda t, x, i: t.take(x, i), (numbers(3, 4), integers(5, high=12))),
    call("put", lambda t, x, v, i: t.put(x, i, v, accumulate=True),
         (numbers(3, 4), numbers(5), integers(5, high=12))),
    call("gather", lambda t, x: t.take_along_dim(x, t.argsort(x, 1), 1), GRID[0],
         label="take_along_dim"),
    *[call(op, lambda t, x, op=op, k=k: getattr(t, op)(x, k), *GRID, label=f"{op}_{k}",
           strides=False) for op in ("tril", "triu") for k in (0, 1, -1)],
    *[call("diag_embed", lambda t, x, k=k: t.diag_embed(x, k), (numbers(3, 4),), (numbers(3),),
           label=f"diag_embed_{k}", strides=False) for k in (0, 1, -2)],
    call("diag_embed", lambda t, x: t.diag(x), (numbers(4),), (numbers(3, 4),), label="diag"),
    # products
    call("matmul", lambda t, x, y: t.matmul(x, y), (numbers(3, 4), numbers(4, 5)),
         (numbers(2, 3, 4), numbers(4, 5)), (numbers(2, 3, 4), numbers(2, 4, 5)),
         (numbers(2, 1, 3, 4), numbers(3, 4, 5)), (numbers(4), numbers(4, 5)),
         (numbers(3, 4), numbers(4)), (numbers(2, 3, 4), numbers(4)),
          (numbers(4), numbers(2, 4, 5)),
         (numbers(4), numbers(4)), (numbers(4, 3).T, numbers(5, 4).T),
          (numbers(0, 4), numbers(4, 5)),
         (numbers(3, 0), numbers(0, 5)), tolerance=64),
    call("linear", lambda t, x, w, b: t.nn.functional.linear(x, w, b),
         (numbers(3, 4), numbers(5, 4), numbers(5)), (numbers(2, 3, 4), numbers(5, 4), numbers(5)),
         (numbers(4), numbers(5, 4), numbers(5)), tolerance=64),
    call("linear", lambda t, x, w: t.nn.functional.linear(x, w), (numbers(3, 4), numbers(5, 4)),
         label="linear_no_bias", tolerance=64),
    call("matmul", lambda t, x, a, b: t.addmm(x, a, b, beta=0.5, alpha=2),
         (numbers(3, 5), numbers(3, 4), numbers(4, 5)), (numbers(5), numbers(3, 4), numbers(4, 5)),
         label="addmm", tolerance=64),
    call("matmul", lambda t, x, a, b: t.baddbmm(x, a, b, beta=0.5),
         (numbers(2, 3, 5), numbers(2, 3, 4), numbers(2, 4, 5)), label="baddbmm", tolerance=64),
    call("multiply", lambda t, x, y: t.outer(x, y), (numbers(3), numbers(4)), label="outer"),
    *[call("matmul", lambda t, *xs, e=e: t.einsum(e, *xs), case, label=f"einsum_{e}", tolerance=64,
           strides=False)
      for e, case in {
          "ij,jk->ik": (numbers(3, 4), numbers(4, 5)),
          "bhid,bhjd->bhij": (numbers(2, 3, 4, 5), numbers(2, 3, 6, 5)),
          "bhij,bhjd->bihd": (numbers(2, 3, 4, 5), numbers(2, 3, 5, 6)),
          "...ij,...jk": (numbers(2, 3, 4), numbers(2, 4, 5)),
          "ij,jk,kl->il": (numbers(2, 3), numbers(3, 4), numbers(4, 5)),
          "bij,kj->bki": (numbers(2, 3, 4), numbers(5, 4)),
          "iij,jk->ik": (numbers(3, 3, 4), numbers(4, 2)),
      }.items()],
    *[call("multiply", lambda t, *xs, e=e: t.einsum(e, *xs), case, label=f"einsum_{e}",
           tolerance=64, strides=False)
      for e, case in {
          "i,j->ij": (numbers(3), numbers(4)),
          "bi,bi->b": (numbers(3, 4), numbers(3, 4, seed=1)),
      }.items() if e == "i,j->ij"],
    call("matmul", lambda t, x, y: t.tensordot(x, y, ([1, 0], [0, 1])),
         (numbers(3, 4, 2), numbers(4, 3, 5)), label="tensordot", tolerance=64),
    call("multiply", lambda t, x, y: t.kron(x, y), (numbers(2, 3), numbers(3, 2)), label="kron"),
    call("multiply", lambda t, x, y: t.linalg.cross(x, y), (numbers(4, 3), numbers(4, 3, seed=1)),
         label="cross"),
    # complex parts
    call("complex real imag", lambda t, x, y: t.complex(x, y).real * t.complex(y, x).imag,
         (numbers(3, 4), numbers(3, 4, seed=1))),
    call("conj angle", lambda t, x, y: t.angle(t.complex(x, y).conj()),
         (numbers(3, 4), numbers(3, 4, seed=1)), tolerance=64),
    call("exp log sqrt", lambda t, x, y: [
             t.view_as_real(getattr(t.complex(x, y), name)()) for name in (
                 "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
                 "cosh", "tanh", "asinh", "acosh", "atanh", "log1p", "log2", "expm1", "reciprocal",
                 "sgn", "sigmoid")],
         (numbers(2, 3), numbers(2, 3, seed=1)), gradient=False, second=False, tolerance=256,
         label="complex_functions"),
    call("multiply divide power sum mean prod", lambda t, x, y: [
             t.view_as_real(z) for z in (
                 t.complex(x, y) * t.complex(y, x), t.complex(x, y) / t.complex(y, x + 1),
                 t.complex(x, y) ** t.complex(y, x), t.complex(x, y) ** 3, t.complex(x, y) @ (
                     t.complex(y, x).mT), t.complex(x, y).sum(1), t.complex(x, y).mean(),
                 t.complex(x, y).prod(0))],
         (numbers(2, 3), numbers(2, 3, seed=1)), gradient=False, second=False, tolerance=256,
         label="complex_arithmetic"),
    call("view_dtype", lambda t, x: x.view(t.int16), (numbers(3, 4),), gradient=False,
         second=False),
    call("view_as_real view_as_complex view_as_real_copy view_as_complex_copy",
         lambda t, x: t.view_as_real(t.view_as_complex(x) * t.view_as_complex(x)),
         (numbers(3, 2),), tolerance=64),
]  # fmt: skip
