"""torch.ao.quantization: the names that packages import. Quantisation is not available."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._absent import absent_class, absent_function

__all__ = ["DeQuantStub", "QuantStub"]

_MODULE = "torch.ao.quantization"
_WHY = "there are no quantised kernels"

QuantStub = absent_class(_MODULE, "QuantStub", _WHY)
DeQuantStub = absent_class(_MODULE, "DeQuantStub", _WHY)
QConfig = absent_class(_MODULE, "QConfig", _WHY)


def __getattr__(name: str) -> Any:
    known = ("prepare", "prepare_qat", "convert", "fuse_modules", "fuse_modules_qat")
    if name in known or name.startswith(("default_", "get_default_")):
        return absent_function(_MODULE, name, _WHY)
    raise AttributeError(f"module '{_MODULE}' has no attribute '{name}'")
