"""What is known of the processor: the system's list, or what ``MINDTORCH_PROCESSOR`` names."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from mindtorch.kernels.support.processors import PROCESSORS, V4, cpuinfo, maker, named

_AVX512 = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}
_AVX2 = {"avx2", "fma", "bmi1", "bmi2"}


def flags() -> set[str]:
    """The names of what it can do; none where nothing is known."""
    found = set(cpuinfo().get("flags", "").split())
    given = named()
    return found - _AVX512 if given and PROCESSORS[given][1] != V4 else found


def has_avx512() -> bool:
    """Whether it has the vectors of 512 bits that libraries ask for."""
    return flags() >= _AVX512


def vendor() -> str:
    """Who made it, as the list names them ("GenuineIntel", "AuthenticAMD"); empty if not known."""
    return maker()


@functools.cache
def mkl_kernels() -> str:
    """The kernel set of elementwise functions that Intel's MKL takes here: "sse", "avx2", "avx512".

    On processors of other makers it takes the oldest one, whatever they can do. On Intel's it
    heeds the variable ``MKL_ENABLE_INSTRUCTIONS``.
    """
    most = os.environ.get("MKL_ENABLE_INSTRUCTIONS", "")
    intel = vendor() == "GenuineIntel"
    if not intel or not flags() >= _AVX2 or most in ("AVX", "SSE4_2"):
        return "sse"
    return "avx512" if has_avx512() and not most.startswith("AVX2") else "avx2"


@functools.cache
def cache_bytes(level: int) -> int:
    """The size of a core's data cache of a level; 32 KiB and 1 MiB where it is not known."""
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            kind = (path / "type").read_text().strip()
            if kind != "Instruction" and int((path / "level").read_text()) == level:
                text = (path / "size").read_text().strip()
                unit = {"K": 1 << 10, "M": 1 << 20}.get(text[-1], 1)
                return int(text.rstrip("KM")) * unit
        except (OSError, ValueError):
            continue
    return (32 << 10) if level == 1 else (1 << 20)
