"""Writes kernels/cpu/erfinv_roundings_*.xz: `python -m tests.support.erfinv_roundings`.

Intel's MKL, which PyTorch calls for erfinv in float32, gives the farther one of two neighbours for
1 to 31 of 10,000 inputs, by the kernels that it takes. Which inputs follows from no formula known
to us; a file for each of the three kernel sets lists them.
"""

from __future__ import annotations

import lzma
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import scipy.special

from tests.support.paths import ROOT

FOLDER = ROOT / "kernels" / "cpu"
INSTRUCTIONS = {"sse": "SSE4_2", "avx2": "AVX2", "avx512": "AVX512"}


def inputs() -> Iterator[np.ndarray]:
    """The float32 numbers that the lists are about, ascending."""
    yield (np.arange(1, 2**12) * 2.0**-24).astype(np.float32)
    first, end = np.array([2.0**-12, 1], np.float32).view(np.int32)
    yield np.arange(first, end, dtype=np.int32).view(np.float32)


def farther(x: np.ndarray) -> np.ndarray:
    """The inputs among `x` whose result in PyTorch is not the nearest float32."""
    import torch

    exact = scipy.special.erfinv(x.astype(np.float64))
    return x[torch.from_numpy(x).erfinv().numpy() != exact.astype(np.float32)]


def write(kernels: str) -> None:
    """One of the files, by the kernels that this process' MKL takes."""
    listed = np.concatenate([farther(x) for x in inputs()]).view(np.uint32)
    gaps = np.diff(listed, prepend=np.uint32(0)).astype("<u4")
    file = FOLDER / f"erfinv_roundings_{kernels}.xz"
    file.write_bytes(lzma.compress(gaps.tobytes()))


if __name__ == "__main__":
    if len(sys.argv) == 1:
        for name, instructions in INSTRUCTIONS.items():
            environment = {**os.environ, "MKL_ENABLE_INSTRUCTIONS": instructions}
            command = [sys.executable, "-m", "tests.support.erfinv_roundings", name]
            subprocess.run(command, env=environment, check=True)
    else:
        from . import on_intel  # noqa: F401

        write(sys.argv[1])
