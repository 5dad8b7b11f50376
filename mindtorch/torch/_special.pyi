"""torch.special's functions that are made from ops.

Made by `python -m mindtorch.tools.docs.stubs`.
"""

# mypy: disable-error-code="overload-cannot-match,overload-overlap"

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import overload as _overload

from mindtorch.engine.dtypes import DType as _DType
from mindtorch.torch._tensor.tensor import Tensor as Tensor

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t",
    "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr",
    "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammainc", "gammaincc", "gammaln",
    "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e", "i1", "i1e",
    "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax", "logit",
    "logsumexp", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
    "modified_bessel_k1", "ndtri", "polygamma", "psi", "round", "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "sinc", "softmax",
    "spherical_bessel_j0", "xlog1py", "xlogy", "zeta",
]

def airy_ai(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """The Airy function Ai."""

def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """The Bessel function of the first kind of order 0."""

def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """The Bessel function of the first kind of order 1."""

def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """The Bessel function of the second kind of order 0."""

def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """The Bessel function of the second kind of order 1."""

def chebyshev_polynomial_t(input: Tensor, n: _Any, *, out: Tensor | None = None) -> _Any:
    """The chebyshev polynomial t of degree ``n`` at ``input``: 0 for ``n`` below 0, ``n`` cut to a whole number."""

def chebyshev_polynomial_u(input: Tensor, n: _Any, *, out: Tensor | None = None) -> _Any:
    """The chebyshev polynomial u of degree ``n`` at ``input``: 0 for ``n`` below 0, ``n`` cut to a whole number."""

def chebyshev_polynomial_v(input: Tensor, n: _Any, *, out: Tensor | None = None) -> _Any:
    """The chebyshev polynomial v of degree ``n`` at ``input``: 0 for ``n`` below 0, ``n`` cut to a whole number."""

def chebyshev_polynomial_w(input: Tensor, n: _Any, *, out: Tensor | None = None) -> _Any:
    """The chebyshev polynomial w of degree ``n`` at ``input``: 0 for ``n`` below 0, ``n`` cut to a whole number."""

def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of log gamma."""

def entr(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """``-x log(x)``: 0 at 0 and -inf below."""

def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to x."""

def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``1 - erf(x)``."""

def erfcx(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """``exp(x**2) erfc(x)``."""

def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of erf."""

def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``2**x``."""

def expit(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """``1 / (1 + exp(-x))``."""

def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(x) - 1``."""

def gammainc(input: Tensor, other: _Any, *, out: Tensor | None = None) -> _Any:
    """``1 / gamma(a)`` times the integral of ``t**(a-1) exp(-t)`` from 0 to ``other``."""

def gammaincc(input: Tensor, other: _Any, *, out: Tensor | None = None) -> _Any:
    """``1 / gamma(a)`` times the integral of ``t**(a-1) exp(-t)`` from ``other`` on."""

def gammaln(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """The logarithm of the absolute value of gamma."""

def hermite_polynomial_h(input: Tensor, n: _Any, *, out: Tensor | None = None) -> _Any:
    """The hermite polynomial h of degree ``n`` at ``input``: 0 for ``n`` below 0, ``n`` cut to a whole number."""

def hermite_polynomial_he(input: Tensor, n: _Any, *, out: Tensor | None = None) -> _Any:
    """The hermite polynomial he of degree ``n`` at ``input``: 0 for ``n`` below 0, ``n`` cut to a whole number."""

def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind of order 0."""

def i0e(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """``exp(-|x|) i0(x)``."""

def i1(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """The modified Bessel function of the first kind of order 1."""

def i1e(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """``exp(-|x|) i1(x)``."""

def laguerre_polynomial_l(input: Tensor, n: _Any, *, out: Tensor | None = None) -> _Any:
    """The laguerre polynomial l of degree ``n`` at ``input``: 0 for ``n`` below 0, ``n`` cut to a whole number."""

def legendre_polynomial_p(input: Tensor, n: _Any, *, out: Tensor | None = None) -> _Any:
    """The legendre polynomial p of degree ``n`` at ``input``: 0 for ``n`` below 0, ``n`` cut to a whole number."""

def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log(1 + x)``."""

def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """The logarithm of the normal distribution function."""

def log_softmax(input: Tensor, dim: _int, dtype: _DType | type | None = None, *, out: Tensor | None = None) -> Tensor:
    """``x - log(sum(exp(x)))`` along ``dim``, of ``x`` cast to ``dtype``."""

def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """``log(x / (1 - x))`` of ``input``, kept within ``[eps, 1 - eps]`` when ``eps`` is given."""

def logsumexp(input: Tensor, dim: _Sequence[_int] | _int, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """``log(sum(exp(input)))``."""

def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """The modified Bessel function of the first kind of order 0."""

def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """The modified Bessel function of the first kind of order 1."""

def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """The modified Bessel function of the second kind of order 0."""

def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """The modified Bessel function of the second kind of order 1."""

def ndtri(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """The inverse of the normal distribution function."""

def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The ``n``-th derivative of digamma."""

def psi(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """The derivative of log gamma."""

@_overload
def round(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """To the nearest number with ``decimals`` places, halves to the even one."""
@_overload
def round(input: Tensor, *, decimals: _int, out: Tensor | None = None) -> Tensor: ...

def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """``exp(x)`` times modified_bessel_k0."""

def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """``exp(x)`` times modified_bessel_k1."""

def shifted_chebyshev_polynomial_t(input: Tensor, n: _Any, *, out: Tensor | None = None) -> _Any:
    """The shifted chebyshev polynomial t of degree ``n`` at ``input``: 0 for ``n`` below 0, ``n`` cut to a whole number."""

def shifted_chebyshev_polynomial_u(input: Tensor, n: _Any, *, out: Tensor | None = None) -> _Any:
    """The shifted chebyshev polynomial u of degree ``n`` at ``input``: 0 for ``n`` below 0, ``n`` cut to a whole number."""

def shifted_chebyshev_polynomial_v(input: Tensor, n: _Any, *, out: Tensor | None = None) -> _Any:
    """The shifted chebyshev polynomial v of degree ``n`` at ``input``: 0 for ``n`` below 0, ``n`` cut to a whole number."""

def shifted_chebyshev_polynomial_w(input: Tensor, n: _Any, *, out: Tensor | None = None) -> _Any:
    """The shifted chebyshev polynomial w of degree ``n`` at ``input``: 0 for ``n`` below 0, ``n`` cut to a whole number."""

def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``sin(pi x) / (pi x)``, 1 at 0."""

def softmax(input: Tensor, dim: _int, dtype: _DType | type | None = None, *, out: Tensor | None = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along ``dim``, of ``x`` cast to ``dtype``."""

def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> _Any:
    """``sin(x) / x``, 1 at 0."""

def xlog1py(input: Tensor, other: _Any, *, out: Tensor | None = None) -> _Any:
    """``input * log(1 + other)``, 0 where ``input`` is 0."""

@_overload
def xlogy(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``input * log(other)``, 0 where ``input`` is 0."""
@_overload
def xlogy(self: _float | _complex, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@_overload
def xlogy(input: Tensor, other: _float | _complex, *, out: Tensor | None = None) -> Tensor: ...

def zeta(input: Tensor, other: _Any, *, out: Tensor | None = None) -> _Any:
    """The sum of ``(other + k) ** -input`` over k = 0, 1, ..."""
