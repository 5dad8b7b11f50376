"""Which element types PyTorch's kernels take, where ours would take more: its errors for the rest.

A program that catches such an error, or a test that expects it, finds it here too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .aval import Aval
from .dtypes import (
    COMPLEX,
    FLOAT,
    FLOATS_OF_8_BITS,
    STORED,
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    result_type,
    scalar_type_name,
)

WHOLE = "whole"  # whole numbers, bool not among them

Check = Callable[..., None]  # of the avals of an op's inputs

# what LAPACK's functions call themselves -> PyTorch's kernel, which refuses what LAPACK lacks
LAPACK = {
    "cholesky": "cholesky_cpu", "cholesky_inverse": "cholesky_inverse_out_cpu",
    "cholesky_solve": "cholesky_solve_cpu", "torch.geqrf": "geqrf_cpu",
    "linalg.lu_factor": "lu_cpu", "linalg.lu": "lu_cpu",
    "triangular_solve": "triangular_solve_cpu",
    "linalg.solve_triangular": "triangular_solve_cpu",
    "linalg.householder_product": "orgqr_cpu", "ormqr": "ormqr_cpu",
}  # fmt: skip
# the same for half types alone: whole numbers are refused before
LAPACK_SHORT = {
    "linalg.cholesky": "cholesky_cpu", "linalg.det": "lu_cpu", "linalg.solve": "lu_cpu",
    "linalg.svd": "linalg_svd_cpu", "linalg.eig": "linalg_eig_out_cpu",
    "linalg.qr": "geqrf_cpu", "torch.linalg.lu_solve": "linalg.lu_solve_cpu",
    "torch.linalg.ldl_factor_ex": "ldl_factor_kernel_cpu",
    "torch.linalg.ldl_solve": "ldl_solve_kernel_cpu",
}  # fmt: skip
TWO_BOOLS = (
    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
    "`logical_xor()` operator instead."
)
ONE_BOOL = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
    "invert a mask, use the `~` or `logical_not()` operator instead."
)


def refuse(kernel: str, dtype: DType) -> None:
    """Raise PyTorch's error for a type that a kernel does not take."""
    raise NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type_name(dtype)}'")


def require_floats(x: Aval, kernel: str, *others: Any) -> None:
    """:func:`refuse` what is neither a real floating-point number nor one of ``others``."""
    dtype = x.dtype
    if dtype in STORED:
        refuse(kernel, dtype)
    if dtype.category == FLOAT or dtype in others:
        return
    if WHOLE not in others or dtype.category == COMPLEX or dtype is bool_:
        refuse(kernel, dtype)


def refuse_kinds(kernel: str, x: Aval, kinds: str) -> None:
    """:func:`refuse` the kinds of numbers that are named: bool, whole, half, short, complex.

    "half" is float16, "short" bfloat16 too.
    """
    dtype = x.dtype
    if dtype in FLOATS_OF_8_BITS:
        refuse(kernel, dtype)
    if dtype is bool_:
        found = {"bool"}
    elif dtype.category == FLOAT:
        found = {"short" * (dtype.itemsize < 4), "half" * (dtype is float16)}
    else:
        found = {"complex" if dtype.category == COMPLEX else "whole"}
    if not found.isdisjoint(kinds.split()):
        refuse(kernel, dtype)


def require_numbers(x: Aval, y: Aval, *factors: Aval) -> None:
    """PyTorch's errors for the difference of bool and anything."""
    if x.dtype is bool_ or y.dtype is bool_:
        raise RuntimeError(TWO_BOOLS if x.dtype is y.dtype else ONE_BOOL)


def require_one_type(x: Aval, *parameters: Aval | None) -> None:
    """PyTorch's errors where a normalisation's parameters are of other types than its input."""
    kinds = [p.dtype for p in parameters if p is not None]
    if not kinds or all(kind is x.dtype for kind in kinds):
        return
    if kinds[0] is x.dtype:
        other = next(kind for kind in kinds if kind is not x.dtype)
        raise RuntimeError(
            f"expected scalar type {scalar_type_name(x.dtype)} but found {scalar_type_name(other)}"
        )
    if any(kind is not float32 for kind in kinds):
        raise RuntimeError(
            "mixed dtype (CPU): expect parameter to have scalar type of Float"
        )
    if x.dtype not in (float16, bfloat16):
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


# --- checks that ops are declared with: ``Op(..., dtypes=...)`` ----------------------------------


def without(kinds: str, kernel: str) -> Check:
    """PyTorch's ``kernel`` does not take these kinds of numbers, of "bool", "complex", "whole":
    inputs that are all bool, one that is complex, numbers whose common type is not floating."""
    no_bool, no_complex, no_whole = (kind in kinds for kind in ("bool", "complex", "whole"))

    def check(*avals: Aval | None) -> None:
        given = [x for x in avals if x is not None]
        if no_bool and all(x.dtype is bool_ for x in given):
            refuse(kernel, bool_)
        if no_complex and any(x.dtype.category == COMPLEX for x in given):
            refuse(kernel, result_type(given))
        if no_whole and result_type(given).category < FLOAT:
            refuse(kernel, result_type(given))

    return check


def unordered(message: str, error: type[Exception] = RuntimeError) -> Check:
    """Of complex numbers none is the greater: an error with this text."""

    def check(*avals: Aval) -> None:
        if result_type(avals).category == COMPLEX:
            raise error(message)

    return check


def floats_only(kernel: str, *others: Any) -> Check:
    """PyTorch's ``kernel`` takes floating-point numbers and ``others``, as the first input."""

    def check(x: Aval, *rest: Aval | None) -> None:
        require_floats(x, kernel, *others)

    return check
