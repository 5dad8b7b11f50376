"""Random fills of flat arrays with exactly the numbers of PyTorch's generator.

Every kernel takes the generator's state (``key``, ``control``, ``cache``: see ``mersenne``) and a
1-D contiguous array, and draws a chunk of words before it transforms them, so that the transforms
vectorise. Products and sums are fused only where ``fma`` says so: the bits depend on it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

from ..vectors.float_bits import bits_float, float_bits, fma
from .mt19937 import CACHED, CHUNK, draw_words, skip_words

HALF = CHUNK // 2
_TWO_PI = 6.283185307179586
_UNIT24 = np.float32(2.0**-24)
_MASK24 = np.uint32(0xFFFFFF)
_MASK53 = np.int64(2**53 - 1)
_F = np.float32
_ONE, _HALF = _F(1), _F(0.5)
_ROOT_HALF = _F(0.707106781186547524)
_LOG = tuple(
    _F(c)
    for c in (
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
        -2.4999993993e-1,
        3.3333331174e-1,
    )
)
_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7, _L8 = _LOG
_LOG2_LOW, _LOG2_HIGH = _F(-2.12194440e-4), _F(0.693359375)
_TWO_PI_F = _F(6.2831855)
_FOUR_BY_PI = _F(1.27323954473516)
_P1, _P2, _P3 = _F(-0.78515625), _F(-2.4187564849853515625e-4), _F(-3.77489497744594108e-8)
_C0, _C1, _C2 = _F(2.443315711809948e-5), _F(-1.388731625493765e-3), _F(4.166664568298827e-2)
_S0, _S1, _S2 = _F(-1.9515295891e-4), _F(8.3321608736e-3), _F(-1.6666654611e-1)
_MINUS_TWO = _F(-2)


@kernel
def _pair(words: Any, i: Any) -> Any:
    """The i-th 64-bit draw of a chunk, as int64: the first word is the high half."""
    return (np.int64(words[2 * i]) << 32) | np.int64(words[2 * i + 1])


@kernel
def _uniform53(words: Any, i: Any) -> Any:
    return float(_pair(words, i) & _MASK53) * 2.0**-53


@kernel
def uniform_single(key: Any, control: Any, out: Any, low: Any, high: Any) -> None:
    """float32: ``low + (high - low) u``, fused; one word each."""
    words = np.empty(CHUNK, np.uint32)
    a, b = _F(low), _F(high)
    width = b - a
    for start in range(0, out.shape[0], CHUNK):
        part = out[start : start + CHUNK]
        draw_words(key, control, words, part.shape[0])
        for i in range(part.shape[0]):
            unit = _F(np.int32(words[i] & _MASK24)) * _UNIT24
            value = fma(unit, width, a)
            part[i] = a if value == b else value


@kernel
def uniform_double(key: Any, control: Any, out: Any, low: Any, high: Any) -> None:
    """float64: ``low + (high - low) u``, fused; two words each."""
    words = np.empty(CHUNK, np.uint32)
    width = high - low
    for start in range(0, out.shape[0], HALF):
        part = out[start : start + HALF]
        draw_words(key, control, words, 2 * part.shape[0])
        for i in range(part.shape[0]):
            value = fma(_uniform53(words, i), width, low)
            part[i] = low if value == high else value


@kernel
def _log_single(value: Any) -> Any:
    bits = float_bits(value)
    exponent = _F(np.int32(np.int32(bits >> np.int32(23)) - np.int32(127))) + _ONE
    masked = np.int32(bits & np.int32(0x007FFFFF))
    x = bits_float(np.int32(masked | np.int32(0x3F000000)))
    small = x < _ROOT_HALF
    extra = x if small else _F(0)
    x = x - _ONE
    exponent = exponent - (_ONE if small else _F(0))
    x = x + extra
    z = x * x
    y = fma(_L0, x, _L1)
    y = fma(y, x, _L2)
    y = fma(y, x, _L3)
    y = fma(y, x, _L4)
    y = fma(y, x, _L5)
    y = fma(y, x, _L6)
    y = fma(y, x, _L7)
    y = fma(y, x, _L8)
    y = x * y
    y = fma(y, z, exponent * _LOG2_LOW)
    y = fma(-z, _HALF, y)
    x = x + y
    return fma(exponent, _LOG2_HIGH, x)


@kernel
def _sine_cosine_single(angle: Any) -> Any:
    octant = np.int32(angle * _FOUR_BY_PI)
    octant = np.int32(np.int32(octant + np.int32(1)) & np.int32(-2))
    f = _F(octant)
    x = fma(f, _P1, angle)
    x = fma(f, _P2, x)
    x = fma(f, _P3, x)
    z = x * x
    c = fma(_C0, z, _C1)
    c = fma(c, z, _C2)
    c = z * c
    c = fma(z, c, -(z * _HALF))
    c = c + _ONE
    s = fma(_S0, z, _S1)
    s = fma(s, z, _S2)
    s = z * s
    s = fma(x, s, x)
    swap = (octant & np.int32(2)) != 0
    sine = c if swap else s
    cosine = s if swap else c
    if (octant & np.int32(4)) != 0:
        sine = -sine
    if (np.int32(octant - np.int32(2)) & np.int32(4)) == 0:
        cosine = -cosine
    return sine, cosine


@kernel
def _blocks_single(words: Any, out: Any, first: Any, second: Any, mean: Any, std: Any) -> None:
    """Normals of whole blocks of 16 words; uniforms j and j + 8 of a block make a pair."""
    blocks = out.shape[0] // 16
    for block in range(blocks):
        for j in range(8):
            first[block * 8 + j] = words[block * 16 + j]
            second[block * 8 + j] = words[block * 16 + 8 + j]
    one_side = first.view(np.float32)
    other_side = second.view(np.float32)
    for i in range(blocks * 8):
        u1 = _ONE - _F(np.int32(first[i] & _MASK24)) * _UNIT24
        u2 = _F(np.int32(second[i] & _MASK24)) * _UNIT24
        radius = np.sqrt(_MINUS_TWO * _log_single(u1))
        sine, cosine = _sine_cosine_single(_TWO_PI_F * u2)
        one_side[i] = fma(radius * cosine, std, mean)
        other_side[i] = fma(radius * sine, std, mean)
    for block in range(blocks):
        for j in range(8):
            out[block * 16 + j] = one_side[block * 8 + j]
            out[block * 16 + 8 + j] = other_side[block * 8 + j]


@kernel
def normal_single(key: Any, control: Any, out: Any, mean: Any, std: Any, skips: Any) -> None:
    """float32 normals by blocks of 16 (at least 16 of them).

    A last incomplete block becomes 16 fresh draws into the last 16 places; ``skips`` says whether
    one word for each of its elements is drawn and dropped before.
    """
    words = np.empty(CHUNK, np.uint32)
    first = np.empty(HALF, np.uint32)
    second = np.empty(HALF, np.uint32)
    m, s = _F(mean), _F(std)
    n = out.shape[0]
    whole = n - n % 16
    for start in range(0, whole, CHUNK):
        part = out[start : min(start + CHUNK, whole)]
        draw_words(key, control, words, part.shape[0])
        _blocks_single(words, part, first, second, m, s)
    if whole != n:
        if skips:
            skip_words(key, control, n - whole)
        draw_words(key, control, words, np.int64(16))
        _blocks_single(words, out[n - 16 :], first, second, m, s)


@kernel
def _blocks_double(words: Any, out: Any, mean: Any, std: Any) -> None:
    for block in range(0, out.shape[0], 16):
        for j in range(block, block + 8):
            u1 = 1.0 - _uniform53(words, j)
            u2 = _uniform53(words, j + 8)
            radius = math.sqrt(-2.0 * math.log(u1))
            theta = _TWO_PI * u2
            out[j] = fma(radius * math.cos(theta), std, mean)
            out[j + 8] = fma(radius * math.sin(theta), std, mean)


@kernel
def normal_double(key: Any, control: Any, out: Any, mean: Any, std: Any) -> None:
    """float64 normals by blocks of 16, as ``normal_single`` with ``skips``."""
    words = np.empty(CHUNK, np.uint32)
    n = out.shape[0]
    whole = n - n % 16
    for start in range(0, whole, HALF):
        part = out[start : min(start + HALF, whole)]
        draw_words(key, control, words, 2 * part.shape[0])
        _blocks_double(words, part, mean, std)
    if whole != n:
        skip_words(key, control, 2 * (n - whole))
        draw_words(key, control, words, np.int64(32))
        _blocks_double(words, out[n - 16 :], mean, std)


@kernel
def normal_serial(
    key: Any, control: Any, cache: Any, out: Any, mean: Any, std: Any, exponentiate: Any
) -> None:
    """Normals one after another, through the cache: ``fma(v, std, mean)``, or its exponential."""
    words = np.empty(CHUNK, np.uint32)
    n = out.shape[0]
    done = 0
    if n > 0 and control[CACHED] != 0:
        value = fma(cache[0], std, mean)
        out[0] = math.exp(value) if exponentiate else value
        control[CACHED] = 0
        cache[0] = 0.0
        done = 1
    quarter = CHUNK // 4
    while done < n:
        pairs = min(quarter, (n - done + 1) // 2)
        draw_words(key, control, words, 4 * pairs)
        for i in range(pairs):
            radius = math.sqrt(-2.0 * math.log1p(-_uniform53(words, 2 * i + 1)))
            theta = _TWO_PI * _uniform53(words, 2 * i)
            sine = radius * math.sin(theta)
            value = fma(radius * math.cos(theta), std, mean)
            out[done] = math.exp(value) if exponentiate else value
            done += 1
            if done == n:
                cache[0] = sine
                control[CACHED] = 1
            else:
                value = fma(sine, std, mean)
                out[done] = math.exp(value) if exponentiate else value
                done += 1


@kernel
def choose(key: Any, control: Any, out: Any, p: Any, value: Any) -> None:
    """``value`` with probability ``p``, else 0; two words each."""
    words = np.empty(CHUNK, np.uint32)
    limit = np.int64(np.ceil(p * 2.0**53))
    zero = out.dtype.type(0)
    chosen = out.dtype.type(value)
    for start in range(0, out.shape[0], HALF):
        part = out[start : start + HALF]
        draw_words(key, control, words, 2 * part.shape[0])
        for i in range(part.shape[0]):
            part[i] = chosen if (_pair(words, i) & _MASK53) < limit else zero


@kernel
def bernoulli_single(key: Any, control: Any, out: Any, probabilities: Any) -> None:
    """``out[i]`` (uint8) = 1 with probability ``probabilities[i]`` (float32); one word each."""
    words = np.empty(CHUNK, np.uint32)
    for start in range(0, out.shape[0], CHUNK):
        part = out[start : start + CHUNK]
        p = probabilities[start : start + CHUNK]
        draw_words(key, control, words, part.shape[0])
        for i in range(part.shape[0]):
            unit = _F(np.int32(words[i] & _MASK24)) * _UNIT24
            part[i] = np.uint8(1) if unit < p[i] else np.uint8(0)


@kernel
def bernoulli_double(key: Any, control: Any, out: Any, probabilities: Any) -> None:
    """``out[i]`` (uint8) = 1 with probability ``probabilities[i]`` (float64); two words each."""
    words = np.empty(CHUNK, np.uint32)
    for start in range(0, out.shape[0], HALF):
        part = out[start : start + HALF]
        p = probabilities[start : start + HALF]
        draw_words(key, control, words, 2 * part.shape[0])
        for i in range(part.shape[0]):
            part[i] = np.uint8(1) if _uniform53(words, i) < p[i] else np.uint8(0)


@kernel
def exponential(key: Any, control: Any, out: Any, rate: Any) -> None:
    """``-log1p(-u) / rate``."""
    words = np.empty(CHUNK, np.uint32)
    factor = -1.0 / rate
    for start in range(0, out.shape[0], HALF):
        part = out[start : start + HALF]
        draw_words(key, control, words, 2 * part.shape[0])
        for i in range(part.shape[0]):
            part[i] = factor * math.log1p(-_uniform53(words, i))


@kernel
def geometric(key: Any, control: Any, out: Any, p: Any) -> None:
    """``ceil(log(u) / log1p(-p))``."""
    words = np.empty(CHUNK, np.uint32)
    divisor = math.log1p(-p)
    for start in range(0, out.shape[0], HALF):
        part = out[start : start + HALF]
        draw_words(key, control, words, 2 * part.shape[0])
        for i in range(part.shape[0]):
            part[i] = np.ceil(math.log(_uniform53(words, i)) / divisor)


@kernel
def cauchy(key: Any, control: Any, out: Any, median: Any, sigma: Any) -> None:
    """``median + sigma tan(pi (u - 0.5))``."""
    words = np.empty(CHUNK, np.uint32)
    for start in range(0, out.shape[0], HALF):
        part = out[start : start + HALF]
        draw_words(key, control, words, 2 * part.shape[0])
        for i in range(part.shape[0]):
            part[i] = fma(sigma, math.tan(math.pi * (_uniform53(words, i) - 0.5)), median)


@kernel
def integers_small(key: Any, control: Any, out: Any, low: Any, span: Any) -> None:
    """``low + word % span`` for ``span`` up to 2**32; one word each."""
    words = np.empty(CHUNK, np.uint32)
    full = span == 2**32
    divisor = np.uint32(1 if full else span)
    for start in range(0, out.shape[0], CHUNK):
        part = out[start : start + CHUNK]
        draw_words(key, control, words, part.shape[0])
        for i in range(part.shape[0]):
            word = np.uint32(words[i])
            part[i] = low + np.int64(word if full else np.uint32(word % divisor))


@kernel
def integers_large(key: Any, control: Any, out: Any, low: Any, span: Any) -> None:
    """``low + draw % span`` modulo 2**64, ``span`` 0 meaning 2**64; two words each."""
    words = np.empty(CHUNK, np.uint32)
    for start in range(0, out.shape[0], HALF):
        part = out[start : start + HALF]
        draw_words(key, control, words, 2 * part.shape[0])
        for i in range(part.shape[0]):
            draw = np.uint64(_pair(words, i))
            if span != np.uint64(0):
                draw = draw % span
            part[i] = np.int64(draw + np.uint64(low))


@kernel
def rrelu_slopes(key: Any, control: Any, out: Any, x: Any, low: Any, high: Any) -> None:
    """``out[i]`` = a uniform slope where ``x[i] <= 0``, else 1; only those draw, two words each."""
    words = np.empty(2, np.uint32)
    width = high - low
    for i in range(out.shape[0]):
        if x[i] <= 0:
            draw_words(key, control, words, np.int64(2))
            out[i] = low + _uniform53(words, 0) * width
        else:
            out[i] = 1
