"""The ONNX forms of torch's operators in opset 11: absent, see torch.onnx."""

from __future__ import annotations

from typing import Any

from mindtorch.torch._compat.unsupported_names import absent_function

from . import NO_SYMBOLIC


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.onnx.symbolic_opset11' has no attribute '{name}'")
    return absent_function("torch.onnx.symbolic_opset11", name, NO_SYMBOLIC)
