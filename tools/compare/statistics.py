"""Statistics of arrays: what is kept of a tensor whose values are not, and how far two arrays are
apart.

A `sketch` is sixteen sums of an array's elements with fixed random signs. Of two arrays the norm of
the sketches' difference estimates the norm of the arrays' difference (to about a third), so that
two runs can be compared though neither kept its values.
"""

import base64
import math
import zlib
from dataclasses import dataclass

import numpy as np

__all__ = [
    "BUCKETS",
    "ULP_EDGES",
    "Spread",
    "Statistics",
    "digest_of",
    "number_difference",
    "relative_difference",
    "sketch_difference",
    "sketch_of",
    "spread_of",
    "statistics_of",
    "wide",
]

BUCKETS = 16  # of a sketch
ULP_EDGES = (0, 1, 2, 4, 8, 16, 64, 256, 1024, 2**14, 2**20)


@dataclass(frozen=True)
class Statistics:
    """The digest of an array's bytes, greatest magnitude, mean, Euclidean norm and sketch of its
    finite elements, and how many are not finite."""

    digest: str
    largest: float
    mean: float
    norm: float
    odd: int
    sketch: str


def digest_of(array: np.ndarray, dtype: str) -> str:
    """A name for the dtype, shape and bytes of a C-contiguous array."""
    from .statistics_kernels import digest_words  # here, so that importing the tools loads no numba

    flat = array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)
    whole = flat.size & ~7
    head = zlib.crc32(f"{dtype}{array.shape}".encode() + flat[whole:].tobytes())
    return f"{head:08x}{digest_words(flat[:whole].view(np.uint64)):016x}{array.size:x}"


def statistics_of(array: np.ndarray, digest: str) -> Statistics:
    """The statistics of a C-contiguous array, with its digest."""
    from .statistics_kernels import power_sums

    flat = array.reshape(-1)
    if np.iscomplexobj(flat):
        flat = flat.view(flat.real.dtype)
    if flat.dtype not in (np.float32, np.float64):
        flat = flat.astype(np.float64)
    if flat.size == 0:
        return Statistics(digest, 0.0, 0.0, 0.0, 0, "")
    odd, (largest, total, squares, sketch) = 0, power_sums(flat)
    if not math.isfinite(largest):
        finite = np.isfinite(flat)
        odd = int(flat.size - finite.sum())
        flat = np.where(finite, flat, 0).astype(flat.dtype)
        largest, total, squares, sketch = power_sums(flat)
    if flat.dtype == np.float32 and largest > 1e15:  # sums of squares overflow
        largest, total, squares, sketch = power_sums(flat.astype(np.float64))
    with np.errstate(over="ignore"):
        text = base64.b64encode(sketch.astype(np.float32).tobytes()).decode()
    return Statistics(digest, largest, total / flat.size, math.sqrt(squares), odd, text)


def sketch_of(text: str) -> np.ndarray:
    """The sketch that `Statistics` has as text."""
    if not text:
        return np.zeros(BUCKETS)
    return np.frombuffer(base64.b64decode(text), np.float32).astype(np.float64)


def sketch_difference(first: str, second: str, norm: float) -> float:
    """The estimated norm of a difference beside `norm`."""
    if not first or not second:
        return 0.0
    apart = float(np.sqrt(np.square(sketch_of(first) - sketch_of(second)).sum()))
    return apart / norm if norm else (math.inf if apart else 0.0)


def number_difference(a: float, b: float) -> float:
    """|a - b| beside the greater magnitude. Two NaN agree, and two infinities of one sign."""
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(a - b) / max(abs(a), abs(b))


def wide(array: np.ndarray) -> np.ndarray:
    """The values in the widest type of their kind."""
    return array.astype(np.complex128 if np.iscomplexobj(array) else np.float64)


def relative_difference(a: np.ndarray, b: np.ndarray, scale: float = 0.0) -> float:
    """max |a - b| beside the greatest of max |a|, max |b| and `scale`; infinite across shapes.

    Elements that are not finite must be the same on both sides.
    """
    if a.shape != b.shape:
        return math.inf
    if a.size == 0:
        return 0.0
    if np.iscomplexobj(a) or np.iscomplexobj(b):
        a, b = a.astype(np.complex128), b.astype(np.complex128)
    else:
        a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return math.inf
    a, b = a[finite], b[finite]
    greatest = float(np.abs(a - b).max(initial=0))
    if greatest == 0:
        return 0.0
    return greatest / max(scale, float(np.abs(a).max()), float(np.abs(b).max()))


@dataclass
class Spread:
    """How the elements of two arrays differ: a histogram of their distances in units in the last
    place (`ulps[i]` elements differ by at most `ULP_EDGES[i]`, the last by more), the greatest such
    distance, the greatest and the median relative error, and the cosine of the two as vectors."""

    ulps: list[int]
    largest_ulp: float
    largest: float
    median: float
    cosine: float


def _ordered(array: np.ndarray) -> np.ndarray:
    """Floats as integers in the same order, one apart where the floats are neighbours."""
    kind = np.dtype(f"i{array.dtype.itemsize}")
    bits = array.view(kind).astype(np.int64)
    lowest = np.int64(np.iinfo(kind).min)
    return np.where(bits < 0, lowest - bits, bits)


def spread_of(a: np.ndarray, b: np.ndarray, dtype: str) -> Spread | None:
    """The spread of two real arrays of one shape; None where there is nothing to measure."""
    if a.shape != b.shape or a.size == 0 or a.dtype != b.dtype or a.dtype.kind != "f":
        return None
    finite = np.isfinite(a) & np.isfinite(b)
    a, b = np.ascontiguousarray(a[finite]), np.ascontiguousarray(b[finite])
    if a.size == 0:
        return None
    units = np.abs(_ordered(a).astype(np.float64) - _ordered(b).astype(np.float64))
    if dtype == "bfloat16":  # kept as float32, whose last place is 2**16 times as fine
        units /= 2.0**16
    counts = np.bincount(np.searchsorted(ULP_EDGES, units), minlength=len(ULP_EDGES) + 1)
    x, y = a.astype(np.float64), b.astype(np.float64)
    apart, size = np.abs(x - y), np.maximum(np.abs(x), np.abs(y))
    relative = np.divide(apart, size, out=np.zeros_like(apart), where=size > 0)
    lengths = float(np.linalg.norm(x) * np.linalg.norm(y))
    cosine = float(np.dot(x, y)) / lengths if lengths else 1.0
    return Spread(
        ulps=[int(count) for count in counts],
        largest_ulp=float(units.max()),
        largest=relative_difference(x, y),
        median=float(np.median(relative)),
        cosine=max(-1.0, min(1.0, cosine)),
    )
