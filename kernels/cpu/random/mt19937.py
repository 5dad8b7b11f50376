"""The Mersenne Twister (MT19937), a block of 624 words at a time.

The state is three arrays which kernels update in place: ``key`` uint32[624]; ``control`` int64[3]
= (words of the current block already used, whether a normal value is cached, whether no word was
drawn since seeding); ``cache`` float64[1], the cached normal value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

BLOCK = 624
POSITION, CACHED, FRESH = 0, 1, 2
CHUNK = 2048

_UPPER = np.uint32(0x80000000)
_LOWER = np.uint32(0x7FFFFFFF)
_MATRIX = np.uint32(0x9908B0DF)
_ONE = np.uint32(1)
_ZERO = np.uint32(0)
_MASK_B = np.uint32(0x9D2C5680)
_MASK_C = np.uint32(0xEFC60000)
_MULTIPLIER = np.uint64(1812433253)
_WORD = np.uint64(0xFFFFFFFF)


@kernel
def seed_state(key: Any, control: Any, cache: Any, seed: Any) -> None:
    """Start the stream of the low 32 bits of ``seed``; forget the cached normal."""
    value = np.uint64(seed) & _WORD
    key[0] = np.uint32(value)
    for i in range(1, BLOCK):
        value = (_MULTIPLIER * (value ^ (value >> np.uint64(30))) + np.uint64(i)) & _WORD
        key[i] = np.uint32(value)
    control[POSITION] = BLOCK
    control[CACHED] = 0
    control[FRESH] = 1
    cache[0] = 0.0


@kernel
def _mix(current: Any, following: Any, other: Any) -> Any:
    word = np.uint32((current & _UPPER) | (following & _LOWER))
    odd = _MATRIX if (word & _ONE) != _ZERO else _ZERO
    return np.uint32(other ^ np.uint32(word >> _ONE) ^ odd)


@kernel
def twist(key: Any) -> None:
    """The next block of 624 words, in place."""
    for i in range(227):
        key[i] = _mix(key[i], key[i + 1], key[i + 397])
    for i in range(227, 623):
        key[i] = _mix(key[i], key[i + 1], key[i - 227])
    key[623] = _mix(key[623], key[0], key[396])


@kernel
def _temper(key: Any, words: Any) -> None:
    for i in range(words.shape[0]):
        word = key[i]
        word = np.uint32(word ^ np.uint32(word >> np.uint32(11)))
        word = np.uint32(word ^ (np.uint32(word << np.uint32(7)) & _MASK_B))
        word = np.uint32(word ^ (np.uint32(word << np.uint32(15)) & _MASK_C))
        words[i] = np.uint32(word ^ np.uint32(word >> np.uint32(18)))


@kernel
def draw_words(key: Any, control: Any, words: Any, count: Any) -> None:
    """``words[:count]`` = the next ``count`` words of the stream."""
    position = control[POSITION]
    done = 0
    while done < count:
        if position == BLOCK:
            twist(key)
            position = 0
        step = min(BLOCK - position, count - done)
        _temper(key[position : position + step], words[done : done + step])
        position += step
        done += step
    control[POSITION] = position
    if count > 0:
        control[FRESH] = 0


@kernel
def skip_words(key: Any, control: Any, count: Any) -> None:
    """Pass over ``count`` words."""
    position = control[POSITION] + count
    while position > BLOCK:
        twist(key)
        position -= BLOCK
    control[POSITION] = position
    if count > 0:
        control[FRESH] = 0


@kernel
def next_word(key: Any, control: Any) -> Any:
    """One word of the stream as int64."""
    position = control[POSITION]
    if position == BLOCK:
        twist(key)
        position = 0
    word = key[position]
    control[POSITION] = position + 1
    control[FRESH] = 0
    word = np.uint32(word ^ np.uint32(word >> np.uint32(11)))
    word = np.uint32(word ^ (np.uint32(word << np.uint32(7)) & _MASK_B))
    word = np.uint32(word ^ (np.uint32(word << np.uint32(15)) & _MASK_C))
    return np.int64(np.uint32(word ^ np.uint32(word >> np.uint32(18))))


@kernel
def next_uniform(key: Any, control: Any) -> Any:
    """One float64 uniform of 53 bits in [0, 1); two words, the first is the high half."""
    high = next_word(key, control)
    low = next_word(key, control)
    return float(((high & 0x1FFFFF) << 32) | low) * 2.0**-53
