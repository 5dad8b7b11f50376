"""torch.ao.nn: modules that quantisation fuses, trains and puts in the place of others."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._compat.missing_names import missing

from . import intrinsic as intrinsic
from . import qat as qat
from . import quantized as quantized


def __getattr__(name: str) -> Any:
    raise missing("torch.ao.nn", name)
