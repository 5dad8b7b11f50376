"""torch.cuda.amp: torch.amp by its older name."""

from __future__ import annotations

from .autocast_mode import autocast as autocast
from .autocast_mode import custom_bwd as custom_bwd
from .autocast_mode import custom_fwd as custom_fwd
from .common import amp_definitely_not_available as amp_definitely_not_available
from .grad_scaler import GradScaler as GradScaler
