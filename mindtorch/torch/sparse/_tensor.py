"""Sparse tensors: the places of some elements, and their values, which autodiff knows.

A sparse tensor has no derivation of its own: its values are an ordinary tensor, and everything
that is computed from a sparse tensor is computed from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.engine.dtypes import int64
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from .._api.arguments import normalize_axis
from .._tensor.size_and_formats import sparse_coo
from .._tensor.tensor import Tensor
from ._base import kept_at, missing
from ._compressed import title_of, transposed
from ._inplace import SparseWriting
from ._printing import sparse_repr
from ._products import matmul
from ._sums import total


class SparseTensor(SparseWriting):
    """A tensor of which only some elements are stored; the others are 0."""

    # these ask no more than shape and type, or lead to others
    dim, ndimension, size, is_same_size = (
        Tensor.dim, Tensor.ndimension, Tensor.size, Tensor.is_same_size,
    )  # fmt: skip
    numel, nelement, element_size = Tensor.numel, Tensor.nelement, Tensor.element_size
    is_floating_point, is_complex = Tensor.is_floating_point, Tensor.is_complex
    is_signed, is_conj, is_neg = Tensor.is_signed, Tensor.is_conj, Tensor.is_neg
    is_inference, is_pinned, get_device = Tensor.is_inference, Tensor.is_pinned, Tensor.get_device
    register_hook, retain_grad, backward = (
        Tensor.register_hook, Tensor.retain_grad, Tensor.backward,
    )  # fmt: skip
    as_subclass, cuda, xpu, ipu, mtia = (
        Tensor.as_subclass, Tensor.cuda, Tensor.xpu, Tensor.ipu, Tensor.mtia,
    )  # fmt: skip

    # --- shape -------------------------------------------------------------------------------

    def smm(self, mat2: Any) -> Any:
        """:func:`torch.smm` of the matrix."""
        return matmul(self, mat2).to_sparse()

    def sspaddmm(self, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        """:func:`torch.sspaddmm` of the matrices."""
        return (beta * self.to_dense() + alpha * matmul(mat1, mat2)).to_sparse()

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        """Two sparse axes exchanged; CSR becomes CSC."""
        if self.compressed is not None:
            return transposed(self, dim0, dim1)
        first, second = (normalize_axis(d, self.aval.ndim) for d in (dim0, dim1))
        if max(first, second) >= self.sparse_dim():
            missing("transpose of dense axes")
        order = list(range(self.sparse_dim()))
        order[first], order[second] = order[second], order[first]
        shape = list(self.aval.shape)
        shape[first], shape[second] = shape[second], shape[first]
        places = self.places[from_array(np.array(order, np.int64))]
        return SparseTensor(places, self.held, shape, self.unique and first == second)

    def permute(self, *dims: Any) -> SparseTensor:
        """The sparse axes in another order, and the dense ones."""
        self._only_coo("permute")
        given = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
        count, sparse = self.aval.ndim, self.sparse_dim()
        if len(given) != count:
            raise RuntimeError(
                "permute(sparse_coo): number of dimensions in the tensor input does not match the "
                "length of the desired ordering of dimensions i.e. input.dim() = "
                f"{count} is not equal to len(dims) = {len(given)}"
            )
        order = [normalize_axis(d, count) for d in given]
        if len(set(order)) != count:
            raise RuntimeError("permute(): duplicate dims are not allowed.")
        if max(order[:sparse], default=-1) >= sparse:
            raise RuntimeError(
                "permute(sparse_coo): transpositions between sparse and dense dimensions are not "
                "allowed.Only transpositions within sparse and dense dimensions are supported."
            )
        places = self.places[from_array(np.array(order[:sparse], np.int64))]
        held = self.held.permute((0, *(d - sparse + 1 for d in order[sparse:])))
        same = self.unique and order[:sparse] == list(range(sparse))
        return SparseTensor(places, held, [self.aval.shape[d] for d in order], same)

    def narrow_copy(self, dim: int, start: int, length: int) -> SparseTensor:
        """The indices ``start`` to ``start + length`` along an axis."""
        self._only_coo("narrow_copy")
        axis, shape = normalize_axis(dim, self.aval.ndim), list(self.aval.shape)
        if not 0 <= start <= start + length <= shape[axis]:
            raise RuntimeError(
                "Invalid range to narrow. range(start, start+length) must be a subset of range(0, "
                f"{shape[axis]})."
            )
        shape[axis] = length
        if axis >= self.sparse_dim():
            held = self.held.narrow_copy(axis - self.sparse_dim() + 1, start, length)
            return SparseTensor(self.places, held, shape, self.unique)
        places = self.places.array()
        kept = np.flatnonzero((places[axis] >= start) & (places[axis] < start + length))
        found = places[:, kept]
        found[axis] -= start
        chosen = self.held[from_array(kept)]
        return SparseTensor(from_array(found), chosen, shape, self.unique)

    def t(self) -> SparseTensor:
        return self.transpose(0, 1) if self.aval.ndim == 2 else self

    @property
    def T(self) -> Any:  # noqa: N802
        return self.t()

    @property
    def mT(self) -> Any:  # noqa: N802
        return self.t()

    def unsqueeze(self, dim: int) -> SparseTensor:
        """A sparse axis of length 1."""
        self._only_coo("unsqueeze")
        axis = normalize_axis(dim, self.aval.ndim + 1)
        shape = list(self.aval.shape)
        shape.insert(axis, 1)
        if axis > self.sparse_dim():
            held = self.held.unsqueeze(axis - self.sparse_dim() + 1)
            return SparseTensor(self.places, held, shape)
        places = self.places.array()
        row = np.zeros((1, places.shape[1]), np.int64)
        joined = np.concatenate([places[:axis], row, places[axis:]])
        return SparseTensor(from_array(joined), self.held, shape)

    # --- arithmetic --------------------------------------------------------------------------

    def __neg__(self) -> SparseTensor:
        return self.like(-self.held)

    neg = __neg__

    def pow(self, exponent: Any) -> SparseTensor:
        """The values to a power."""
        source = self.coalesce()
        return source.like(source.held**exponent)

    __pow__ = pow

    def any(self, *args: Any, **kwargs: Any) -> Any:
        """Whether any element is not 0."""
        if args or kwargs:
            missing("any along axes")
        return self.held.any()

    def _scaled(self, other: Any, divide: bool) -> Any:
        if isinstance(other, SparseTensor) and not other.aval.ndim:
            other = other.to_dense()
        number = other.aval.ndim == 0 if isinstance(other, EngineTensor) else (
            isinstance(other, (int, float, complex))
        )
        if not number:
            return None
        return self.like(self.held / other if divide else self.held * other)

    def mul(self, other: Any) -> SparseTensor:
        """Times a number, or elementwise times a tensor, at the places of this one."""
        scaled = self._scaled(other, False)
        if scaled is not None:
            return scaled
        if self.layout is not sparse_coo:
            factor = other.to_sparse() if isinstance(other, SparseTensor) else other
            found = self.to_sparse().mul(factor)
            return found.to_sparse(layout=self.layout, blocksize=self.blocksize)
        if self.aval.ndim < other.aval.ndim:
            return other * self.to_dense() if isinstance(other, SparseTensor) else (
                other.to_sparse() * self.to_dense()
            )  # fmt: skip
        source = self.coalesce()
        places = tuple(source.places.unbind(0))
        factor = other.to_dense() if isinstance(other, SparseTensor) else other
        product = source.like(source.held * factor.expand(self.aval.shape)[places])
        if not isinstance(other, SparseTensor):
            return product
        return kept_at(product, other.to_sparse().coalesce())

    def div(self, other: Any, *, rounding_mode: Any = None) -> SparseTensor:
        """Over a number."""
        scaled = self._scaled(other, True)
        if scaled is None:
            raise RuntimeError(
                "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
                f"{list(other.aval.shape)} for divisor)"
            )
        if rounding_mode is None:
            return scaled
        source = self.coalesce() if self.layout is sparse_coo else self
        return source.like(source.held.div(other, rounding_mode=rounding_mode))

    def floor_divide(self, other: Any) -> SparseTensor:
        return self.div(other, rounding_mode="floor")

    def add(self, other: Any, *, alpha: Any = 1) -> SparseTensor:
        """Plus another sparse tensor: the places of both."""
        if not isinstance(other, SparseTensor):
            raise RuntimeError(
                "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
            )
        if self.compressed is not None and other.layout is self.layout:
            both = self.to_sparse().add(other.to_sparse(), alpha=alpha)
            return both.coalesce().to_sparse(layout=self.layout, blocksize=self.blocksize)
        self._only_coo("add")
        if self.aval.shape != other.aval.shape:
            raise RuntimeError(
                "add: expected sizes of 'self' and 'other' to match, but "
                f"{list(self.aval.shape)} != {list(other.aval.shape)}"
            )
        return total(self, other, alpha)

    def sub(self, other: Any, *, alpha: Any = 1) -> SparseTensor:
        if self.compressed is not None:
            raise RuntimeError(f"unsupported tensor layout: {title_of(self)}")
        return self.add(other, alpha=-alpha)

    __mul__ = __rmul__ = mul
    __add__ = add
    __sub__ = sub
    __truediv__ = div
    __floordiv__ = floor_divide  # type: ignore[assignment]
    multiply = mul

    def __radd__(self, other: Any) -> Any:
        """``dense + sparse`` is dense."""
        return other + self.to_dense()

    def __rsub__(self, other: Any) -> Any:
        return other - self.to_dense()

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other)

    def __rmatmul__(self, other: Any = None) -> Any:
        return matmul(other, self)

    def matmul(self, other: Any) -> Any:
        return self @ other

    def sparse_mask(self, mask: Any) -> Any:
        """The elements of this tensor at the places of another sparse one."""
        return self.to_dense().sparse_mask(mask)

    def index_select(self, dim: int, index: Any) -> Any:
        """Some indices along an axis."""
        axis = normalize_axis(dim, self.aval.ndim)
        if self.layout is not sparse_coo:
            found = self.to_dense().index_select(dim, index)
            return found.to_sparse(layout=self.layout, blocksize=self.blocksize)
        if index.aval.ndim != 1 or index.aval.dtype is not int64 or index._sparse:
            raise IndexError(
                "index_select() argument index must be 1-D strided (non-sparse) long-tensor."
            )
        length, wanted = self.aval.shape[axis], index.array()
        for i in wanted[(wanted < -length) | (wanted >= length)]:
            raise IndexError(
                f"index_select(): index contains {i} that is out of range for tensor of size "
                f"{list(self.aval.shape)} at dimension {axis}"
            )
        if axis >= self.sparse_dim():
            missing("index_select along dense axes")
        wanted, along = wanted % length, self.places.array()[axis]
        target, source = np.nonzero(wanted[:, None] == along[None])
        places = self.places.array()[:, source]
        places[axis] = target
        shape = list(self.aval.shape)
        shape[axis] = wanted.size
        return SparseTensor(from_array(places), self.held[from_array(source)], shape)

    def item(self) -> Any:
        if self.aval.size != 1:
            raise RuntimeError(
                f"a Tensor with {self.aval.size} elements cannot be converted to Scalar"
            )
        return self.to_dense().item()

    def data_ptr(self) -> Any:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    tolist = data_ptr

    def storage(self) -> Any:
        raise NotImplementedError("Cannot access storage of SparseTensorImpl")

    mm = mv = matmul  # type: ignore[assignment]

    def sum(self, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        """The sum of all elements, or along axes; one that is left makes the result sparse."""
        if dim is None:
            return self.held.sum(dtype=dtype)
        axes = sorted(normalize_axis(d, self.aval.ndim)
                      for d in ((dim,) if isinstance(dim, int) else dim))  # fmt: skip
        if self.layout is not sparse_coo:
            if not keepdim:
                raise RuntimeError(
                    "reduction operations on CSR tensors with keepdim=False is unsupported"
                )
            found = self.to_sparse().sum(axes, True, dtype=dtype)
            return found.to_sparse(layout=self.layout)
        found = (self if dtype is None else self.to(dtype)).sum_along(axes)
        for axis in axes if keepdim else ():
            found = found.unsqueeze(axis)
        return found

    def sum_along(self, dim: Any) -> Any:
        """The sum along axes; dense if no sparse one is left."""
        dims = (dim,) if isinstance(dim, int) else tuple(dim)
        axes = {normalize_axis(d, self.aval.ndim) for d in dims}
        sparse = self.sparse_dim()
        held = self.held
        dense = sorted(a - sparse + 1 for a in axes if a >= sparse)
        if dense:
            held = held.sum(tuple(dense))
        kept = [a for a in range(sparse) if a not in axes]
        if not kept:
            return held.sum(0)
        shape = [n for a, n in enumerate(self.aval.shape) if a not in axes]
        places = self.places[from_array(np.array(kept, np.int64))]
        return SparseTensor(places, held, shape).coalesce()

    def norm(self, p: Any = "fro", dim: Any = None, keepdim: bool = False) -> Any:  # type: ignore[override]
        """The 2-norm of all elements."""
        if keepdim:
            raise RuntimeError("norm_sparse currently does not support keepdim=True")
        if p not in ("fro", 2) or dim is not None:
            missing("norm")
        return self.coalesce().held.norm()

    # --- Python's protocols ------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        """One index along the first axis, or one for each axis."""
        given = index if isinstance(index, tuple) else (index,)
        if not all(isinstance(i, int) for i in given):
            missing("slicing")
        if self.compressed is not None and self.blocksize is not None:
            raise RuntimeError(
                "select(): no view exists for the given input, consider using torch.select_copy."
            )
        found: Any = self.coalesce() if self.layout is sparse_coo else self.to_sparse()
        if len(given) == self.aval.ndim:
            return found.to_dense()[tuple(given)]
        for i in given:
            length = found.aval.shape[0]
            keep = np.flatnonzero(found.places.array()[0] == (i + length if i < 0 else i))
            chosen = from_array(keep)
            found = SparseTensor(
                found.places[1:][:, chosen], found.held[chosen], found.aval.shape[1:], True
            )
        return found

    def __hash__(self) -> int:
        return id(self)

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(self.aval.shape[0])])

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        shown = sparse_repr(self)
        return f"Parameter containing:\n{shown}" if getattr(self, "_is_param", False) else shown


SparseTensor.__name__ = SparseTensor.__qualname__ = "Tensor"  # as errors and programs know it
