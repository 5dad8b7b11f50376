"""How two threads of one process meet without the operating system: words in memory.

A thread that waits for a word looks at it again and again, at first without pause, then letting
others have the core in between; after :data:`PATIENCE`, or once another program had the core, it
leaves a note in the word that it sleeps, and whoever writes the word next has to wake it. A
sleeping thread begins some 40 us after it is called, one that looks 1 us after.

    word    OPEN     nothing there; the other thread looks
            THERE    what is waited for is there
            ASLEEP   nothing there; the other thread sleeps
"""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mindtorch.kernels.codegen.jit import entry_point, kernel

from ..vectors.llvm_code import call

OPEN, THERE, ASLEEP = 0, 1, 2
GIVE, FETCH, REST, WAIT = 0, 1, 2, 3
PIECE, RESULT = 0, 8  # words of different cache lines
# cycles that a thread looks before it sleeps, and before it lets others have the core; and those
# after which it has the core again where nobody else wants it
PATIENCE = 600_000
_ALONE = 20_000
_CROWDED = 60_000
_ORDER = "seq_cst"
_X86, _ARM = ("llvm.x86.sse2.pause",), ("llvm.aarch64.hint", 1)
_PAUSES: dict[str, Any] = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}
_machine = platform.machine().lower()
_yields = hasattr(os, "sched_yield")


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The pointer to ``words[i]``."""
    words = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(words.data, [arguments[1]])


@intrinsic
def _load(context: Any, words: Any, i: Any) -> Any:
    """``words[i]`` as it is now."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments)
        return builder.load_atomic(place, _ORDER, 8)

    return types.int64(words, types.int64), generate


@intrinsic
def _exchange(context: Any, words: Any, i: Any, value: Any) -> Any:
    """Write ``words[i]``; what was there before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments)
        return builder.atomic_rmw("xchg", place, arguments[2], _ORDER)

    return types.int64(words, types.int64, types.int64), generate


@intrinsic
def _replace(context: Any, words: Any, i: Any, expected: Any, value: Any) -> Any:
    """Write ``words[i]`` if it is as expected; what was there before."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments)
        pair = builder.cmpxchg(place, arguments[2], arguments[3], _ORDER)
        return builder.extract_value(pair, 0)

    return types.int64(words, types.int64, types.int64, types.int64), generate


@intrinsic
def _clock(context: Any, before: Any) -> Any:
    """The processor's clock; where programs may not read one, some cycles after ``before``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if _PAUSES.get(_machine) != _X86:
            return builder.add(arguments[0], ir.Constant(ir.IntType(64), 100))
        clock = builder.module.declare_intrinsic(
            "llvm.readcyclecounter", (), ir.FunctionType(ir.IntType(64), ())
        )
        return builder.call(clock, ())

    return types.int64(types.int64), generate


@intrinsic
def _yield(context: Any) -> Any:
    """Let another thread that is ready have the core."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if _yields:
            call(builder, "sched_yield", ir.IntType(32), ())
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def _pause(context: Any) -> Any:
    """Leave what two threads of one core share to the other one for a moment."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        name, *hint = _PAUSES.get(_machine, ("",))
        if name:
            given = [ir.Constant(ir.IntType(32), value) for value in hint]
            call(builder, name, ir.VoidType(), given)
        return context.get_dummy_value()

    return types.void(), generate


@kernel
def _await(words: Any, i: int, patience: int) -> int:
    """Wait until ``words[i]`` is THERE; ASLEEP if the thread has to sleep until it is."""
    began = now = _clock(0)
    while _load(words, i) != THERE:
        before, now = now, _clock(now)
        if now - began > patience or now - before > _CROWDED:
            return THERE if _replace(words, i, OPEN, ASLEEP) == THERE else ASLEEP
        if now - began > _ALONE:
            _yield()
        else:
            _pause()
    return THERE


@kernel
def _meet(words: Any, action: int, patience: int, manners: int) -> int:
    """One of the actions below; what it found."""
    if action == GIVE:
        words[RESULT] = OPEN
        return _exchange(words, PIECE, THERE)
    if action == FETCH:
        return _await(words, RESULT, patience)
    if action == REST:
        words[PIECE] = OPEN
        if _exchange(words, RESULT, THERE) == ASLEEP:
            return OPEN
    found = _await(words, PIECE, patience)
    if found == THERE:
        began = now = _clock(0)
        while now - began < manners:
            _pause()
            now = _clock(now)
    return found


class Meeting:
    """The words of a worker, which is given pieces, and of the thread that gives them.

    Args:
        manners: cycles that the worker waits before it takes the interpreter for a piece, which
            who gave it still holds for about a microsecond.
    """

    there, asleep = THERE, ASLEEP

    def __init__(self, manners: int) -> None:
        self._words = np.zeros(RESULT + 8, np.int64)
        self._words[RESULT] = THERE
        self._manners = manners
        self._meet = entry_point(_meet, "int64(int64[::1], int64, int64, int64)")

    def give(self) -> bool:
        """There is a piece now. Whether the worker sleeps and must be woken."""
        return self._meet(self._words, GIVE, 0, 0) == ASLEEP

    def fetch(self) -> bool:
        """Wait until the piece is done. Whether to sleep until the worker wakes the caller."""
        return self._meet(self._words, FETCH, PATIENCE, 0) == ASLEEP

    def rest(self, first: bool = False) -> int:
        """The last piece is done, unless it is the worker's ``first`` time to wait for one.

        Returns ``there`` when there is another; ``asleep``: sleep until there is; else wake who
        waits for the last piece, and come again as for the first time.
        """
        action = WAIT if first else REST
        return self._meet(self._words, action, PATIENCE, self._manners)
