"""Numbers below the smallest normal one: kept, or flushed to zero by the processor."""

from __future__ import annotations

import ctypes
import platform
import sys

# bits of the register that steers SSE and AVX: results to zero, operands read as zero
_FLUSH, _ZEROS = 1 << 15, 1 << 6


class _Environment(ctypes.Structure):
    """fenv_t of the GNU C library on x86-64."""

    _fields_ = [("x87", ctypes.c_uint32 * 7), ("mxcsr", ctypes.c_uint32)]


def flush_denormals(mode: bool) -> bool:
    """Have this thread's floats of 32 and 64 bits flushed, or kept.

    Returns:
        Whether that was done; not on other processors than x86-64, nor without glibc.
    """
    known = platform.machine() in ("x86_64", "AMD64") and sys.platform == "linux"
    if not known or platform.libc_ver()[0] != "glibc":
        return False
    library, environment = ctypes.CDLL("libm.so.6"), _Environment()
    if library.fegetenv(ctypes.byref(environment)):
        return False
    bits = _FLUSH | _ZEROS
    environment.mxcsr = environment.mxcsr | bits if mode else environment.mxcsr & ~bits
    return not library.fesetenv(ctypes.byref(environment))
