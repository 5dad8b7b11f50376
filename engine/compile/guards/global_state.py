"""What a call depends on besides its arguments: the modes of the thread, and settings."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...dispatch import state
from ...transforms import autocast

# who sees each call of a function while it is made
intercepting: list[Any] = []


class Settings(dict[str, Any]):
    """What a namespace lets programs set and read.

    Attributes:
        key: all of it, to compare.
    """

    key: tuple[Any, ...] = ()

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self.key = tuple(self.values())


settings = Settings()


def current() -> Any:
    """The modes that what is compiled now is compiled for."""
    return (
        state.grad_enabled, state.inference, state.device, dtypes.default, autocast.state.key(),
        settings.key,
    )  # fmt: skip
