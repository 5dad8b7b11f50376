"""Samplers that need more than the namespace has: gamma, Dirichlet and binomial variates."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

import mindtorch.torch as torch
from mindtorch.torch.autograd import Function
from mindtorch.torch.autograd.function import once_differentiable
from mindtorch.torch.functions.random import generator_of

from .._tensor.generator import default_generator

__all__ = ["binomial", "dirichlet", "regularized_gamma", "standard_gamma"]


def _tensor(array: Any, like: Any) -> Any:
    return torch.from_numpy(np.array(array, order="C")).to(like.dtype)


def _in_double(tensor: Any) -> Any:
    return np.asarray(tensor.detach().double().numpy())


def _slope(function: Any, a: Any) -> Any:
    """d function / d a by central differences of fourth order, about 1e-9 of the value."""
    h = 1e-3 * np.maximum(a, 1e-2)
    h = np.minimum(h, a / 4)
    near = function(a + h) - function(a - h)
    far = function(a + 2 * h) - function(a - 2 * h)
    return (8 * near - far) / (12 * h)


def gamma_slope(sample: Any, concentration: Any) -> Any:
    """How a gamma variate moves with its concentration, its quantile held:

    -(dF/da) / (dF/dx) of the distribution function F(a, x).
    """
    with np.errstate(all="ignore"):
        density = np.exp(
            (concentration - 1) * np.log(sample) - sample - special.gammaln(concentration)
        )
        slope = -_slope(lambda a: special.gammainc(a, sample), concentration) / density
        # Far in the left tail F is x^a / (a Gamma(a)), whose slope is known.
        tail = (special.digamma(concentration + 1) - np.log(sample)) * sample / concentration
        return np.where((sample < 1e-100) | ~np.isfinite(slope), tail, slope)


def beta_slope(x: Any, a: Any, b: Any) -> Any:
    """How a beta variate moves with ``a``, its quantile held."""
    with np.errstate(all="ignore"):
        density = np.exp(
            (a - 1) * np.log(x) + (b - 1) * np.log1p(-x) - special.betaln(a, b)
        )
        slope = -_slope(lambda a_: special.betainc(a_, b, x), a) / density
        edge = x * (special.digamma(a + 1) - special.digamma(a + b) - np.log(x)) / a
        return np.where((x < 1e-100) | ~np.isfinite(slope), edge, slope)


class _StandardGamma(Function):
    _node_name = "StandardGammaBackward0"

    @staticmethod
    def forward(ctx: Any, concentration: Any, generator: Any) -> Any:
        alphas = concentration.detach().numpy()
        drawn = generator_of(generator).standard_gamma(
            np.empty(alphas.shape, alphas.dtype), alphas
        )
        result = torch.from_numpy(drawn)
        ctx.save_for_backward(result, concentration)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> tuple[Any, None]:
        sample, concentration = ctx.saved_tensors
        slope = gamma_slope(_in_double(sample), _in_double(concentration))
        return grad * _tensor(slope, grad), None


class _Dirichlet(Function):
    @staticmethod
    def forward(ctx: Any, concentration: Any, generator: Any) -> Any:
        alphas = _in_double(concentration)
        drawn = generator_of(generator).standard_gamma(np.empty(alphas.shape), alphas)
        limits = torch.finfo(concentration.dtype)
        shares = _tensor(drawn / drawn.sum(-1, keepdims=True), concentration)
        result = shares.clamp(min=limits.tiny, max=1 - limits.eps / 2)
        ctx.save_for_backward(result, concentration)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> tuple[Any, None]:
        x, concentration = ctx.saved_tensors
        share, a = _in_double(x), _in_double(concentration)
        # One share is a beta variate; the others shrink in proportion when it grows.
        slope = beta_slope(share, a, a.sum(-1, keepdims=True) - a) / (1 - share)
        return _tensor(slope, grad) * (grad - (x * grad).sum(-1, keepdim=True)), None


class _RegularizedGamma(Function):
    _node_name = "IgammaBackward0"

    @staticmethod
    def forward(ctx: Any, a: Any, x: Any) -> Any:
        ctx.save_for_backward(a, x)
        return _tensor(special.gammainc(_in_double(a), _in_double(x)), x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        a, x = ctx.saved_tensors
        shape, value = _in_double(a), _in_double(x)
        with np.errstate(all="ignore"):
            logarithm = (shape - 1) * np.log(value) - value - special.gammaln(shape)
            by_shape = _slope(lambda s: special.gammainc(s, value), shape)
        return grad * _tensor(by_shape, grad), grad * _tensor(np.exp(logarithm), grad)


def regularized_gamma(a: Any, x: Any) -> Any:
    """P(a, x), the distribution function of gamma variates; differentiable by both."""
    a, x = torch.broadcast_tensors(a, x)
    return _RegularizedGamma.apply(a, x)


def standard_gamma(concentration: Any) -> Any:
    """Gamma variates of rate 1; their gradient is that of the quantile."""
    return _StandardGamma.apply(concentration, None)


def _standard_gamma(concentration: Any, generator: Any = None) -> Any:
    """torch._standard_gamma: as :func:`standard_gamma`, from a generator that can be named."""
    return _StandardGamma.apply(concentration, generator)


def dirichlet(concentration: Any) -> Any:
    """Dirichlet variates along the last axis, from gamma variates in double precision."""
    return _Dirichlet.apply(concentration, None)


def _sample_dirichlet(concentration: Any, generator: Any = None) -> Any:
    """torch._sample_dirichlet: as :func:`dirichlet`, from a generator that can be named."""
    return _Dirichlet.apply(concentration, generator)


def binomial(count: Any, probs: Any, generator: Any = None) -> Any:
    """Binomial variates of ``count`` trials; without gradients."""
    counts, p = count.detach().numpy(), probs.detach().numpy()
    draws = default_generator if generator is None else generator
    drawn = draws.binomial(np.empty(counts.shape, counts.dtype), counts, p)
    return torch.from_numpy(drawn)
