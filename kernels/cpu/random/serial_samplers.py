"""Serial samplers whose number of draws depends on the values: poisson, binomial, gamma, and the
shuffles and categorical draws. All arithmetic is float64, rounded after every operation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

from .mt19937 import CACHED, CHUNK, draw_words, next_uniform

_TWO_PI = 6.283185307179586
_LARGE_PERMUTATION = 2**32 // 20
_TAILS = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)
_STIRLING = np.array(_TAILS)


@kernel
def next_normal(key: Any, control: Any, cache: Any) -> Any:
    """One standard normal of Box and Muller; every second one comes from the cache."""
    if control[CACHED] != 0:
        control[CACHED] = 0
        value = cache[0]
        cache[0] = 0.0
        return value
    u1 = next_uniform(key, control)
    u2 = next_uniform(key, control)
    radius = math.sqrt(-2.0 * math.log1p(-u2))
    theta = _TWO_PI * u1
    cache[0] = radius * math.sin(theta)
    control[CACHED] = 1
    return radius * math.cos(theta)


@kernel
def _poisson_large(key: Any, control: Any, rate: Any) -> Any:
    root = math.sqrt(rate)
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    vr = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = next_uniform(key, control) - 0.5
        v = next_uniform(key, control)
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= vr:
            return float(k)
        if k < 0 or (us < 0.013 and v > us):
            continue
        left = math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if left <= -rate + k * log_rate - math.lgamma(k + 1.0):
            return float(k)


@kernel
def poisson(key: Any, control: Any, out: Any, rates: Any) -> None:
    """``out[i]`` = a Poisson variate of rate ``rates[i]`` (float64)."""
    for i in range(out.shape[0]):
        rate = rates[i]
        if rate >= 10:
            out[i] = _poisson_large(key, control, rate)
            continue
        count = 0
        if rate != 0:
            limit = math.exp(-rate)
            product = next_uniform(key, control)
            while product > limit:
                count += 1
                product *= next_uniform(key, control)
        out[i] = count


@kernel
def _stirling_tail(k: Any) -> Any:
    if k <= 9:
        return _STIRLING[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


@kernel
def _binomial_inversion(key: Any, control: Any, count: Any, p: Any) -> Any:
    total = 0.0
    successes = 0.0
    log_q = math.log1p(-p)
    while True:
        total += np.ceil(math.log(next_uniform(key, control)) / log_q)
        if total > count:
            return successes
        successes += 1.0


@kernel
def _binomial_rejection(key: Any, control: Any, count: Any, p: Any) -> Any:
    deviation = math.sqrt(count * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = count * p + 0.5
    vr = 0.92 - 4.2 / b
    r = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * deviation
    m = np.floor((count + 1) * p)
    while True:
        u = next_uniform(key, control) - 0.5
        v = next_uniform(key, control)
        us = 0.5 - abs(u)
        k = np.floor((2 * a / us + b) * u + c)
        if k < 0 or k > count:
            continue
        if us >= 0.07 and v <= vr:
            return k
        v = math.log(v * alpha / (a / (us * us) + b))
        bound = (
            (m + 0.5) * math.log((m + 1) / (r * (count - m + 1)))
            + (count + 1) * math.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * math.log(r * (count - k + 1) / (k + 1))
            + _stirling_tail(m)
            + _stirling_tail(count - m)
            - _stirling_tail(k)
            - _stirling_tail(count - k)
        )
        if v <= bound:
            return k


@kernel
def _binomial_one(key: Any, control: Any, count: Any, p: Any) -> Any:
    if count * p >= 10.0:
        return _binomial_rejection(key, control, count, p)
    return _binomial_inversion(key, control, count, p)


@kernel
def binomial(key: Any, control: Any, out: Any, counts: Any, probabilities: Any) -> None:
    """``out[i]`` = successes among ``counts[i]`` trials of ``probabilities[i]`` (float64)."""
    for i in range(out.shape[0]):
        count = counts[i]
        p = probabilities[i]
        if count <= 0.0 or p <= 0.0:
            out[i] = 0.0
        elif p >= 1.0:
            out[i] = count
        elif p <= 0.5:
            out[i] = _binomial_one(key, control, count, p)
        elif p > 0.5:
            out[i] = count - _binomial_one(key, control, count, 1.0 - p)
        else:
            out[i] = np.nan


@kernel
def standard_gamma(key: Any, control: Any, cache: Any, out: Any, alphas: Any, tiny: Any) -> None:
    """``out[i]`` = a gamma variate of shape ``alphas[i]`` and rate 1, at least ``tiny``.

    ``alphas`` has the precision in which the shape is boosted: float32 or float64.
    """
    one = alphas.dtype.type(1.0)
    third = np.float32(1.0) / np.float32(3.0)
    for i in range(out.shape[0]):
        alpha = alphas[i]
        scale = 1.0
        if alpha == 0:
            out[i] = tiny
            continue
        if alpha < one:
            scale = math.pow(1 - next_uniform(key, control), float(one / alpha))
            alpha = alpha + one
        d = float(alpha - third)
        c = 1.0 / math.sqrt(9.0 * d)
        while True:
            y = 0.0
            x = 0.0
            while y <= 0:
                x = next_normal(key, control, cache)
                y = 1.0 + c * x
            v = y * y * y
            u = 1 - next_uniform(key, control)
            square = x * x
            if u < 1.0 - float(np.float32(0.0331)) * square * square:
                break
            if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
                break
        out[i] = max(scale * d * v, tiny)


@kernel
def permutation(key: Any, control: Any, out: Any) -> None:
    """A random order of 0 .. n-1 in the int64 array ``out``."""
    n = out.shape[0]
    words = np.empty(CHUNK, np.uint32)
    if n < _LARGE_PERMUTATION:
        for i in range(n):
            out[i] = i
        for start in range(0, n - 1, CHUNK):
            count = min(CHUNK, n - 1 - start)
            draw_words(key, control, words, count)
            for j in range(count):
                i = start + j
                other = i + np.int64(np.uint32(words[j]) % np.uint32(n - i))
                held = out[i]
                out[i] = out[other]
                out[other] = held
        return
    for start in range(0, n, CHUNK // 2):
        count = min(CHUNK // 2, n - start)
        draw_words(key, control, words, 2 * count)
        for j in range(count):
            i = start + j
            word = (np.uint64(words[2 * j]) << np.uint64(32)) | np.uint64(words[2 * j + 1])
            other = np.int64(word % np.uint64(i + 1))
            out[i] = i
            out[i] = out[other]
            out[other] = i


@kernel
def categorical(key: Any, control: Any, out: Any, weights: Any) -> None:
    """``out[r, :]`` = draws with replacement of the columns of ``weights[r]`` (2-D arrays)."""
    columns = weights.shape[1]
    cumulative = np.empty(columns, weights.dtype)
    for row in range(out.shape[0]):
        total = weights.dtype.type(0)
        for j in range(columns):
            total = total + weights[row, j]
            cumulative[j] = total
        for j in range(columns):
            cumulative[j] = cumulative[j] / total
        cumulative[columns - 1] = 1
        for draw in range(out.shape[1]):
            u = next_uniform(key, control)
            left, right = 0, columns
            while left < right:
                middle = (left + right) // 2
                if cumulative[middle] < u:
                    left = middle + 1
                else:
                    right = middle
            out[row, draw] = left
