"""Switches of cuDNN: remembered; cuDNN is not called, convolutions are exact and deterministic."""

from __future__ import annotations

import sys
from typing import Any

from mindtorch.engine import dtypes

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
conv = Precision()
rnn = Precision()
CUDNN_TENSOR_DTYPES = {dtypes.float16, dtypes.float32, dtypes.float64}


def is_available() -> bool:
    """False: there is no CUDA device."""
    return False


def version() -> None:
    """None: there is no cuDNN."""


def is_acceptable(tensor: Any) -> bool:
    """Whether cuDNN would take the tensor: never."""
    return False


def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int | None = 10,
    deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str = "none",
) -> Restored:  # fmt: skip
    """A block in which the switches have these values."""
    return Restored(sys.modules[__name__], {
        "enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit,
        "deterministic": deterministic, "allow_tf32": allow_tf32, "fp32_precision": fp32_precision,
    })  # fmt: skip


sys.modules[__name__].__class__ = Switches
