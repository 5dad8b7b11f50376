"""torch.ao: quantisation, and the modules that it needs."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._compat.missing_names import missing

from . import nn as nn
from . import quantization as quantization


def __getattr__(name: str) -> Any:
    raise missing("torch.ao", name)
