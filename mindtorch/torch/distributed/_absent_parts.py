"""The parts of torch.distributed that are not there: packages import them, using them raises.

Packages that train on one machine mention these names in `isinstance` and in annotations.
"""

from __future__ import annotations

import sys

from mindtorch.torch._compat.unsupported_names import absent_function, absent_module

from . import _default_hooks

__all__: list[str] = []

_SHARDED = "parameters are not sharded over processes; DistributedDataParallel keeps them whole"
_HOOK = "gradients are averaged by all_reduce; there are no other schedules"

_REMOTE = "there are no remote calls; processes exchange tensors by collectives, send and recv"

_rpc = absent_module(
    "distributed.rpc",
    _REMOTE,
    "BackendType PyRRef RRef TensorPipeRpcBackendOptions WorkerInfo",
    "get_worker_info init_rpc remote rpc_async rpc_sync shutdown",
)
_rpc.is_available = lambda: False  # type: ignore[attr-defined]
_api = absent_module("distributed.rpc.api", _REMOTE, "", "_all_gather")
_api.__dict__["_require_initialized"] = lambda function: absent_function(
    "torch.distributed.rpc", function.__name__, _REMOTE
)
absent_module("distributed.rpc.functions", _REMOTE, "", "async_execution")
absent_module("distributed.autograd", _REMOTE, "context", "backward get_gradients")
_STRATEGIES = {
    "ShardingStrategy": "FULL_SHARD SHARD_GRAD_OP NO_SHARD HYBRID_SHARD _HYBRID_SHARD_ZERO2",
    "BackwardPrefetch": "BACKWARD_PRE BACKWARD_POST",
    "StateDictType": "FULL_STATE_DICT LOCAL_STATE_DICT SHARDED_STATE_DICT",
    "OptimStateKeyType": "PARAM_NAME PARAM_ID",
}
_FSDP = (
    "CPUOffload CPUOffloadPolicy FSDPModule FullOptimStateDictConfig FullStateDictConfig "
    "FullyShardedDataParallel LocalOptimStateDictConfig LocalStateDictConfig MixedPrecision "
    "MixedPrecisionPolicy OffloadPolicy OptimStateDictConfig ShardedOptimStateDictConfig "
    "ShardedStateDictConfig StateDictConfig StateDictSettings UnshardHandle"
)
_fsdp = absent_module(
    "distributed.fsdp", _SHARDED, _FSDP, "fully_shard register_fsdp_forward_method", _STRATEGIES
)
for _place in ("fsdp.api", "fsdp.fully_sharded_data_parallel"):
    _part = absent_module(f"distributed.{_place}", _SHARDED)
    for _name in (*_FSDP.split(), *_STRATEGIES):
        setattr(_part, _name, getattr(_fsdp, _name))
absent_module("distributed.fsdp.sharded_grad_scaler", _SHARDED, "ShardedGradScaler")
absent_module(
    "distributed.fsdp.wrap",
    _SHARDED,
    "CustomPolicy ModuleWrapPolicy",
    "always_wrap_policy enable_wrap size_based_auto_wrap_policy transformer_auto_wrap_policy wrap",
)
absent_module("distributed._composable", _SHARDED, "", "checkpoint fully_shard replicate")
_composable = absent_module("distributed._composable.fsdp", _SHARDED)
for _name in ("CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "fully_shard"):
    setattr(_composable, _name, getattr(_fsdp, _name))

absent_module("distributed.algorithms._checkpoint", _SHARDED)
absent_module(
    "distributed.algorithms._checkpoint.checkpoint_wrapper",
    "torch.utils.checkpoint.checkpoint recomputes a call; modules are not wrapped for it",
    "CheckpointWrapper",
    "apply_activation_checkpointing checkpoint_wrapper",
    {"CheckpointImpl": "REENTRANT NO_REENTRANT"},
)
absent_module(
    "distributed.algorithms.ddp_comm_hooks",
    _HOOK,
    "",
    "register_ddp_comm_hook",
    {"DDPCommHookType": "ALLREDUCE FP16_COMPRESS BF16_COMPRESS POWER_SGD"},
)
for _name, _functions in {
    "default_hooks": "",
    "post_localSGD_hook": "post_localSGD_hook",
    "powerSGD_hook": "batched_powerSGD_hook powerSGD_hook",
}.items():
    absent_module(
        f"distributed.algorithms.ddp_comm_hooks.{_name}",
        _HOOK,
        {"post_localSGD_hook": "PostLocalSGDState", "powerSGD_hook": "PowerSGDState"}.get(
            _name, ""
        ),
        _functions,
    )
_hooks = sys.modules["mindtorch.torch.distributed.algorithms.ddp_comm_hooks.default_hooks"]
for _name in _default_hooks.__all__:
    setattr(_hooks, _name, getattr(_default_hooks, _name))
absent_module("distributed.algorithms.model_averaging", _HOOK)
absent_module(
    "distributed.algorithms.model_averaging.averagers", _HOOK, "ModelAverager PeriodicModelAverager"
)
