"""Writes kernels/cpu/erfinv_roundings.xz from PyTorch: `python -m tests.support.erfinv_roundings`.

Intel's MKL, which PyTorch calls for erfinv in float32, gives the farther one of two neighbours for
some 3 of 10,000 inputs. Which ones follows from no formula known to us; the file lists them.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator

import numpy as np
import scipy.special

from tests.support.paths import ROOT

FILE = ROOT / "kernels" / "cpu" / "erfinv_roundings.xz"


def inputs() -> Iterator[np.ndarray]:
    """The float32 numbers that the list is about, ascending."""
    yield (np.arange(1, 2**12) * 2.0**-24).astype(np.float32)
    first, end = np.array([2.0**-12, 1], np.float32).view(np.int32)
    yield np.arange(first, end, dtype=np.int32).view(np.float32)


def farther(x: np.ndarray) -> np.ndarray:
    """The inputs among `x` whose result in PyTorch is not the nearest float32."""
    import torch

    exact = scipy.special.erfinv(x.astype(np.float64))
    return x[torch.from_numpy(x).erfinv().numpy() != exact.astype(np.float32)]


if __name__ == "__main__":
    listed = np.concatenate([farther(x) for x in inputs()]).view(np.uint32)
    gaps = np.diff(listed, prepend=np.uint32(0)).astype("<u4")
    FILE.write_bytes(lzma.compress(gaps.tobytes()))
