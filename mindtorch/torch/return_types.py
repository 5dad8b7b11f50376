"""The named tuples that functions with several results return."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable
from typing import Any

from .utils import _pytree


def _define(name: str, *fields: str, several: tuple[str, ...] = ()) -> Any:
    """The type of ``name``'s results; ``several``: fields that are tuples of tensors."""
    base: Any = namedtuple(name, fields)  # type: ignore[misc]

    def describe(self: Any) -> str:
        inside = ",\n".join(f"{f}={v!r}" for f, v in zip(fields, self, strict=True))
        return f"torch.return_types.{name}(\n{inside})"

    def make(cls: Any, *given: Any, **named: Any) -> Any:
        if len(given) < 2:  # a sequence of all, as torch takes it
            if not given and "sequence" not in named:
                raise TypeError("structseq() missing required argument 'sequence' (pos 1)")
            given = given or (named["sequence"],)
            if not isinstance(given[0], Iterable) and not hasattr(given[0], "__getitem__"):
                raise TypeError("constructor requires a sequence")
            values = tuple(given[0])
            if len(values) != len(fields):
                raise TypeError(
                    f"torch.return_types.{name}() takes a {len(fields)}-sequence "
                    f"({len(values)}-sequence given)"
                )
            given = values
        return base.__new__(cls, *given, **named)

    members = {
        "__slots__": (), "__repr__": describe, "__module__": "torch.return_types", "__new__": make,
        "_make": classmethod(lambda cls, values: cls(*values)),
        "__annotations__": {f: "tuple[Tensor, ...]" if f in several else "Tensor" for f in fields},
    }  # fmt: skip
    return type(name, (base,), members)


def of_out(kind: Any) -> Any:
    """The type of results that were written to ``out=``: its name ends so."""
    name = f"{kind.__name__}_out"
    made = globals().get(name)
    if made is None:
        globals()[name] = made = _define(name, *kind._fields)
    return made


def __getattr__(name: str) -> Any:
    kind = globals().get(name.removesuffix("_out"))
    if name.startswith("_") or not name.endswith("_out") or not hasattr(kind, "_fields"):
        raise AttributeError(f"module 'torch.return_types' has no attribute '{name}'")
    return of_out(kind)


max = _define("max", "values", "indices")  # noqa: A001
min = _define("min", "values", "indices")  # noqa: A001
median = _define("median", "values", "indices")
nanmedian = _define("nanmedian", "values", "indices")
mode = _define("mode", "values", "indices")
sort = _define("sort", "values", "indices")
topk = _define("topk", "values", "indices")
kthvalue = _define("kthvalue", "values", "indices")
cummax = _define("cummax", "values", "indices")
cummin = _define("cummin", "values", "indices")
aminmax = _define("aminmax", "min", "max")
histogram = _define("histogram", "hist", "bin_edges")
histogramdd = _define("histogramdd", "hist", "bin_edges", several=("bin_edges",))
frexp = _define("frexp", "mantissa", "exponent")
linalg_qr = _define("linalg_qr", "Q", "R")
qr = _define("qr", "Q", "R")
linalg_svd = _define("linalg_svd", "U", "S", "Vh")
svd = _define("svd", "U", "S", "V")
linalg_eigh = _define("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_eig = _define("linalg_eig", "eigenvalues", "eigenvectors")
linalg_slogdet = _define("linalg_slogdet", "sign", "logabsdet")
slogdet = _define("slogdet", "sign", "logabsdet")
linalg_lstsq = _define(
    "linalg_lstsq", "solution", "residuals", "rank", "singular_values"
)
linalg_inv_ex = _define("linalg_inv_ex", "inverse", "info")
linalg_cholesky_ex = _define("linalg_cholesky_ex", "L", "info")
linalg_solve_ex = _define("linalg_solve_ex", "result", "info")
linalg_lu = _define("linalg_lu", "P", "L", "U")
linalg_lu_factor = _define("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = _define("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_ldl_factor = _define("linalg_ldl_factor", "LD", "pivots")
linalg_ldl_factor_ex = _define("linalg_ldl_factor_ex", "LD", "pivots", "info")
lu_unpack = _define("lu_unpack", "P", "L", "U")
geqrf = _define("geqrf", "a", "tau")
triangular_solve = _define("triangular_solve", "solution", "cloned_coefficient")
_lu_with_info = _define("_lu_with_info", "LU", "pivots", "info")

all_return_types = [kind for kind in globals().values() if hasattr(kind, "_fields")]


def pytree_register_structseq(cls: Any) -> None:
    """Let torch.utils._pytree look into the results of a type of this module."""
    _pytree.register_pytree_node(
        cls, lambda given: (list(given), None), lambda given, context: cls(given)
    )
