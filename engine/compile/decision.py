"""How a call of a compiled function is run, and why."""

from __future__ import annotations

import functools
from typing import NamedTuple

EAGER, LAZY, CAPTURE, RUN, RAISE = "eager", "lazy", "capture", "run", "raise"


class Decision(NamedTuple):
    """What becomes of one call.

    Attributes:
        kind: :data:`EAGER`, the Python function runs op by op; :data:`LAZY`, it runs in lazy mode;
            :data:`CAPTURE`, it runs and is captured; :data:`RUN`, a capture of an earlier call is
            run; :data:`RAISE`, the call raises.
        reason: why.
        error: what is raised.
    """

    kind: str
    reason: str
    error: Exception | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


HELD = Decision(RUN, "the guards of an earlier capture hold")
RESIZED = Decision(RUN, "a capture for many sizes fits")
OBSERVED = Decision(
    EAGER, "each op is seen by something: a transformation, a profile, hooks, another capture, or "
    "a backward pass",
)  # fmt: skip
NESTED = Decision(EAGER, "it is being captured: a recursive call, or one of another thread")
STANCE = Decision(EAGER, "nothing that was compiled fits, and the stance runs such calls eagerly")
UNSAFE = Decision(EAGER, "its arguments share memory with others, or a profiler is on")
RARE = Decision(EAGER, "it has had many sizes, and capturing these takes longer than running them")
FAILED = Decision(EAGER, "the last capture with such arguments raised")
FIRST = Decision(CAPTURE, "no capture has been made for such arguments")


@functools.lru_cache(256)
def eagerly(reason: str) -> Decision:
    """The Python function runs op by op."""
    return Decision(EAGER, reason)


@functools.lru_cache(256)
def lazily(reason: str) -> Decision:
    """The Python function runs in lazy mode."""
    return Decision(LAZY, reason)


def capturing(reason: str) -> Decision:
    """The call is captured; ``reason``: the guard that kept earlier captures from being run."""
    return Decision(CAPTURE, f"a guard of an earlier one fails: {reason}") if reason else FIRST


def raising(error: Exception) -> Decision:
    """The call raises."""
    return Decision(RAISE, str(error), error)
