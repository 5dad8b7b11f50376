"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine.dtypes import bool_

from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]

# Polynomials of Abramowitz and Stegun, 9.8.1 to 9.8.4: I_n(x) / x^n in (x / 3.75)² below 3.75,
# and sqrt(x) exp(-x) I_n(x) in 3.75 / x above.
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
)
_LARGE = (
    (0.39894228, 0.1328592e-1, 0.225319e-2, -0.157565e-2, 0.916281e-2, -0.2057706e-1,
     0.2635537e-1, -0.1647633e-1, 0.392377e-2),
    (0.39894228, -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1, 0.2282967e-1,
     -0.2895312e-1, 0.1787654e-1, -0.420059e-2),
)  # fmt: skip


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    result: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        result = c + x * result
    return result


def log_bessel(x: Any, order: int) -> Any:
    """log I_order(x) for x > 0."""
    small = _polynomial((x / 3.75) ** 2, _SMALL[order])
    small = (x.abs() * small if order == 1 else small).log()
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return small.where(x < 3.75, large)


class VonMises(Distribution):
    """exp(concentration cos(x - loc)) / (2 π I0(concentration)), for angles.

    Args:
        loc, concentration: numbers or tensors.
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: Any = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        loc, concentration = (v.expand(batch_shape) for v in (self.loc, self.concentration))
        return type(self)(loc, concentration, self._validate_args)

    def log_prob(self, value: Any) -> Any:
        near = self.concentration * (self._checked(value) - self.loc).cos()
        return near - math.log(2 * math.pi) - log_bessel(self.concentration, 0)

    def _proposal(self, kappa: Any) -> Any:
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return (1 / kappa + kappa).where(kappa < 1e-5, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Any = ()) -> Any:
        """By rejection from a wrapped Cauchy distribution, in double precision."""
        with torch.no_grad():
            shape = self._extended_shape(sample_shape)
            loc, kappa = self.loc.double(), self.concentration.double()
            r = self._proposal(kappa)
            x = torch.empty(shape, dtype=torch.float64)
            done = torch.zeros(shape, dtype=bool_)
            while not done.all():
                u1, u2, u3 = torch.rand((3, *shape), dtype=torch.float64).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
                x = ((u3 - 0.5).sign() * f.acos()).where(accept, x)
                done = done | accept
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @lazy_property
    def variance(self) -> Any:
        """1 - I1 / I0: the circular variance."""
        k = self.concentration
        return 1 - (log_bessel(k, 1) - log_bessel(k, 0)).exp()
