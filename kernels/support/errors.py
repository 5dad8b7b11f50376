"""Errors that kernels raise and callers catch by type."""

from __future__ import annotations


class LinAlgError(RuntimeError):
    """A matrix is singular, not positive-definite, or its factors did not converge."""


LinAlgError.__module__ = "torch._C"
LinAlgError.__qualname__ = LinAlgError.__name__ = "_LinAlgError"


class OutOfMemoryError(RuntimeError):
    """A device has no memory left."""


class AcceleratorError(RuntimeError):
    """An error that a device reported."""


for _error in (OutOfMemoryError, AcceleratorError):
    _error.__module__ = "torch"
