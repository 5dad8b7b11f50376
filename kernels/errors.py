"""Errors that kernels raise and callers catch by type."""

from __future__ import annotations


class LinAlgError(RuntimeError):
    """A matrix is singular, not positive-definite, or its factors did not converge."""


LinAlgError.__module__ = "torch._C"
LinAlgError.__qualname__ = LinAlgError.__name__ = "_LinAlgError"
