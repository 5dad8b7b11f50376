"""The processors that kernels may be compiled for, and what the system says of this one.

A kernel is for a processor with the instructions of x86-64-v4 or v3, and LLVM's choices for one
usual processor of its maker. So code that was compiled elsewhere, such as a wheel's, is the code
that would be compiled here.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

NATIVE = "native"
_V2 = frozenset(
    "64bit cmov crc32 cx16 cx8 fxsr mmx popcnt sahf sse sse2 sse3 sse4.1 sse4.2 ssse3".split()
)
V3 = _V2 | frozenset("avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave".split())
V4 = V3 | frozenset("avx512bw avx512cd avx512dq avx512f avx512vl".split())
INTEL, AMD, _HYGON = "GenuineIntel", "AuthenticAMD", "HygonGenuine"

# LLVM's name: who makes it, and what kernels may use of it
PROCESSORS = {
    "icelake-server": (INTEL, V4),
    "skylake": (INTEL, V3),
    "znver4": (AMD, V4),
    "znver3": (AMD, V3),
}


@functools.cache
def cpuinfo() -> dict[str, str]:
    """What the system says of the first core, by name; nothing where it has no such list."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return {}
    lines = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}


def named() -> str | None:
    """The one of these that ``MINDTORCH_PROCESSOR`` names; None where it names none."""
    given = os.environ.get("MINDTORCH_PROCESSOR", "")
    if given in ("", NATIVE):
        return None
    if given not in PROCESSORS:
        raise ValueError(
            f"MINDTORCH_PROCESSOR={given} is neither {NATIVE} nor one of {', '.join(PROCESSORS)}"
        )
    return given


def maker() -> str:
    """Who made the processor (:data:`INTEL`); empty where that is not known."""
    given = named()
    return PROCESSORS[given][0] if given else cpuinfo().get("vendor_id", "")


def standing_for(features: dict[str, bool]) -> str | None:
    """The one that stands for a processor with these features, by LLVM's names; None where none
    does, or where ``MINDTORCH_PROCESSOR`` says that kernels are for this very one."""
    if named() or os.environ.get("MINDTORCH_PROCESSOR") == NATIVE:
        return named()
    by = AMD if maker() in (AMD, _HYGON) else INTEL
    for name, (made_by, level) in PROCESSORS.items():
        if made_by == by and all(features.get(each) for each in level):
            return name
    return None
