"""The private names of torch.ops that other packages import."""

from . import ops as ops

__all__ = ["OpOverload", "OpOverloadPacket", "_OpNamespace", "ops"]
_OpNamespace = ops._Namespace
OpOverload = ops._Overload
OpOverloadPacket = ops._Packet
