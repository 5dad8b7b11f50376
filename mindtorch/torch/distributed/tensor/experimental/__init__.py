"""torch.distributed.tensor.experimental: functions of local parts, mixed tensors, sequences."""

from __future__ import annotations

from mindtorch.torch._api.public_names import own_names as _own_names

from .._mixed import implicit_replication as implicit_replication
from ._attention import context_parallel as context_parallel
from ._func_map import local_map as local_map
from ._register_sharding import register_sharding as register_sharding

__all__ = ["context_parallel", "implicit_replication", "local_map", "register_sharding"]

_own_names(globals())
