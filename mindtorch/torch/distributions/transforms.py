"""Transforms of random variables; those of vectors and matrices are here."""

from __future__ import annotations

import math
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch.nn import functional as F  # noqa: N812

from . import constraints
from ._transform_base import (
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    Transform,
    _InverseTransform,
)
from ._transforms_elementwise import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    Elementwise,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
    clipped_sigmoid,
)
from .utils import sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform",
    "CorrCholeskyTransform", "CumulativeDistributionTransform", "ExpTransform",
    "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform",
    "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform",
    "Transform", "_InverseTransform", "identity_transform",
]  # fmt: skip

identity_transform = ComposeTransform([])


def _need(shape: Any, count: int) -> None:
    if len(shape) < count:
        raise ValueError("Too few dimensions on input")


class CorrCholeskyTransform(Transform):
    """A vector of n (n - 1) / 2 numbers to the Cholesky factor of a correlation matrix.

    The tangents of the vector are partial correlations; each row is a point on the unit sphere.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Any:
        x = x.tanh()
        eps = torch.finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + torch.eye(r.shape[-1], dtype=r.dtype)
        return r * F.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        left = F.pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (partial.log1p() - (-partial).log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        tangents = -2 * (x + F.softplus(-2 * x) - math.log(2.0)).sum(-1)
        return 0.5 * left.log().sum(-1) + tangents

    def forward_shape(self, shape: Any) -> Any:
        _need(shape, 1)
        size = shape[-1]
        n = round((0.25 + 2 * size) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != size:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return torch.Size((*shape[:-1], n, n))

    def inverse_shape(self, shape: Any) -> Any:
        _need(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        n = shape[-1]
        return torch.Size((*shape[:-2], n * (n - 1) // 2))


class SoftmaxTransform(Elementwise):
    """exp(x) / sum exp(x); the inverse is log(y)."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        _need(shape, 1)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        _need(shape, 1)
        return shape


class StickBreakingTransform(Elementwise):
    """n numbers to n + 1 shares: each takes a part of what the ones before left."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _offset(x: Any) -> Any:
        count = x.shape[-1]
        return (count + 1 - x.new_ones(count).cumsum(-1)).log()

    def _call(self, x: Any) -> Any:
        part = clipped_sigmoid(x - self._offset(x))
        left = (1 - part).cumprod(-1)
        return F.pad(part, [0, 1], value=1) * F.pad(left, [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        part = y[..., :-1]
        left = (1 - part.cumsum(-1)).clamp(min=torch.finfo(y.dtype).tiny)
        return part.log() - left.log() + self._offset(part)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._offset(x)
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _need(shape, 1)
        return torch.Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Any) -> Any:
        _need(shape, 1)
        return torch.Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(Elementwise):
    """The lower triangle of a matrix with the exponential of its diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Elementwise):
    """L Lᵀ, L being what :class:`LowerCholeskyTransform` gives."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(torch.linalg.cholesky(y))


class CatTransform(Transform):
    """A transform for each piece along an axis.

    Args:
        tseq: the transforms.
        dim: the axis.
        lengths: of the pieces; 1 by default.
    """

    def __init__(
        self, tseq: Any, dim: int = 0, lengths: Any = None, cache_size: int = 0
    ) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) if cache_size else t for t in tseq]
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})"
            )
        self.dim = dim

    @property
    def event_dim(self) -> Any:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The sum of the lengths."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _pieces(self, x: Any) -> Any:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for tensor with {x.dim()} dimensions"
            )
        if x.size(self.dim) != self.length:
            raise AssertionError(
                f"x.size({self.dim}) = {x.size(self.dim)} must equal length {self.length}"
            )
        return x.split(self.lengths, self.dim)

    def _call(self, x: Any) -> Any:
        pairs = zip(self.transforms, self._pieces(x), strict=True)
        return torch.cat([t(piece) for t, piece in pairs], dim=self.dim)

    def _inverse(self, y: Any) -> Any:
        pairs = zip(self.transforms, self._pieces(y), strict=True)
        return torch.cat([t.inv(piece) for t, piece in pairs], dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        terms = []
        for t, a, b in zip(self.transforms, self._pieces(x), self._pieces(y), strict=True):
            term = t.log_abs_det_jacobian(a, b)
            terms.append(sum_rightmost(term, self.event_dim - t.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return torch.cat(terms, dim=dim) if dim < 0 else sum(terms)

    @property
    def bijective(self) -> Any:
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    """A transform for each slice along an axis.

    Args:
        tseq: the transforms.
        dim: the axis.
    """

    def __init__(self, tseq: Any, dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) if cache_size else t for t in tseq]
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, x: Any) -> Any:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for tensor with {x.dim()} dimensions"
            )
        if x.size(self.dim) != len(self.transforms):
            raise AssertionError(
                f"x.size({self.dim}) = {x.size(self.dim)} must equal len(transforms) "
                f"{len(self.transforms)}"
            )
        return x.unbind(self.dim)

    def _call(self, x: Any) -> Any:
        pairs = zip(self.transforms, self._slices(x), strict=True)
        return torch.stack([t(piece) for t, piece in pairs], dim=self.dim)

    def _inverse(self, y: Any) -> Any:
        pairs = zip(self.transforms, self._slices(y), strict=True)
        return torch.stack([t.inv(piece) for t, piece in pairs], dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        triples = zip(self.transforms, self._slices(x), self._slices(y), strict=True)
        return torch.stack([t.log_abs_det_jacobian(a, b) for t, a, b in triples], dim=self.dim)

    @property
    def bijective(self) -> Any:
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

_own_names(globals())
