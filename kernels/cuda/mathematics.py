"""``exp``, ``log``, ... for an element type on the device, by the names of the scalar module.

On a GPU they are libdevice's, in the type's own precision. In the simulator, where kernels run as
Python on numpy's numbers, they are numpy's (and scipy's), which answer as libdevice does outside of
their domain.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.kernels import scalar

from .launch import SIMULATED, device

_LIBDEVICE = {"_round": "rint"}


def _is_finite(x: Any) -> Any:
    return x - x == 0


def _is_infinite(x: Any) -> Any:
    return (x - x != 0) & (x == x)


def _product_and_sum(x: Any, y: Any, z: Any) -> Any:
    return x * y + z  # which the compiler fuses


def mathematics(dtype: np.dtype[Any]) -> dict[str, Any]:
    """The functions for arithmetic in ``dtype``."""
    own = {"_isfinite": device(_is_finite), "_isinf": device(_is_infinite)}
    own["_fma"] = device(_product_and_sum)
    find = _simulated if SIMULATED else _of_libdevice
    found = {name: find(name, dtype) for name in scalar.MATHEMATICS if name not in own}
    return {**found, **own}


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
        "pow": _power, "round": np.rint,
    }  # fmt: skip
    return names.get(plain) or getattr(np, plain)


def _power(x: Any, y: Any) -> Any:
    return np.power(x, y) if isinstance(x, np.floating) else x**y
