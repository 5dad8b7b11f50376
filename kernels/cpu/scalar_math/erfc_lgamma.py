"""The complementary error function and log gamma for float32, by short forms in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

from ..vectors.float_bits import choose, fma, magnitude, nearest
from .float64_math import exp_short, log64

_HALF_LOG_TWO_PI = 0.9189385332046727


@kernel(inline="always")
def erfc_short(x: Any) -> Any:
    """exp(-x^2) times a polynomial in (|x| - 3) / (|x| + 3), to 4e-11; 2 minus that below 0."""
    size = magnitude(x)
    a = choose(size > 10.5, 10.5, size)
    t = (a - 3.0) / (a + 3.0)
    p = fma(-6.830371716038472e-06, t, -9.872055924595158e-06)
    p = fma(p, t, 6.383785126446446e-05)
    p = fma(p, t, 4.349400144918326e-05)
    p = fma(p, t, -0.0005971408378874559)
    p = fma(p, t, 0.0007082661527433343)
    p = fma(p, t, 0.00426916507478421)
    p = fma(p, t, -0.024392576605783853)
    p = fma(p, t, 0.07166583527406639)
    p = fma(p, t, -0.1501159314783441)
    p = fma(p, t, 0.24560380166651963)
    p = fma(p, t, -0.3262335601345552)
    p = fma(p, t, 0.179001151182893)
    value = p * exp_short(-a * a)
    return choose(x < 0.0, 2.0 - value, value)


@kernel(inline="always")
def _between_one_and_three(x: Any) -> Any:
    """log gamma for x in [1, 3]: (x - 1) (x - 2) times a polynomial, to 3e-11."""
    u = x - 2.0
    p = fma(1.1677690868412688e-06, u, -2.45035716522581e-06)
    p = fma(p, u, 1.9674471242482614e-07)
    p = fma(p, u, -4.857738603015767e-07)
    p = fma(p, u, 9.861858900257975e-06)
    p = fma(p, u, -2.1074973424562183e-05)
    p = fma(p, u, 3.725308564267472e-05)
    p = fma(p, u, -8.119368523779132e-05)
    p = fma(p, u, 0.00018283753446727706)
    p = fma(p, u, -0.000406296761234158)
    p = fma(p, u, 0.0009153303742152055)
    p = fma(p, u, -0.0021080350948053457)
    p = fma(p, u, 0.0049986445581280195)
    p = fma(p, u, -0.012384199097368358)
    p = fma(p, u, 0.0329650005103612)
    p = fma(p, u, -0.10031730146333663)
    p = fma(p, u, 0.42278433499818197)
    return (x - 1.0) * u * p


@kernel(inline="always")
def _stirling(x: Any) -> Any:
    """log gamma for x >= 8, to 7e-12."""
    r = 1.0 / x
    z = r * r
    p = fma(-0.0005952380952380953, z, 0.0007936507936507937)
    p = fma(p, z, -0.002777777777777778)
    p = fma(p, z, 0.08333333333333333)
    return fma(x - 0.5, log64(x), -x) + fma(p, r, _HALF_LOG_TWO_PI)


@kernel(inline="always")
def _sine_of_half_turns(r: Any) -> Any:
    """sin(pi r) for |r| <= 1/2."""
    z = r * r
    p = fma(-2.1123819308300153e-05, z, 0.000465978639589377)
    p = fma(p, z, -0.007370361546456955)
    p = fma(p, z, 0.08214587836783921)
    p = fma(p, z, -0.5992645287894122)
    p = fma(p, z, 2.5501640398605976)
    p = fma(p, z, -5.167712780049785)
    return fma(p, z, 3.141592653589796) * r


@kernel(inline="always")
def lgamma_short(x: Any) -> Any:
    """log |gamma| of a float32: moved to [1, 3] or beyond 8, and reflected where x < 0."""
    a = magnitude(x)
    small, large = a < 1.0, a > 3.0
    inner = choose(small, a + 1.0, choose(large, 2.0, a))
    shift = large & (a < 8.0)
    outer = choose(shift, a + 5.0, choose(large, a, 8.0))
    raised = a * (a + 1.0) * (a + 2.0) * (a + 3.0) * (a + 4.0)
    lowered = choose(small, a, choose(shift, raised, 1.0))
    value = choose(large, _stirling(outer), _between_one_and_three(inner)) - log64(lowered)
    value = choose(a == np.inf, np.inf, value)
    turned = magnitude(_sine_of_half_turns(a - nearest(a)))
    reflected = log64(3.141592653589793 / (a * turned)) - value
    reflected = choose(a == nearest(a), np.inf, reflected)
    return choose(x < 0.0, reflected, value)
