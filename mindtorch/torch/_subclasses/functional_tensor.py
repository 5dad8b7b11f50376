"""Tensors whose writes torch's compiler replaces by values."""

from __future__ import annotations

from mindtorch.torch._compat.unsupported_names import absent_class

__all__ = ["FunctionalTensor", "FunctionalTensorMode"]

_MODULE = "torch._subclasses.functional_tensor"
_WHY = "torch.compile captures a program in another way"

FunctionalTensor = absent_class(_MODULE, "FunctionalTensor", _WHY)
FunctionalTensorMode = absent_class(_MODULE, "FunctionalTensorMode", _WHY)
