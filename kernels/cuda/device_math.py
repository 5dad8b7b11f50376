"""``exp``, ``log``, ... for an element type on the device, by the names of the scalar module.

On a GPU they are libdevice's, in the type's own precision. In the simulator, where kernels run as
Python on numpy's numbers, they are numpy's (and scipy's), which answer as libdevice does outside of
their domain. Complex numbers have the functions of their parts' type, and cmath's.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.typed_scalar import parts_type
from mindtorch.kernels.scalar import bessel, complex_numbers, real

from .float_bits import load_bfloat16, store_bfloat16
from .launch import SIMULATED, device

_LIBDEVICE = {
    "_round": "rint", "ndtri": "normcdfinv", "bessel_j0": "j0",
    "bessel_j1": "j1", "bessel_y0": "y0", "bessel_y1": "y1",
}  # fmt: skip


def _is_finite(x: Any) -> Any:
    return x - x == 0


def _is_infinite(x: Any) -> Any:
    return (x - x != 0) & (x == x)


def _product_and_sum(x: Any, y: Any, z: Any) -> Any:
    return x * y + z  # which the compiler fuses


def _mantissa(x: Any) -> Any:
    return x if (x - x != 0) | (x == 0) else math.frexp(x)[0]


def _exponent(x: Any) -> Any:
    return 0 if (x - x != 0) | (x == 0) else math.frexp(x)[1]


def _round_bfloat16(x: Any) -> Any:
    return load_bfloat16(store_bfloat16(x))


_OWN: dict[str, Callable[..., Any]] = {
    "_isfinite": _is_finite, "_isinf": _is_infinite, "_fma": _product_and_sum,
    "_round_bfloat16": _round_bfloat16, "frexp_mantissa": _mantissa, "frexp_exponent": _exponent,
}  # fmt: skip


@functools.cache
def mathematics(dtype: np.dtype[Any]) -> dict[str, Any]:
    """The functions for arithmetic in ``dtype``."""
    if dtype.kind == "c":
        return {**mathematics(parts_type(dtype)), **_of_complex(dtype)}
    find = _simulated if SIMULATED else _of_libdevice
    names = (*real.MATHEMATICS, *bessel.SUPPLIED)
    found = {name: find(name, dtype) for name in names if name not in _OWN}
    return {**found, **{name: device(own) for name, own in _OWN.items()}}


def _of_complex(dtype: np.dtype[Any]) -> dict[str, Any]:
    kind = dtype.type

    def made(x: Any, y: Any) -> Any:
        return kind(complex(x, y))

    own = {"_complex": device(made)}
    if not SIMULATED:
        return {**complex_numbers.MATHEMATICS, **own}
    names = {name: name.replace("_ca", "_carc").removeprefix("_c")
             for name in complex_numbers.MATHEMATICS}  # fmt: skip
    return {**{name: getattr(np, plain) for name, plain in names.items()}, **own}


@functools.cache
def kept(dtype: np.dtype[Any]) -> Any:
    """A function whose result is a value of ``dtype`` that is rounded: the compiler would merge a
    product with a sum after it into one operation, which eager ops of their own do not do."""
    kind = dtype.type
    if SIMULATED or dtype.kind != "f":
        return kind
    from numba.cuda import libdevice

    product = libdevice.fmul_rn if dtype == np.float32 else libdevice.dmul_rn

    def value(x: Any) -> Any:
        return product(kind(x), kind(1))

    return device(value)


def _of_libdevice(name: str, dtype: np.dtype[Any]) -> Any:
    from numba.cuda import libdevice

    plain = _LIBDEVICE.get(name, name.lstrip("_"))
    return getattr(libdevice, plain + ("f" if dtype == np.float32 else ""))


def _simulated(name: str, dtype: np.dtype[Any]) -> Any:
    import scipy.special

    plain = name.lstrip("_")
    names = {
        "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
        "atan": np.arctan, "atanh": np.arctanh, "erf": scipy.special.erf,
        "erfc": scipy.special.erfc, "lgamma": scipy.special.gammaln, "atan2": np.arctan2,
        "pow": _power, "round": np.rint, "erfinv": scipy.special.erfinv,
        "erfcx": scipy.special.erfcx, "ndtri": scipy.special.ndtri,
        "bessel_j0": scipy.special.j0, "bessel_j1": scipy.special.j1,
        "bessel_y0": scipy.special.y0, "bessel_y1": scipy.special.y1,
    }  # fmt: skip
    return names.get(plain) or getattr(np, plain)


def _power(x: Any, y: Any) -> Any:
    return np.power(x, y) if isinstance(x, np.floating) else x**y
