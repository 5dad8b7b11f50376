"""The named tuples that functions with several results return.

Made by `python -m mindtorch.tools.docs.stubs`.
"""

# mypy: disable-error-code="overload-cannot-match,overload-overlap"

from typing import Any as _Any
from typing import NamedTuple as _NamedTuple

from mindtorch.torch._tensor.tensor import Tensor as Tensor

class max(_NamedTuple):
    values: Tensor
    indices: Tensor

class min(_NamedTuple):
    values: Tensor
    indices: Tensor

class median(_NamedTuple):
    values: Tensor
    indices: Tensor

class nanmedian(_NamedTuple):
    values: Tensor
    indices: Tensor

class mode(_NamedTuple):
    values: Tensor
    indices: Tensor

class sort(_NamedTuple):
    values: Tensor
    indices: Tensor

class topk(_NamedTuple):
    values: Tensor
    indices: Tensor

class kthvalue(_NamedTuple):
    values: Tensor
    indices: Tensor

class cummax(_NamedTuple):
    values: Tensor
    indices: Tensor

class cummin(_NamedTuple):
    values: Tensor
    indices: Tensor

class aminmax(_NamedTuple):
    min: Tensor
    max: Tensor

class histogram(_NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class histogramdd(_NamedTuple):
    hist: Tensor
    bin_edges: tuple[Tensor, ...]

class frexp(_NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class linalg_qr(_NamedTuple):
    Q: Tensor
    R: Tensor

class qr(_NamedTuple):
    Q: Tensor
    R: Tensor

class linalg_svd(_NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class svd(_NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class linalg_eigh(_NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_eig(_NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class linalg_slogdet(_NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class slogdet(_NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class linalg_lstsq(_NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

class linalg_inv_ex(_NamedTuple):
    inverse: Tensor
    info: Tensor

class linalg_cholesky_ex(_NamedTuple):
    L: Tensor
    info: Tensor

class linalg_solve_ex(_NamedTuple):
    result: Tensor
    info: Tensor

class linalg_lu(_NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class linalg_lu_factor(_NamedTuple):
    LU: Tensor
    pivots: Tensor

class linalg_lu_factor_ex(_NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class linalg_ldl_factor(_NamedTuple):
    LD: Tensor
    pivots: Tensor

class linalg_ldl_factor_ex(_NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor

class lu_unpack(_NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class geqrf(_NamedTuple):
    a: Tensor
    tau: Tensor

class triangular_solve(_NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor

class _lu_with_info(_NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

def of_out(kind: _Any) -> _Any: ...
