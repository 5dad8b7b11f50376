"""What is set on modules, which are too many to compare at each call: it is counted."""

from __future__ import annotations

from typing import Any

count = 0
# the namespace's class of modules, and the registries of hooks that all modules call
module_type: type = type(None)
registries: tuple[Any, ...] = ()
# where a module has the hooks around its calls
HOOKS_OF_CALLS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def module_changed() -> None:
    """Note that something was set on a module, so that compiled calls look at theirs anew."""
    global count
    count += 1


def hooks_on_all() -> tuple[int, ...]:
    """The ids of the hooks on all modules."""
    return tuple([key for registry in registries for key in registry])
