"""torch.special: special functions, most of them under torch's own name too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mindtorch.engine.ops import elementwise_special as ops
from mindtorch.engine.tensor import Tensor

from ._registry import FUNCTIONS, binary_function, unary_function

_NAMES = {
    "digamma": "digamma", "psi": "digamma", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv",
    "exp2": "exp2", "expit": "sigmoid", "expm1": "expm1", "gammaln": "lgamma", "i0": "i0",
    "gammainc": "igamma", "gammaincc": "igammac", "log1p": "log1p", "logit": "logit",
    "logsumexp": "logsumexp", "multigammaln": "mvlgamma", "polygamma": "polygamma",
    "round": "round", "sinc": "sinc", "xlogy": "xlogy",
}  # fmt: skip
# functions of one number that are here alone
_UNARY = ("entr", "erfcx", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri")
# those whose results have no derivative, as in torch
_CONSTANT = (
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0",
    "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1", "spherical_bessel_j0",
)  # fmt: skip
# polynomials(x, degree), by the names of the ops; they have none either
_POLYNOMIALS = {
    "chebyshev_polynomial_t": "chebyshev_t", "chebyshev_polynomial_u": "chebyshev_u",
    "chebyshev_polynomial_v": "chebyshev_v", "chebyshev_polynomial_w": "chebyshev_w",
    "hermite_polynomial_h": "hermite_h", "hermite_polynomial_he": "hermite_he",
    "laguerre_polynomial_l": "laguerre_l", "legendre_polynomial_p": "legendre_p",
    "shifted_chebyshev_polynomial_t": "shifted_chebyshev_t",
    "shifted_chebyshev_polynomial_u": "shifted_chebyshev_u",
    "shifted_chebyshev_polynomial_v": "shifted_chebyshev_v",
    "shifted_chebyshev_polynomial_w": "shifted_chebyshev_w",
}  # fmt: skip


def _without_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def body(*inputs: Any, out: Any = None) -> Any:
        return function(*[x.detach() if isinstance(x, Tensor) else x for x in inputs], out=out)

    return body


def _fill() -> None:
    space = globals()
    for own, name in _NAMES.items():
        space[own] = FUNCTIONS[name]
    for name in (*_UNARY, *_CONSTANT):
        space[name] = unary_function(f"special_{name}", getattr(ops, name))
    for own, name in {**_POLYNOMIALS, "xlog1py": "xlog1py", "zeta": "zeta"}.items():
        space[own] = binary_function(f"special_{own}", getattr(ops, name), "one", True)
    for name in (*_CONSTANT, *_POLYNOMIALS):
        space[name] = _without_gradient(space[name])


_fill()


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:  # noqa: A002
    """``exp(x) / sum(exp(x))`` along ``dim``."""
    return FUNCTIONS["softmax"](input, dim, dtype=dtype)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:  # noqa: A002
    """``x - log(sum(exp(x)))`` along ``dim``."""
    return FUNCTIONS["log_softmax"](input, dim, dtype=dtype)
