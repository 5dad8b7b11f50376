"""What the driver reports (a device that is lost, memory that does not belong to it): it comes as
numba's error, or cupy's, and is raised as torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.kernels.support.errors import AcceleratorError

LATE = (
    "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace "
    "below might be incorrect."
)
# errors of numba's driver, of cuda.core, by which numba-cuda launches, and of cupy; and what CUDA
# says of the numbers that end a process's work
_DRIVERS = ("CudaAPIError", "CudaDriverError", "CUDAError", "CUDARuntimeError", "CUDADriverError",
            "CUBLASError", "CUSOLVERError", "CuFFTError")  # fmt: skip
_MEANINGS = {
    2: "out of memory",
    100: "no CUDA-capable device is detected", 214: "uncorrectable ECC error encountered",
    222: "the provided PTX was compiled with an unsupported toolchain.",
    700: "an illegal memory access was encountered", 702: "the launch timed out and was terminated",
    709: "context is destroyed", 710: "device-side assert triggered",
    715: "an illegal instruction was encountered", 716: "misaligned address",
    719: "unspecified launch failure", 999: "unknown error",
}  # fmt: skip
# cuda.core's errors have no number, their text begins with its name
_NAMES = {
    "OUT_OF_MEMORY": 2, "NO_DEVICE": 100, "ECC_UNCORRECTABLE": 214, "UNSUPPORTED_PTX_VERSION": 222,
    "ILLEGAL_ADDRESS": 700, "LAUNCH_TIMEOUT": 702, "CONTEXT_IS_DESTROYED": 709, "ASSERT": 710,
    "ILLEGAL_INSTRUCTION": 715, "MISALIGNED_ADDRESS": 716, "LAUNCH_FAILED": 719, "UNKNOWN": 999,
}  # fmt: skip


def raised_as_torchs(call: Callable[..., Any], *arguments: Any) -> Any:
    """What ``call`` gives; an error of the driver becomes torch's.

    Raises:
        AcceleratorError: the driver refused, or the device is lost.
    """
    try:
        return call(*arguments)
    except Exception as error:
        if type(error).__name__ not in _DRIVERS:
            raise
        raise AcceleratorError(f"CUDA error: {_said(error)}\n{LATE}") from error


def refused(status: int) -> AcceleratorError:
    """torch's error for a number that a function of the driver has returned."""
    said = _MEANINGS.get(status, f"the driver refused with error {status}")
    return AcceleratorError(f"CUDA error: {said}\n{LATE}")


def _said(error: Exception) -> str:
    """What an error of the driver means."""
    if type(error).__name__ == "CUDAError":
        name = str(error).partition(":")[0].removeprefix("CUDA_ERROR_")
        return _MEANINGS[_NAMES[name]] if name in _NAMES else str(error)
    code = getattr(error, "code", getattr(error, "status", None))  # numba's, cupy's
    known = _MEANINGS if "BLAS" not in type(error).__name__.upper() else {}
    return known.get(int(code), str(error)) if isinstance(code, int) else str(error)
