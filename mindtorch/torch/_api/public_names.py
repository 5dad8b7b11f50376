"""``__module__`` of public names: the module that torch has them in, not the file of ours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["belong_to", "is_public", "own_names"]

_HOME = "mindtorch."
_INNER = (
    "mindtorch.torch.functions", "mindtorch.torch.settings", "mindtorch.engine",
    "mindtorch.kernels",
)  # fmt: skip


def is_public(module: str) -> bool:
    """Whether scripts may import a module by this name."""
    return "._" not in module and not module.startswith(_INNER)


def own_names(namespace: dict[str, Any]) -> None:
    """Let what a public module has of inner files of ours belong to the module.

    Args:
        namespace: the module's; its public names are looked at.
    """
    here = namespace["__name__"]
    for name, value in namespace.items():
        if name[0] == "_" or getattr(value, "__name__", None) != name:
            continue
        home = getattr(value, "__module__", None)
        if isinstance(home, str) and home.startswith(_HOME) and not is_public(home):
            belong_to(here, (value,))


def belong_to(module: str, values: Iterable[Any]) -> None:
    """Let functions and classes say that they are of a module, where they are found by name."""
    for value in values:
        value.__module__ = module
