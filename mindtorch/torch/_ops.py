"""The private names of torch.ops that other packages import."""

from . import ops as ops
from ._aten.overloads import OpOverload, OpOverloadPacket

__all__ = ["OpOverload", "OpOverloadPacket", "_OpNamespace", "ops"]
_OpNamespace = ops._Namespace
