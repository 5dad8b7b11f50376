"""Functions of analysis and parts of complex numbers for CUDA: elementwise loops.

    picture   one thread for each element (see ``elementwise``)
    memory    no shared memory; parts of complex numbers are copied as words side by side
    sync      none
    sizes     any
Real numbers are computed with in float64, by ``kernels.scalar_bessel`` and libdevice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.typed_scalar import parts_type

from . import arrays
from .elementwise import plan

_DOUBLE = np.dtype(np.float64)


def _by_scalar(name: str) -> Callable[..., None]:
    """The array function of the scalar function ``name``."""

    def planned(out_layouts: Any, in_layouts: Any, **params: Any) -> Callable[..., None] | None:
        types = [x.dtype for x in (*out_layouts, *in_layouts) if x.dtype.kind == "c"]
        return plan(name, out_layouts, in_layouts, types[0] if types else _DOUBLE)

    def function(out: Any, *given: Any) -> None:
        run: Any = planned((out,), given)
        run(out.flat, *[x.flat for x in given])

    made: Any = function
    made.plan = planned
    return function


erfinv, erfcx, ndtri = map(_by_scalar, ("erfinv", "erfcx", "ndtri"))
log_ndtr, entr, zeta = map(_by_scalar, ("log_ndtr", "entr", "zeta"))
igamma, igammac = map(_by_scalar, ("igamma", "igammac"))
i0, i1, i0e, i1e = map(_by_scalar, ("i0", "i1", "i0e", "i1e"))
bessel_j0, bessel_j1 = map(_by_scalar, ("bessel_j0", "bessel_j1"))
bessel_y0, bessel_y1 = map(_by_scalar, ("bessel_y0", "bessel_y1"))
modified_bessel_k0 = _by_scalar("modified_bessel_k0")
modified_bessel_k1 = _by_scalar("modified_bessel_k1")
scaled_modified_bessel_k0 = _by_scalar("scaled_modified_bessel_k0")
scaled_modified_bessel_k1 = _by_scalar("scaled_modified_bessel_k1")
spherical_bessel_j0, airy_ai = map(_by_scalar, ("spherical_bessel_j0", "airy_ai"))
frexp_mantissa, frexp_exponent = map(_by_scalar, ("frexp_mantissa", "frexp_exponent"))
conj, real, imag, angle = map(_by_scalar, ("conj", "real", "imag", "angle"))
make_complex = _by_scalar("make_complex")


def _pairs(x: Any) -> arrays.Array:
    """The parts of complex numbers along a last axis."""
    part = parts_type(x.dtype)
    strides = (*[2 * s for s in x.strides], 1)
    return arrays.Array(x.flat.view(part), (*x.shape, 2), strides)


def split_complex(out: Any, x: Any) -> None:
    """Real and imaginary part along a last axis."""
    arrays.assign(out, _pairs(x))


def join_complex(out: Any, x: Any) -> None:
    """The inverse of :func:`split_complex`."""
    arrays.assign(_pairs(out), x)
