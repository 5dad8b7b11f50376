"""Kullback-Leibler divergences: KL(p || q) = E_p[log p - log q]."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch.nn import functional as F  # noqa: N812

from ._gaussian import log_diagonal, solve_lower, squared_distance, sum_of_squares
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    distance_squared,
    log_determinant,
)
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import euler_constant, sum_rightmost

__all__ = ["kl_divergence", "register_kl"]

_registry: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}
_found: dict[tuple[type, type], Any] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """A decorator: the function (p, q) computes the divergence for these classes.

    Classes that are no Distribution are taken, as torch takes them: pyro has its own base.

    Args:
        type_p, type_q: classes of distributions.

    Raises:
        TypeError: what is not a class.
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type) and not issubclass(kind, object):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorator(function: Any) -> Any:
        _registry[type_p, type_q] = function
        _found.clear()
        return function

    return decorator


def _nearest(pairs: list[tuple[type, type]], order: tuple[int, int]) -> tuple[type, type]:
    """The pair of the most derived classes, ``order`` saying which of the two counts first."""
    best = pairs[0]
    for pair in pairs[1:]:
        for i in order:
            if pair[i] is not best[i]:
                best = pair if issubclass(pair[i], best[i]) else best
                break
    return best


def _find(type_p: type, type_q: type) -> Any:
    pairs = [(a, b) for a, b in _registry if issubclass(type_p, a) and issubclass(type_q, b)]
    if not pairs:
        return None
    left, right = _nearest(pairs, (0, 1)), _nearest(pairs, (1, 0))
    if _registry[left] is not _registry[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({left[0].__name__}, {right[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _registry[left]


def kl_divergence(p: Any, q: Any) -> Any:
    """E_p[log p(x) - log q(x)], of the batch shape.

    Raises:
        NotImplementedError: where no function is registered for the classes.
    """
    key = type(p), type(q)
    if key not in _found:
        _found[key] = _find(*key)
    if _found[key] is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {key[0].__name__} and q type "
            f"{key[1].__name__}"
        )
    return _found[key](p, q)


# --- one family ------------------------------------------------------------------------------


def _filled(values: Any, where: Any, value: float) -> Any:
    return values.masked_fill(where.expand_as(values), value)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    one = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    one = _filled(_filled(one, q.probs == 0, math.inf), p.probs == 0, 0)
    none = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    none = _filled(_filled(none, q.probs == 1, math.inf), p.probs == 1, 0)
    return one + none


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    a, b, c, d = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    norm = c.lgamma() + d.lgamma() + (a + b).lgamma() - a.lgamma() - b.lgamma() - (c + d).lgamma()
    slopes = (a - c) * a.digamma() + (b - d) * b.digamma()
    return norm + slopes + (c + d - a - b) * (a + b).digamma()


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return _filled(p.total_count * each, p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    terms = _filled(_filled(terms, q.probs == 0, math.inf), p.probs == 0, 0)
    return terms.sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Any:
    norm = p._cont_bern_log_norm() - q._cont_bern_log_norm()
    return p.mean * (p.logits - q.logits) + norm + (-p.probs).log1p() - (-q.probs).log1p()


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    norm = a.sum(-1).lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return norm + ((a - b) * (a.digamma() - a.sum(-1, True).digamma())).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Any:
    """The Bregman divergence of the log normaliser."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot"
            "                             be computed using Bregman divergences"
        )
    own = [x.detach().requires_grad_() for x in p._natural_params]
    normalizer = p._log_normalizer(*own)
    slopes = torch.autograd.grad(normalizer.sum(), own, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for x, y, slope in zip(own, q._natural_params, slopes, strict=True):
        result = result - sum_rightmost((y - x) * slope, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    norm = b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma()
    return norm + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc) / q.scale
    mean = (ratio + 1).lgamma()
    own = distance - ratio.log() + ratio * euler_constant
    return own + (mean - distance).exp() - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale - ratio.log() + ratio * (-distance / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return _filled(result, p.scale < q.scale, math.inf)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return _filled(result, (q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    above = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return above.log() - (4 * p.scale * q.scale).log()


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    result = kl_divergence(p.base_dist, q.base_dist)
    return sum_rightmost(result, p.reinterpreted_batch_ndims)


# --- normal vectors: (log det of q - log det of p + trace(q⁻¹ p) + distance - n) / 2 -----------


def _log_det(d: Any) -> Any:
    if isinstance(d, MultivariateNormal):
        return 2 * log_diagonal(d._unbroadcasted_scale_tril)
    return log_determinant(d._unbroadcasted_cov_diag, d._capacitance_tril)


def _distance(q: Any, x: Any) -> Any:
    if isinstance(q, MultivariateNormal):
        return squared_distance(q._unbroadcasted_scale_tril, x)
    return distance_squared(
        q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, x, q._capacitance_tril)


def _roots(p: Any) -> list[Any]:
    """Matrices whose products with their transposes add up to the covariance."""
    if isinstance(p, MultivariateNormal):
        return [p._unbroadcasted_scale_tril]
    return [p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed()]


def _trace(q: Any, root: Any) -> Any:
    """The trace of q's precision times root rootᵀ."""
    if isinstance(q, MultivariateNormal):
        return sum_of_squares(solve_lower(q._unbroadcasted_scale_tril, root))
    diagonal = q._unbroadcasted_cov_diag
    scaled = q._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
    inner = solve_lower(q._capacitance_tril, scaled) @ root
    return sum_of_squares(root * diagonal.rsqrt().unsqueeze(-1)) - sum_of_squares(inner)


def _vectors(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        low = [isinstance(d, LowRankMultivariateNormal) for d in (p, q)]
        kind = "Low Rank " if all(low) else "(Low Rank) " if any(low) else ""
        raise ValueError(
            f"KL-divergence between two {kind}Multivariate Normals with{' ' * 26}different event "
            "shapes cannot be computed"
        )
    trace = sum(_trace(q, root) for root in _roots(p))
    change = _log_det(q) - _log_det(p)
    return 0.5 * (change + trace + _distance(q, q.loc - p.loc) - p.event_shape[0])


for _p in (MultivariateNormal, LowRankMultivariateNormal):
    for _q in (MultivariateNormal, LowRankMultivariateNormal):
        register_kl(_p, _q)(_vectors)


# --- two families: -entropy(p) - E_p[log q(x)], from a few expectations under p ----------------


def _mean_square(p: Any) -> Any:
    return p.variance + p.mean.pow(2)


def _integral_of_log(x: Any) -> Any:
    return torch.xlogy(x, x) - x


def _mean_log(p: Any) -> Any:
    """E log x."""
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Beta):
        a, b = p.concentration1, p.concentration0
        return a.digamma() - (a + b).digamma()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (_integral_of_log(p.high) - _integral_of_log(p.low)) / (p.high - p.low)


def _mean_exp(p: Any, t: Any) -> Any:
    """E exp(t x)."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate - t)
    if isinstance(p, Gamma):
        return (1 - t / p.rate).pow(-p.concentration)
    if isinstance(p, Normal):
        return (p.loc * t + 0.5 * (p.scale * t).pow(2)).exp()
    return ((t * p.high).exp() - (t * p.low).exp()) / (t * (p.high - p.low))


def _log_normal_density(p: Any, q: Any) -> Any:
    square = _mean_square(p) - 2 * q.loc * p.mean + q.loc.pow(2)
    return -0.5 * square / q.scale.pow(2) - q.scale.log() - 0.5 * math.log(2 * math.pi)


def _log_gamma_density(p: Any, q: Any) -> Any:
    a = q.concentration
    return a * q.rate.log() - a.lgamma() + (a - 1) * _mean_log(p) - q.rate * p.mean


def _log_gumbel_density(p: Any, q: Any) -> Any:
    t = -q.scale.reciprocal()
    shift = q.loc / q.scale
    return shift - p.mean / q.scale - shift.exp() * _mean_exp(p, t) - q.scale.log()


def _log_laplace_density(p: Any, q: Any) -> Any:
    """For normal p: E abs(x - loc) is that of a folded normal variate."""
    d = p.loc - q.loc
    z = d / p.scale
    folded = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.pow(2)).exp()
    folded = folded + d * (math.sqrt(0.5) * z).erf()
    return -(2 * q.scale).log() - folded / q.scale


def _log_beta_density(p: Any, q: Any) -> Any:
    """For uniform p."""
    a, b = q.concentration1, q.concentration0
    width = p.high - p.low
    other = (_integral_of_log(1 - p.low) - _integral_of_log(1 - p.high)) / width
    norm = (a + b).lgamma() - a.lgamma() - b.lgamma()
    return norm + (a - 1) * _mean_log(p) + (b - 1) * other


_LOG_DENSITY: dict[type, Callable[[Any, Any], Any]] = {
    Normal: _log_normal_density,
    Exponential: lambda p, q: q.rate.log() - q.rate * p.mean,
    Gamma: _log_gamma_density,
    Gumbel: _log_gumbel_density,
    Laplace: _log_laplace_density,
    Beta: _log_beta_density,
    ContinuousBernoulli: lambda p, q: (
        p.mean * q.logits + (-q.probs).log1p() + q._cont_bern_log_norm()),
    Uniform: lambda p, q: -(q.high - q.low).log() + 0 * p.mean,
    Pareto: lambda p, q: q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p),
}


def _ends(d: Any) -> tuple[Any, Any]:
    """The least and the largest value of a distribution."""
    if isinstance(d, Uniform):
        return d.low, d.high
    if isinstance(d, (Beta, ContinuousBernoulli)):
        return 0.0, 1.0
    if isinstance(d, Pareto):
        return d.scale, math.inf
    if isinstance(d, (Exponential, Gamma)):
        return 0.0, math.inf
    return -math.inf, math.inf


def _across(p: Any, q: Any) -> Any:
    density = next(_LOG_DENSITY[kind] for kind in type(q).__mro__ if kind in _LOG_DENSITY)
    result = -p.entropy() - density(p, q)
    (low, high), (least, most) = _ends(p), _ends(q)
    low, high = torch.as_tensor(low), torch.as_tensor(high)
    outside = torch.zeros_like(result) + (low < least) + (high > most)
    if {ContinuousBernoulli, Uniform} == {type(p), type(q)}:  # torch's, at equal ends
        outside = outside + (low == least) + (high == most)
    if isinstance(p, Pareto):
        # The moments that the density asks for may not exist.
        outside = outside + (p.alpha <= (2 if isinstance(q, Normal) else 1))
    return result.masked_fill(outside > 0, math.inf)


def _infinite(p: Any, q: Any) -> Any:
    """p has values where q has none."""
    return torch.full_like(p.mean, math.inf)


_FINITE: dict[type, tuple[type, ...]] = {
    Beta: (ContinuousBernoulli, Exponential, Gamma, Normal, Uniform),
    ContinuousBernoulli: (Exponential, Normal, Uniform),
    Exponential: (Gamma, Gumbel, Normal),
    Gamma: (Exponential, Gumbel, Normal),
    Gumbel: (Normal,),
    Laplace: (Normal,),
    Normal: (Gumbel, Laplace),
    Pareto: (Exponential, Gamma, Normal),
    Uniform: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto),
}
_LINE = (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
_INFINITE: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: _LINE, Laplace: _LINE, Normal: _LINE,
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}  # fmt: skip
for _table, _function in ((_FINITE, _across), (_INFINITE, _infinite)):
    for _one, _others in _table.items():
        for _other in _others:
            register_kl(_one, _other)(_function)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)
