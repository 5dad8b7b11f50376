"""torch.cpu.amp: torch.amp by its older name."""

from __future__ import annotations

from .autocast_mode import autocast as autocast
from .grad_scaler import GradScaler as GradScaler
