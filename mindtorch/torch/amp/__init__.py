"""torch.amp: mixed precision: autocast and the scaling of gradients."""

from __future__ import annotations

from typing import Any

from mindtorch.mindspore.amp import auto_mixed_precision as of_mindspore

from .autocast_mode import autocast as autocast
from .autocast_mode import custom_bwd as custom_bwd
from .autocast_mode import custom_fwd as custom_fwd
from .autocast_mode import is_autocast_available as is_autocast_available
from .grad_scaler import GradScaler as GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def auto_mixed_precision(network: Any, amp_level: str = "auto") -> Any:
    """MindTorch's: let a module's layers compute in float16, by the levels "O0" to "O3".

    Returns:
        the module, whose results are float32. "auto" raises ValueError on the CPU.
    """
    return of_mindspore(network, amp_level)
