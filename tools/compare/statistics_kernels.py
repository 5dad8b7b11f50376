"""The compiled loops that read each recorded array: its digest, and the sums behind its statistics.

Both pass over the array once, with nothing but independent sums within a block, so that they run
at the speed of memory.
"""

import functools
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.jit import kernel

from .statistics import BUCKETS

__all__ = ["digest_words", "power_sums"]

LONGEST = 256
WORDS = 2048  # in a block of the digest


@functools.cache
def _constants() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keys of the digest's words, signs within a block of chunks, and signs of the blocks."""
    generator = np.random.Generator(np.random.PCG64(20))
    both = np.array([-1.0, 1.0], np.float32)
    keys = generator.integers(0, 2**64, WORDS, np.uint64)
    inner = both[generator.integers(0, 2, BUCKETS * LONGEST)]
    return keys, inner, both[generator.integers(0, 2, 2**15)].astype(np.float64)


@kernel
def _digest(words: Any, keys: Any) -> Any:
    """Within a block the sum of products of each word's two halves, each turned by a key of its
    place; the blocks one after the other by multiplication."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    result = np.uint64(0x9E3779B97F4A7C15)
    for start in range(0, words.size, keys.size):
        block = words[start : start + keys.size]
        total = np.uint64(0)
        for i in range(block.size):
            turned = block[i] ^ keys[i]
            total += (turned & low) * (turned >> half) + block[i]
        result = (result ^ total) * np.uint64(0xD6E8FEB86659FD93)
        result ^= result >> half
    return result


@kernel(fastmath={"reassoc", "contract", "nsz"})
def _sums(values: Any, bits: Any, longest: Any, inner: Any, outer: Any, sums: Any) -> Any:
    """Fill `sums`: sixteen sums with signs, the sum, the sum of squares. The greatest bits without
    the sign, which are those of the greatest magnitude, or of what is not finite."""
    mask = ~(bits.dtype.type(1) << bits.dtype.type(bits.itemsize * 8 - 1))
    greatest = bits.dtype.type(0)
    size = min(longest, (values.size + 15) // 16)
    for number, start in enumerate(range(0, values.size, size)):
        chunk, raw = values[start : start + size], bits[start : start + size]
        signs = inner[(number & 15) * size :]
        signed, total, squares = chunk.dtype.type(0), chunk.dtype.type(0), chunk.dtype.type(0)
        for i in range(chunk.size):
            greatest = max(greatest, raw[i] & mask)
            signed += chunk[i] * signs[i]
            total += chunk[i]
            squares += chunk[i] * chunk[i]
        sums[number & 15] += outer[(number >> 4) % outer.size] * signed
        sums[16] += total
        sums[17] += squares
    return greatest


def digest_words(words: np.ndarray) -> int:
    """A number for the contents and order of 64-bit words."""
    return int(_digest(words, _constants()[0]))


def power_sums(flat: np.ndarray) -> tuple[float, float, float, np.ndarray]:
    """Greatest magnitude (or one that is not finite, where an element is), sum, sum of squares and
    sixteen sums with fixed signs, of a one-dimensional float32 or float64 array."""
    _, inner, outer = _constants()
    bits = flat.view(np.uint32 if flat.dtype == np.float32 else np.uint64)
    sums = np.zeros(BUCKETS + 2)
    greatest = bits.dtype.type(_sums(flat, bits, LONGEST, inner, outer, sums))
    largest = float(greatest.reshape(1).view(flat.dtype)[0])
    return largest, float(sums[16]), float(sums[17]), sums[:BUCKETS]
