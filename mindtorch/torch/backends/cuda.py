"""Switches of the CUDA libraries. ``matmul.allow_tf32`` and ``allow_fp16_accumulation`` change how
cuBLAS computes; the others are remembered: products add in float32, attention has one kernel."""

from __future__ import annotations

import contextlib
import enum
import warnings
from collections.abc import Iterator
from typing import Any

from mindtorch.kernels.support import precision
from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons

from .._api.cuda_devices import require_cuda
from ..settings import get_float32_matmul_precision, set_float32_matmul_precision
from ._flags import PRECISIONS

_REDUCTIONS = {
    "allow_fp16_reduced_precision_reduction": "set_allow_fp16_reduction_cublas",
    "allow_bf16_reduced_precision_reduction": "set_allow_bf16_reduction_cublas",
    "allow_fp16_accumulation": "set_allow_fp16_accumulation_cublas",
}  # fmt: skip


class cuBLASModule:  # noqa: N801
    """How products may be computed on a device."""

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    fp32_precision = "none"

    @property
    def allow_tf32(self) -> bool:
        return get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        set_float32_matmul_precision("high" if value else "highest")

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "allow_tf32" or name in _REDUCTIONS:
            setter = _REDUCTIONS.get(name, "set_allow_tf32_cublas")
            if not isinstance(value, bool):
                raise RuntimeError(f"{setter} expects a bool, but got {type(value).__name__}")
        elif name == "fp32_precision":
            if value not in PRECISIONS:
                raise RuntimeError(f"Unknown precision: {value}")
        else:
            raise AttributeError(f"Unknown attribute {name}")
        super().__setattr__(name, value)
        if name == "allow_fp16_accumulation":
            precision.float16_sums = value


class _PlanCache:
    """cuFFT's plans: there are none, and asking says why."""

    def __getattr__(self, name: str) -> Any:
        require_cuda()


matmul = cuBLASModule()
cufft_plan_cache = _PlanCache()
attention_choices = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}
_reduced_sums = {"math": False}  # of attention in 16 bits


def is_built() -> bool:
    """False: this is no CUDA build."""
    return False


def is_flash_attention_available() -> bool:
    return False


def flash_sdp_enabled() -> bool:
    return attention_choices["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    attention_choices["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    return attention_choices["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    attention_choices["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    return attention_choices["math"]


def enable_math_sdp(enabled: bool) -> None:
    attention_choices["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    return attention_choices["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    attention_choices["cudnn"] = bool(enabled)


@contextlib.contextmanager
def _chosen(flash: bool, math: bool, mem_efficient: bool, cudnn: bool) -> Iterator[dict[Any, Any]]:
    before = dict(attention_choices)
    attention_choices.update(flash=flash, math=math, mem_efficient=mem_efficient, cudnn=cudnn)
    try:
        yield {}
    finally:
        attention_choices.update(before)


def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Any:  # fmt: skip
    """A block that allows these kernels of attention on a device (deprecated)."""
    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager "
        "will be removed. Please see `torch.nn.attention.sdpa_kernel()` for the new context "
        "manager, with updated signature.",
        FutureWarning,
        stacklevel=2,
    )
    return _chosen(enable_flash, enable_math, enable_mem_efficient, enable_cudnn)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    return _reduced_sums["math"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Remember whether attention's products may add in 16 bits.

    Args:
        enabled: they may.
    """
    _reduced_sums["math"] = bool(enabled)


def is_ck_sdpa_available() -> bool:
    return False


def can_use_flash_attention(params: Any, debug: bool = False) -> bool:
    """False: attention has one kernel here."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention


class _Preference:
    """A library of the device that programs prefer; it is remembered."""

    def __init__(self, names: str, first: int, text: str) -> None:
        members = {name.capitalize(): i for i, name in enumerate(names.split())}
        kinds: Any = enum.Enum
        self.kinds = kinds(text, members)
        self.names, self.chosen = names.split(), list(self.kinds)[first]

    def __call__(self, backend: Any = None) -> Any:
        """The library; ``backend`` chooses it, by its name or as a member of the enumeration."""
        if isinstance(backend, str):
            if backend not in self.names:
                raise RuntimeError(
                    f"Unknown input value. Choose from: {', '.join(self.names)}."
                )
            backend = self.kinds[backend.capitalize()]
        if backend is not None:
            self.chosen = backend
        return self.chosen


preferred_linalg_library = _Preference("default cusolver magma", 0, "_LinalgBackend")
preferred_blas_library = _Preference("default cublas cublaslt ck", 1, "_BlasBackend")
preferred_rocm_fa_library = _Preference("default aotriton ck", 0, "_ROCmFABackend")


_give_reasons(globals())
