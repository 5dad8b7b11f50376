"""The older name of :mod:`torch.ao.quantization`."""

from __future__ import annotations

from typing import Any

from .ao import quantization as _quantization
from .ao.quantization import DeQuantStub as DeQuantStub
from .ao.quantization import QConfig as QConfig
from .ao.quantization import QuantStub as QuantStub


def __getattr__(name: str) -> Any:
    return getattr(_quantization, name)
