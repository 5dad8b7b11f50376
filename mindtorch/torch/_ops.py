"""The private names of torch.ops that other packages import."""

from . import ops as ops
from .ops import _Namespace as _OpNamespace
from .ops import _Overload as OpOverload
from .ops import _Packet as OpOverloadPacket

__all__ = ["OpOverload", "OpOverloadPacket", "_OpNamespace", "ops"]
