"""torch._C._nn: functions of networks under the names that torch.fx prints for them."""

from __future__ import annotations

import importlib
from typing import Any

from mindtorch.torch._tensor.conversion import parse_to as _parse_options

_FUNCTIONS = {
    "avg_pool2d", "avg_pool3d", "elu_", "gelu", "hardtanh_", "leaky_relu_", "linear", "one_hot",
    "scaled_dot_product_attention", "softplus", "softshrink",
}  # fmt: skip


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """(device, dtype, non_blocking, memory_format) out of what `Tensor.to` takes."""
    dtype, device, _, memory_format = _parse_options(args, kwargs)
    last = args[-1] if args and isinstance(args[-1], bool) else False
    return device, dtype, kwargs.get("non_blocking", last), memory_format


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(importlib.import_module("mindtorch.torch.nn.functional"), name)
    raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'")
