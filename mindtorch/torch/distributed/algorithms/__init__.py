"""torch.distributed.algorithms: training with uneven inputs."""

from __future__ import annotations

from .join import Join as Join
from .join import Joinable as Joinable
from .join import JoinHook as JoinHook
