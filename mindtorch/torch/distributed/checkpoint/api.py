"""The error of a checkpoint that some processes could not save or load."""

from __future__ import annotations

import traceback
from typing import Any

__all__ = ["CheckpointException"]

Failure = tuple[BaseException, traceback.StackSummary]


def failure_of(error: BaseException) -> Failure:
    """An error with where it was raised, to be sent to others."""
    return error, traceback.extract_tb(error.__traceback__)


class CheckpointException(BaseException):
    """Processes have failed to save or load their part.

    Args:
        msg: which step it was.
        failures: the error of each process that failed, and where it was raised.
    """

    def __init__(self, msg: str, failures: dict[int, Failure]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, Failure]:
        """The errors by process."""
        return self._failures

    def __str__(self) -> str:
        text = f"CheckpointException ranks:{self._failures.keys()}\n"
        for rank, (error, stack) in self._failures.items():
            text += f"Traceback (most recent call last): (RANK {rank})\n"
            text += "".join(traceback.format_list(stack))
            text += "".join(traceback.format_exception_only(type(error), value=error))
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return CheckpointException, self.args
