"""C code for microcontrollers from a model: C99, no malloc, no dependencies, one static arena."""

from mindtorch.exporting.errors import ExportError, UnsupportedOperatorError

from .inference import generate
from .project import Report
from .training import generate_training

__all__ = ["ExportError", "Report", "UnsupportedOperatorError", "generate", "generate_training"]
