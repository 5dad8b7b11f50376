"""What can be wrong with MindRecord files and their schemas."""

from __future__ import annotations

__all__ = [
    "MRMInvalidSchemaError", "MRMOpenError", "MRMUnsupportedSchemaError", "MRMValidateDataError",
    "MindRecordException", "ParamTypeError", "ParamValueError", "PathNotExistsError",
]  # fmt: skip


class MindRecordException(Exception):
    """Base of the others; its text names its class first."""

    def __init__(self, text: str = "") -> None:
        super().__init__(f"[{type(self).__name__}]: {text}")


class ParamTypeError(MindRecordException, TypeError):
    """An argument of a wrong type."""


class ParamValueError(MindRecordException, ValueError, RuntimeError):
    """An argument of a wrong value."""


class PathNotExistsError(MindRecordException, ValueError, RuntimeError):
    """No file where one should be."""


class MRMInvalidSchemaError(MindRecordException, ValueError):
    """A schema with types or shapes that there are not."""


class MRMUnsupportedSchemaError(MindRecordException, RuntimeError):
    """A file of several schemas."""


class MRMValidateDataError(MindRecordException, RuntimeError):
    """Rows that do not fit the schema."""


class MRMOpenError(MindRecordException, RuntimeError):
    """A file that is not one, or broken."""
