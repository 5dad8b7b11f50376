"""The families of PyTorch's table of ops."""

from __future__ import annotations

from typing import Any

RANDOM = {
    "bernoulli", "cauchy", "exponential", "geometric", "log_normal", "multinomial", "normal",
    "rand_like", "randint", "randint_like", "randn", "randn_like", "uniform",
}  # fmt: skip
MATRICES = {
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "cdist", "chain_matmul", "cholesky",
    "cholesky_inverse", "cholesky_solve", "cross", "dot", "einsum", "geqrf", "ger", "inner", "kron",
    "logdet", "lu", "lu_solve", "lu_unpack", "matmul", "matrix_exp", "mm", "mv", "ormqr", "outer",
    "pca_lowrank", "pinverse", "qr", "svd", "svd_lowrank", "tensordot", "trace", "triangular_solve",
    "vdot", "__rmatmul__", "addmm.decomposed",
}  # fmt: skip
NETWORKS = ("nn.", "_batch_norm", "_native_batch_norm", "native_", "batch_norm", "_softmax_",
            "_upsample", "grid_sampler", "log_softmax", "softmax", "torch.ops.aten._safe_softmax",
            "torch.ops.aten._flash", "torch.ops.aten._efficient")  # fmt: skip
# in the order of the table
FAMILIES = (
    "elementwise", "special", "reduction", "structure", "indexing", "linear algebra", "fft",
    "networks", "random", "masked", "windows", "sparse", "generated kernels",
)  # fmt: skip
_PLACES = ("index", "gather", "scatter", "take", "masked_", "put", "sort", "topk", "search",
           "nonzero", "argsort", "msort", "kthvalue", "bucketize", "unique", "where")  # fmt: skip
_PREFIXES = {
    "masked.": "masked", "signal.": "windows", "sparse.": "sparse", "fft.": "fft",
    "special.": "special", "linalg.": "linear algebra", "jiterator": "generated kernels",
}  # fmt: skip


def family(info: Any) -> str:
    """The family of an entry of the table."""
    name = info.name
    for prefix, found in _PREFIXES.items():
        if name.startswith(prefix):
            return found
    if name in ("stft", "istft"):
        return "fft"
    if name.startswith(NETWORKS):
        return "networks"
    if name in RANDOM:
        return "random"
    if name in MATRICES:
        return "linear algebra"
    kind = type(info).__name__
    if kind in ("UnaryUfuncInfo", "BinaryUfuncInfo"):
        return "elementwise"
    if kind == "ReductionOpInfo" or name.startswith(("cum", "var", "std", "median", "quantile")):
        return "reduction"
    return "indexing" if any(place in name for place in _PLACES) else "structure"
