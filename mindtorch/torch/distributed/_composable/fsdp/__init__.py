"""torch.distributed._composable.fsdp: names that moved to torch.distributed.fsdp."""

from __future__ import annotations

from ...fsdp import CPUOffloadPolicy as CPUOffloadPolicy
from ...fsdp import FSDPModule as FSDPModule
from ...fsdp import MixedPrecisionPolicy as MixedPrecisionPolicy
from ...fsdp import OffloadPolicy as OffloadPolicy
from ...fsdp import UnshardHandle as UnshardHandle
from ...fsdp import fully_shard as fully_shard
from ...fsdp import register_fsdp_forward_method as register_fsdp_forward_method

__all__ = [
    "CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "UnshardHandle",
    "fully_shard", "register_fsdp_forward_method",
]  # fmt: skip
