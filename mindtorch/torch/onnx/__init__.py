"""torch.onnx: what packages register for the export of their operators. Export itself is absent."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from mindtorch.torch._absent import absent_class, absent_function

__all__ = [
    "ONNXProgram",
    "OperatorExportTypes",
    "TrainingMode",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]

_WHY = "models are not exported; torch.save keeps a state_dict"

# What packages registered, by operator and opset.
_symbolics: dict[tuple[str, int], Callable[..., Any]] = {}


class TrainingMode(enum.Enum):
    """In which mode a model would be exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.Enum):
    """How operators would be exported."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


ONNXProgram = absent_class("torch.onnx", "ONNXProgram", _WHY)
export = absent_function("torch.onnx", "export", _WHY)


def is_in_onnx_export() -> bool:
    """False: there is no export."""
    return False


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Keep the function that writes an operator "namespace::name" as ONNX nodes.

    Raises:
        RuntimeError: the name is not of that form.
    """
    if symbolic_name.count("::") != 1:
        raise RuntimeError(
            f"Failed to register operator {symbolic_name}. The symbolic name must match the "
            "format domain::name, and should start with a letter and contain only alphanumerical "
            "characters"
        )
    _symbolics[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forget what was registered."""
    _symbolics.pop((symbolic_name, opset_version), None)
