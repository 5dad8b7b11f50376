"""Names of torch._dynamo.utils that packages import."""

from __future__ import annotations

from typing import Any

__all__ = ["is_compile_supported"]


def is_compile_supported(device_type: Any) -> bool:
    """Whether `torch.compile` has kernels for tensors of a device type."""
    return device_type in ("cpu", "cuda")
