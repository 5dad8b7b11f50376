"""Engines of quantized kernels.

There is one set of kernels here; the engine is a choice of defaults that programs read.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from mindtorch._module_class import set_module_class

supported_engines = ["qnnpack", "onednn", "x86", "fbgemm"]


class _Quantized(ModuleType):
    _engine = "x86"

    @property
    def engine(self) -> str:
        """The one that programs chose."""
        return self._engine

    @engine.setter
    def engine(self, value: Any) -> None:
        if value not in supported_engines:
            raise RuntimeError(f"{value} is not a valid value for quantized engine")
        self._engine = value


set_module_class(__name__, _Quantized)
