"""ONNX models as modules: ``mindtorch.onnx.load(file)`` runs, trains and is exported again.

The package `onnx` (the extra `export`) reads files; `elementwise`, `shapes` and the files beside
them say what each of ONNX's operators computes, by its versions.
"""

from __future__ import annotations

import importlib
from typing import Any

from mindtorch._distribution import install_extra

from .errors import ONNXError, UnsupportedOperatorError

__all__ = ["ONNXError", "ONNXModule", "UnsupportedOperatorError", "load"]


def __getattr__(name: str) -> Any:
    """What needs the package onnx is imported when it is first used."""
    if name not in ("ONNXModule", "load"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"{__name__}.module"), name)
    except ModuleNotFoundError as error:
        if error.name != "onnx":
            raise
        raise ModuleNotFoundError(
            f"mindtorch.onnx needs the package onnx: {install_extra('export')}", name="onnx"
        ) from None
