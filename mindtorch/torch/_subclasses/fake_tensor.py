"""Tensors without data, of torch's compiler: names. Those of ``device="meta"`` are here."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._compat.unsupported_names import absent_class

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]

_MODULE = "torch._subclasses.fake_tensor"
_WHY = 'there is no dispatcher that sees the calls; torch.device("meta") has tensors without data'

FakeTensor = absent_class(_MODULE, "FakeTensor", _WHY)
FakeTensorMode = absent_class(_MODULE, "FakeTensorMode", _WHY)


def is_fake(x: Any) -> bool:
    """False: every tensor is what it seems."""
    return False
