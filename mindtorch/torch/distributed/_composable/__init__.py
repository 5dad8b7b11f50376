"""torch.distributed._composable: replicate, and a name that moved to torch.distributed.fsdp."""

from __future__ import annotations

from mindtorch.torch._compat.unsupported_names import absent_function

from ..fsdp import fully_shard as fully_shard
from .replicate import replicate as replicate

__all__ = ["checkpoint", "fully_shard", "replicate"]

checkpoint = absent_function(
    "torch.distributed._composable", "checkpoint",
    "torch.utils.checkpoint.checkpoint recomputes a call; modules are not changed for it",
)  # fmt: skip
