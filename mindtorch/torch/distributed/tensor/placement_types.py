"""How a tensor lies over the processes of one axis of a mesh."""

from __future__ import annotations

from mindtorch.engine.sharding.placements import Partial as Partial
from mindtorch.engine.sharding.placements import Placement as Placement
from mindtorch.engine.sharding.placements import Replicate as Replicate
from mindtorch.engine.sharding.placements import Shard as Shard
from mindtorch.engine.sharding.placements import StridedShard

from ._dtensor_spec import DTensorSpec as DTensorSpec
from ._dtensor_spec import TensorMeta as TensorMeta

_StridedShard = StridedShard
StridedShard.__module__ = __name__  # where files look for it
StridedShard.__name__ = StridedShard.__qualname__ = "_StridedShard"

__all__ = ["Partial", "Placement", "Replicate", "Shard"]
