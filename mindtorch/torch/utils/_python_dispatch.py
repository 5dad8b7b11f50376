"""Modes that see every op of torch's dispatcher, which is not here."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._compat.unsupported_names import absent_class

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass"]

TorchDispatchMode = absent_class(
    "torch.utils._python_dispatch", "TorchDispatchMode",
    "ops do not pass through torch's dispatcher; see torch.overrides.TorchFunctionMode",
)  # fmt: skip


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """False: no subclass of tensors wraps others."""
    return False
