"""torch.distributed.tensor.experimental: functions of local parts, and mixed tensors."""

from __future__ import annotations

from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._compat.unsupported_names import absent_function as _absent_function

from .._mixed import implicit_replication as implicit_replication
from ._func_map import local_map as local_map

context_parallel = _absent_function(
    "torch.distributed.tensor.experimental", "context_parallel",
    "attention gathers the keys of all processes where the sequence is cut",
)  # fmt: skip
register_sharding = _absent_function(
    "torch.distributed.tensor.experimental", "register_sharding",
    "an op's sharding rule is part of the engine; a function without one works by local_map",
)  # fmt: skip

__all__ = ["context_parallel", "implicit_replication", "local_map", "register_sharding"]

_own_names(globals())
