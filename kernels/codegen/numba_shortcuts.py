"""What numba does again and again while it compiles kernels, left out or remembered.

Each is in force while a kernel is compiled, under numba's lock, and leaves the code that comes out
as it is.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any

from numba.core import decorators, errors, postproc, transforms, types
from numba.core.typing.templates import _OverloadFunctionTemplate as Overload

from .numba_lowering import NUMBERS, OPERATORS

_follow, _typed = postproc.PostProcessor.run, types.Function.get_call_type
_decorate = Overload._get_jit_decorator
_signatures: dict[Any, Any] = {}


def _follow_last(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Which variables are alive where: only generators ask for that before the last pass."""
    function = self.func_ir
    if emit_dels or function.is_generator:
        _follow(self, emit_dels, extend_lifetimes)
        return
    function.blocks = transforms.canonicalize_cfg(function.blocks)
    function.variable_lifetime = postproc.VariableLifetime(function.blocks)  # computed when asked
    function.generator_info = None


def _remembered(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of an operator on numbers, for which numba tries some twenty templates."""
    if kws or self.typing_key not in OPERATORS or not all(isinstance(a, NUMBERS) for a in args):
        return _typed(self, context, args, kws)
    asked = (self, context, tuple(args))
    found = _signatures.get(asked)
    if found is None:
        found = _signatures[asked] = _typed(self, context, args, kws)
    return found


def _as_they_come(self: Any, filename: Any = None, lineno: Any = None) -> Any:
    """Warnings of each typed statement are not collected: `warnings.catch_warnings` would make
    Python forget what it has told, so that a script's own warnings came again after each kernel."""
    return contextlib.nullcontext()


class Overloads:
    """What compiles numba's own functions in Python (``np.empty``, ``max``) that kernels call.

    Attributes:
        dispatcher: makes a dispatcher of a function and numba's options for it. numba makes machine
            code of each; a kernel needs the code to link.
    """

    dispatcher: Callable[[Any, dict[str, Any]], Any] | None = None


def _decorator(self: Any) -> Any:
    usual, make = _decorate(self), Overloads.dispatcher
    if usual is not decorators.jit or make is None or not self._inline.is_never_inline:
        return usual
    return lambda **options: lambda function: make(function, options)


_SHORTER: tuple[tuple[Any, str, Any], ...] = (
    (postproc.PostProcessor, "run", _follow_last),
    (types.Function, "get_call_type", _remembered),
    (Overload, "_get_jit_decorator", _decorator),
    (errors.WarningsFixer, "catch_warnings", _as_they_come),
)


@contextlib.contextmanager
def shortcuts() -> Iterator[None]:
    """They are in force meanwhile, and a script that logs everything is not told each bytecode that
    numba reads, unless it gave numba's logger a level."""
    log = logging.getLogger("numba")
    with contextlib.ExitStack() as stack:
        if log.level == logging.NOTSET:
            log.setLevel(logging.INFO)
            stack.callback(log.setLevel, logging.NOTSET)
        for owner, name, ours in _SHORTER:
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, ours)
        yield
