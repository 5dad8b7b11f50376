"""Special functions of probability and analysis, elementwise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..dtype_support import unordered, without
from ..dtypes import DType
from ..tensor import constant as c
from .base import Elementwise, LibraryElementwise
from .comparison import equal, less_equal, logical_and, where
from .elementwise import (
    absolute,
    add,
    conj,
    cos,
    divide,
    exp,
    exp2,
    log,
    log1p,
    maximum,
    multiply,
    negative,
    reciprocal,
    sgn,
    sin,
    subtract,
)
from .movement import cast


def lacks(
    kernel: str, *, half: bool = False, whole: bool = True, complex_: bool = False
) -> Callable[[DType], None]:
    """Raise torch's error for half, integer and complex types unless they are allowed."""

    def check(dtype: DType) -> None:
        short = dtype.category == dtypes.FLOAT and dtype.itemsize < 4
        if (
            (dtype.category == dtypes.COMPLEX and not complex_)
            or (short and not half)
            or (dtype.category < dtypes.FLOAT and not whole)
        ):
            kind = dtypes.scalar_type_name(dtype)
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind}'")

    return check


def _in_float32(rule: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``rule`` rounded once, at its end, where the types are half ones."""

    def wide(g: Any, x: Any) -> Any:
        own = x.aval.dtype
        if own.category != dtypes.FLOAT or own.itemsize >= 4:
            return rule(g, x)
        return cast(
            rule(cast(g, dtype=dtypes.float32), cast(x, dtype=dtypes.float32)), dtype=own
        )

    return wide


def _no_derivative(name: str) -> Any:
    """A rule for an input whose derivative torch lacks too."""

    def rule(g: Any) -> Any:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return rule


def _function(name: str, rule: Any, **options: Any) -> Elementwise:
    return Elementwise(name, (rule,), result="float", **options)


def _library(
    name: str, rule: Any, kernel: str = "", *, half: bool = True, **options: Any
) -> Elementwise:
    refuses = lacks(kernel or f"{name}_cpu", half=half)
    return LibraryElementwise(name, (rule,), result="float", refuses=refuses, **options)


def _underived(name: str, **options: Any) -> Elementwise:
    return LibraryElementwise(
        name, arity=1, result="float", refuses=lacks(f"{name}_cpu"), **options
    )


def _polynomial(name: str) -> Elementwise:
    family, kind = name.rsplit("_", 1)
    return Elementwise(
        name, arity=2, result="float", refuses=lacks(f"{family}_polynomial_{kind}_cpu")
    )


def _bell(x: Any) -> Any:
    """2 / sqrt(pi) * exp(-x^2), the derivative of erf."""
    return multiply(exp(negative(multiply(x, x))), c(2 / math.sqrt(math.pi)))


erf = _function("erf", lambda g, x: multiply(g, _bell(x)), dtypes=without("complex", "erf_vml_cpu"))
erfc = _function(
    "erfc", lambda g, x: negative(multiply(g, _bell(x))), dtypes=without("complex", "erfc_vml_cpu")
)
erfinv = _library(
    "erfinv",
    lambda g, out: multiply(
        g, multiply(exp(multiply(out, out)), c(math.sqrt(math.pi) / 2))
    ),
    "erfinv_vml_cpu",
    autocast_cuda="full",
)
lgamma = _function(
    "lgamma", lambda g, x: multiply(g, digamma(x)), dtypes=without("complex", "lgamma_vml_cpu")
)
digamma = _function(
    "digamma",
    _in_float32(lambda g, x: multiply(g, trigamma(x))),
    refuses=lacks("digamma", half=True),
)
# the derivative of digamma
trigamma = _function(
    "trigamma", lambda g, x: negative(multiply(g, multiply(zeta(c(3.0), x), c(2))))
)
# the sum of (y + k)^-x over k >= 0
zeta = LibraryElementwise(
    "zeta",
    (
        _no_derivative("zeta"),
        lambda g, x, y: negative(multiply(g, multiply(x, zeta(add(x, c(1)), y)))),
    ),
    result="float",
)
i0 = _library("i0", lambda g, x: multiply(g, i1(x)), "i0_vml_cpu")


def _beside_zero(x: Any) -> Any:
    """``x`` with 1 in the place of 0: a formula's own derivative must not divide by it."""
    return where(equal(x, c(0)), c(1), x)


i1 = _library(
    "i1",
    lambda g, x, out: multiply(
        g, where(equal(x, c(0)), c(0.5), subtract(i0(x), divide(out, _beside_zero(x))))
    ),
    grad_name="SpecialI1Backward0",
)


# a small difference, which half types would lose
i0e = _library(
    "i0e", _in_float32(lambda g, x: multiply(g, subtract(i1e(x), multiply(sgn(x), i0e(x))))),
    grad_name="SpecialI0EBackward0",
)
i1e = _library(
    "i1e",
    lambda g, x, out: multiply(
        g,
        where(
            equal(x, c(0)),
            c(0.5),
            subtract(i0e(x), multiply(out, add(sgn(x), reciprocal(_beside_zero(x))))),
        ),
    ),
    grad_name="SpecialI1EBackward0",
)
erfcx = _library(
    "erfcx",
    lambda g, x, out: multiply(
        g, subtract(multiply(multiply(x, c(2.0)), out), c(2 / math.sqrt(math.pi)))
    ),
    half=False,
    grad_name="SpecialErfcxBackward0",
)
ndtr = _function(
    "ndtr",
    lambda g, x: multiply(
        g, multiply(exp(multiply(multiply(x, x), c(-0.5))), c(1 / math.sqrt(2 * math.pi)))
    ),
    refuses=lacks("erf_vml_cpu", half=True),
)
log_ndtr = _library(
    "log_ndtr",
    lambda g, x: multiply(
        divide(g, erfcx(multiply(x, c(-math.sqrt(0.5))))), c(math.sqrt(2 / math.pi))
    ),
    half=False,
    grad_name="SpecialLogNdtrBackward0",
)
ndtri = _library(
    "ndtri",
    lambda g, out: multiply(
        multiply(g, c(math.sqrt(2 * math.pi))), exp(multiply(multiply(out, out), c(0.5)))
    ),
    half=False,
    grad_name="SpecialNdtriBackward0",
)
entr = _library(
    "entr", lambda g, x: multiply(g, negative(add(log(x), c(1)))),
    grad_name="SpecialEntrBackward0",
)


def _gamma_density(g: Any, x: Any, y: Any) -> Any:
    """``y^(x - 1) exp(-y) / gamma(x)``."""
    exponent = subtract(subtract(multiply(subtract(x, c(1)), log(y)), y), lgamma(x))
    return multiply(g, exp(exponent))


# the regularised incomplete gamma functions of shape x at y
igamma = LibraryElementwise(
    "igamma",
    (_no_derivative("igamma: input"), _gamma_density),
    refuses=lacks("igamma_cpu", half=True, whole=False),
)
igammac = LibraryElementwise(
    "igammac",
    (_no_derivative("igammac: input"), lambda g, x, y: negative(_gamma_density(g, x, y))),
    refuses=lacks("igammac_cpu", half=True, whole=False),
)

# x = mantissa * 2^exponent
frexp_mantissa = LibraryElementwise(
    "frexp_mantissa",
    (lambda g, x: divide(g, exp2(cast(frexp_exponent(x), dtype=x.aval.dtype))),),
    grad_name="FrexpBackward0",
)


class _Exponent(LibraryElementwise):
    """Its results are int32."""

    def types(self, avals: Any) -> Any:
        return avals[0].dtype, dtypes.int32


frexp_exponent = _Exponent("frexp_exponent", arity=1)

# without derivatives, as in torch
airy_ai = _underived("airy_ai")
bessel_j0 = _underived("bessel_j0")
bessel_j1 = _underived("bessel_j1")
bessel_y0 = _underived("bessel_y0")
bessel_y1 = _underived("bessel_y1")
modified_bessel_i0 = _underived("modified_bessel_i0", scalar="i0")
modified_bessel_i1 = _underived("modified_bessel_i1", scalar="i1")
modified_bessel_k0 = _underived("modified_bessel_k0")
modified_bessel_k1 = _underived("modified_bessel_k1")
scaled_modified_bessel_k0 = _underived("scaled_modified_bessel_k0")
scaled_modified_bessel_k1 = _underived("scaled_modified_bessel_k1")
spherical_bessel_j0 = _underived("spherical_bessel_j0")
# polynomials in x of degree y
chebyshev_t = _polynomial("chebyshev_t")
chebyshev_u = _polynomial("chebyshev_u")
chebyshev_v = _polynomial("chebyshev_v")
chebyshev_w = _polynomial("chebyshev_w")
shifted_chebyshev_t = _polynomial("shifted_chebyshev_t")
shifted_chebyshev_u = _polynomial("shifted_chebyshev_u")
shifted_chebyshev_v = _polynomial("shifted_chebyshev_v")
shifted_chebyshev_w = _polynomial("shifted_chebyshev_w")
hermite_h = _polynomial("hermite_h")
hermite_he = _polynomial("hermite_he")
laguerre_l = _polynomial("laguerre_l")
legendre_p = _polynomial("legendre_p")


def _sinc_slope(g: Any, x: Any) -> Any:
    turned = multiply(x, c(math.pi))
    slope = divide(
        subtract(multiply(turned, cos(turned)), sin(turned)),
        multiply(multiply(x, x), c(math.pi)),
    )
    # where the square of x is too small for its type as well
    return where(equal(multiply(x, x), c(0)), c(0), multiply(g, conj(slope)))


# sin(pi x) / (pi x)
sinc = _function("sinc", _sinc_slope)


def _xlogy_log(g: Any, x: Any, y: Any) -> Any:
    silent = logical_and(equal(x, c(0)), less_equal(y, c(0)))
    return where(silent, c(0), multiply(g, log(y)))


def _by_number(name: str) -> Callable[[Any, Any], str]:
    """The name of a node of two operands, which ends in 1 or 2 where one of them is a number."""

    def of(avals: Any, params: Any) -> str:
        numbers = [a.weak and not a.shape for a in avals]
        return f"{name}{numbers.index(True) + 1 if any(numbers) else 0}"

    return of


# x * log(y), 0 where x is 0
xlogy = Elementwise(
    "xlogy", (_xlogy_log, lambda g, x, y: divide(multiply(g, x), y)), result="float",
    grad_name=_by_number("XlogyBackward"), dtypes=without("complex", "xlogy_cpu"),
)
xlog1py = Elementwise(
    "xlog1py",
    (
        lambda g, x, y: where(
            logical_and(equal(x, c(0)), less_equal(y, c(-1))),
            c(0),
            multiply(g, log1p(y)),
        ),
        lambda g, x, y: divide(multiply(g, x), add(y, c(1))),
    ),
    result="float",
    grad_name=_by_number("SpecialXlog1PyBackward"),
)


def _cross_entropy_slope(g: Any, x: Any, y: Any) -> Any:
    """Finite at x = 0 and x = 1, so that saturated predictions are still pushed back."""
    spread = maximum(multiply(subtract(c(1), x), x), c(1e-12))
    return divide(multiply(g, subtract(x, y)), spread)


# -(y log(x) + (1 - y) log(1 - x)), logarithms not below -100
binary_cross_entropy = Elementwise(
    "binary_cross_entropy",
    (
        _cross_entropy_slope,
        lambda g, x: multiply(g, subtract(log1p(negative(x)), log(x))),
    ),
    result="float",
    dtypes=without("complex", "binary_cross_entropy"),
)
# log(x / (1 - x))
logit = Elementwise(
    "logit",
    (
        lambda g, x: where(
            logical_and(less_equal(c(0), x), less_equal(x, c(1))),
            divide(g, absolute(multiply(x, subtract(c(1), x)))),  # of -0 as of 0
            c(math.nan),
        ),
    ),
    result="float",
    dtypes=without("complex", "logit_cpu"),
)
logaddexp = Elementwise(
    "logaddexp",
    (
        lambda g, x, y: divide(g, conj(add(exp(subtract(y, x)), c(1)))),
        lambda g, x, y: divide(g, conj(add(exp(subtract(x, y)), c(1)))),
    ),
    refuses=lacks("logaddexp_cpu", half=True, whole=False, complex_=True),
)
logaddexp2 = Elementwise(
    "logaddexp2",
    (
        lambda g, x, y: divide(g, add(exp2(subtract(y, x)), c(1))),
        lambda g, x, y: divide(g, add(exp2(subtract(x, y)), c(1))),
    ),
    refuses=lacks("logaddexp2_cpu", half=True, whole=False),
)


def _no_step(g: Any) -> Any:
    raise RuntimeError("derivative for aten::heaviside is not implemented")


heaviside = Elementwise(
    "heaviside",
    (_no_step, _no_step),
    dtypes=unordered("heaviside is not yet implemented for complex tensors."),
)


def _nan_to_num_rule(g: Any, x: Any) -> Any:
    usual = logical_and(equal(x, x), equal(subtract(x, x), c(0)))
    return where(usual, g, c(0))


# x with nan, inf and -inf replaced by y, z, w
nan_to_num = Elementwise("nan_to_num", (_nan_to_num_rule, None, None, None))
