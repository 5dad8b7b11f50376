"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any

import mindtorch.torch as torch

from . import constraints
from ._gaussian import log_diagonal, matrix_vector, scale_of, scale_of_precision, squared_distance
from .distribution import Distribution
from .utils import lazy_property, standard_normal

__all__ = ["MultivariateNormal"]

# names of torch's that packages import
_batch_mv = matrix_vector
_batch_mahalanobis = squared_distance
_precision_to_scale_tril = scale_of_precision


class MultivariateNormal(Distribution):
    """exp(-(x - loc)ᵀ C⁻¹ (x - loc) / 2) / sqrt(det(2 π C)).

    Args:
        loc: the mean.
        covariance_matrix, precision_matrix, scale_tril: one of C, C⁻¹ and the lower triangle L
            with L Lᵀ = C.

    Raises:
        ValueError: unless exactly one matrix is given, of two axes or more.
    """

    arg_constraints = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    support = constraints.real_vector
    has_rsample = True
    _kept = ("_unbroadcasted_scale_tril",)

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None,
        scale_tril: Any = None, validate_args: Any = None,
    ) -> None:  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {
            "scale_tril": scale_tril, "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
        }  # fmt: skip
        named = [(name, matrix) for name, matrix in given.items() if matrix is not None]
        if len(named) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        ((name, matrix),) = named
        if matrix.dim() < 2:
            shown = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                f"{shown} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch, -1, -1)))
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_of(name, matrix)

    def _whole(self, matrix: Any) -> Any:
        return matrix.expand((*self._batch_shape, *self._event_shape, *self._event_shape))

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
        return self._whole(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        own = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return own.expand((*self._batch_shape, *self._event_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        drawn = standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + matrix_vector(self._unbroadcasted_scale_tril, drawn)

    def log_prob(self, value: Any) -> Any:
        factor = self._unbroadcasted_scale_tril
        distance = squared_distance(factor, self._checked(value) - self.loc)
        size = self._event_shape[0]
        return -0.5 * (size * math.log(2 * math.pi) + distance) - log_diagonal(factor)

    def entropy(self) -> Any:
        size = self._event_shape[0]
        own = 0.5 * size * (1.0 + math.log(2 * math.pi))
        return (own + log_diagonal(self._unbroadcasted_scale_tril)).expand(self._batch_shape)
