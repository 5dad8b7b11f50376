"""torch.ao.quantization: the names that packages import. Quantisation is not available.

The stubs that mark where a model would be quantised are modules that change nothing.
"""

from __future__ import annotations

from typing import Any

from mindtorch.torch._compat.missing_names import missing
from mindtorch.torch._compat.unsupported_names import absent_class, absent_function
from mindtorch.torch.nn.modules.module import Module

__all__ = ["DeQuantStub", "QuantStub"]

_MODULE = "torch.ao.quantization"
_WHY = "there are no quantised kernels"


class _Stub(Module):
    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class QuantStub(_Stub):
    """Where a model's input would be quantised: gives back what it gets.

    Args:
        qconfig: kept as an attribute for whoever prepares the model.
    """


class DeQuantStub(_Stub):
    """Where a model's output would be turned back to floating point: gives back what it gets.

    Args:
        qconfig: kept as an attribute for whoever prepares the model.
    """


FakeQuantizeBase = absent_class(_MODULE, "FakeQuantizeBase", _WHY)
ObserverBase = absent_class(_MODULE, "ObserverBase", _WHY)
QConfig = absent_class(_MODULE, "QConfig", _WHY)


def __getattr__(name: str) -> Any:
    known = ("prepare", "prepare_qat", "convert", "fuse_modules", "fuse_modules_qat")
    if name in known or name.startswith(("default_", "get_default_")):
        return absent_function(_MODULE, name, _WHY)
    raise missing(_MODULE, name)
