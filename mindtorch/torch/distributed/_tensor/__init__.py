"""torch.distributed._tensor: an older name of torch.distributed.tensor."""

from __future__ import annotations

import sys

from .. import device_mesh as device_mesh
from ..tensor import DeviceMesh as DeviceMesh
from ..tensor import DTensor as DTensor
from ..tensor import Partial as Partial
from ..tensor import Placement as Placement
from ..tensor import Replicate as Replicate
from ..tensor import Shard as Shard
from ..tensor import _utils as _utils
from ..tensor import distribute_module as distribute_module
from ..tensor import distribute_tensor as distribute_tensor
from ..tensor import empty as empty
from ..tensor import experimental as experimental
from ..tensor import full as full
from ..tensor import init_device_mesh as init_device_mesh
from ..tensor import ones as ones
from ..tensor import placement_types as placement_types
from ..tensor import rand as rand
from ..tensor import randn as randn
from ..tensor import zeros as zeros

for _module in (_utils, device_mesh, experimental, placement_types):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module
