"""torch.ao: only what packages import to offer quantised models."""

from typing import Any

from mindtorch.torch._compat.missing_names import missing

from . import quantization as quantization


def __getattr__(name: str) -> Any:
    raise missing("torch.ao", name)
