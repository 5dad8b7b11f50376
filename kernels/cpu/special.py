"""Special functions and complex parts by numpy and scipy, on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def _apply(out: Any, name: str, *arrays: Any) -> None:
    import scipy.special

    kind = np.float32 if out.dtype.itemsize < 4 else out.dtype
    with np.errstate(all="ignore"):
        result = getattr(scipy.special, name)(*[a.astype(kind) for a in arrays])
        out[...] = result.astype(out.dtype)


def erfinv(out: Any, x: Any) -> None:
    """The inverse of erf."""
    _apply(out, "erfinv", x)


def digamma(out: Any, x: Any) -> None:
    """The derivative of log gamma; -inf (inf at -0) at 0, nan at negative whole numbers."""
    _apply(out, "digamma", x)
    zero = x == 0
    if zero.any():
        out[zero] = np.where(np.signbit(x[zero]), np.inf, -np.inf).astype(out.dtype)


def trigamma(out: Any, x: Any) -> None:
    """The derivative of digamma: zeta(2, x), reflected for negative x."""
    import scipy.special

    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        reflected = (np.pi / np.sin(np.pi * wide)) ** 2 - scipy.special.zeta(2.0, 1 - wide)
        out[...] = np.where(wide > 0, scipy.special.zeta(2.0, wide), reflected).astype(out.dtype)


def zeta(out: Any, x: Any, y: Any) -> None:
    """The sum of ``(y + k) ** -x`` over k = 0, 1, ..."""
    _apply(out, "zeta", x, y)


def i0(out: Any, x: Any) -> None:
    """The modified Bessel function of order 0."""
    _apply(out, "i0", x)


def i1(out: Any, x: Any) -> None:
    """The modified Bessel function of order 1."""
    _apply(out, "i1", x)


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
