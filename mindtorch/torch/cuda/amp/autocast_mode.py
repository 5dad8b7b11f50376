"""autocast for "cuda" (deprecated)."""

from __future__ import annotations

import warnings
from typing import Any

from mindtorch.engine import dtypes

from ...amp import autocast_mode

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(autocast_mode.autocast):  # noqa: N801
    """``torch.amp.autocast("cuda", ...)`` (deprecated)."""

    def __init__(
        self, enabled: bool = True, dtype: Any = dtypes.float16,
        cache_enabled: bool = True,
    ) -> None:  # fmt: skip
        warnings.warn(
            "`torch.cuda.amp.autocast(args...)` is deprecated. Please use "
            "`torch.amp.autocast('cuda', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cuda", dtype, enabled, cache_enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """``torch.amp.custom_fwd(..., device_type="cuda")`` (deprecated)."""
    _renamed("custom_fwd")
    return autocast_mode.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any = None) -> Any:
    """``torch.amp.custom_bwd(..., device_type="cuda")`` (deprecated)."""
    _renamed("custom_bwd")
    return autocast_mode.custom_bwd(bwd, device_type="cuda")


def _renamed(name: str) -> None:
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use "
        f"`torch.amp.{name}(args..., device_type='cuda')` instead.",
        FutureWarning,
        stacklevel=3,
    )
