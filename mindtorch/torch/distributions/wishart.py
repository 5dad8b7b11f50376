"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from typing import Any

import mindtorch.torch as torch

from . import constraints
from ._gaussian import log_diagonal, scale_of
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .utils import is_number, lazy_property

__all__ = ["Wishart"]


class Wishart(ExponentialFamily):
    """The sum of x xᵀ over ``df`` normal vectors x of mean 0 and covariance C.

    Args:
        df: degrees of freedom, more than the number of rows less one.
        covariance_matrix, precision_matrix, scale_tril: one of C, C⁻¹ and the lower triangle L
            with L Lᵀ = C.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _kept = ("_unbroadcasted_scale_tril",)

    @property
    def arg_constraints(self) -> Any:
        """The least ``df`` depends on the number of rows."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None,
        scale_tril: Any = None, validate_args: Any = None,
    ) -> None:  # fmt: skip
        given = {
            "covariance_matrix": covariance_matrix, "scale_tril": scale_tril,
            "precision_matrix": precision_matrix,
        }  # fmt: skip
        named = [(name, matrix) for name, matrix in given.items() if matrix is not None]
        if len(named) != 1:
            raise AssertionError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        ((name, matrix),) = named
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        self.df, batch = _degrees(df, matrix)
        rows = matrix.shape[-1]
        if bool((self.df <= rows - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {rows - 1}.")
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        if bool((self.df < rows).any()):
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 "
                "< df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_of(name, matrix)
        places = torch.arange(rows, dtype=matrix.dtype)
        self._dist_chi2 = Chi2((self.df.unsqueeze(-1) - places).expand((*batch, rows)))

    def _whole(self, matrix: Any) -> Any:
        return matrix.expand((*self._batch_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Any:
        """L."""
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """C."""
        factor = self._unbroadcasted_scale_tril
        return self._whole(factor @ factor.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        """C⁻¹."""
        factor = self._unbroadcasted_scale_tril
        one = torch.eye(self._event_shape[-1], dtype=factor.dtype)
        return self._whole(torch.cholesky_solve(one, factor))

    @property
    def mean(self) -> Any:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df - self._event_shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, math.nan)
        return factor[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Any:
        own = self.covariance_matrix
        diagonal = own.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df[..., None, None] * (own.pow(2) + products)

    def _draw(self, sample_shape: Any) -> Any:
        """Bartlett's decomposition: chi variates on the diagonal, normal ones below."""
        p = self._event_shape[-1]
        roots = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = roots.clamp(min=torch.finfo(roots.dtype).eps).diag_embed()
        i, j = torch.tril_indices(p, p, offset=-1)
        shape = (*sample_shape, *self._batch_shape, p * (p - 1) // 2)
        below = torch.zeros_like(noise)
        below[..., i, j] = torch.randn(shape, dtype=noise.dtype)
        factor = self._unbroadcasted_scale_tril @ (noise + below)
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Any:
        """Samples; singular ones are drawn anew, ``max_try_correction`` (10) times at most.

        As in PyTorch the samples are drawn twice where the first ones are regular, so that the
        same seed gives the same numbers.
        """
        sample_shape = torch.Size(sample_shape)
        sample = self._draw(sample_shape)
        axes = tuple(range(-len(self._batch_shape), 0))
        anew = self.support.check(sample)
        anew = anew.amax(axes) if axes else anew
        if anew.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(10 if max_try_correction is None else max_try_correction):
            if not anew.any():
                break
            drawn = self._draw(anew[anew].shape)
            sample[anew] = drawn
            singular = ~self.support.check(drawn)
            anew[anew.clone()] = singular.amax(axes) if axes else singular
        return sample

    def log_prob(self, value: Any) -> Any:
        value, nu, p = self._checked(value), self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        factor = factor.expand((*value.shape[:-2], *factor.shape[-2:]))
        trace = torch.cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        own = nu * (p * math.log(2) / 2 + log_diagonal(self._unbroadcasted_scale_tril))
        size = (nu - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet
        return size - own - torch.mvlgamma(nu / 2, p) - trace / 2

    def entropy(self) -> Any:
        nu, p = self.df, self._event_shape[-1]
        steps = torch.arange(p, dtype=nu.dtype) / 2
        slope = (nu.unsqueeze(-1) / 2 - steps).digamma().sum(-1)
        own = p * math.log(2) / 2 + log_diagonal(self._unbroadcasted_scale_tril)
        norm = torch.mvlgamma(nu / 2, p)
        return (p + 1) * own + norm - (nu - p - 1) / 2 * slope + nu * p / 2

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        size = p * math.log(2) - torch.linalg.slogdet(-2 * x).logabsdet
        return half * size + torch.mvlgamma(half, p)


def _degrees(df: Any, matrix: Any) -> tuple[Any, Any]:
    """The degrees of freedom as a tensor, and the batch shape."""
    if is_number(df):
        return torch.tensor(df, dtype=matrix.dtype), torch.Size(matrix.shape[:-2])
    batch = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
    return df.expand(batch), batch
