"""Waiting for another library's operations: asking again and again, without the interpreter's lock.

Who asks from Python needs that lock for each question, beside a thread that computes: of a step of
a sharded GPT on a busy machine a fifth went into that.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mindtorch.kernels.codegen.jit import entry_point, kernel

from ..vectors.llvm_code import call, pointer

__all__ = ["DONE", "WAITING", "poll"]

DONE, WAITING = 0, -1
_FIRST, _LONGEST = 20_000, 1_000_000  # nanoseconds of a pause
_PART = 8  # of what was waited already the next pause is so small a part
_AT_ONCE = 16  # questions between two looks at the clock
_STATUS = 64  # bytes, more than a status of any MPI has
_WORD, _LONG = ir.IntType(32), ir.IntType(64)
_MONOTONIC = getattr(time, "CLOCK_MONOTONIC", 1)


def _time(builder: Any) -> Any:
    """Room for C's seconds and nanoseconds."""
    return cgutils.alloca_once(builder, ir.ArrayType(_LONG, 2))


def _field(builder: Any, place: Any, number: int) -> Any:
    return builder.gep(place, [ir.Constant(_WORD, 0), ir.Constant(_WORD, number)])


@intrinsic
def _ask(context: Any, function: Any, request: Any, answer: Any) -> Any:
    """What ``MPI_Test(request, answer, ...)`` gives, the function by its address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        places = [pointer(builder, address) for address in arguments[1:]]
        places.append(builder.gep(places[1], [ir.Constant(_LONG, 8)]))
        kind = ir.FunctionType(_WORD, [place.type for place in places])
        test = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.sext(builder.call(test, places), _LONG)

    return types.int64(types.int64, types.int64, types.int64), generate


@intrinsic
def _now(context: Any) -> Any:
    """Nanoseconds of a clock that nobody sets."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _time(builder)
        call(builder, "clock_gettime", _WORD, (ir.Constant(_WORD, _MONOTONIC), place))
        seconds, rest = (builder.load(_field(builder, place, i)) for i in (0, 1))
        return builder.add(builder.mul(seconds, ir.Constant(_LONG, 10**9)), rest)

    return types.int64(), generate


@intrinsic
def _sleep(context: Any, duration: Any) -> Any:
    """Leave the core for so many nanoseconds, less than a second."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _time(builder)
        for i, value in enumerate((ir.Constant(_LONG, 0), arguments[0])):
            builder.store(value, _field(builder, place, i))
        nothing = ir.Constant(place.type, None)
        return builder.sext(call(builder, "nanosleep", _WORD, (place, nothing)), _LONG)

    return types.int64(types.int64), generate


@intrinsic
def _yield(context: Any) -> Any:
    """Let another thread that is ready have the core."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.sext(call(builder, "sched_yield", _WORD, ()), _LONG)

    return types.int64(), generate


@kernel
def _poll(test: int, requests: Any, answer: Any, waited: int, busy: int, limit: int) -> int:
    """See :func:`poll`; ``answer`` is a number, and room for a status behind it."""
    begun, tries = _now(), 0
    while True:
        left = 0
        for i in range(requests.size):
            code = _ask(test, requests[i], np.int64(answer.ctypes.data))
            if code:
                return code
            left += answer[0] == 0
        if not left:
            return DONE
        tries += 1
        if tries % _AT_ONCE and waited < busy:
            continue
        passed = _now() - begun
        if passed > limit:
            return WAITING
        if waited + passed < busy:
            _yield()
        else:
            waited = max(waited, busy)
            _sleep(min(max((waited + passed) // _PART, _FIRST), _LONGEST))


_SIGNATURE = types.int64(
    types.int64, types.Array(types.int64, 1, "C"), types.Array(types.int32, 1, "C"),
    types.int64, types.int64, types.int64,
)  # fmt: skip


def poll(test: int, requests: Any, waited: float, busy: float, limit: float) -> int:
    """Ask whether all requests are done until they are, or for some time.

    Args:
        test: the address of MPI_Test.
        requests: where the handles lie, int64; what is done becomes MPI's null request.
        waited: seconds that they were waited for already, which make pauses longer.
        busy: seconds, with those, in which it asks without pauses.
        limit: seconds after which it gives up.

    Returns:
        DONE, WAITING, or the error that MPI has told, a number above zero.
    """
    compiled = entry_point(_poll, _SIGNATURE)
    answer = np.zeros(2 + _STATUS // 4, np.int32)
    times = (int(seconds * 1e9) for seconds in (waited, busy, limit))
    return int(compiled(test, requests, answer, *times))
