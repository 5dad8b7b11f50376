"""Whether a program is ready for a name to be missing."""

from __future__ import annotations

import ast

__all__ = ["is_guard", "may_catch"]

_CAUGHT = {
    "AttributeError", "BaseException", "Exception", "ImportError", "ModuleNotFoundError",
    "NameError", "NotImplementedError", "RuntimeError",
}  # fmt: skip
_CALLS = {"hasattr", "find_spec", "getattr"}


def may_catch(handled: ast.AST | None) -> bool:
    """Whether `except <handled>:` catches what a missing name raises."""
    if handled is None:
        return True
    if isinstance(handled, ast.Tuple):
        return any(may_catch(each) for each in handled.elts)
    name = handled.attr if isinstance(handled, ast.Attribute) else getattr(handled, "id", "")
    return name in _CAUGHT


def _tells(name: str) -> bool:
    """Whether a name asks for a version, a feature or a device."""
    word = name.lower()
    return (
        word == "type_checking"
        or "version" in word
        or word.endswith("available")
        or word.startswith(("has_", "_has_", "is_torch_", "use_cuda"))
    )


def is_guard(test: ast.AST) -> bool:
    """Whether a condition asks for what is there: a name, a version, a device."""
    for node in ast.walk(test):
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
        if isinstance(name, str) and (name in _CALLS or _tells(name)):
            return True
    return False
