"""``__module__`` of public names: the module that torch has them in, not the file of ours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mindtorch._module_names import is_public

from .._compat.missing_names import give_reasons

__all__ = ["belong_to", "is_public", "own_names"]

_HOME = "mindtorch."
# what modules import for themselves
_HELPERS = tuple(
    f"mindtorch.torch.{each}"
    for each in ("_api.arguments", "_api.out_", "_api.publi", "_api.sh", "_api.signatures",
                 "_api.warn_caller", "_compat.missing_names", "_compat.unsupported_names")
)  # fmt: skip


def own_names(namespace: dict[str, Any], *more: str) -> None:
    """Let what a public module has of inner files of ours belong to the module, and the module say
    why it lacks a name.

    Args:
        namespace: the module's; its public names are looked at.
        more: names that ``__all__`` lacks.
    """
    give_reasons(namespace)
    here = namespace["__name__"]
    for name in (*(namespace.get("__all__") or list(namespace)), *more):
        value = namespace.get(name)
        if name[0] == "_" or getattr(value, "__name__", None) != name:
            continue
        home = getattr(value, "__module__", None)
        if not isinstance(home, str) or not home.startswith(_HOME) or is_public(home):
            continue
        if not home.startswith(_HELPERS):
            belong_to(here, (value,))


def belong_to(module: str, values: Iterable[Any]) -> None:
    """Let functions and classes say that they are of a module, where they are found by name."""
    for value in values:
        value.__module__ = module
