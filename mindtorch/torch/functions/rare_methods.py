"""Methods of the tensor for kinds of tensors that one seldom meets: sparse, padded, of oneDNN."""

from __future__ import annotations

from typing import Any

from .._api.meta_kernels import require_kernel
from .._api.publish import function
from .._compat.unsupported_names import refuse

_ONLY_SPARSE = "tensor.sspaddmm(...) can only be called on sparse tensors"
_CANNOT_RUN = "Could not run 'aten::{}' with arguments from the 'CPU' backend."


@function(namespace=False)
def smm(self: Any, mat2: Any) -> Any:
    """The product of a sparse and a dense matrix: sparse tensors have it, it raises for others.

    Args:
        mat2: the dense matrix.
    """
    raise RuntimeError(_ONLY_SPARSE)


@function(namespace=False)
def sspaddmm(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """A sum with a product: sparse tensors have it, it raises for others.

    Args:
        mat1, mat2: the matrices to multiply.
        beta, alpha: factors of the tensor and of the product.
    """
    raise RuntimeError(_ONLY_SPARSE)


@function(namespace=False, name="resize_as_sparse_")
def resize_as_sparse_(self: Any, the_template: Any) -> Any:
    """Of sparse tensors, which have it themselves; it raises for others.

    Args:
        the_template: a tensor whose size would be taken.
    """
    raise NotImplementedError(_CANNOT_RUN.format("resize_as_sparse_"))


@function(namespace=False)
def to_padded_tensor(self: Any, padding: Any, output_size: Any = None) -> Any:
    """Of nested tensors, which have it themselves; it raises for others.

    Args:
        padding: what would fill up the rows.
        output_size: the size of the result.
    """
    require_kernel("to_padded_tensor", self)
    raise NotImplementedError(_CANNOT_RUN.format("to_padded_tensor"))


@function(namespace=False)
def to_mkldnn(self: Any, dtype: Any = None) -> Any:
    """oneDNN's layout, which there is none of: it raises.

    Args:
        dtype: of the result.
    """
    require_kernel("to_mkldnn", self)
    refuse("torch.Tensor.to_mkldnn", "tensors have no layout of oneDNN's")


@function(namespace=False)
def index(self: Any, positions: Any, dims: Any) -> Any:
    """Elements by first-class dimensions, which there are none of: it raises.

    Args:
        positions, dims: places, and the dimensions they are of.
    """
    refuse("torch.Tensor.index", "there are no first-class dimensions; use self[positions]")
