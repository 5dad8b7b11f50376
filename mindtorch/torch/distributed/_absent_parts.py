"""The parts of torch.distributed that are not there: packages import them, using them raises.

Packages that train on one machine mention these names in `isinstance` and in annotations.
"""

from __future__ import annotations

import sys

from mindtorch.torch._compat.unsupported_names import absent_function, absent_module

from . import _default_hooks

__all__: list[str] = []

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
