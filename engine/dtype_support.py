"""Which element types PyTorch's kernels take, where ours would take more: its errors for the rest.

A program that catches such an error, or a test that expects it, finds it here too.
"""

from __future__ import annotations

from typing import Any

from .aval import Aval
from .dtypes import (
    COMPLEX,
    FLOAT,
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    int64,
    result_type,
    scalar_type_name,
)

WHOLE = "whole"  # whole numbers, bool not among them

# op -> (PyTorch's kernel, by the number of spatial axes where there are several; further types
# that it takes beside floating-point numbers)
KERNELS: dict[str, tuple[str | tuple[str, str, str], Any]] = {
    "threshold": ("threshold_cpu", WHOLE),
    "prelu": ("prelu_cpu", None),
    "nll_loss_forward": ("nll_loss_out_frame", None),
    "avg_pool": (("avg_pool2d", "avg_pool2d", "avg_pool3d_out_frame"), int64),
    "adaptive_avg_pool": (
        ("adaptive_avg_pool2d", "adaptive_avg_pool2d", "adaptive_avg_pool3d_cpu"), None
    ),
    "adaptive_max_pool": (
        ("adaptive_max_pool2d", "adaptive_max_pool2d", "adaptive_max_pool3d_cpu"), None
    ),
    "max_pool": (("max_pool1d_impl", "max_pool2d", "max_pool3d"), WHOLE),
    "native_batch_norm": ("batch_norm", None),
    "batch_norm_inference": ("batch_norm", None),
    "native_group_norm": ("GroupNormKernelImpl", None),
    "native_layer_norm": ("LayerNormKernelImpl", None),
}  # fmt: skip


# op -> PyTorch's kernel, which takes all types but bool
WITHOUT_BOOL = {
    "linear": "addmm_impl_cpu_", "convolution": "slow_conv2d_cpu", "floor": "floor_vml_cpu",
    "ceil": "ceil_vml_cpu", "trunc": "trunc_vml_cpu", "round": "round_vml_cpu",
    "fmod": "fmod_cpu", "remainder": "remainder_cpu", "floor_divide": "div_floor_cpu",
    "trunc_divide": "div_trunc_cpu", "absolute": "abs_cpu",
    "kthvalue": "kthvalue_cpu", "searchsorted": "searchsorted_out_cpu",
    "clamp": "clamp_cpu", "power": "pow", "median_dim": "median_cpu",
    "nanmedian_dim": "median_cpu",
}  # fmt: skip
# op -> PyTorch's kernel, which takes no complex numbers
WITHOUT_COMPLEX = {
    "lt": "lt_cpu", "le": "le_cpu", "gt": "gt_cpu", "ge": "ge_cpu",
    "atan2": "atan2_cpu", "xlogy": "xlogy_cpu", "remainder": "remainder_cpu",
    "fmod": "fmod_cpu", "round": "round_vml_cpu", "hypot": "hypot_cpu", "erf": "erf_vml_cpu",
    "copysign": "copysign_cpu", "nextafter": "nextafter_cpu", "lgamma": "lgamma_vml_cpu",
    "amax": "max_values_cpu", "amin": "min_values_cpu", "erfc": "erfc_vml_cpu",
    "elu": "elu_cpu", "mish": "mish_cpu", "softplus": "softplus_cpu",
    "log_sigmoid": "log_sigmoid_cpu", "hardsigmoid": "hardsigmoid_cpu",
    "searchsorted": "searchsorted_out_cpu",
}  # fmt: skip
# op -> PyTorch's kernel, which takes floating-point and complex numbers of the inputs' common type
WITHOUT_WHOLE = {
    "hypot": "hypot_cpu", "nextafter": "nextafter_cpu", "frac": "frac_cpu",
    "logcumsumexp": "logcumsumexp_out_cpu",
}  # fmt: skip
# op -> PyTorch's RuntimeError for complex numbers, none of which is the greater
WITHOUT_ORDER = {
    **{
        name: f"{name} not implemented for complex tensors."
        for name in ("maximum", "minimum", "fmax", "fmin")
    },
    "heaviside": "heaviside is not yet implemented for complex tensors.",
}
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
# ops whose inputs have one type; parameters of 16-bit inputs may all be float32
OF_ONE_TYPE = {
    "native_batch_norm", "batch_norm_inference", "native_layer_norm", "native_group_norm",
}  # fmt: skip
# ops whose first two inputs' difference is taken
DIFFERENCES = {"subtract", "subtract_scaled"}
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
    if dtype.category == FLOAT or dtype in others:
        return
    if WHOLE not in others or dtype.category == COMPLEX or dtype is bool_:
        refuse(kernel, dtype)


def refuse_kinds(kernel: str, x: Aval, kinds: str) -> None:
    """:func:`refuse` the kinds of numbers that are named: bool, whole, half, short, complex.

    "half" is float16, "short" bfloat16 too.
    """
    dtype = x.dtype
    if dtype is bool_:
        found = {"bool"}
    elif dtype.category == FLOAT:
        found = {"short" * (dtype.itemsize < 4), "half" * (dtype is float16)}
    else:
        found = {"complex" if dtype.category == COMPLEX else "whole"}
    if not found.isdisjoint(kinds.split()):
        refuse(kernel, dtype)


def require_numbers(x: Aval, y: Aval) -> None:
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


def _check_product(x: Aval, y: Aval) -> None:
    """PyTorch's error for products of bool, which it has where there is nothing to add up."""
    if y.dtype is not bool_ or not (x.size and y.size):
        return
    if x.ndim > 2 or y.ndim > 2:
        refuse("bmm", bool_)
    refuse("addmm_impl_cpu_" if y.shape[1] > 1 else "addmv_impl_cpu", bool_)


def check(name: str, in_avals: Any) -> None:
    """PyTorch's error where its kernel for the op ``name`` does not take the inputs' types."""
    if name in DIFFERENCES:
        require_numbers(*in_avals[:2])
    if name in WITHOUT_BOOL:
        if all(x is None or x.dtype is bool_ for x in in_avals):
            refuse(WITHOUT_BOOL[name], bool_)
    if name == "matmul" and in_avals[0].dtype is bool_:
        _check_product(*in_avals)
    if name in WITHOUT_COMPLEX:
        for x in in_avals:
            if x.dtype.category == COMPLEX:
                refuse(WITHOUT_COMPLEX[name], result_type(in_avals))
    if name in WITHOUT_ORDER and result_type(in_avals).category == COMPLEX:
        raise RuntimeError(WITHOUT_ORDER[name])
    if name in WITHOUT_WHOLE and result_type(in_avals).category < FLOAT:
        refuse(WITHOUT_WHOLE[name], result_type(in_avals))
    if name in OF_ONE_TYPE and "batch" not in name:
        require_one_type(*in_avals)
    known = KERNELS.get(name)
    if known is None:
        return
    kernel, others = known
    x = in_avals[0]
    if not isinstance(kernel, str):
        spatial = min(max(x.ndim - 2, 1), 3)
        if name == "max_pool" and spatial == 1:
            others = None
        kernel = kernel[spatial - 1]
    require_floats(x, kernel, others)
    if name in OF_ONE_TYPE:
        require_one_type(*in_avals)
