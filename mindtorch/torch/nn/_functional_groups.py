"""Products of groups of matrices; those of scaled floats of 8 bits are refused."""

from __future__ import annotations

import math
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine.dtypes import scalar_type_name

from .._compat.missing_names import reason_of
from .._compat.unsupported_names import refuse

__all__ = ["grouped_mm", "scaled_grouped_mm", "scaled_mm"]

_NAMES = {torch.float32: "Float32", torch.float16: "Float16", torch.bfloat16: "BFloat16"}
_ALIGNED = 16  # bytes


def grouped_mm(
    mat_a: Any, mat_b: Any, *, offs: Any = None, bias: Any = None, out_dtype: Any = None
) -> Any:
    """The products of groups of matrices.

    Where both have three axes, it is the product of batches. A matrix of two axes is cut into
    groups at ``offs``: the rows of ``mat_a`` or the columns of ``mat_b`` where the other is a
    batch, the axis that is summed over where both are matrices. Rows of the result begin at
    multiples of 16 bytes.

    Args:
        mat_a, mat_b: of float32, float16 or bfloat16, with two or three axes.
        offs: the end of each group, int32; only where one has two axes.
        bias: None; there is none yet.
        out_dtype: the type of ``mat_a``, which is the only one.

    Raises:
        RuntimeError: for types, shapes and strides that do not fit.
    """
    _check(mat_a, mat_b, offs, bias)
    if out_dtype not in (None, mat_a.dtype):
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    flat_a, flat_b = mat_a.dim() == 2, mat_b.dim() == 2
    if not (flat_a or flat_b):
        if mat_a.size(0) != mat_b.size(0):
            raise RuntimeError("batched dimension has to match")
        return _aligned(torch.bmm(mat_a, mat_b))
    if flat_a != flat_b and offs.size(0) != (mat_b if flat_a else mat_a).size(0):
        raise RuntimeError("matrix batch sizes have to match")
    ends = offs.tolist()
    groups = list(enumerate(zip([0, *ends], ends, strict=False)))
    if flat_a and flat_b:
        shape = (len(ends), mat_a.size(0), mat_b.size(1))
        products = [mat_a[:, a:b] @ mat_b[a:b] for _, (a, b) in groups]
        whole = torch.stack(products) if products else mat_a.new_zeros(shape)
    elif flat_a:
        products = [mat_a[a:b] @ mat_b[i] for i, (a, b) in groups]
        rest = mat_a.new_zeros((mat_a.size(0) - (ends[-1] if ends else 0), mat_b.size(-1)))
        whole = torch.cat([*products, rest])
    else:
        products = [mat_a[i] @ mat_b[:, a:b] for i, (a, b) in groups]
        rest = mat_a.new_zeros((mat_a.size(1), mat_b.size(1) - (ends[-1] if ends else 0)))
        whole = torch.cat([*products, rest], 1)
    return _aligned(whole)


def _check(mat_a: Any, mat_b: Any, offs: Any, bias: Any) -> None:
    for name, each in (("mat_a", mat_a), ("mat_b", mat_b)):
        if each.dtype not in _NAMES:
            raise RuntimeError(
                f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got "
                f"{scalar_type_name(each.dtype)}"
            )
    for name, each in (("mat_a", mat_a), ("mat_b", mat_b)):
        if each.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    flat = mat_a.dim() == 2, mat_b.dim() == 2
    if not all(flat) and mat_a.size(-1) != mat_b.size(-2):
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    for each in (mat_a, mat_b):
        _check_strides(each)
    if (offs is not None) != any(flat):
        raise RuntimeError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if offs is not None and offs.dim() != 1:
        raise RuntimeError("offs has to be 1D")
    if offs is not None and offs.dtype != torch.int32:
        raise RuntimeError("Offsets have to be int32")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")


def _check_strides(matrix: Any) -> None:
    """Rows or columns lie in one piece, and begin at multiples of 16 bytes."""
    (rows, columns), (down, right) = matrix.shape[-2:], matrix.stride()[-2:]
    if down == 1 and right >= max(1, rows):
        step = right
    elif right == 1 and down >= max(1, columns):
        step = down
    else:
        raise RuntimeError(
            f"Invalid strides/sizes, got {list(matrix.stride())} for strides and "
            f"{list(matrix.shape)} for sizes"
        )
    if step * matrix.element_size() % _ALIGNED:
        raise RuntimeError("strides should be multiple of 16 bytes")


def _aligned(x: Any) -> Any:
    """The same elements, whose rows begin at multiples of 16 bytes."""
    unit = _ALIGNED // x.element_size()
    row = -(-x.size(-1) // unit) * unit
    if row == x.size(-1):
        return x
    strides = [math.prod(x.shape[i + 1 : -1]) * row for i in range(x.dim() - 1)]
    return x.new_empty(0).new_empty_strided(x.shape, (*strides, 1)).copy_(x)


def scaled_mm(
    mat_a: Any, mat_b: Any, scale_a: Any, scale_recipe_a: Any, scale_b: Any, scale_recipe_b: Any,
    swizzle_a: Any = None, swizzle_b: Any = None, bias: Any = None,
    output_dtype: Any = torch.bfloat16, contraction_dim: Any = (), use_fast_accum: bool = False,
) -> Any:  # fmt: skip
    """Refused: a product of scaled floats of 8 bits.

    Args:
        mat_a, mat_b: the matrices.
        scale_a, scale_recipe_a, swizzle_a: factors of the first, what they go with, their order.
        scale_b, scale_recipe_b, swizzle_b: the same of the second.
        bias: is added to the product.
        output_dtype: the result's type.
        contraction_dim: the axes that are summed over.
        use_fast_accum: whether sums may be less exact.

    Raises:
        NotImplementedError: always.
    """
    _refuse("scaled_mm")


def scaled_grouped_mm(
    mat_a: Any, mat_b: Any, scale_a: Any, scale_recipe_a: Any, scale_b: Any, scale_recipe_b: Any,
    swizzle_a: Any = None, swizzle_b: Any = None, bias: Any = None, offs: Any = None,
    output_dtype: Any = torch.bfloat16, contraction_dim: Any = (), use_fast_accum: bool = False,
) -> Any:  # fmt: skip
    """Refused: :func:`grouped_mm` of scaled floats of 8 bits.

    Args:
        mat_a, mat_b: the matrices.
        scale_a, scale_recipe_a, swizzle_a: factors of the first, what they go with, their order.
        scale_b, scale_recipe_b, swizzle_b: the same of the second.
        bias: is added to the products.
        offs: the end of each group.
        output_dtype: the result's type.
        contraction_dim: the axes that are summed over.
        use_fast_accum: whether sums may be less exact.

    Raises:
        NotImplementedError: always.
    """
    _refuse("scaled_grouped_mm")


def _refuse(name: str) -> None:
    refuse(f"torch.nn.functional.{name}", reason_of(f"torch.nn.functional.{name}") or "")
