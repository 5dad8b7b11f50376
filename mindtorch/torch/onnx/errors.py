"""Errors of torch.onnx."""

from __future__ import annotations

from mindtorch.exporting.errors import ExportError as OnnxExporterError
from mindtorch.exporting.errors import ExportWarning as OnnxExporterWarning
from mindtorch.exporting.errors import UnsupportedOperatorError

__all__ = ["OnnxExporterError", "OnnxExporterWarning", "UnsupportedOperatorError"]
