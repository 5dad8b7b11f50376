"""ONNX models as modules: ``mindtorch.onnx.load(file)`` runs, trains and is exported again.

The package `onnx` (the extra `export`) reads files; `operators` and the files beside it say what
each of ONNX's operators computes, by its versions.
"""

from __future__ import annotations

try:
    import onnx as _onnx  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "onnx":
        raise
    raise ModuleNotFoundError(
        "mindtorch.onnx needs the package onnx: pip install 'mindtorch-engine[export]'", name="onnx"
    ) from None

from .errors import ONNXError, UnsupportedOperatorError
from .module import ONNXModule, load

__all__ = ["ONNXError", "ONNXModule", "UnsupportedOperatorError", "load"]
