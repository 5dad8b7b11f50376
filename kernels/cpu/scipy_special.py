"""Special functions and complex parts by numpy and scipy, on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cat_flip_roll_pad import dense
from .scalar_math.erfinv import erfinv32


def _apply(out: Any, name: str, *arrays: Any) -> None:
    import scipy.special

    kind = np.float32 if out.dtype.itemsize < 4 else out.dtype
    with np.errstate(all="ignore"):
        result = getattr(scipy.special, name)(*[a.astype(kind) for a in arrays])
        out[...] = result.astype(out.dtype)


def erfinv(out: Any, x: Any) -> None:
    """The inverse of erf, rounded once to half types; float32 as PyTorch's library rounds it."""
    if out.dtype == np.float32:
        result = np.empty(x.size, np.float32)
        erfinv32(result, np.ascontiguousarray(x, np.float32).reshape(-1))
        out[...] = result.reshape(x.shape)
    else:
        with np.errstate(invalid="ignore"):  # outside, scipy takes a microsecond for each nan
            inside = np.abs(x) <= 1
        _apply(out, "erfinv", np.where(inside, x, np.array(np.nan, x.dtype)))
        np.copysign(out, x, out=out)


def _erfinv_plan(outs: Any, ins: Any) -> Any:
    (x,) = ins
    known = x.dtype == outs[0].dtype == np.float32 and dense(x) and dense(outs[0])
    return erfinv32 if known else None


erfinv.plan = _erfinv_plan


def zeta(out: Any, x: Any, y: Any) -> None:
    """The sum of ``(y + k) ** -x`` over k = 0, 1, ..."""
    _apply(out, "zeta", x, y)


def spherical_bessel_j0(out: Any, x: Any) -> None:
    """``sin(x) / x``, 1 at 0 and 0 at infinity."""
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        value = np.where(wide == 0, 1.0, np.sin(wide) / wide)
        out[...] = np.where(np.isinf(wide), 0.0, value).astype(out.dtype)


def igamma(out: Any, a: Any, x: Any) -> None:
    """The regularised lower incomplete gamma function; its limits where PyTorch sees no nan."""
    _incomplete_gamma(out, "gammainc", a, x, 0)


def igammac(out: Any, a: Any, x: Any) -> None:
    """The regularised upper incomplete gamma function; its limits as :func:`igamma`'s."""
    _incomplete_gamma(out, "gammaincc", a, x, 1)


def _incomplete_gamma(out: Any, name: str, a: Any, x: Any, at_zero: int) -> None:
    _apply(out, name, a, x)
    a, x = np.broadcast_arrays(a, x)
    zero = (np.isnan(a) & (x == 0)) | (np.isposinf(a) & np.isnan(x))
    out[zero] = at_zero
    out[np.isnan(a) & np.isposinf(x)] = 1 - at_zero


def airy_ai(out: Any, x: Any) -> None:
    """Airy's function Ai; nan at infinity."""
    import scipy.special

    with np.errstate(all="ignore"):
        value = scipy.special.airy(x.astype(np.float64))[0]
    out[...] = np.where(np.isinf(x), np.nan, value).astype(out.dtype)


def _parts(x: Any) -> Any:
    wide = x.astype(np.float32) if x.dtype.itemsize < 4 else x
    return np.frexp(wide)


def frexp_mantissa(out: Any, x: Any) -> None:
    """``x`` over the power of two that brings its size into [1/2, 1)."""
    out[...] = _parts(x)[0].astype(out.dtype)


def frexp_exponent(out: Any, x: Any) -> None:
    """The exponent of that power; 0 for 0, infinities and nan."""
    out[...] = np.where(np.isfinite(x), _parts(x)[1], 0)


def _from_scipy(own: str, name: str, meaning: str) -> None:
    """Make the array function ``own`` of scipy's ``name``."""

    def function(out: Any, *arrays: Any) -> None:
        _apply(out, name, *arrays)

    function.__name__ = function.__qualname__ = own
    function.__doc__ = meaning
    globals()[own] = function


for _own, _name, _meaning in (
    ("i0", "i0", "The modified Bessel function of the first kind and order 0."),
    ("i1", "i1", "The modified Bessel function of the first kind and order 1."),
    ("i0e", "i0e", "``exp(-abs(x)) i0(x)``."),
    ("i1e", "i1e", "``exp(-abs(x)) i1(x)``."),
    ("bessel_j0", "j0", "The Bessel function of the first kind and order 0."),
    ("bessel_j1", "j1", "The Bessel function of the first kind and order 1."),
    ("bessel_y0", "y0", "The Bessel function of the second kind and order 0."),
    ("bessel_y1", "y1", "The Bessel function of the second kind and order 1."),
    ("modified_bessel_k0", "k0", "The modified Bessel function of the second kind and order 0."),
    ("modified_bessel_k1", "k1", "The modified Bessel function of the second kind and order 1."),
    ("scaled_modified_bessel_k0", "k0e", "``exp(x) k0(x)``."),
    ("scaled_modified_bessel_k1", "k1e", "``exp(x) k1(x)``."),
    ("erfcx", "erfcx", "``exp(x^2) erfc(x)``."),
    ("log_ndtr", "log_ndtr", "The logarithm of the normal distribution's function."),
    ("ndtri", "ndtri", "The inverse of the normal distribution's function."),
    ("entr", "entr", "``-x log(x)``, 0 at 0, -inf below."),
):
    _from_scipy(_own, _name, _meaning)


def conj(out: Any, x: Any) -> None:
    """The complex conjugate."""
    np.conjugate(x, out=out)


def real(out: Any, x: Any) -> None:
    """The real part."""
    out[...] = x.real


def imag(out: Any, x: Any) -> None:
    """The imaginary part."""
    out[...] = x.imag


def angle(out: Any, x: Any) -> None:
    """The argument of a number; nan stays."""
    if x.dtype.kind == "c":
        out[...] = np.angle(x)
    else:
        out[...] = np.where(np.isnan(x), x, np.where(x < 0, np.pi, 0)).astype(out.dtype)


def make_complex(out: Any, x: Any, y: Any) -> None:
    """``x + i y``."""
    out.real = x
    out.imag = y


def split_complex(out: Any, x: Any) -> None:
    """Real and imaginary part along a last axis."""
    out[..., 0] = x.real
    out[..., 1] = x.imag


def join_complex(out: Any, x: Any) -> None:
    """The inverse of :func:`split_complex`."""
    out.real = x[..., 0]
    out.imag = x[..., 1]
