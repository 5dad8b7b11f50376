"""What numba does again and again while it compiles kernels, left out or remembered.

Each is in force while a kernel is compiled, under numba's lock, and leaves the code that comes out
as it is.
"""

from __future__ import annotations

import contextlib
import logging
import operator
from collections.abc import Iterator
from typing import Any

from numba.core import errors, postproc, transforms, types

_OPERATORS = frozenset(
    getattr(operator, name)
    for name in (
        "add sub mul truediv floordiv mod lt le gt ge eq ne and_ or_ xor lshift rshift neg "
        "iadd isub imul ifloordiv imod ilshift irshift"
    ).split()
)
_NUMBERS = (types.Number, types.Boolean, types.IntegerLiteral)
_follow, _typed = postproc.PostProcessor.run, types.Function.get_call_type
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
    if kws or self.typing_key not in _OPERATORS or not all(isinstance(a, _NUMBERS) for a in args):
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


@contextlib.contextmanager
def shortcuts() -> Iterator[None]:
    """They are in force meanwhile, and a script that logs everything is not told each bytecode that
    numba reads, unless it gave numba's logger a level."""
    log = logging.getLogger("numba")
    with contextlib.ExitStack() as stack:
        if log.level == logging.NOTSET:
            log.setLevel(logging.INFO)
            stack.callback(log.setLevel, logging.NOTSET)
        for owner, name, ours in (
            (postproc.PostProcessor, "run", _follow_last),
            (types.Function, "get_call_type", _remembered),
            (errors.WarningsFixer, "catch_warnings", _as_they_come),
        ):
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, ours)
        yield
