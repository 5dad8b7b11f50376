"""Switches of cuDNN, which computes convolutions on CUDA where its library is found.

``enabled`` and ``allow_tf32`` (and ``fp32_precision``, ``conv.fp32_precision``) are obeyed; the
others are remembered: algorithms are always deterministic, and chosen by cuDNN's heuristics.
"""

from __future__ import annotations

import sys
from typing import Any

from mindtorch._module_class import set_module_class
from mindtorch.engine import dtypes
from mindtorch.engine.devices import cuda
from mindtorch.kernels.support import precision

from ._flags import Precision, Restored, Switches

_booleans = {
    "enabled": "set_enabled_cudnn", "benchmark": "set_benchmark_cudnn",
    "deterministic": "set_deterministic_cudnn", "allow_tf32": "set_allow_tf32_cublas",
}  # fmt: skip
_precisions = ("fp32_precision",)
enabled = True
benchmark = False
benchmark_limit = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"


def _changed() -> None:
    """Tell the kernels what a switch says now."""
    own = sys.modules[__name__]
    said = [p for p in (own.conv.fp32_precision, own.fp32_precision) if p != "none"]
    precision.cudnn = own.enabled
    precision.cudnn_tf32 = said[0] == "tf32" if said else own.allow_tf32


conv = Precision(_changed)
rnn = Precision()
CUDNN_TENSOR_DTYPES = {dtypes.float16, dtypes.float32, dtypes.float64}


def _library() -> Any:
    return cuda.kernels("cudnn").library() if cuda.device_count() else None


def is_available() -> bool:
    """Whether there is a CUDA device, and cuDNN's library is found."""
    return _library() is not None


def version() -> int | None:
    """The library's version, such as 90100; None where there is none."""
    library = _library()
    return None if library is None else int(library.cudnnGetVersion())


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN takes the tensor."""
    taken = tensor.is_cuda and tensor.dtype in CUDNN_TENSOR_DTYPES
    return taken and precision.cudnn and is_available()


def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int | None = 10,
    deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str = "none",
) -> Restored:  # fmt: skip
    """A block in which the switches have these values."""
    return Restored(sys.modules[__name__], {
        "enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit,
        "deterministic": deterministic, "allow_tf32": allow_tf32, "fp32_precision": fp32_precision,
    })  # fmt: skip


set_module_class(__name__, Switches)
