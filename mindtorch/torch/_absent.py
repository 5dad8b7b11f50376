"""Names of torch that packages import and mindtorch cannot do: using one says so.

A package must be able to import, subclass and mention such a name; only making an instance or
calling it raises.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["absent_class", "absent_function", "refuse"]


def refuse(name: str, why: str) -> NoReturn:
    """Raise NotImplementedError for a name of torch's and the reason."""
    raise NotImplementedError(f"{name} is not available in mindtorch: {why}")


def absent_class(module: str, name: str, why: str) -> type[Any]:
    """A class that can be imported and subclassed, and raises when an instance is made."""

    def new(cls: type[Any], *args: Any, **kwargs: Any) -> Any:
        refuse(f"{module}.{name}", why)

    doc = f"Not available: {why}.\n\n    Raises:\n        NotImplementedError: when made."
    return type(name, (), {"__new__": new, "__doc__": doc, "__module__": module})


def absent_function(module: str, name: str, why: str) -> Any:
    """A function that raises when it is called."""

    def raises(*args: Any, **kwargs: Any) -> Any:
        refuse(f"{module}.{name}", why)

    raises.__name__ = raises.__qualname__ = name
    raises.__module__ = module
    raises.__doc__ = f"Not available: {why}.\n\n    Raises:\n        NotImplementedError: always."
    return raises
