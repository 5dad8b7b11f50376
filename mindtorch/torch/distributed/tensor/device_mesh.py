"""torch.distributed.device_mesh under an older name."""

from __future__ import annotations

from ..device_mesh import DeviceMesh as DeviceMesh
from ..device_mesh import init_device_mesh as init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
