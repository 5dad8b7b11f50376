"""torch.distributed.fsdp: modules whose parameters are divided over processes."""

from __future__ import annotations

from mindtorch.torch._api.public_names import own_names as _own_names

from ._fully_shard import FSDPModule as FSDPModule
from ._fully_shard import UnshardHandle as UnshardHandle
from ._fully_shard import fully_shard as fully_shard
from ._fully_shard import register_fsdp_forward_method as register_fsdp_forward_method
from ._policies import CPUOffloadPolicy as CPUOffloadPolicy
from ._policies import MixedPrecisionPolicy as MixedPrecisionPolicy
from ._policies import OffloadPolicy as OffloadPolicy
from .fully_sharded_data_parallel import BackwardPrefetch as BackwardPrefetch
from .fully_sharded_data_parallel import CPUOffload as CPUOffload
from .fully_sharded_data_parallel import FullOptimStateDictConfig as FullOptimStateDictConfig
from .fully_sharded_data_parallel import FullStateDictConfig as FullStateDictConfig
from .fully_sharded_data_parallel import FullyShardedDataParallel as FullyShardedDataParallel
from .fully_sharded_data_parallel import LocalOptimStateDictConfig as LocalOptimStateDictConfig
from .fully_sharded_data_parallel import LocalStateDictConfig as LocalStateDictConfig
from .fully_sharded_data_parallel import MixedPrecision as MixedPrecision
from .fully_sharded_data_parallel import OptimStateDictConfig as OptimStateDictConfig
from .fully_sharded_data_parallel import OptimStateKeyType as OptimStateKeyType
from .fully_sharded_data_parallel import (
    ShardedOptimStateDictConfig as ShardedOptimStateDictConfig,
)
from .fully_sharded_data_parallel import ShardedStateDictConfig as ShardedStateDictConfig
from .fully_sharded_data_parallel import ShardingStrategy as ShardingStrategy
from .fully_sharded_data_parallel import StateDictConfig as StateDictConfig
from .fully_sharded_data_parallel import StateDictSettings as StateDictSettings
from .fully_sharded_data_parallel import StateDictType as StateDictType

__all__ = [
    "BackwardPrefetch", "CPUOffload", "CPUOffloadPolicy", "FSDPModule", "FullOptimStateDictConfig",
    "FullStateDictConfig", "FullyShardedDataParallel", "LocalOptimStateDictConfig",
    "LocalStateDictConfig", "MixedPrecision", "MixedPrecisionPolicy", "OffloadPolicy",
    "OptimStateDictConfig", "OptimStateKeyType", "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig", "StateDictSettings",
    "StateDictType", "UnshardHandle", "fully_shard", "register_fsdp_forward_method",
]  # fmt: skip

_own_names(globals())
