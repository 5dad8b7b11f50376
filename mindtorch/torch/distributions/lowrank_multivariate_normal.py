"""The normal distribution of vectors whose covariance is of low rank beside a diagonal."""

from __future__ import annotations

import math
from typing import Any

import mindtorch.torch as torch

from . import constraints
from ._gaussian import log_diagonal, matrix_vector, solve_lower, squared_distance
from .distribution import Distribution
from .utils import lazy_property, standard_normal

__all__ = ["LowRankMultivariateNormal"]


def capacitance_tril(factor: Any, diagonal: Any) -> Any:
    """The Cholesky factor of 1 + Wᵀ D⁻¹ W."""
    inner = (factor.mT / diagonal.unsqueeze(-2)) @ factor
    return torch.linalg.cholesky(inner + torch.eye(factor.size(-1), dtype=factor.dtype))


def log_determinant(diagonal: Any, capacitance: Any) -> Any:
    """log det(D + W Wᵀ), by the determinant lemma."""
    return 2 * log_diagonal(capacitance) + diagonal.log().sum(-1)


def distance_squared(factor: Any, diagonal: Any, x: Any, capacitance: Any) -> Any:
    """xᵀ (D + W Wᵀ)⁻¹ x, by the Woodbury identity."""
    inner = matrix_vector(factor.mT / diagonal.unsqueeze(-2), x)
    return (x.pow(2) / diagonal).sum(-1) - squared_distance(capacitance, inner)


class LowRankMultivariateNormal(Distribution):
    """A normal distribution with covariance D + W Wᵀ.

    Args:
        loc: the mean.
        cov_factor: W, of shape (..., n, m).
        cov_diag: the diagonal of D.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _kept = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(
        self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: Any = None
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = tuple(loc.shape[-1:])
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if tuple(cov_factor.shape[-2:-1]) != event:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event[0]} x m"
            )
        if tuple(cov_diag.shape[-1:]) != event:
            raise ValueError(
                f"cov_diag must be a batch of vectors with shape {loc.shape[-1:]}"
            )
        try:
            batch = torch.broadcast_shapes(
                loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.loc = loc.expand((*batch, *event))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        self.cov_diag = cov_diag.expand((*batch, *event))
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = capacitance_tril(cov_factor, cov_diag)
        super().__init__(batch, event, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        own = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return own.expand((*self._batch_shape, *self._event_shape))

    def _whole(self, matrix: Any) -> Any:
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

    @lazy_property
    def scale_tril(self) -> Any:
        """The Cholesky factor of the covariance."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        one = torch.eye(self._event_shape[0], dtype=scaled.dtype)
        return self._whole(root * torch.linalg.cholesky(scaled @ scaled.mT + one))

    @lazy_property
    def covariance_matrix(self) -> Any:
        """D + W Wᵀ."""
        factor = self._unbroadcasted_cov_factor
        return self._whole(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Any:
        """Its inverse."""
        diagonal = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        inner = solve_lower(self._capacitance_tril, scaled)
        return self._whole(diagonal.reciprocal().diag_embed() - inner.mT @ inner)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        place = (self.loc.dtype, self.loc.device)
        small = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), *place)
        own = standard_normal(shape, *place)
        moved = self.loc + matrix_vector(self._unbroadcasted_cov_factor, small)
        return moved + self._unbroadcasted_cov_diag.sqrt() * own

    def log_prob(self, value: Any) -> Any:
        diagonal, capacitance = self._unbroadcasted_cov_diag, self._capacitance_tril
        distance = distance_squared(
            self._unbroadcasted_cov_factor, diagonal, self._checked(value) - self.loc, capacitance
        )
        size = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (size + log_determinant(diagonal, capacitance) + distance)

    def entropy(self) -> Any:
        own = log_determinant(self._unbroadcasted_cov_diag, self._capacitance_tril)
        size = self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (0.5 * (size + own)).expand(self._batch_shape)
