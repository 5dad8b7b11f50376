"""Objects that give their state and take it back."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

__all__ = ["Stateful", "StatefulT"]


@runtime_checkable
class Stateful(Protocol):
    """What has a state: modules, optimizers, schedulers, and objects like these."""

    def state_dict(self) -> dict[str, Any]:
        """The state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state over.

        Args:
            state_dict: what :meth:`state_dict` gave.
        """
        ...


StatefulT = TypeVar("StatefulT", bound=Stateful)
