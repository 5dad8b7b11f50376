"""Rows of the special functions that torch.special alone has, and of the incomplete gamma."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.tables.ops_table import Row, binary, call, layouts, numbers, pairs, unary

_PLAIN: dict[str, Any] = {"gradient": False, "second": False, "tolerance": 64}


def _polynomial(name: str) -> Any:
    return lambda t, x, n: getattr(t.special, name)(x, n)


def _degrees(*degrees: float) -> Any:
    """Numbers within and beyond [-1, 1], 0 and the ends, against whole degrees."""
    x = np.concatenate([numbers(6, domain="unit"), numbers(3), [0.0, 1.0, -1.0]])
    return [(x.reshape(-1, 1), np.array(degrees)), (x, np.full(x.shape, degrees[1]))]


ROWS: list[Row] = [
    unary("i0e", "special.i0e", tolerance=64),
    unary("i1e", "special.i1e", tolerance=64),
    unary("erfcx", "special.erfcx", tolerance=64),
    unary("ndtr", "special.ndtr", tolerance=64),
    unary("log_ndtr", "special.log_ndtr", tolerance=256, second_tolerance=1024),
    unary("ndtri", "special.ndtri", "probability", tolerance=64),
    unary("entr", "special.entr", "positive"),
    *[
        unary(name, f"special.{name}", "positive", **_PLAIN)
        for name in (
            "airy_ai", "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0",
            "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
            "spherical_bessel_j0",
        )
    ],
    # torch's are off by 4e-7 in float64
    *[
        unary(name, f"special.{name}", "positive", dtypes=("float32",), **_PLAIN)
        for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1")
    ],
    call("igamma", lambda t, x, y: t.igamma(x.detach(), y), *pairs("positive", "positive"),
         tolerance=256),
    call("igammac", lambda t, x, y: t.igammac(x.detach(), y), *pairs("positive", "positive"),
         tolerance=256),
    binary("igamma", "special.gammainc", ("positive", "positive"), gradient=False, second=False,
           tolerance=256),
    *[
        call(op, _polynomial(name), *_degrees(0, 1, 2, 3, 5, 7, 9, 12, -1), label=f"special.{name}",
             gradient=False, second=False, tolerance=1024)
        for op, name in (
            ("chebyshev_t", "chebyshev_polynomial_t"), ("chebyshev_u", "chebyshev_polynomial_u"),
            ("chebyshev_v", "chebyshev_polynomial_v"), ("chebyshev_w", "chebyshev_polynomial_w"),
            ("shifted_chebyshev_t", "shifted_chebyshev_polynomial_t"),
            ("shifted_chebyshev_u", "shifted_chebyshev_polynomial_u"),
            ("shifted_chebyshev_v", "shifted_chebyshev_polynomial_v"),
            ("shifted_chebyshev_w", "shifted_chebyshev_polynomial_w"),
            ("hermite_h", "hermite_polynomial_h"), ("hermite_he", "hermite_polynomial_he"),
            ("laguerre_l", "laguerre_polynomial_l"), ("legendre_p", "legendre_polynomial_p"),
        )
    ],
    call("frexp_mantissa", lambda t, x: t.frexp(x)[0], *layouts("real")),
    call("frexp_exponent", lambda t, x: t.frexp(x)[1], *layouts("real"), gradient=False,
         second=False),
    call("xor_sum", lambda t, x: t.hash_tensor(x, 0).to(t.int64), *layouts("real")[:1],
         gradient=False, second=False),
    call("digamma", lambda t, x: t.digamma(x), *layouts("real"), label="digamma_reflected",
         tolerance=512, second=False),
]  # fmt: skip
