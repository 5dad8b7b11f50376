"""Exchange of tensors with other libraries by the DLPack protocol, without a copy."""

from __future__ import annotations

from ..functions.dlpack import DLDeviceType as DLDeviceType
from ..functions.dlpack import from_dlpack as from_dlpack
from ..functions.dlpack import to_dlpack as to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
