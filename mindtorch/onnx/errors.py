"""What is wrong with an ONNX model, or is not supported of it."""

from __future__ import annotations

__all__ = ["ONNXError", "UnsupportedOperatorError"]


class ONNXError(RuntimeError):
    """A file is no ONNX model, is damaged, or its graph is wrong."""


class UnsupportedOperatorError(ONNXError):
    """An operator, a version or an attribute of it, or an element type is not known here."""
