"""What a call depends on besides its arguments: the modes of the thread, and settings."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...dispatch import state
from ...settings import settings
from ...transforms import autocast

# who sees each call of a function while it is made
intercepting: list[Any] = []


def current() -> Any:
    """The modes that what is compiled now is compiled for."""
    return (
        state.grad_enabled, state.inference, state.device, dtypes.default, autocast.state.key(),
        settings.key,
    )  # fmt: skip
