"""The older name of :mod:`torch.ao.quantization`."""

from __future__ import annotations

from typing import Any

from .ao import quantization as _quantization


def __getattr__(name: str) -> Any:
    return getattr(_quantization, name)
