"""What is wrong with a MindIR file, or cannot be written as one."""

from __future__ import annotations

from mindtorch.exporting.errors import UnsupportedOperatorError

__all__ = ["MindIRError", "UnsupportedOperatorError", "UnsupportedPrimitiveError"]


class MindIRError(RuntimeError):
    """A file is no MindIR, is damaged or newer than what is known, or its key is wrong."""


class UnsupportedPrimitiveError(MindIRError):
    """A file names a primitive, or a setting of one, that is not known here."""
