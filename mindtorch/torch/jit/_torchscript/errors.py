"""Errors of a running program of TorchScript: what the program raises, and where it failed."""

from __future__ import annotations

from types import CodeType
from typing import Any

__all__ = ["Error", "raise_exception", "with_place"]

_HEADER = "The following operation failed in the TorchScript interpreter.\n"
_STACK = "Traceback of TorchScript, serialized code (most recent call last):\n"


class Error(RuntimeError):
    """What a program raises with `raise`."""


Error.__module__ = "torch.jit"


class _Raised(Exception):
    """A `raise` of the program, on its way to the line that is shown with it."""


def raise_exception(message: Any, kind: str = "") -> None:
    """`raise kind(message)` of the program."""
    raise _Raised(f"{kind}: {message}" if kind else str(message))


def with_place(error: Exception, function: Any, code: CodeType) -> Exception:
    """The error with the function's line before those that it went through.

    Args:
        error: what was raised within.
        function: the program's function it came out of.
        code: of the Python function whose frames hold the ``numbered`` statement.
    """
    line, found = 0, error.__traceback__
    while found is not None:
        if found.tb_frame.f_code is code:
            line = found.tb_frame.f_locals["numbered"][0]
        found = found.tb_next
    stack = [f'  File "{function.file}", line {line}, in {function.name}', *function.shown(line)]
    earlier = getattr(error, "_script_stack", None)
    if earlier is not None:
        stack += earlier
        text = error._script_text  # type: ignore[attr-defined]
    else:
        raised = isinstance(error, _Raised)
        text = str(error) if raised else f"{type(error).__name__}: {error}"
    kind = Error if isinstance(error, (_Raised, Error)) else _kind(error)
    made = kind(_HEADER + _STACK + "\n".join(stack) + "\n" + text)
    made._script_stack, made._script_text = stack, text  # type: ignore[attr-defined]
    return made


def _kind(error: Exception) -> type[Exception]:
    """torch raises RuntimeError for whatever an operator raises."""
    return NotImplementedError if isinstance(error, NotImplementedError) else RuntimeError
