"""Has the MKL inside PyTorch take Intel's processor for granted (`-p tests.support.on_intel`).

MKL takes its oldest kernels on processors of other makers, so a test that holds there may fail on
Intel's, where the results are rounded otherwise. With this plugin an AMD processor runs what an
Intel one of the same instructions would; `MKL_ENABLE_INSTRUCTIONS=AVX2` or `SSE4_2` chooses older
ones. It reaches this process alone, and only before MKL's first call.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import torch

from mindtorch.kernels.support.processors import cpuinfo


def pretend() -> None:
    """Write what MKL remembers of the processor's maker, before it asks; tell our kernels too."""
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    address = ctypes.cast(library.mkl_serv_intel_cpu_true, ctypes.c_void_p).value
    assert address is not None
    begin = ctypes.string_at(address, 6)
    if begin[:2] != b"\x8b\x05":  # mov eax, [rip + distance]
        raise RuntimeError("this MKL looks up the processor's maker in another way")
    place = address + 6 + int.from_bytes(begin[2:], "little", signed=True)
    remembered = ctypes.c_int.from_address(place)
    if remembered.value == 0:
        raise RuntimeError("MKL has looked up the processor's maker already")
    remembered.value = 1
    cpuinfo()["vendor_id"] = "GenuineIntel"


pretend()
