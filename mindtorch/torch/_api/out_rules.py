"""What torch demands of tensors given as ``out=``, by function, and the texts of its errors."""

from __future__ import annotations

# Texts for an ``out`` of another type than the result's, by function; others may be any type that
# the result casts to. {result} and {out} are types by torch's names, {c_result} and {c_out} by C's.
_EXACT = "Expected out tensor to have dtype {c_result}, but got {c_out} instead"
_SAME_TYPE: dict[str, str] = {
    _EXACT: """
        addmm addmv aminmax argmax argmin baddbmm bmm cross diag gather index_add index_copy
        index_reduce isin linalg_cholesky linalg_cholesky_ex linalg_cross linalg_det linalg_eigh
        linalg_eigvalsh linalg_inv linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex
        linalg_ldl_solve linalg_lu linalg_lu_factor linalg_lu_factor_ex linalg_lu_solve linalg_qr
        linalg_slogdet linalg_solve linalg_solve_ex linalg_svd linalg_svdvals linalg_vector_norm
        log_softmax lu_solve lu_unpack max.dim min.dim mm msort norm qr renorm scatter
        scatter_add scatter_reduce softmax sort svd take_along_dim topk triangular_solve tril triu
        alias_copy as_strided_copy diagonal_copy expand_copy permute_copy split_copy
        split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy
        unsqueeze_copy view_copy slice_scatter avg_pool2d avg_pool3d linear""",
    "Found dtype {out} but expected {result}": """
        abs bitwise_not ceil conj_physical floor frac neg round sgn sign trunc gelu hardshrink
        softplus softshrink""",
    "expected scalar_type {result} but found {out}": "cummax cummin diff logcumsumexp",
    "dtype {result} does not match dtype of out parameter ({out})":
        "arange eye linspace logspace",
    "result dtype {out} does not match input dtype {result}": "dot matmul vdot",
    "expected scalar type {result} but found {out}": "linalg_solve_triangular log_sigmoid",
    "{name}(): self and result must have the same scalar type": "index_select masked_select",
    "quantile() out tensor must be same dtype as the input tensor": "nanquantile quantile",
    "{name} does not support non-boolean outputs.": "isneginf isposinf signbit",
    "{name} only supports bool tensor for result, got: {out}": "all any",
    "tensordot: Expected the output tensor to have dtype {result}, but got an output tensor with "
    "dtype {out}": "inner tensordot",
    "linalg.{name} expected out tensor dtype {result} but got: {out}":
        "linalg_matrix_norm linalg_norm",
    "take(): self and out expected to have the same dtype, but got self.dtype = {result} and "
    "out.dtype = {out}": "take",
    "output values must be of same type as input": "kthvalue",
    "expected scalar type '{result}' but got '{out}' for values output": "mode",
    "Expected out type to be {result} but got {out}": "where",
    "Expected object of scalar type {result} but got scalar type {out} for argument 'out'":
        "complex polar",
    "nan_to_num: dtype of out: {out} should be same as input: {result}": "nan_to_num",
    "torch.frexp() expects mantissa to have dtype {c_result} but got {c_out}": "frexp",
    "heaviside is not yet implemented for tensors with different dtypes.": "heaviside",
    "nonzero: Expected out tensor to have scalar type {result} but got scalar type{out}": "nonzero",
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or "
    "Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype "
    "{out} and out_int32 flag is False": "searchsorted",
    "multi_dot(): expected out tensor to have dtype {c_result} but got {c_out}": "linalg_multi_dot",
    "linalg.vecdot: Expected out of dtype{result} but found {out}": "linalg_vecdot",
    "addmv input tensors must have the same dtype, but got {out}, {result}, and {result}": "mv",
    "self and mat2 must have the same dtype, but got {out} and {result}": "addbmm",
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input "
    "{c_result} and hist {c_out}": "histc histogram",
    "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{result} "
    "and result has dtype {out}": "ormqr",
    "Expected result to be of dtype uint64, but got {out}": "hash_tensor",
    "Expected self.dtype() == output.dtype() to be true, but got false.  (Could this error message "
    "be improved?  If so, please report an enhancement request to PyTorch.)": "narrow_copy",
}  # fmt: skip
TYPE_TEXTS = {name: text for text, names in _SAME_TYPE.items() for name in names.split()}

# Texts for an ``out`` that is not of the type that the argument ``dtype`` says.
OF_DTYPE = dict.fromkeys(
    ("sum", "prod", "mean", "cumsum", "cumprod"),
    "Expected out tensor to have dtype {dtype}, but got {out} instead",
) | {"nansum": "nansum: provided dtype must match dtype of result. Got {out} and {dtype}."}

# Texts for an ``out`` that the result does not cast to; of others ``CANNOT_CAST``.
CANNOT_CAST = "result type {result} can't be cast to the desired output type {out}"
CAT = "torch.cat(): input types can't be cast to the desired output type {out}"
_SAFELY = (
    "Expected {what} to be safely castable from {result} dtype, but got {what} with dtype {out}"
)
_CASTABLE: dict[str, str] = {
    CAT: "cat column_stack dstack hstack stack vstack",
    "{name} expects a complex output tensor, but got {out}": """
        fft_fft fft_fftn fft_ifft fft_ihfft fft_ihfftn fft_rfft fft_rfftn""",
    "fftn expects a complex output tensor, but got {out}": "fft_fft2 fft_ifft2 fft_ifftn",
    "rfftn expects a complex output tensor, but got {out}": "fft_rfft2",
    "ihfftn expects a complex output tensor, but got {out}": "fft_ihfft2",
    "{name} expects a floating point output tensor, but got {out}":
        "fft_hfft fft_hfftn fft_irfft fft_irfftn",
    "hfftn expects a floating point output tensor, but got {out}": "fft_hfft2",
    "irfftn expects a floating point output tensor, but got {out}": "fft_irfft2",
    "{name}: " + _SAFELY.replace("{what}", "result"): """
        cholesky cholesky_inverse cholesky_solve linalg_matrix_power linalg_tensorinv
        linalg_tensorsolve""",
    "linalg.{name}: " + _SAFELY.replace("{what}", "result"): "linalg_cond linalg_pinv",
    "torch.linalg.{name}: " + _SAFELY.replace("{what}", "result"):
        "linalg_householder_product linalg_matrix_rank",
    "torch.linalg.{name}: " + _SAFELY.replace("{what}", "eigenvalues"): "linalg_eig linalg_eigvals",
    "torch.linalg.{name}: " + _SAFELY.replace("{what}", "solution"): "linalg_lstsq",
    "torch.geqrf: " + _SAFELY.replace("{what}", "a"): "geqrf",
    "ldexp can't be cast to the desired output type {out}": "ldexp",
    "mvlgamma: result type {result} can't be cast to the desired output type {result}": "mvlgamma",
    "the output given to float_power has dtype {out} but the operation's result requires dtype "
    "{result}": "float_power",
    "logsumexp(): Expected floating point type for result tensor, but got: {out}": "logsumexp",
    "mean.dtype_out(): input types can't be cast to the desired output type {out}": "mean",
    "Expected canCast( typeMetaToScalarType(self.dtype()), typeMetaToScalarType(out.dtype())) to "
    "be true, but got false.  (Could this error message be improved?  If so, please report an "
    "enhancement request to PyTorch.)": "max min",
}  # fmt: skip
CAST_TEXTS = {name: text for text, names in _CASTABLE.items() for name in names.split()}

# the functions that errors of autodiff name in place of the one called
_NAMED: dict[str, str] = {
    "aten::{0}": """
        arange conj_physical eye floor_divide full heaviside histogram linalg_ldl_factor_ex
        linalg_ldl_solve linspace log_softmax logspace ones slice_scatter softmax zeros
        alias_copy as_strided_copy diagonal_copy expand_copy permute_copy squeeze_copy t_copy
        transpose_copy unfold_copy unsqueeze_copy view_copy""",
    "_{0}": "linalg_det linalg_eigh linalg_slogdet linalg_solve_ex linalg_svd",
    "_linalg_eigh": "linalg_eigvalsh",
    "_linalg_solve_ex": "linalg_solve",
    "_linalg_svd": "linalg_svdvals",
    "log_sigmoid_forward": "log_sigmoid",
    "{0}_ex": "linalg_cholesky linalg_inv linalg_lu_factor",
    "linalg_{0}": "cross lu_solve qr",
    "aten::linalg_ldl_factor_ex": "linalg_ldl_factor",
    "aten::diag_embed": "diag",
    "cat": "column_stack dstack hstack vstack",
    "_fft_c2r": "fft_hfft fft_hfft2 fft_hfftn fft_irfft fft_irfft2 fft_irfftn",
    "linalg_vector_norm": "norm",
    "pow": "float_power square",
    "vdot": "linalg_vecdot",
    "sort": "msort",
    "nansum": "nanmean",
    "mul": "kron outer",
    "mm": "linalg_multi_dot",
    "gather": "take_along_dim",
    "div": "true_divide",
}
SHOWN = {each: to.format(each) for to, names in _NAMED.items() for each in names.split()}
NO_DERIVATIVE = (
    "{}(): functions with out=... arguments don't support automatic differentiation, but one of "
    "the arguments requires grad."
)
# compositions: writing their result is a copy that autodiff records
RECORDED = frozenset("""
    diff inner linalg_cond linalg_matrix_norm linalg_matrix_power linalg_norm linalg_tensorinv
    linalg_tensorsolve nanquantile quantile special_ndtr svd tensordot
""".split())  # fmt: skip
# functions without a derivative, and what torch does not track
UNTRACKED = frozenset("""
    histc isin isneginf isposinf split_with_sizes_copy special_airy_ai special_bessel_j0
    special_bessel_j1 special_bessel_y0 special_bessel_y1 special_modified_bessel_i0
    special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1
    special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_spherical_bessel_j0
    special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
    special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he
    special_laguerre_polynomial_l special_legendre_polynomial_p
    special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
    special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w
""".split())  # fmt: skip
# functions that torch forbids to write over what they read, whole or in part
NO_OVERLAP = frozenset("cat gather index_select kthvalue masked_select nonzero take".split())
