"""Waiting for another library's operations, by a compiled loop that is loaded at the first wait."""

from __future__ import annotations

import functools
from typing import Any

from .kernel_modules import kernel_module

__all__ = ["poll"]


@functools.cache
def _kernel() -> Any:
    return kernel_module("cpu", "threads.polling").poll


def poll(test: int, requests: Any, waited: float, busy: float, limit: float) -> int:
    """Ask whether all requests are done until they are, or for some time.

    Args:
        test: the address of MPI_Test.
        requests: where the handles lie, int64.
        waited: seconds that they were waited for already, which make pauses longer.
        busy: seconds, with those, in which it asks without pauses.
        limit: seconds after which it gives up.

    Returns:
        0: they are done; below 0: not yet; above 0: the error that MPI has told.
    """
    return int(_kernel()(test, requests, waited, busy, limit))
