"""Names of torch that packages import and mindtorch cannot do: using one says so.

A package must be able to import, subclass and mention such a name; only making an instance or
calling it raises. What is made here has the reason as `__absent__`, for tools.
"""

from __future__ import annotations

import enum
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from .._api.signatures import wrong_call

__all__ = ["absent_class", "absent_function", "absent_module", "no_constructor", "refuse"]


def refuse(name: str, why: str) -> NoReturn:
    """Raise NotImplementedError for a name of torch's and the reason."""
    raise NotImplementedError(f"{name} is not available in mindtorch: {why}")


def no_constructor(name: str) -> TypeError:
    """torch's error for a class whose objects it makes in C++ alone."""
    return TypeError(f"torch._C.{name}: No constructor defined!")


def absent_class(module: str, name: str, why: str, made_in_c: bool = False) -> type[Any]:
    """A class that can be imported and subclassed, and raises when an instance is made.

    Args:
        made_in_c: torch refuses to make one, too; the error is torch's.
    """

    def new(cls: type[Any], *args: Any, **kwargs: Any) -> Any:
        if made_in_c:
            raise no_constructor(name)
        refuse(f"{module}.{name}", why)

    doc = f"Not available: {why}.\n\n    Raises:\n        NotImplementedError: when made."
    return type(name, (), {"__new__": new, "__doc__": doc, "__module__": module, "__absent__": why})


def absent_function(module: str, name: str, why: str) -> Any:
    """A function that raises when it is called; where torch's signature is known, a wrong call has
    torch's error."""

    def raises(*args: Any, **kwargs: Any) -> Any:
        wrong = wrong_call(name, args, kwargs) if module == "torch" else None
        if wrong is not None:
            raise wrong
        refuse(f"{module}.{name}", why)

    raises.__name__ = raises.__qualname__ = name
    raises.__module__ = module
    raises.__dict__["__absent__"] = why
    raises.__doc__ = f"Not available: {why}.\n\n    Raises:\n        NotImplementedError: always."
    return raises


def absent_module(
    name: str,
    why: str,
    classes: str = "",
    functions: str = "",
    enums: dict[str, str] | None = None,
) -> ModuleType:
    """Make the module ``torch.<name>`` of absent names, so that packages can import it.

    Args:
        name: dotted, after "torch."; the parent must be there, and gets it as an attribute.
        why: the reason in every error.
        classes, functions: names of what is there, to be mentioned only, between blanks.
        enums: enumerations, which are real: name and the names of the members.
    """
    shown = f"torch.{name}"
    full = f"mindtorch.{shown}"
    module = ModuleType(full, f"Names of {shown}; what they stand for is not available: {why}.")
    module.__spec__ = ModuleSpec(full, None, origin=__file__, is_package=True)
    module.__path__ = []
    module.__dict__["__absent__"] = why


    def other(name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(f"module '{shown}' has no attribute '{name}'")
        return (absent_class if name[0].isupper() else absent_function)(shown, name, why)

    if not classes and not functions:  # any name can be mentioned
        module.__dict__["__getattr__"] = other
    for each in classes.split():
        setattr(module, each, absent_class(shown, each, why))
    for each in functions.split():
        setattr(module, each, absent_function(shown, each, why))
    for each, members in (enums or {}).items():
        setattr(module, each, enum.Enum(each, members.split(), module=shown))
    sys.modules[full] = module
    parent, _, last = full.rpartition(".")
    setattr(sys.modules[parent], last, module)
    return module
