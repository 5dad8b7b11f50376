"""``jit`` and ``jit_class``: MindSpore's arguments around the engine's captured calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.engine.compile.jit import jit as compiled
from mindtorch.torch.nn import Module

__all__ = ["jit", "jit_class"]

_CHOICES = {
    "capture_mode": ("ast", "bytecode", "trace"), "jit_level": ("", "O0", "O1", "O2"),
    "dynamic": (0, 1), "fullgraph": (False, True), "backend": ("", "ms_backend", "GE"),
}  # fmt: skip


def jit(
    function: Callable[..., Any] | None = None, *, capture_mode: str = "ast",
    jit_level: str = "", dynamic: int = 0, fullgraph: bool = False, backend: str = "",
) -> Any:  # fmt: skip
    """A function, method or cell that computes what ``function`` computes.

    Its first call for each structure of arguments is captured, later ones run as kernels (see
    :func:`mindtorch.engine.compile.jit.jit`). In a call that branches on values (``if is_finite:``)
    what lies between the branches is compiled. A cell is compiled in place. The arguments are
    checked and have no further effect: there is one way to compile.

    Args:
        capture_mode, jit_level, dynamic, fullgraph, backend: as MindSpore has them.

    Raises:
        ValueError: an argument has no such value.
    """
    given = {"capture_mode": capture_mode, "jit_level": jit_level, "dynamic": dynamic,
             "fullgraph": fullgraph, "backend": backend}  # fmt: skip
    for name, value in given.items():
        if value not in _CHOICES[name]:
            raise ValueError(
                f"For 'jit', the parameter '{name}' must be one of {list(_CHOICES[name])}, but got "
                f"{value!r}."
            )
    if function is None:
        return lambda each: jit(each, **given)  # type: ignore[arg-type]
    if not callable(function):
        raise TypeError(f"For 'jit', {function!r} is not a function")
    if isinstance(function, Module):
        if "_compiled_call_impl" not in function.__dict__:
            Module.compile(function)
        return function
    return function if isinstance(function, type) else compiled(function)


def jit_class(cls: type) -> type:
    """A class whose objects may be used inside of :func:`jit`.

    Raises:
        TypeError: not a class, or a cell, which needs no decorator.
    """
    from .nn import Cell

    if not isinstance(cls, type):
        raise TypeError(f"Decorator jit_class can only be used for class type, but got {cls}.")
    if issubclass(cls, Cell):
        raise TypeError(
            f"Decorator jit_class is used for user-defined classes and cannot be used for nn.Cell: "
            f"{cls}."
        )
    cls.__ms_class__ = True  # type: ignore[attr-defined]
    return cls
