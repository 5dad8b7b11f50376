"""Where numbers become levels and levels become numbers again."""

from __future__ import annotations

from typing import Any

from mindtorch.torch.nn.modules.module import Module

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class _Stub(Module):
    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        return x


class QuantStub(_Stub):
    """Where numbers become levels: an observer until `convert` puts `Quantize` in its place.

    Args:
        qconfig: of its own; None for that of the modules around it.
    """


class DeQuantStub(_Stub):
    """Where levels become numbers: the identity until `convert` puts `DeQuantize` in its place.

    Args:
        qconfig: of its own; None for that of the modules around it.
    """


class QuantWrapper(Module):
    """A module between the two stubs.

    Args:
        module: in between; its ``qconfig`` is that of the stubs, too.
    """

    def __init__(self, module: Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Any) -> Any:  # noqa: N803
        return self.dequant(self.module(self.quant(X)))
