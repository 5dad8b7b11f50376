"""autocast for "cpu" (deprecated)."""

from __future__ import annotations

import warnings
from typing import Any

from mindtorch.engine import dtypes

from ...amp import autocast_mode

__all__ = ["autocast"]


class autocast(autocast_mode.autocast):  # noqa: N801
    """``torch.amp.autocast("cpu", ...)`` (deprecated)."""

    def __init__(
        self, enabled: bool = True, dtype: Any = dtypes.bfloat16,
        cache_enabled: bool = True,
    ) -> None:  # fmt: skip
        warnings.warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use "
            "`torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", dtype, enabled, cache_enabled)
