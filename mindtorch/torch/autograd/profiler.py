"""Timing of ops: ``record_function`` blocks; the full profiler is not there yet."""

from __future__ import annotations

import contextlib
from typing import Any, NoReturn


class record_function(contextlib.ContextDecorator):  # noqa: N801
    """Name a block. Names show where a profiler listens; none does yet."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing to end."""


def profile(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("torch.autograd.profiler.profile is not supported yet")
