"""Functions of NVIDIA's driver that are called often, by ``ctypes``.

numba's own calls check types and contexts at each step, which takes it tens of microseconds.
``MINDTORCH_CUDA_DRIVER=numba`` leaves launches and copies to numba.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable

from . import driver_errors, streams

_P, _N, _S = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t
_SIGNATURES = {
    "cuLaunchKernel": (_P, *[_N] * 7, _P, _P, _P),
    "cuMemcpyDtoDAsync_v2": (_P, _P, _S, _P),
}
CHOSEN = os.environ.get("MINDTORCH_CUDA_DRIVER", "driver") != "numba"


@functools.cache
def function(name: str) -> Callable[..., int] | None:
    """A function of the driver, which gives 0 or the number of an error; None where numba is to be
    asked: in the simulator, where it is chosen, and where the library is not found."""
    if streams.SIMULATED or not CHOSEN:
        return None
    try:
        found = getattr(ctypes.CDLL("libcuda.so.1"), name)
    except (OSError, AttributeError):
        return None
    found.argtypes, found.restype = _SIGNATURES[name], ctypes.c_int
    return found


def copy_on_device(target: int, source: int, size: int) -> bool:
    """Copy bytes between addresses of this thread's device, on its current stream; False where
    numba has to.

    Raises:
        AcceleratorError: the driver refused.
    """
    call = function("cuMemcpyDtoDAsync_v2")
    if call is None:
        return False
    streams.enter()
    status = call(target, source, size, streams.handle(streams.current()))
    if status:
        raise driver_errors.refused(status)
    return True
